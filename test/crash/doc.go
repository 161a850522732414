// Package crash holds tests: a server with players of all dialects is killed at random moments and started again. What any player was
// told is on disk, and every player comes back as who it was.
//
// game_test.go has the game, server_test.go the server, which is the test binary started again, witness_test.go the players, and
// disk_test.go what is on disk. crash_test.go kills.
package crash
