// Package realm speaks the realm dialect: TLS over TCP, big endian, with accounts, terrain,
// entities, actions and chat, and a time server over UDP. docs/protocols/realm.md has the
// bytes and what each message does in each state.
package realm
