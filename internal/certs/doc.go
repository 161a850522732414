// Package certs has the certificates of a server that is known by a name: from files of the operator, or from a certificate
// authority that speaks ACME.
//
//	files, err := certs.Open(certFile, keyFile, log)
//	defer files.Close()
//	config := &tls.Config{GetCertificate: files.Certificate}
//
// A Files reads its two files again when they change. Connections that are open do not notice. Files that cannot be used
// change nothing, and the log says so.
//
// An Authority asks for a certificate when it is started, and again until it has one, each time after a longer pause. It renews the
// certificate 30 days before its end. What strangers do never makes it ask: authorities allow a handful of failed orders an hour.
// Whatever name a client asks for, it gets the certificate of the one name.
//
// # Files
//
//	files.go      certificates in files
//	authority.go  certificates by ACME
//	limits.go     the limits, and what each stops
package certs
