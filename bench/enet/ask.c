#include "peer.h"
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

// number returns the number behind a key of a line that bench wrote, or 0.
long long number(const char *line, const char *key)
{
	char quoted[64];
	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	const char *at = strstr(line, quoted);
	return at ? atoll(at + strlen(quoted)) : 0;
}

int has(const char *line, const char *word) { return strstr(line, word) != NULL; }

int is_reliable(const char *line) { return !has(line, "\"peer\":\"enet unreliable\""); }

int channels_of(const char *line) { return has(line, "\"peer\":\"enet channels\"") ? 64 : 1; }

void large_buffers(ENetHost *host)
{
	enet_socket_set_option(host->socket, ENET_SOCKOPT_RCVBUF, 4 << 20);
	enet_socket_set_option(host->socket, ENET_SOCKOPT_SNDBUF, 4 << 20);
}

void addr_of(const char *line, const char *key, ENetAddress *to)
{
	char quoted[64], host[64] = "127.0.0.1";
	int port = 0;
	snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
	const char *at = strstr(line, quoted);
	if (at)
		sscanf(at + strlen(quoted), "%63[0-9.]:%d", host, &port);
	enet_address_set_host(to, host);
	to->port = port;
}

// nanos is the time of day, which other processes know too.
int64_t nanos(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void sleep_until(int64_t when)
{
	struct timespec t = {when / 1000000000LL, when % 1000000000LL};
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL);
}

void put64(uint8_t *b, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		b[i] = x >> (56 - 8 * i);
}

uint64_t get64(const uint8_t *b)
{
	uint64_t x = 0;
	for (int i = 0; i < 8; i++)
		x = x << 8 | b[i];
	return x;
}

void fail(const char *why) { printf("{\"error\":\"%s\"}\n", why); }

static void cpu(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	printf("{\"value\":{\"user\":%lld,\"system\":%lld,\"switches\":%lld}}\n", r.ru_utime.tv_sec * 1000000000LL + r.ru_utime.tv_usec * 1000LL,
		r.ru_stime.tv_sec * 1000000000LL + r.ru_stime.tv_usec * 1000LL, (long long)r.ru_nvcsw + r.ru_nivcsw);
}

static void memory(void)
{
	long long size = 0, pages = 0;
	malloc_trim(0);
	FILE *f = fopen("/proc/self/statm", "r");
	if (f) {
		if (fscanf(f, "%lld %lld", &size, &pages) != 2)
			pages = 0;
		fclose(f);
	}
	printf("{\"value\":{\"resident\":%lld,\"own\":0}}\n", pages * sysconf(_SC_PAGESIZE));
}

int main(int argc, char **argv)
{
	static char line[1 << 16];
	if (argc > 1) {
		ENetVersion v = enet_linked_version();
		printf("%d.%d.%d\n", ENET_VERSION_GET_MAJOR(v), ENET_VERSION_GET_MINOR(v), ENET_VERSION_GET_PATCH(v));
		return 0;
	}
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max; // a crowd has a socket a client
		setrlimit(RLIMIT_NOFILE, &files);
	}
	enet_initialize();
	while (fgets(line, sizeof line, stdin)) {
		if (has(line, "\"do\":\"listen\""))
			server_listen(line);
		else if (has(line, "\"do\":\"count\""))
			server_count();
		else if (has(line, "\"do\":\"cpu\""))
			cpu();
		else if (has(line, "\"do\":\"memory\""))
			memory();
		else if (has(line, "\"do\":\"dial\""))
			client_dial(line, is_reliable(line));
		else if (has(line, "\"do\":\"echo\""))
			client_echo(line);
		else if (has(line, "\"do\":\"rush\""))
			client_rush(line);
		else if (has(line, "\"do\":\"gather\""))
			crowd_gather(line, is_reliable(line));
		else if (has(line, "\"do\":\"crowd\""))
			crowd_run(line);
		else if (has(line, "\"do\":\"arena\""))
			arena_listen(line);
		else if (has(line, "\"do\":\"enter\""))
			arena_enter(line);
		else if (has(line, "\"do\":\"play\""))
			arena_play(line);
		else
			fail("no such thing to do");
		fflush(stdout);
	}
	return 0;
}
