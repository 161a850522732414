#include "peer.h"
#include <pthread.h>
#include <stdatomic.h>

// The server has a thread of its own; the first one reads what it is asked.
static ENetHost *host;
static pthread_t thread;
static enum { ECHO, SIZE, COUNT } answer;
static int bytes, flags;
static _Atomic uint64_t got, strayed;
static uint64_t last;

// count takes a packet of one message or several.
static void count(const ENetPacket *p)
{
	for (size_t at = 0; at + bytes <= p->dataLength; at += bytes) {
		uint64_t n = get64(p->data + at);
		if (n != ++last) {
			strayed++;
			last = n;
		}
	}
	got += p->dataLength / bytes;
}

static void take(ENetPeer *from, int channel, ENetPacket *p)
{
	if (answer == COUNT) {
		count(p);
		return;
	}
	got++;
	ENetPacket *back = enet_packet_create(NULL, answer == ECHO ? p->dataLength : (size_t)bytes, flags);
	memset(back->data, 0, back->dataLength);
	memcpy(back->data, p->data, p->dataLength < back->dataLength ? p->dataLength : back->dataLength);
	enet_peer_send(from, channel, back);
}

// serve takes all that there is and sends what that led to, over and over. A call of enet_host_service begins with what waits to
// be sent, so to flush before would be to look at all peers once more.
static void *serve(void *unused)
{
	ENetEvent ev;
	int idle = answer == ECHO ? 1 : 10; // in milliseconds: it looks for what is to be sent again at least so often
	for (;;) {
		int n = enet_host_service(host, &ev, idle);
		while (n > 0) {
			if (ev.type == ENET_EVENT_TYPE_RECEIVE) {
				take(ev.peer, ev.channelID, ev.packet);
				enet_packet_destroy(ev.packet);
			} else if (ev.type == ENET_EVENT_TYPE_CONNECT) {
				// Both sides are to send all unreliable packets, and not fewer when the
				// round trip varies: what is measured is the cost of sending them.
				enet_peer_throttle_configure(ev.peer, ENET_PEER_PACKET_THROTTLE_INTERVAL, ENET_PEER_PACKET_THROTTLE_SCALE, 0);
			}
			n = enet_host_check_events(host, &ev);
		}
	}
	return unused;
}

void server_listen(const char *line)
{
	ENetAddress at;
	enet_address_set_host(&at, "127.0.0.1");
	at.port = ENET_PORT_ANY;
	bytes = number(line, "bytes");
	answer = has(line, "\"answer\":\"echo\"") ? ECHO : has(line, "\"answer\":\"count\"") ? COUNT : SIZE;
	flags = is_reliable(line) ? ENET_PACKET_FLAG_RELIABLE : 0;
	// Each turn of ENet looks at all places, taken or not: it gets those that it needs.
	host = enet_host_create(&at, number(line, "clients"), channels_of(line), 0, 0);
	if (!host) {
		fail("cannot listen");
		return;
	}
	large_buffers(host);
	pthread_create(&thread, NULL, serve, NULL);
	printf("{\"value\":\"127.0.0.1:%d\"}\n", host->address.port);
}

void server_count(void)
{
	printf("{\"value\":{\"got\":%llu,\"strayed\":%llu}}\n", (unsigned long long)got, (unsigned long long)strayed);
}
