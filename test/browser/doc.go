// Package browser drives the pages of a running parley in Chromium, as people would: the play page and the operator's page.
//
// It is a module of its own, so that nothing else needs a browser or what drives one. Run it with
//
//	cd test/browser && go test -count=1 ./...
//
// One browser serves all tests. Each test has a server of its own, which is the built program, and each page a store of its own, as if it were in a
// browser of its own. A test that fails says where its screenshots are, and prints the consoles of its pages.
package browser
