/* A clock of two processors that nobody else uses: preloaded, CLOCK_MONOTONIC is half of the
 * processor time of the process. A search of two threads with a limit then takes what it would take
 * on a machine at rest, whatever else runs:
 *
 *   cc -O2 -shared -fPIC bench/two_cores.c -o two_cores.so
 *   LD_PRELOAD=./two_cores.so build/bench/bench_search 60 strides128
 *
 * Times in which fewer than two threads have work count for less than they take. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
  const long long second = 1000000000;
  long error =
      syscall(SYS_clock_gettime, id == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : id, now);
  if (error == 0 && id == CLOCK_MONOTONIC) {
    long long half = (now->tv_sec * second + now->tv_nsec) / 2 + second;
    now->tv_sec = half / second;
    now->tv_nsec = half % second;
  }
  return (int)error;
}
