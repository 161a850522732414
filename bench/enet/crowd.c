#include "peer.h"
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

// All clients are driven by one thread, as those of swarm.go: a host each, with its socket.
static ENetHost **hosts;
static ENetPeer **peers;
static int n, flags, poll_fd = -1, clock_fd;
static long long got, connected;
static int64_t *late, since;
static long long samples, room;

enum { JOINING = 32, SAMPLE_EVERY = 7 };

static void take(ENetPacket *p)
{
	if ((int64_t)get64(p->data) < since || ++got % SAMPLE_EVERY)
		return; // of the time before, or no part of the sample
	if (samples == room) {
		room = room ? 2 * room : 1024;
		late = realloc(late, room * sizeof *late);
	}
	late[samples++] = nanos() - (int64_t)get64(p->data);
}

// turn has one client do what is due, and reports whether it is still there.
static int turn(int i)
{
	ENetEvent ev;
	while (enet_host_service(hosts[i], &ev, 0) > 0) {
		switch (ev.type) {
		case ENET_EVENT_TYPE_CONNECT:
			connected++;
			break;
		case ENET_EVENT_TYPE_RECEIVE:
			take(ev.packet);
			enet_packet_destroy(ev.packet);
			break;
		case ENET_EVENT_TYPE_DISCONNECT:
			return 0;
		default:
			break;
		}
	}
	return 1;
}

static void watch(int fd, int i)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev);
}

// wait sleeps until something comes or a millisecond has passed; then it returns 1, and -1
// if a client was lost.
static int wait_tick(void)
{
	struct epoll_event ready[256];
	int tick = 0, count = epoll_wait(poll_fd, ready, 256, -1);
	for (int k = 0; k < count; k++) {
		if (ready[k].data.u32 == UINT32_MAX) {
			uint64_t times;
			tick = read(clock_fd, &times, sizeof times) > 0;
		} else if (!turn(ready[k].data.u32)) {
			return -1;
		}
	}
	return tick;
}

void crowd_gather(const char *line, int reliable)
{
	ENetAddress to;
	int wanted = number(line, "clients");
	int64_t end = nanos() + 30000000000LL, sweep = 0;
	addr_of(line, "addr", &to);
	flags = reliable ? ENET_PACKET_FLAG_RELIABLE : 0;
	if (poll_fd < 0) {
		struct itimerspec ms = {{0, 1000000}, {0, 1000000}};
		poll_fd = epoll_create1(0);
		clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		timerfd_settime(clock_fd, 0, &ms, NULL);
		watch(clock_fd, -1);
	}
	hosts = realloc(hosts, wanted * sizeof *hosts);
	peers = realloc(peers, wanted * sizeof *peers);
	while (connected < wanted) {
		for (; n < wanted && n - connected < JOINING; n++) {
			hosts[n] = enet_host_create(NULL, 1, 1, 0, 0);
			peers[n] = hosts[n] ? enet_host_connect(hosts[n], &to, 1, 0) : NULL;
			if (!peers[n]) {
				fail("a client cannot be made");
				return;
			}
			enet_host_flush(hosts[n]);
			watch(hosts[n]->socket, n);
		}
		if (wait_tick() < 0) {
			fail("a client was lost");
			return;
		}
		if (nanos() > sweep) { // those who wait send again
			sweep = nanos() + 100000000LL;
			for (int i = 0; i < n; i++)
				turn(i);
		}
		if (nanos() > end) {
			printf("{\"error\":\"%lld of %d clients are connected after 30 s\"}\n", connected, wanted);
			return;
		}
	}
	printf("{\"value\":null}\n");
}

void crowd_run(const char *line)
{
	long long size = number(line, "size"), slots = number(line, "every") / 1000000, length = number(line, "for") / 1000000, sent = 0;
	int64_t started = nanos(), begin = started;
	got = samples = 0;
	since = started;
	for (long long ms = 0; ms < length; ms++) {
		int64_t due = begin + ms * 1000000, now = nanos();
		if (now - due > 5000000) {
			begin += now - due;
			due = now;
		}
		while (nanos() < due)
			if (wait_tick() < 0) {
				fail("a client was lost");
				return;
			}
		for (int i = ms % slots; i < n; i += slots) {
			ENetPacket *p = enet_packet_create(NULL, size, flags);
			memset(p->data, 0, size);
			put64(p->data, nanos());
			enet_peer_send(peers[i], 0, p);
			if (!turn(i)) { // sends it, and does what is due 20 times a second
				fail("a client was lost");
				return;
			}
			sent++;
		}
	}
	int64_t took = nanos() - started, end = nanos() + number(line, "patience");
	while (nanos() < end && got < sent)
		if (wait_tick() < 0) {
			fail("a client was lost");
			return;
		}
	printf("{\"value\":{\"sent\":%lld,\"took\":%lld,\"got\":%lld,\"late\":[", sent, (long long)took, got);
	for (long long i = 0; i < samples; i++)
		printf("%s%lld", i ? "," : "", (long long)late[i]);
	printf("]}}\n");
}
