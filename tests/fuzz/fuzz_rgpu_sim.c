/* Graphs on the simulator of R-GPU: whatever is read runs to its end, or says why not. The first
 * two bytes are the sizes of FIFOs. */
#include "rgpu/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void simulate(const bf_rgpu_setup *setup, const bf_sim_gpu *gpu, unsigned data_fifo,
                     unsigned address_fifo) {
  bf_rgpu_sim_settings settings = {
      .gpu = gpu, .fabric = bf_rgpu_fabric_published(), .most_cycles = 3000};
  bf_rgpu_sim_result result;
  bf_diagnostic diagnostic = {0};
  unsigned char *memory;
  settings.fabric.data_fifo = data_fifo;
  settings.fabric.address_fifo = address_fifo;
  if (bf_rgpu_memory_create(setup, &memory, &diagnostic) != BF_OK) {
    assert(diagnostic.message[0]);
    return;
  }
  int error = bf_rgpu_simulate(&settings, setup, memory, &result, &diagnostic);
  assert(error == BF_OK || diagnostic.message[0]);
  bf_arena_free(&result.arena);
  free(memory);
}

/* Small memories only: what is large takes long. */
static void try_graph(const bf_rgpu_graph *graph, unsigned data_fifo, unsigned address_fifo) {
  bf_rgpu_setup *setup;
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic = {0};
  if (bf_rgpu_setup_create(graph, 1, 0, NULL, &setup, &diagnostic) != BF_OK)
    return;
  assert(bf_sim_gpu_load("gtx480", &gpu, &diagnostic) == BF_OK);
  gpu->sms = 2;
  if (setup->global_bytes < 1 << 20 && setup->shared_bytes < 1 << 16)
    simulate(setup, gpu, data_fifo, address_fifo);
  bf_sim_gpu_free(gpu);
  bf_rgpu_setup_free(setup);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = size > 2 ? malloc(size - 1) : NULL;
  if (!text)
    return 0;
  memcpy(text, data + 2, size - 2);
  text[size - 2] = 0;
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic = {0};
  if (bf_rgpu_parse("fuzz", text, &graph, &diagnostic) == BF_OK) {
    try_graph(graph, data[0] % 32, data[1]);
    bf_rgpu_free(graph);
  }
  free(text);
  return 0;
}
