/* Speed of the simulator by class of kernel, on the whole H200: warp instructions and lines of
 * global memory per second of processor time, for each kernel of bench/weak.cu, with one thread and
 * with two. CPU time, so that other programs on the machine do not count; that of two threads
 * beside that of one says what working together costs. Prints one JSON line each, and stops where
 * the cycles of two threads are not those of one. Arguments: names of kernels; all without.
 *
 * What is asked for: 3 million warp instructions per second and core in every class. A warp that
 * gathers touches 32 lines, each of which passes caches, queues and DRAM by itself. */
#include "sim/sim.h"
#include "weak.h"

typedef struct speed {
  double instructions, sectors, seconds, clock;
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
  speed found = {(double)result.emu.warp_instructions, (double)result.global_sectors,
                 cpu_seconds() - cpu, bf_seconds() - clock, result.cycles};
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
         "%.3g, \"core_seconds\": %.3g, \"seconds\": %.3g, \"cycles\": %llu}\n",
         own->name, workers, found->instructions, found->instructions / found->seconds,
         found->sectors / found->seconds, found->seconds, found->clock,
         (unsigned long long)found->cycles);
  fflush(stdout);
}

int main(int arguments, char **argument) {
  bf_diagnostic diagnostic = {0};
  size_t size;
  char *text = read_all("bench/weak.ptx", &size);
  bf_ptx_module *ptx;
  bf_sim_gpu *gpu;
  bench at;
  if (bf_ptx_parse("bench/weak.ptx", text, size, &ptx, &diagnostic) ||
      bf_sim_gpu_load("h200", &gpu, &diagnostic))
    die(diagnostic.message);
  load(&at, ptx, NULL);
  for (unsigned i = 0; i < KERNELS; i++) {
    if (!is_wanted(kernels[i].name, arguments - 1, argument + 1))
      continue;
    kernel wide = kernels[i]; /* two blocks for each multiprocessor */
    wide.blocks = wide.blocks == 64 ? 264 : wide.blocks;
    speed one = measure(&at, &wide, gpu, 1), two = measure(&at, &wide, gpu, 2);
    print(&wide, 1, &one);
    print(&wide, 2, &two);
    if (one.cycles != two.cycles)
      die("two threads give other cycles than one");
  }
  bf_sim_gpu_free(gpu);
  bf_emu_free(at.emu);
  bf_ptx_free(ptx);
  free(text);
  return 0;
}
