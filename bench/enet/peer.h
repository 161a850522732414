// A child of bench that speaks ENet: it is asked by a line of JSON and answers with one.
#include <enet/enet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ask.c: what a line says.
long long number(const char *line, const char *key);
int has(const char *line, const char *word);
void addr_of(const char *line, const char *key, ENetAddress *to);
int64_t nanos(void);
void sleep_until(int64_t when);
void put64(uint8_t *b, uint64_t x);
uint64_t get64(const uint8_t *b);
void fail(const char *why);

// server.c
void server_listen(const char *line);
void server_count(void);

// client.c: W1 and W2.
void client_dial(const char *line, int reliable);
void client_echo(const char *line);
void client_rush(const char *line);

// crowd.c: W3.
void crowd_gather(const char *line, int reliable);
void crowd_run(const char *line);

// arena_server.c and arena_player.c: W5.
void arena_listen(const char *line);
void arena_enter(const char *line);
void arena_play(const char *line);

// Peers are told apart by their names: whether packets are reliable, and how many channels they take turns on.
int is_reliable(const char *line);
int channels_of(const char *line);

// large_buffers gives a socket room for a burst.
void large_buffers(ENetHost *host);
