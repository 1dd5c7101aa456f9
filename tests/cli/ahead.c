/* Loaded before the C library: the clock of the server is two minutes ahead. */

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    long status = syscall(SYS_gettimeofday, time, zone);
    time->tv_sec += 120;
    return (int)status;
}
