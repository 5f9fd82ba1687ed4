/* Speed of what the emulator is worst at: thread instructions per second of CPU time, for each
 * kernel of bench/weak.cu, on one core and with a worker on each; and microseconds per launch of a
 * kernel of four blocks. CPU time, so that other programs on the machine do not count; the time by
 * the clock is printed too. Of kernels that do little but load, host_per_cpu_second says how fast
 * they would be if their loads alone took time (weak_host.h). Prints one JSON line each. Arguments:
 * instruction set, and names of kernels; all, and the best set, without.
 */
#include "weak_host.h"

enum { LAUNCHES = 2000 };

static uint64_t run(const bench *at, const bf_emu_launch *launch) {
  bf_diagnostic diagnostic = {0};
  bf_emu_result result;
  if (bf_emu_run(at->emu, launch, &result, &diagnostic))
    die(diagnostic.message);
  if (result.fault.kind)
    die(bf_emu_fault_name(result.fault.kind));
  return result.thread_instructions;
}

/* The best of some launches, by CPU time and by the clock. */
static void measure(const bench *at, const kernel *own, const char *set, unsigned workers) {
  unsigned char parameters[32];
  bf_emu_launch launch = prepare(at, own, workers, parameters);
  double by_cpu = 0, by_clock = 0, least_cpu = 0, least_clock = 0, instructions,
         start = bf_seconds();
  reset(at, own);
  run(at, &launch);
  do {
    double cpu = cpu_seconds(), clock = bf_seconds();
    instructions = (double)run(at, &launch);
    cpu = cpu_seconds() - cpu;
    clock = bf_seconds() - clock;
    by_cpu = instructions / cpu > by_cpu ? instructions / cpu : by_cpu;
    by_clock = instructions / clock > by_clock ? instructions / clock : by_clock;
    least_cpu = least_cpu == 0 || cpu < least_cpu ? cpu : least_cpu;
    least_clock = least_clock == 0 || clock < least_clock ? clock : least_clock;
  } while (bf_seconds() - start < 0.4);
  printf("{\"bench\": \"weak\", \"kernel\": \"%s\", \"set\": \"%s\", \"workers\": %u, "
         "\"thread_instructions_per_cpu_second\": %.3g, \"per_second\": %.3g, "
         "\"cpu_milliseconds\": %.3g, \"milliseconds\": %.3g",
         own->name, set, workers, by_cpu, by_clock, 1e3 * least_cpu, 1e3 * least_clock);
  double host = host_seconds(at, own);
  if (host > 0)
    printf(", \"host_per_cpu_second\": %.3g", instructions / host);
  printf("}\n");
  fflush(stdout);
}

/* Microseconds per launch of a kernel that does next to nothing. */
static void measure_launches(const bench *at, const char *set, unsigned workers) {
  const kernel own = {"small", 4, 128, 512};
  unsigned char parameters[32];
  bf_emu_launch launch = prepare(at, &own, workers, parameters);
  run(at, &launch);
  double cpu = cpu_seconds(), clock = bf_seconds();
  for (unsigned i = 0; i < LAUNCHES; i++)
    run(at, &launch);
  printf("{\"bench\": \"weak\", \"kernel\": \"launch\", \"set\": \"%s\", \"workers\": %u, "
         "\"cpu_microseconds\": %.3g, \"microseconds\": %.3g}\n",
         set, workers, 1e6 * (cpu_seconds() - cpu) / LAUNCHES,
         1e6 * (bf_seconds() - clock) / LAUNCHES);
}

int main(int arguments, char **argument) {
  bf_diagnostic diagnostic = {0};
  size_t size;
  char *text = read_all("bench/weak.ptx", &size);
  const bf_emu_isa *isa = bf_emu_isa_find(arguments > 1 ? argument[1] : NULL);
  bf_ptx_module *ptx;
  bench at;
  if (!isa)
    die("this CPU has no such instruction set");
  if (bf_ptx_parse("bench/weak.ptx", text, size, &ptx, &diagnostic))
    die(diagnostic.message);
  load(&at, ptx, isa->name);
  for (unsigned workers = 1; workers <= bf_cores() && workers <= 2; workers++) {
    for (unsigned i = 0; i < KERNELS; i++)
      if (is_wanted(kernels[i].name, arguments - 2, argument + 2))
        measure(&at, &kernels[i], isa->name, workers);
    if (is_wanted("launch", arguments - 2, argument + 2))
      measure_launches(&at, isa->name, workers);
  }
  bf_emu_free(at.emu);
  bf_ptx_free(ptx);
  free(text);
  return 0;
}
