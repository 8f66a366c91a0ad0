/*
 * A shifted wall clock for a C program of the fault suite (LD_PRELOAD): it adds ADNET_FAULT_CLOCK
 * seconds to the machine's time. Monotonic clocks and timeouts are unchanged.
 *
 * libfaketime does this for most programs, but not for redis-server: it looks up the C library's
 * functions in its first call, which allocates, and Debian's Redis allocates with jemalloc, which
 * asks for the time while it starts. This library calls the kernel directly.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift;

__attribute__((constructor)) static void read_shift(void) {
	const char *text = getenv("ADNET_FAULT_CLOCK");
	shift = text ? strtol(text, NULL, 10) : 0;
}

static int wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI; }

int clock_gettime(clockid_t clock, struct timespec *at) {
	int failed = (int)syscall(SYS_clock_gettime, clock, at);
	if (!failed && wall(clock))
		at->tv_sec += shift;
	return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
	struct timespec now;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at) {
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return (time_t)-1;
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}
