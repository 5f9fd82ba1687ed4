/* Lets allocation number 0, 1, 2, ... fail while a graph runs on the simulator of R-GPU: each time
 * the answer is that memory ran out. Leaks are found by the sanitizer. */
#include "../failing_memory.h"
#include "rgpu/sim.h"

#include <string.h>

static const char *const text =
    "graph rows\narray out u32 64*5 = 7*index present 64\narray in u32 64 = index\n"
    "shared own u32 32\niterations 64\nblocks 4\na = inc step 4 start out + 256*block\n"
    "b = ld.wait.u32 [a]\nd = inc step 4 start in\ne = ld.u32 [d]\nc = add.u32 b, e\n"
    "f = st.cg.u32 [a + 256], c\ng = inc step 0\nh = red.shared.add.u32 [g], 1\n"
    "final in[index] = c last 2\n";

typedef struct prepared {
  const bf_sim_gpu *gpu;
  const bf_rgpu_setup *setup;
} prepared;

static int try_memory(const void *given) {
  const prepared *own = given;
  unsigned char *memory = NULL;
  int result = verdict(bf_rgpu_memory_create(own->setup, &memory, NULL));
  free(memory);
  return result;
}

static int try_simulate(const void *given) {
  const prepared *own = given;
  static unsigned char memory[1 << 16];
  bf_rgpu_sim_settings settings = {.gpu = own->gpu, .fabric = bf_rgpu_fabric_published()};
  bf_rgpu_sim_result result;
  memset(memory, 0, sizeof memory);
  int answer = verdict(bf_rgpu_simulate(&settings, own->setup, memory, &result, NULL));
  bf_arena_free(&result.arena);
  return answer;
}

/* ---- Deadlocks ---- */

/* Loads that fill the queue of a slice are a deadlock. */
static int try_deadlock(const void *given) {
  const prepared *own = given;
  static unsigned char memory[1 << 16];
  bf_rgpu_sim_settings settings = {.gpu = own->gpu, .fabric = bf_rgpu_fabric_published()};
  bf_rgpu_sim_result result;
  int error = bf_rgpu_simulate(&settings, own->setup, memory, &result, NULL);
  int answer = verdict(error == BF_BAD_INPUT && result.stuck_blocks == 15 ? BF_OK : error);
  bf_arena_free(&result.arena);
  return answer;
}

/* With some more nodes, what is kept of the deadlock needs memory of its own. */
static bool deadlocks_fail_well(const bf_sim_gpu *gpu, unsigned more) {
  bf_text graph_text = {0};
  bf_rgpu_graph *graph;
  bf_rgpu_setup *setup;
  bf_text_puts(&graph_text, "graph g\narray out u32 64\niterations 1\nblocks 15\n"
                            "a = inc step 4 start out\nb = ld.wait.u32 [a]\n");
  for (unsigned i = 0; i < more; i++)
    bf_text_addf(&graph_text, "a_rather_long_name_for_node_%u = add.u32 b, %u\n", i, i);
  if (bf_rgpu_parse("test", graph_text.data, &graph, NULL) != BF_OK ||
      bf_rgpu_setup_create(graph, 1, 0, NULL, &setup, NULL) != BF_OK)
    exit(2);
  bf_text_free(&graph_text);
  const prepared own = {.gpu = gpu, .setup = setup};
  bool fine = all_fail_well("deadlock", try_deadlock, &own);
  bf_rgpu_setup_free(setup);
  bf_rgpu_free(graph);
  return fine;
}

int main(void) {
  bf_rgpu_graph *graph;
  bf_rgpu_setup *setup;
  bf_sim_gpu *gpu;
  if (bf_rgpu_parse("test", text, &graph, NULL) != BF_OK ||
      bf_rgpu_setup_create(graph, 1, 0, NULL, &setup, NULL) != BF_OK ||
      bf_sim_gpu_load("gtx480", &gpu, NULL) != BF_OK)
    return 2;
  const prepared own = {.gpu = gpu, .setup = setup};
  bool fine = all_fail_well("memory", try_memory, &own);
  fine &= all_fail_well("simulate", try_simulate, &own);
  for (unsigned more = 0; more < 30; more++)
    fine &= deadlocks_fail_well(gpu, more);
  bf_sim_gpu_free(gpu);
  bf_rgpu_setup_free(setup);
  bf_rgpu_free(graph);
  return fine ? 0 : 1;
}
