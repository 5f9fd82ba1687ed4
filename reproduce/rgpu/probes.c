/* Which benchmark runs under which condition, and with FIFOs of which sizes. */
#include "reproduce/rgpu/probes.h"

const char *const rgpu_condition_titles[RGPU_CONDITIONS] = {
    [RGPU_TAKES] = "what is in a pipeline takes an entry",
    [RGPU_SLOW_CORES] = "cores of twice the latency",
    [RGPU_SHORT_WAY] = "half the way to the second-level cache and back",
    [RGPU_HALF_DRAM] = "DRAM of half the bandwidth",
    [RGPU_SMALL_CACHE] = "16 KB of first-level cache",
    [RGPU_TINY_CACHE] = "4 KB of first-level cache",
    [RGPU_FREE_MEMORY] = "memory without limits",
    [RGPU_FAST_BANKS] = "banks that are free in half the time"};

enum { MOST_CHANGES = 5 };
static const char *const changes[RGPU_CONDITIONS][MOST_CHANGES] = {
    [RGPU_SHORT_WAY] = {"request_cycles=70", "return_cycles=70"},
    [RGPU_HALF_DRAM] = {"dram_sector_cycles=3.032"},
    [RGPU_SMALL_CACHE] = {"l1_bytes=16384", "l1_ways=4"},
    [RGPU_TINY_CACHE] = {"l1_bytes=4096", "l1_ways=4"},
    [RGPU_FREE_MEMORY] = {"dram_sector_cycles=0.01", "dram_bank_cycles=1", "l2_sector_cycles=0.01",
                          "return_bytes_per_cycle=1024"},
    [RGPU_FAST_BANKS] = {"shared_wavefront_cycles=1"}};

const rgpu_probe rgpu_probes[RGPU_PROBES] = {{&rgpu_path, RGPU_TAKES, 4, 256},
                                             {&rgpu_path, RGPU_TAKES, 8, 256},
                                             {&rgpu_path, RGPU_TAKES, 16, 256},
                                             {&rgpu_nw, RGPU_TAKES, 8, 256},
                                             {&rgpu_nw, RGPU_TAKES, 16, 256},
                                             {&rgpu_nn, RGPU_TAKES, 8, 256},
                                             {&rgpu_nn, RGPU_TAKES, 16, 256},
                                             {&rgpu_path, RGPU_SLOW_CORES, 4, 256},
                                             {&rgpu_path, RGPU_SLOW_CORES, 8, 256},
                                             {&rgpu_path, RGPU_SLOW_CORES, 16, 256},
                                             {&rgpu_nw, RGPU_SLOW_CORES, 8, 256},
                                             {&rgpu_nw, RGPU_SLOW_CORES, 16, 256},
                                             {&rgpu_nn, RGPU_SLOW_CORES, 8, 256},
                                             {&rgpu_nn, RGPU_SLOW_CORES, 16, 256},
                                             {&rgpu_conv, RGPU_SHORT_WAY, 8, 64},
                                             {&rgpu_conv, RGPU_SHORT_WAY, 8, 256},
                                             {&rgpu_nn, RGPU_SHORT_WAY, 8, 64},
                                             {&rgpu_nn, RGPU_SHORT_WAY, 8, 256},
                                             {&rgpu_stencil, RGPU_SHORT_WAY, 8, 64},
                                             {&rgpu_stencil, RGPU_SHORT_WAY, 8, 256},
                                             {&rgpu_mriq, RGPU_SHORT_WAY, 8, 64},
                                             {&rgpu_mriq, RGPU_SHORT_WAY, 8, 256},
                                             {&rgpu_conv, RGPU_HALF_DRAM, 8, 64},
                                             {&rgpu_conv, RGPU_HALF_DRAM, 8, 256},
                                             {&rgpu_nn, RGPU_HALF_DRAM, 8, 64},
                                             {&rgpu_nn, RGPU_HALF_DRAM, 8, 256},
                                             {&rgpu_stencil, RGPU_HALF_DRAM, 8, 64},
                                             {&rgpu_stencil, RGPU_HALF_DRAM, 8, 256},
                                             {&rgpu_mriq, RGPU_HALF_DRAM, 8, 64},
                                             {&rgpu_mriq, RGPU_HALF_DRAM, 8, 256},
                                             {&rgpu_stream, RGPU_SMALL_CACHE, 8, 256},
                                             {&rgpu_stream, RGPU_SMALL_CACHE, 8, 512},
                                             {&rgpu_path, RGPU_FREE_MEMORY, 8, 256},
                                             {&rgpu_path_row, RGPU_FREE_MEMORY, 8, 256},
                                             {&rgpu_path_wide, RGPU_FREE_MEMORY, 8, 256},
                                             {&rgpu_hist, RGPU_FAST_BANKS, 8, 256},
                                             {&rgpu_hist, RGPU_FAST_BANKS, 8, 512},
                                             {&rgpu_conv, RGPU_FREE_MEMORY, 8, 256},
                                             {&rgpu_stream, RGPU_TINY_CACHE, 8, 256},
                                             {&rgpu_stream, RGPU_TINY_CACHE, 8, 512},
                                             {&rgpu_conv, RGPU_SHORT_WAY, 8, 512}};

