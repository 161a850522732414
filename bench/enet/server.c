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

static void take(ENetPeer *from, ENetPacket *p)
{
	got++;
	if (answer == COUNT) {
		uint64_t n = get64(p->data);
		if (n != ++last) {
			strayed++;
			last = n;
		}
		return;
	}
	ENetPacket *back = enet_packet_create(NULL, answer == ECHO ? p->dataLength : (size_t)bytes, flags);
	memset(back->data, 0, back->dataLength);
	memcpy(back->data, p->data, p->dataLength < back->dataLength ? p->dataLength : back->dataLength);
	enet_peer_send(from, 0, back);
}

// serve takes all that there is and sends what that led to, over and over.
static void *serve(void *unused)
{
	ENetEvent ev;
	for (;;) {
		int n = enet_host_service(host, &ev, 10); // it looks for what is to be sent again at least so often
		while (n > 0) {
			if (ev.type == ENET_EVENT_TYPE_RECEIVE) {
				take(ev.peer, ev.packet);
				enet_packet_destroy(ev.packet);
			} else if (ev.type == ENET_EVENT_TYPE_CONNECT) {
				// Both sides are to send all unreliable packets, and not fewer when the
				// round trip varies: what is measured is the cost of sending them.
				enet_peer_throttle_configure(ev.peer, ENET_PEER_PACKET_THROTTLE_INTERVAL, ENET_PEER_PACKET_THROTTLE_SCALE, 0);
			}
			n = enet_host_check_events(host, &ev);
		}
		enet_host_flush(host);
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
	host = enet_host_create(&at, number(line, "clients"), 1, 0, 0);
	if (!host) {
		fail("cannot listen");
		return;
	}
	enet_socket_set_option(host->socket, ENET_SOCKOPT_RCVBUF, 4 << 20);
	enet_socket_set_option(host->socket, ENET_SOCKOPT_SNDBUF, 4 << 20);
	pthread_create(&thread, NULL, serve, NULL);
	printf("{\"value\":\"127.0.0.1:%d\"}\n", host->address.port);
}

void server_count(void)
{
	printf("{\"value\":{\"got\":%llu,\"strayed\":%llu}}\n", (unsigned long long)got, (unsigned long long)strayed);
}
