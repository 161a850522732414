#include "arena.h"
#include <math.h>
#include <pthread.h>

// The server of W5: players walk about a square, and in every tick each is sent those in its sight.
enum { SIDE = 1024 };

typedef struct {
	ENetPeer *peer; // NULL if nobody has the place
	double x, y;
	float angle, norm;
} Walker;

static ENetHost *host;
static Walker *walkers;
static int places;
static float sight;
static int64_t every;
static pthread_t thread;

void put16(uint8_t *b, uint16_t x)
{
	b[0] = x >> 8;
	b[1] = x;
}

uint16_t get16(const uint8_t *b) { return b[0] << 8 | b[1]; }

void put_float(uint8_t *b, float x)
{
	uint32_t u;
	memcpy(&u, &x, 4);
	put16(b, u >> 16);
	put16(b + 2, u);
}

void put_double(uint8_t *b, double x)
{
	uint64_t u;
	memcpy(&u, &x, 8);
	put64(b, u);
}

float get_float(const uint8_t *b)
{
	uint32_t u = (uint32_t)get16(b) << 16 | get16(b + 2);
	float x;
	memcpy(&x, &u, 4);
	return x;
}

static void enter(ENetPeer *peer)
{
	int i = peer - host->peers;
	walkers[i] = (Walker){peer, rand() % SIDE, rand() % SIDE, 0, 0};
	// All records are to be sent, and not fewer when the round trip varies.
	enet_peer_throttle_configure(peer, ENET_PEER_PACKET_THROTTLE_INTERVAL, ENET_PEER_PACKET_THROTTLE_SCALE, 0);
	ENetPacket *p = enet_packet_create(NULL, YOU_BYTES, ENET_PACKET_FLAG_RELIABLE);
	p->data[0] = YOU;
	put16(p->data + 1, i + 1);
	enet_peer_send(peer, 0, p);
}

static void take(ENetEvent *ev)
{
	Walker *w = &walkers[ev->peer - host->peers];
	switch (ev->type) {
	case ENET_EVENT_TYPE_CONNECT:
		enter(ev->peer);
		break;
	case ENET_EVENT_TYPE_DISCONNECT:
		w->peer = NULL;
		break;
	case ENET_EVENT_TYPE_RECEIVE:
		if (ev->packet->dataLength == INPUT_BYTES) {
			w->angle = get_float(ev->packet->data + 1);
			w->norm = get_float(ev->packet->data + 5);
		}
		enet_packet_destroy(ev->packet);
		break;
	default:
		break;
	}
}

static uint8_t *put_record(uint8_t *b, int i)
{
	Walker *w = &walkers[i];
	put16(b, i + 1);
	b[2] = 1;
	b[3] = RECORD_BYTES - 4;
	put_double(b + 4, w->x);
	put_double(b + 12, w->y);
	put_float(b + RECORD_ANGLE, w->angle);
	put_float(b + 24, w->norm);
	put16(b + 28, 1);
	put16(b + 30, 100);
	put16(b + 32, 0);
	return b + RECORD_BYTES;
}

static double within(double x) { return x < 0 ? 0 : x > SIDE ? SIDE : x; }

// tick moves all, and sends each player what it sees.
static void tick(void)
{
	static uint8_t buf[1 << 16];
	for (int i = 0; i < places; i++) {
		Walker *w = &walkers[i];
		w->x = within(w->x + w->norm * cos(w->angle));
		w->y = within(w->y + w->norm * sin(w->angle));
	}
	for (int i = 0; i < places; i++) {
		if (!walkers[i].peer)
			continue;
		uint8_t *end = put_record(buf + 1, i);
		buf[0] = RECORDS;
		for (int k = 0; k < places; k++) {
			double x = walkers[k].x - walkers[i].x, y = walkers[k].y - walkers[i].y;
			if (k != i && walkers[k].peer && x * x + y * y <= sight * sight && end + RECORD_BYTES <= buf + sizeof buf)
				end = put_record(end, k);
		}
		// A channel of its own, so that records wait for nothing.
		enet_peer_send(walkers[i].peer, 1, enet_packet_create(buf, end - buf, ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT));
	}
	enet_host_flush(host);
}

// serve takes what comes until a tick is due, and acknowledges it at once.
static void *serve(void *unused)
{
	for (int64_t due = nanos() + every;; due += every) {
		for (int64_t now = nanos(); now < due; now = nanos()) {
			ENetEvent ev;
			int64_t wait = (due - now) / 1000000;
			int n = enet_host_service(host, &ev, wait > 5 ? 5 : wait); // it looks for what is to be sent again at least so often
			for (; n > 0; n = enet_host_check_events(host, &ev))
				take(&ev);
			enet_host_flush(host);
			if (wait == 0)
				sleep_until(due); // ENet waits whole milliseconds
		}
		tick();
		if (nanos() - due > every) // a tick that would begin more than one tick late is let go
			due = nanos();
	}
	return unused;
}

void arena_listen(const char *line)
{
	ENetAddress at;
	addr_of(line, "host", &at); // at any port
	places = number(line, "players");
	sight = number(line, "sight");
	every = 1000000000LL / number(line, "rate");
	host = enet_host_create(&at, places, 2, 0, 0);
	walkers = calloc(places, sizeof *walkers);
	if (!host || !walkers) {
		fail("cannot listen");
		return;
	}
	large_buffers(host);
	pthread_create(&thread, NULL, serve, NULL);
	char name[64];
	enet_address_get_host_ip(&at, name, sizeof name);
	printf("{\"value\":\"%s:%d\"}\n", name, host->address.port);
}