int rgpu_run_probe(const rgpu_probe *probe, bool is_quick, uint64_t *cycles,
                   bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(rgpu_load_gpu("gtx480", false, &gpu, diagnostic));
  rgpu_run run = {.gpu = gpu, .fabric = bf_rgpu_fabric_published(), .is_quick = is_quick};
  rgpu_outcome outcome = {0};
  run.fabric.data_fifo = probe->data;
  run.fabric.address_fifo = probe->address;
  run.fabric.pipelines_take_entries = probe->condition == RGPU_TAKES;
  if (probe->condition == RGPU_SLOW_CORES) {
    run.fabric.two_cycles *= 2;
    run.fabric.three_cycles *= 2;
  }
  int error = BF_OK;
  for (unsigned i = 0; i < MOST_CHANGES && changes[probe->condition][i] && !error; i++)
    error = bf_sim_gpu_set(gpu, changes[probe->condition][i], diagnostic);
  if (!error)
    error = rgpu_run_graph(probe->benchmark, &run, &outcome, diagnostic);
  *cycles = !error ? outcome.result.cycles : 0;
  if (error == BF_BAD_INPUT && outcome.result.stuck_blocks)
    error = BF_OK;
  bf_arena_free(&outcome.result.arena);
  bf_sim_gpu_free(gpu);
  return error;
}

unsigned rgpu_find_probe(const rgpu_benchmark *benchmark, rgpu_condition condition, unsigned data,
                         unsigned address) {
  unsigned i = 0;
  while (rgpu_probes[i].benchmark != benchmark || rgpu_probes[i].condition != condition ||
         rgpu_probes[i].data != data || rgpu_probes[i].address != address)
    i++;
  return i;
}

void rgpu_add_probes(bf_reproduce_run *run, const uint64_t cycles[RGPU_PROBES]) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "probes", "Graphs where one thing is not as usual",
                             "graph|what is not as usual|data FIFOs|address FIFOs|cycles");
  bf_reproduce_table_csv_only(table);
  for (unsigned i = 0; i < RGPU_PROBES; i++) {
    bf_reproduce_cell(table, "%s", rgpu_probes[i].benchmark->name);
    bf_reproduce_cell(table, "%s", rgpu_condition_titles[rgpu_probes[i].condition]);
    bf_reproduce_cell(table, "%u", rgpu_probes[i].data);
    bf_reproduce_cell(table, "%u", rgpu_probes[i].address);
    if (cycles[i])
      bf_reproduce_cell(table, "%llu", (unsigned long long)cycles[i]);
    else
      bf_reproduce_cell(table, "does not end");
  }
}
