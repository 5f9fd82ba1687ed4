/* Traces of machine instructions: whatever is read is simulated to its end, and what is not is
 * explained. */
#include "sim/sass.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_diagnostic diagnostic = {0};
  bf_sim_gpu *gpu;
  bf_sim_sass *trace;
  if (bf_sim_gpu_load("h200", &gpu, &diagnostic))
    return 0;
  int error =
      bf_sim_sass_parse("fuzz", (const char *)data, size, gpu->machine, &trace, &diagnostic);
  assert(!error || diagnostic.message[0]);
  if (!error) {
    bf_emu_launch launch = bf_sim_sass_launch(trace);
    bf_sim_settings settings = {.gpu = gpu, .workers = 1};
    bf_sim_result result;
    if (bf_sim_sass_run(&settings, trace, &launch, &result, &diagnostic) == BF_OK) {
      assert(result.waits == 0);
      bf_arena_free(&result.arena);
    }
    bf_sim_sass_free(trace);
  }
  bf_sim_gpu_free(gpu);
  return 0;
}
