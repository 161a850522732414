#include "arena.h"
#include <math.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

// The players of W5: a host each, with its socket, and one thread for all, as in crowd.c. What they do is that of feel_player.go.
typedef struct {
	ENetHost *host;
	ENetPeer *peer;
	int you; // its entity, 0 if it has not been told
	int saw; // others in the last records
	float *angles;
	int64_t *at;
	int steps, seen;
	int64_t due, again; // when it asks next, and when it repeats
} Player;

static Player *players;
static int n, entered, lost, repeats, poll_fd = -1, clock_fd;
static int64_t *times, *late;
static long long all_times, all_late;

enum { MAX_STEPS = 1024, JOINING = 32, SWEEP = 5000000, REPEAT = 50000000 };

// see finds the step of a direction in which the player goes. With it those before are seen.
static void see(Player *p, float angle)
{
	int64_t now = nanos();
	for (int k = p->steps - 1; k >= p->seen; k--)
		if (p->angles[k] == angle)
			for (; p->seen <= k; p->seen++)
				times[all_times++] = now - p->at[p->seen];
}

static void take(Player *p, ENetPacket *packet)
{
	uint8_t *b = packet->data;
	if (packet->dataLength == YOU_BYTES && b[0] == YOU) {
		p->you = get16(b + 1);
		return;
	}
	int records = (packet->dataLength - 1) / RECORD_BYTES;
	for (b++; records-- > 0; b += RECORD_BYTES)
		if (p->you && get16(b) == p->you) {
			entered += p->saw < 0;
			p->saw = (packet->dataLength - 1) / RECORD_BYTES - 1;
			see(p, get_float(b + RECORD_ANGLE));
		}
}

static void turn(Player *p)
{
	ENetEvent ev;
	while (enet_host_service(p->host, &ev, 0) > 0) {
		if (ev.type == ENET_EVENT_TYPE_RECEIVE) {
			take(p, ev.packet);
			enet_packet_destroy(ev.packet);
		} else if (ev.type == ENET_EVENT_TYPE_DISCONNECT) {
			lost++;
		}
	}
}

static void watch(int fd, int i)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev);
}

// wait_tick has players take what comes until a millisecond has passed. Each looks at least every 5 ms for what is to be sent
// again.
static void wait_tick(void)
{
	static int64_t sweep;
	for (int tick = 0; !tick;) {
		struct epoll_event ready[256];
		int count = epoll_wait(poll_fd, ready, 256, -1);
		for (int k = 0; k < count; k++) {
			uint64_t times;
			if (ready[k].data.u32 == UINT32_MAX)
				tick = read(clock_fd, &times, sizeof times) > 0;
			else
				turn(&players[ready[k].data.u32]);
		}
	}
	if (nanos() < sweep)
		return;
	sweep = nanos() + SWEEP;
	for (int i = 0; i < n; i++)
		turn(&players[i]);
}

void arena_enter(const char *line)
{
	ENetAddress to;
	int wanted = number(line, "players");
	int64_t end = nanos() + 80000000000LL;
	struct itimerspec ms = {{0, 1000000}, {0, 1000000}};
	addr_of(line, "addr", &to);
	repeats = has(line, "\"peer\":\"enet arena repeated\"");
	poll_fd = epoll_create1(0);
	clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timerfd_settime(clock_fd, 0, &ms, NULL);
	watch(clock_fd, -1);
	players = calloc(wanted, sizeof *players);
	times = calloc((size_t)wanted * MAX_STEPS, sizeof *times);
	late = calloc((size_t)wanted * MAX_STEPS, sizeof *late);
	while (entered < wanted) {
		for (; n < wanted && n - entered < JOINING; n++) {
			Player *p = &players[n];
			p->saw = -1;
			p->angles = calloc(MAX_STEPS, sizeof *p->angles);
			p->at = calloc(MAX_STEPS, sizeof *p->at);
			p->host = enet_host_create(NULL, 1, 2, 0, 0);
			p->peer = p->host ? enet_host_connect(p->host, &to, 2, 0) : NULL;
			if (!p->peer) {
				fail("a player cannot be made");
				return;
			}
			watch(p->host->socket, n);
			enet_host_flush(p->host);
		}
		wait_tick();
		if (lost || nanos() > end) {
			printf("{\"error\":\"%d of %d players have entered, and %d were lost\"}\n", entered, wanted, lost);
			return;
		}
	}
	printf("{\"value\":null}\n");
}

// ask sends the direction of the last step.
static void ask(Player *p)
{
	uint8_t b[INPUT_BYTES] = {0};
	put_float(b + 1, p->angles[p->steps - 1]);
	put_float(b + 5, 1);
	enet_peer_send(p->peer, 0, enet_packet_create(b, sizeof b, repeats ? 0 : ENET_PACKET_FLAG_RELIABLE));
	enet_host_flush(p->host);
}

// step has a player ask for what is due.
static void step(int i, long long every, int64_t end)
{
	Player *p = &players[i];
	int64_t now = nanos();
	if (p->due <= now && p->due < end && p->steps < MAX_STEPS) {
		late[all_late++] = now - p->due;
		p->angles[p->steps] = remainder(i + .25 * (p->steps + 1), 2 * M_PI);
		p->at[p->steps] = now;
		p->due += every + p->steps * 7 % 40 * 1000000LL;
		p->steps++;
		p->again = now + REPEAT;
		ask(p);
	} else if (repeats && p->steps && p->again <= now) {
		p->again += REPEAT;
		ask(p);
	}
}

static void show(const char *name, const int64_t *list, long long count)
{
	printf(",\"%s\":[", name);
	for (long long i = 0; i < count; i++)
		printf("%s%lld", i ? "," : "", (long long)list[i]);
	printf("]");
}

void arena_play(const char *line)
{
	long long every = number(line, "every"), asked = 0, seen = 0;
	int64_t began = nanos() + number(line, "warm"), end = began + number(line, "for"), last = end + number(line, "patience");
	double sight = 0;
	for (int i = 0; i < n; i++)
		players[i].due = began + every * i / n;
	while (nanos() < last && !lost) {
		wait_tick();
		int waits = nanos() < end;
		for (int i = 0; i < n; i++) {
			step(i, every, end);
			waits += players[i].seen < players[i].steps;
		}
		if (!waits)
			break;
	}
	if (lost) {
		fail("the connection of a player ended");
		return;
	}
	int64_t now = nanos(); // a step that was not seen counts with the time that it was waited for
	for (int i = 0; i < n; i++) {
		Player *p = &players[i];
		asked += p->steps;
		seen += p->seen;
		sight += (double)p->saw / n;
		for (int k = p->seen; k < p->steps; k++)
			times[all_times++] = now - p->at[k];
	}
	printf("{\"value\":{\"steps\":%lld,\"seen\":%lld,\"sight\":%f", asked, seen, sight);
	show("times", times, all_times);
	show("late", late, all_late);
	printf("}}\n");
}
