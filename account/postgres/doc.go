// Package postgres keeps accounts in a PostgreSQL database, for servers that share their accounts or have
// a database already.
//
// # Usage
//
//	store, err := postgres.Open(ctx, "host=db.internal user=parley dbname=parley")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	accounts := account.New(store, account.Config{})
//
// # Life of a write
//
//	store.go    each method: one statement, or one transaction, over a pool of connections
//	migrate.go  creates the tables and keeps them up to date when the store is opened: migrations/
//
// # Durability
//
// A write is answered when the database has committed it. If a server, database or role is set to
// synchronous_commit=off, which answers before it writes, these connections override it. They cannot
// override fsync=off.
//
// # Limits
//
// The role needs the right to create tables in its schema when the store is first opened, and after an
// update that brings a migration. Several programs may open one database at once; one of them creates the
// tables, under an advisory lock. PostgreSQL 12 or later.
//
// # What it does not do
//
// It does not share sessions. Two servers that share a database each allow an account one session.
package postgres
