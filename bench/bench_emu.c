/* Speed of the emulator: thread instructions per second of five kernels (bench/emu.cu), for every
 * instruction set this CPU runs, with and without the conflict profile, on one core and on all.
 * Prints one JSON line each, and geometric means. */
#include "five.h"

#include <math.h>

/* Thread instructions per second. */
static double measure(const bench *at, unsigned index, unsigned workers, bool profiled) {
  bf_diagnostic diagnostic = {0};
  const bf_emu_kernel *code;
  if (bf_emu_kernel_get(at->module, kernels[index].name, &code, &diagnostic))
    die(&diagnostic);
  unsigned char parameters[64];
  bf_profile *profile = NULL;
  bf_emu_observer observer;
  if (profiled) {
    if (bf_profile_create(at->machine, NULL, code, workers, &profile, &diagnostic))
      die(&diagnostic);
    observer = bf_profile_observer(profile);
  }
  bf_emu_launch launch = {.kernel = code,
                          .parameters = parameters,
                          .parameter_bytes = pack(at, index, parameters),
                          .workers = workers,
                          .observer = profiled ? &observer : NULL};
  memcpy(launch.grid, kernels[index].grid, sizeof launch.grid);
  memcpy(launch.block, kernels[index].block, sizeof launch.block);
  double best = 0;
  double start = bf_seconds();
  do {
    double begun = bf_seconds();
    bf_emu_result result;
    if (bf_emu_run(at->emu, &launch, &result, &diagnostic))
      die(&diagnostic);
    if (result.fault.kind) {
      fprintf(stderr, "bench_emu: %s\n", bf_emu_fault_name(result.fault.kind));
      exit(2);
    }
    double speed = (double)result.thread_instructions / (bf_seconds() - begun);
    best = speed > best ? speed : best;
  } while (bf_seconds() - start < 0.3);
  bf_profile_free(profile);
  return best;
}

static void run_set(const bf_ptx_module *ptx, const bf_machine *machine, const char *set,
                    unsigned workers, bool profiled) {
  bench at = {.machine = machine};
  prepare(&at, ptx, set);
  double sum = 0;
  for (unsigned i = 0; i < KERNELS; i++) {
    double speed = measure(&at, i, workers, profiled);
    sum += log(speed);
    printf(
        "{\"bench\": \"emu\", \"kernel\": \"%s\", \"set\": \"%s\", \"cores\": %u, \"profile\": %s, "
        "\"thread_instructions_per_second\": %.3g}\n",
        kernels[i].name, set, workers, profiled ? "true" : "false", speed);
  }
  printf("{\"bench\": \"emu\", \"kernel\": \"geometric mean\", \"set\": \"%s\", \"cores\": %u, "
         "\"profile\": %s, \"thread_instructions_per_second\": %.3g}\n",
         set, workers, profiled ? "true" : "false", exp(sum / KERNELS));
  bf_emu_free(at.emu);
}

int main(void) {
  bf_diagnostic diagnostic = {0};
  size_t size;
  char *text = read_all("bench/emu.ptx", &size);
  bf_ptx_module *ptx;
  bf_machine *machine;
  if (bf_ptx_parse("bench/emu.ptx", text, size, &ptx, &diagnostic) ||
      bf_machine_load("hopper", NULL, &machine, &diagnostic))
    die(&diagnostic);
  static const char *const sets[] = {"avx512", "avx2", "plain"};
  for (unsigned i = 0; i < 3; i++) {
    if (!bf_emu_isa_find(sets[i]))
      continue;
    run_set(ptx, machine, sets[i], 1, false);
    run_set(ptx, machine, sets[i], 1, true);
    if (bf_cores() > 1)
      run_set(ptx, machine, sets[i], bf_cores(), false);
  }
  bf_ptx_free(ptx);
  bf_machine_free(machine);
  free(text);
  return 0;
}
