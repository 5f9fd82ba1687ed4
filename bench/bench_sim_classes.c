/* Speed of the simulator by class of kernel, on the whole H200: warp instructions and lines of
 * global memory per second of processor time, for each kernel of bench/weak.cu, with one thread,
 * two, four and so on.
 *
 *   bench_sim_classes [--threads N] [KERNEL...]     N: the most threads, 2 without
 *
 * CPU time, so that other programs on the machine do not count; that of several threads beside that
 * of one says what working together costs. Prints one JSON line each, and stops where the cycles of
 * several threads are not those of one. The last line for each number of threads says how many
 * times as fast they are by the clock, on a machine that does nothing else: as a geometric mean of
 * all classes, and of the slowest class.
 *
 * What is asked for: 3 million warp instructions per second and core in every class. A warp that
 * gathers touches 32 lines, each of which passes caches, queues and DRAM by itself. */
#include "sim/sim.h"
#include "weak.h"

#include <math.h>

typedef struct speed {
  double instructions, sectors, seconds, clock, alone;
  uint64_t cycles;
} speed;

/* Simulates a launch. */
static speed simulate(const bench *at, const kernel *own, const bf_sim_gpu *gpu, unsigned workers) {
  bf_diagnostic diagnostic = {0};
  unsigned char parameters[32];
  bf_sim_settings settings = {.gpu = gpu, .workers = workers};
  bf_emu_launch launch = prepare(at, own, workers, parameters);
  bf_sim_result result;
  reset(at, own);
  double cpu = cpu_seconds(), clock = bf_seconds();
  if (bf_sim_run(&settings, at->emu, &launch, &result, &diagnostic))
    die(diagnostic.message);
  if (result.emu.fault.kind)
    die(bf_emu_fault_name(result.emu.fault.kind));
  speed found = {(double)result.emu.warp_instructions,
                 (double)result.global_sectors,
                 cpu_seconds() - cpu,
                 bf_seconds() - clock,
                 result.host_alone_seconds,
                 result.cycles};
  bf_arena_free(&result.arena);
  return found;
}

/* The faster of two launches. */
static speed measure(const bench *at, const kernel *own, const bf_sim_gpu *gpu, unsigned workers) {
  speed first = simulate(at, own, gpu, workers), second = simulate(at, own, gpu, workers);
  return first.seconds < second.seconds ? first : second;
}

static void print(const kernel *own, unsigned workers, const speed *found) {
  printf("{\"bench\": \"sim_classes\", \"kernel\": \"%s\", \"gpu\": \"h200\", \"threads\": %u, "
         "\"warp_instructions\": %.3g, \"per_core_second\": %.3g, \"sectors_per_core_second\": "
         "%.3g, \"core_seconds\": %.3g, \"seconds\": %.3g, \"alone\": %.2f, \"cycles\": %llu}\n",
         own->name, workers, found->instructions, found->instructions / found->seconds,
         found->sectors / found->seconds, found->seconds, found->clock,
         found->alone / found->seconds, (unsigned long long)found->cycles);
  fflush(stdout);
}

/* How many times as fast as one thread so many are by the clock, over all classes. */
typedef struct scaling {
  double logarithms, least, seconds;
  unsigned kernels;
} scaling;

enum { MOST_DOUBLINGS = 10 };

static void note(scaling *to, const speed *one, const speed *own) {
  double faster = one->clock / own->clock;
  to->least = to->kernels == 0 || faster < to->least ? faster : to->least;
  to->logarithms += log(faster);
  to->seconds += own->seconds / one->seconds;
  to->kernels++;
}

static void print_scaling(const scaling *found, unsigned workers) {
  printf("{\"bench\": \"sim_classes\", \"threads\": %u, \"kernels\": %u, \"times_as_fast\": %.2f, "
         "\"least\": %.2f, \"core_seconds_of_one\": %.2f}\n",
         workers, found->kernels, exp(found->logarithms / found->kernels), found->least,
         found->seconds / found->kernels);
}

/* A kernel with one thread and with more and more; by doublings. */
static void measure_all(const bench *at, const kernel *own, const bf_sim_gpu *gpu,
                        unsigned most_threads, scaling *scalings) {
  speed one = measure(at, own, gpu, 1);
  print(own, 1, &one);
  for (unsigned i = 1; 1u << i <= most_threads && i < MOST_DOUBLINGS; i++) {
    speed more = measure(at, own, gpu, 1u << i);
    print(own, 1u << i, &more);
    if (one.cycles != more.cycles)
      die("several threads give other cycles than one");
    note(&scalings[i], &one, &more);
  }
}

int main(int arguments, char **argument) {
  bf_diagnostic diagnostic = {0};
  size_t size;
  char *text = read_all("bench/weak.ptx", &size);
  bf_ptx_module *ptx;
  bf_sim_gpu *gpu;
  bench at;
  scaling scalings[MOST_DOUBLINGS] = {0};
  bool is_told = arguments > 2 && strcmp(argument[1], "--threads") == 0;
  unsigned most_threads = is_told ? (unsigned)atoi(argument[2]) : 2;
  int options = is_told ? 2 : 0;
  if (bf_ptx_parse("bench/weak.ptx", text, size, &ptx, &diagnostic) ||
      bf_sim_gpu_load("h200", &gpu, &diagnostic))
    die(diagnostic.message);
  load(&at, ptx, NULL);
  for (unsigned i = 0; i < KERNELS; i++) {
    if (!is_wanted(kernels[i].name, arguments - 1 - options, argument + 1 + options))
      continue;
    kernel wide = kernels[i]; /* two blocks for each multiprocessor */
    wide.blocks = wide.blocks == 64 ? 264 : wide.blocks;
    measure_all(&at, &wide, gpu, most_threads, scalings);
  }
  for (unsigned i = 1; i < MOST_DOUBLINGS; i++)
    if (scalings[i].kernels)
      print_scaling(&scalings[i], 1u << i);
  bf_sim_gpu_free(gpu);
  bf_emu_free(at.emu);
  bf_ptx_free(ptx);
  free(text);
  return 0;
}
