// Package sqlite keeps accounts in one file, with a SQLite that is compiled into the program: no server, no
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
// A game that uses package parley needs one line: parley.Config{Accounts: sqlite.OpenIn}.
//
// # Life of a write
//
//	store.go    Create, SetPassword, …: sends the change, as a function, to the writer
//	writer.go   one goroutine makes all waiting changes in one transaction, and answers when it is on disk
//	errors.go   translates SQLite's errors to those of account.Store
//	migrate.go  creates the tables and keeps them up to date when the file is opened: migrations/
//
// Reads use connections of their own and do not wait for the writer.
//
// # Durability
//
// The journal is a write-ahead log with synchronous=FULL. A write is answered when the log has been flushed to
// disk, so it survives kill -9 and power loss. Writes that arrive during a flush share the next flush (group
// commit).
//
// # Limits
//
// One file, one machine: it does not work on a network file system. Several processes may open it, as the
// server and the command line do. Each waits up to 5 s for the transactions of the others. The file holds
// password hashes and players' addresses, and only its owner can read it.
//
// # What it does not do
//
// It makes no backups. Copy the file with SQLite's own "VACUUM INTO" or ".backup", not with cp while it is
// open.
package sqlite
