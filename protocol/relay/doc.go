// Package relay speaks the relay dialect: UDP, big endian, packages passed between the
// participants of a game in three modes of reliability. A server has rooms; a Lobby says
// who is in them.
package relay
