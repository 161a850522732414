// Package sqlite keeps accounts in one file, with the SQLite that is compiled into the program: no server, no
// set-up, no cgo.
//
// # Usage
//
//	store, err := sqlite.Open(filepath.Join(dir, sqlite.FileName))
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	accounts := account.New(store, account.Config{})
//
// A game that is served by package parley needs one line: parley.Config{Accounts: sqlite.OpenIn}.
//
// # Life of a write
//
//	store.go    Create, SetPassword, …: what is to be done, as a function, to the writer
//	writer.go   one goroutine takes all that wait, does them in one transaction, and answers when it is on disk
//	errors.go   what SQLite's errors mean to account.Store
//	migrate.go  the tables, made and kept up to date when the file is opened: migrations/
//
// Reads go past the writer, over connections of their own, and never wait for it.
//
// # Durability
//
// The journal is a write-ahead log with synchronous=FULL: a write is answered when the log has been flushed to
// the disk, so it survives kill -9 and power loss. Writes that come while the disk is flushing share the next
// flush (group commit).
//
// # Limits
//
// One file, one machine: not on a network file system. Several processes may have it open, as the
// server and the command line do; each waits up to 5 s for the others to end their transactions.
// The file holds the hashes of passwords and players' addresses, and is made readable
// for its owner only.
//
// # What it does not do
//
// It makes no backups: copy the file with SQLite's own "VACUUM INTO" or ".backup", not with cp while it
// is open.
package sqlite
