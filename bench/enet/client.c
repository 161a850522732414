#include "peer.h"

static ENetHost *host;
static ENetPeer *peer;
static int flags, channels;
static uint64_t base;

// What came back of this time.
static int64_t *sent, *late;
static char *seen;
static long long messages, delivered, twice;

static int connect_to(const char *line, int reliable)
{
	ENetAddress to;
	ENetEvent ev;
	addr_of(line, "addr", &to);
	flags = reliable ? ENET_PACKET_FLAG_RELIABLE : 0;
	channels = channels_of(line);
	host = enet_host_create(NULL, 1, channels, 0, 0);
	peer = host ? enet_host_connect(host, &to, channels, 0) : NULL;
	if (host)
		large_buffers(host);
	// Only between two calls does ENet look whether something is to be sent again.
	for (int64_t end = nanos() + 10000000000LL; peer && nanos() < end;)
		if (enet_host_service(host, &ev, 10) > 0)
			return ev.type == ENET_EVENT_TYPE_CONNECT;
	return 0;
}

void client_dial(const char *line, int reliable)
{
	if (connect_to(line, reliable))
		printf("{\"value\":null}\n");
	else
		fail("cannot connect");
}

static void take(ENetPacket *p)
{
	int64_t now = nanos();
	uint64_t i = get64(p->data) - base;
	if (i >= (uint64_t)messages)
		return; // of the time before
	if (seen[i]) {
		twice++;
		return;
	}
	seen[i] = 1;
	late[delivered++] = now - sent[i];
}

// until takes what comes until a time, in milliseconds and then to the point.
static void until(int64_t end, int all)
{
	ENetEvent ev;
	for (int64_t now = nanos(); now < end; now = nanos()) {
		if (all && delivered == messages)
			return;
		int64_t wait = (end - now) / 1000000;
		if (wait == 0 && !all) {
			// ENet waits whole milliseconds: look, and sleep the rest.
			if (enet_host_service(host, &ev, 0) <= 0) {
				sleep_until(end);
				continue;
			}
		} else if (enet_host_service(host, &ev, wait > 1) <= 0) { // it looks for what is to be sent again each millisecond
			continue;
		}
		if (ev.type == ENET_EVENT_TYPE_RECEIVE) {
			take(ev.packet);
			enet_packet_destroy(ev.packet);
		}
	}
}

void client_echo(const char *line)
{
	long long size = number(line, "size"), every = number(line, "every");
	base += messages;
	messages = number(line, "messages");
	sent = calloc(messages, sizeof *sent);
	late = calloc(messages, sizeof *late);
	seen = calloc(messages, 1);
	delivered = twice = 0;
	int64_t next = nanos();
	for (long long i = 0; i < messages; i++) {
		next += every;
		until(next, 0);
		ENetPacket *p = enet_packet_create(NULL, size, flags);
		memset(p->data, 0, size);
		put64(p->data, base + i);
		sent[i] = nanos();
		enet_peer_send(peer, i % channels, p);
		enet_host_flush(host);
	}
	until(nanos() + number(line, "patience"), 1);
	printf("{\"value\":{\"delivered\":%lld,\"twice\":%lld,\"latencies\":[", delivered, twice);
	for (long long i = 0; i < delivered; i++)
		printf("%s%lld", i ? "," : "", (long long)late[i]);
	printf("]}}\n");
	free(sent);
	free(late);
	free(seen);
}

// ENet takes all that it is given, so a sender bounds what waits by itself. A packet tells when it was acknowledged, which is
// cheaper than to look through ENet's lists. WINDOW is what ENet has under way at most, and a bit more is there before it runs dry.
enum { WINDOW = 64 << 10, WAITING = WINDOW + WINDOW / 2 };

static long long outstanding; // bytes that were given to ENet and are not acknowledged

static void acknowledged(ENetPacket *p) { outstanding -= p->dataLength; }

void client_rush(const char *line)
{
	ENetEvent ev;
	uint8_t buf[4096] = {0};
	long long size = number(line, "size"), length = number(line, "for"), gather = number(line, "gather");
	size_t packet = gather ? gather / size * size : size;
	uint64_t n = 0;
	if (!connect_to(line, 1)) {
		fail("cannot connect");
		return;
	}
	for (int64_t end = nanos() + length; nanos() < end;) {
		while (outstanding < WAITING) {
			for (size_t at = 0; at < packet; at += size)
				put64(buf + at, ++n);
			ENetPacket *p = enet_packet_create(buf, packet, ENET_PACKET_FLAG_RELIABLE);
			p->freeCallback = acknowledged;
			enet_peer_send(peer, 0, p);
			outstanding += packet;
		}
		while (enet_host_service(host, &ev, 0) > 0)
			if (ev.type == ENET_EVENT_TYPE_DISCONNECT) {
				fail("disconnected");
				return;
			}
	}
	printf("{\"value\":{\"sent\":%llu}}\n", (unsigned long long)n);
	fflush(stdout);
	// What was sent is to arrive, while the server is asked whether it has.
	for (int64_t end = nanos() + 2000000000LL; nanos() < end;)
		enet_host_service(host, &ev, 10);
}
