/* The simulator of R-GPU: cycles that can be counted by hand, what waits for whom, and random
 * graphs against an interpreter that knows no time. */
#include "random.h"
#include "rgpu/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Running a text ---- */

typedef struct simulation {
  bf_rgpu_graph *graph;
  bf_rgpu_setup *setup;
  bf_sim_gpu *gpu;
  unsigned char *memory;
  bf_rgpu_sim_settings settings;
  bf_rgpu_sim_result result;
  bf_diagnostic diagnostic;
} simulation;

static simulation prepare(const char *text, uint64_t copies) {
  simulation own = {.settings = {.fabric = bf_rgpu_fabric_published()}};
  if (bf_rgpu_parse("test", text, &own.graph, &own.diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s\n%s", (unsigned long long)own.diagnostic.line, own.diagnostic.column,
             own.diagnostic.message, text);
  if (bf_rgpu_setup_create(own.graph, copies, 0, NULL, &own.setup, &own.diagnostic) != BF_OK ||
      bf_rgpu_memory_create(own.setup, &own.memory, &own.diagnostic) != BF_OK ||
      bf_sim_gpu_load("gtx480", &own.gpu, &own.diagnostic) != BF_OK)
    fail_msg("%s", own.diagnostic.message);
  own.settings.gpu = own.gpu;
  return own;
}

static int simulate(simulation *own) {
  return bf_rgpu_simulate(&own->settings, own->setup, own->memory, &own->result, &own->diagnostic);
}

static void must_simulate(simulation *own) {
  if (simulate(own) != BF_OK)
    fail_msg("%s", own->diagnostic.message);
}

static void finish(simulation *own) {
  bf_arena_free(&own->result.arena);
  free(own->memory);
  bf_rgpu_setup_free(own->setup);
  bf_rgpu_free(own->graph);
  bf_sim_gpu_free(own->gpu);
}

/* The first word of array number index. */
static uint32_t *words(const simulation *own, unsigned index) {
  return (uint32_t *)(void *)(own->memory + own->setup->array_address[index] - BF_RGPU_GLOBAL_BASE);
}

/* ---- Cycles ---- */

/* The cycles in R-GPU mode of one block. */
static uint64_t cycles_of(const char *text, unsigned data_fifo) {
  simulation own = prepare(text, 1);
  own.settings.fabric.data_fifo = data_fifo;
  must_simulate(&own);
  uint64_t cycles = own.result.rgpu_cycles;
  finish(&own);
  return cycles;
}

/* An increment with n values in its FIFO fires n times in the 8 cycles of an addition; what reads
 * it fires for the last time 8 cycles later, in a cycle of its own. */
static void latencies_are_those_of_the_document(void **state) {
  (void)state;
  const char *form = "graph g\niterations 80\nblocks 1\na = inc step 1 initial %u\n%s";
  char text[400];
  snprintf(text, sizeof text, form, 8u, "b = add.u32 a, 1\n");
  assert_int_equal(cycles_of(text, 8), 80 + 8);
  snprintf(text, sizeof text, form, 8u, "b = add.u32 a, 1\nc = mad.u32 b, b, a\nd = mov.u32 c\n");
  assert_int_equal(cycles_of(text, 16), 80 + 8 + 8 + 10);
  snprintf(text, sizeof text, form, 4u, "b = add.u32 a, 1\n");
  assert_int_equal(cycles_of(text, 8), 2 * 80 - 4 + 8);
  snprintf(text, sizeof text, form, 8u, "b = add.u32 a, 1\n"); /* only four fit */
  assert_int_equal(cycles_of(text, 4), 2 * 80 - 4 + 8);
}

/* A sum is handed to itself: one in 8 cycles, or one in 10 with a product. */
static void loops_take_their_latency(void **state) {
  (void)state;
  const char *form = "graph g\niterations 80\nblocks 1\na = inc step 1 initial 8\n%s";
  char text[400];
  snprintf(text, sizeof text, form, "b = add.u32 b after [0], a\n");
  assert_int_equal(cycles_of(text, 8), 8 + 79 * 8 + 1);
  snprintf(text, sizeof text, form, "b = mad.u32 a, 2, b after [0]\n");
  assert_int_equal(cycles_of(text, 8), 8 + 79 * 10 + 1);
  snprintf(text, sizeof text, form, "b = mad.u32 a, 2, b after [5 x 0]\n");
  assert_int_equal(cycles_of(text, 8), 8 + 15 * 10 + 4 + 1);
}

/* Four blocks on SMs that have one at a time, and what entering and leaving costs. */
static void blocks_pay_for_switching(void **state) {
  (void)state;
  simulation own = prepare("graph g\narray out u32 8\niterations 80\nblocks 4\n"
                           "a = inc step 1 start block initial 8\nfinal out[2*block + index] = a "
                           "last 2\n",
                           1);
  own.gpu->sms = 2;
  must_simulate(&own);
  const bf_rgpu_sim_result *result = &own.result;
  /* Values: one register, what is added, eight of the FIFO; two final ones. */
  assert_int_equal(result->enter_cycles, 18 + 2 + 40);
  assert_int_equal(result->leave_cycles, 40 + 18 + 2);
  uint64_t block = result->enter_cycles + 80 + result->leave_cycles;
  assert_true(result->cycles >= 2 * block + own.gpu->block_launch_cycles);
  assert_true(result->cycles <= 2 * block + own.gpu->block_launch_cycles + 200);
  for (uint32_t i = 0; i < 4; i++)
    assert_true(words(&own, 0)[2 * i] == 78 + i && words(&own, 0)[2 * i + 1] == 79 + i);
  finish(&own);
}

/* Lines come before they are needed, and stores leave line by line. */
static void prefetching_hides_memory(void **state) {
  (void)state;
  const char *text = "graph g\narray in u32 4096 = index\narray out u32 4096\niterations 4096\n"
                     "blocks 1\na = inc step 4 initial 8\nb = ld.u32 [a + in]\n"
                     "c = st.u32 [a + out], b\n";
  simulation with = prepare(text, 1), without = prepare(text, 1);
  without.settings.fabric.no_prefetch = true;
  must_simulate(&with);
  must_simulate(&without);
  assert_int_equal(with.result.prefetches + with.result.loads_sent, 4096 / 32);
  assert_int_equal(without.result.prefetches, 0);
  assert_int_equal(with.result.stores_sent, 4096 / 32);
  assert_int_equal(with.result.memory.dram_read_bytes, 4096 * 4);
  assert_true(2 * with.result.rgpu_cycles < without.result.rgpu_cycles);
  for (uint32_t i = 0; i < 4096; i++)
    assert_int_equal(words(&with, 1)[i], i);
  finish(&with);
  finish(&without);
}

/* The picture of the first SM has every firing on it, however often its pieces were joined. */
static void activity_covers_the_run(void **state) {
  (void)state;
  simulation own = prepare("graph g\niterations 40000\nblocks 1\na = inc step 1 initial 8\n"
                           "b = cvt.f32.u32 a\n",
                           1);
  must_simulate(&own);
  const bf_rgpu_activity *activity = &own.result.activity;
  uint64_t sum[BF_RGPU_CLASSES] = {0};
  for (unsigned i = 0; i < BF_RGPU_CLASSES * activity->pieces; i++)
    sum[i / activity->pieces] += activity->fired[i / activity->pieces][i % activity->pieces];
  assert_true(sum[BF_RGPU_INT] == 40000 && sum[BF_RGPU_FLOAT] == 40000);
  assert_in_range(activity->pieces, BF_RGPU_PIECES / 2, BF_RGPU_PIECES);
  assert_true(activity->pieces * activity->piece_cycles < 40000 + 2 * activity->piece_cycles);
  finish(&own);
}

/* Sums of last results, reductions in shared and global memory by several copies and blocks, and
 * loads past the first-level cache. */
static void results_end_up_where_they_should(void **state) {
  (void)state;
  simulation own = prepare(
      "graph g\narray in f32 64 = 0.5\narray total u32 2\narray sums f32 8\narray ends u32 16\n"
      "shared own u32 4\niterations 32\nblocks 2\na = inc step 4 start 4*32*copy\n"
      "b = ld.cg.f32 [a + in]\nc = add.f32 c after [3 x 1], b\n"
      "d = inc step 0 start total + 4*copy\ne = red.add.u32 [d], 3\n"
      "f = inc step 0 hold 8\ng = red.shared.add.u32 [f], 1\n"
      "h = inc step 1 start 100*block\n"
      "final sums[2*block + copy] = sum c last 3\nfinal ends[8*block + 4*copy + index] = h last "
      "4\n",
      2);
  must_simulate(&own);
  const float *sums = (const float *)(const void *)words(&own, 2);
  for (uint32_t i = 0; i < 4; i++)
    assert_true(fabsf(sums[i] - (3 + 32 * 0.5f)) < 1e-6f);
  assert_true(words(&own, 1)[0] == 2 * 32 * 3 && words(&own, 1)[1] == 2 * 32 * 3);
  for (uint32_t i = 0; i < 16; i++)
    assert_int_equal(words(&own, 3)[i], 100 * (i / 8) + 28 + i % 4);
  assert_int_equal(own.result.stores_sent, 2 * 2 * 32 + 2 * 2);
  finish(&own);
}

/* ---- Between blocks ---- */

static const char *const rows = "graph rows\narray out u32 256*9 = 7*index present 256\n"
                                "iterations 256\nblocks 8\na = inc step 4 start out + 1024*block\n"
                                "b = ld.wait.u32 [a]\nc = add.u32 b, 3\n"
                                "d = st.cg.u32 [a + 1024], c\n";

static void blocks_wait_for_each_other(void **state) {
  (void)state;
  simulation own = prepare(rows, 1);
  must_simulate(&own);
  for (uint32_t i = 0; i < 9 * 256; i++)
    assert_int_equal(words(&own, 0)[i], 7 * (i % 256) + 3 * (i / 256));
  assert_true(own.result.waits_sent >= 7 * 256 * 4 / 128);
  assert_in_range(own.result.most_waiting, 1, 7);
  assert_int_equal(own.result.could_wait, 8);
  finish(&own);
}

/* Assumptions of the model, one at a time the other way: in FIFOs of 8 entries that count what a
 * pipeline of 10 cycles holds, 8 values move in 10 cycles; sectors are a quarter of a line. */
static void assumptions_can_be_changed(void **state) {
  (void)state;
  enum { SECTOR_BYTES = 32, BYTES = 7 * 256 * 4 };
  simulation own = prepare("graph g\niterations 800\nblocks 1\na = inc step 1 initial 8\n"
                           "b = mad.u32 a, 3, 1\nc = mad.u32 b, b, b\nd = mov.u32 c\n",
                           1);
  own.settings.fabric.pipelines_take_entries = true;
  must_simulate(&own);
  assert_in_range(own.result.rgpu_cycles, 800 / 8 * 10, 800 / 8 * 11 + 40);
  finish(&own);
  own = prepare(rows, 1);
  own.settings.fabric.waits_for_sectors = true;
  must_simulate(&own);
  assert_in_range(own.result.waits_sent, BYTES / SECTOR_BYTES, BYTES / SECTOR_BYTES + 7);
  for (uint32_t i = 0; i < 9 * 256; i++)
    assert_int_equal(words(&own, 0)[i], 7 * (i % 256) + 3 * (i / 256));
  finish(&own);
}

/* Copies that share their cores fire in turn: two of them take twice the cycles of one, and compute
 * what they compute apart. */
static void copies_share_cores(void **state) {
  (void)state;
  enum { TURNS = 800 };
  static const char text[] = "graph g\narray own u32 800*copies\niterations 800\nblocks 1\n"
                             "place = inc step 4 start own + 3200*copy initial 8\n"
                             "a = inc step 1 initial 8\nb = mul.u32 a, a\n"
                             "c = add.u32 b, copy\nd = st.u32 [place], c\n";
  for (unsigned folded = 0; folded <= 2; folded++) {
    simulation own = prepare(text, 2);
    own.settings.fabric.folded = folded;
    own.settings.fabric.cores = folded == 2 ? 4 : 8;
    must_simulate(&own);
    unsigned turns = folded == 2 ? 2 * TURNS : TURNS;
    assert_in_range(own.result.rgpu_cycles, turns, turns + 100);
    for (uint32_t i = 0; i < 2 * TURNS; i++)
      assert_int_equal(words(&own, 0)[i], (i % TURNS) * (i % TURNS) + i / TURNS);
    finish(&own);
  }
  simulation own = prepare(text, 2);
  own.settings.fabric.cores = 4;
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_non_null(strstr(own.diagnostic.message, "2 copies need 8 cores and 2 load/store units"));
  finish(&own);
}

/* Cores and loads take as long as asked for: an increment with one value fires once in a latency,
 * and each node adds its own before the last one fires. */
static void latencies_can_be_changed(void **state) {
  (void)state;
  simulation own = prepare("graph g\nshared own u32 16\niterations 16\nblocks 1\n"
                           "a = inc step 4 initial 1\nb = ld.shared.u32 [a]\n"
                           "c = mad.u32 b, b, b\nd = mov.u32 c\n",
                           1);
  own.settings.fabric.two_cycles = 30;
  own.settings.fabric.three_cycles = 500;
  own.settings.fabric.load_cycles = BF_RGPU_MOST_LATENCY;
  must_simulate(&own);
  assert_int_equal(own.result.rgpu_cycles, 15 * 30 + 30 + BF_RGPU_MOST_LATENCY + 500 + 1);
  bf_arena_free(&own.result.arena);
  own.settings.fabric.two_cycles = own.settings.fabric.three_cycles = 1;
  own.settings.fabric.load_cycles = 1;
  must_simulate(&own);
  assert_int_equal(own.result.rgpu_cycles, 15 + 3 + 1);
  finish(&own);
}

static void latencies_have_limits(void **state) {
  (void)state;
  const unsigned bad[] = {0, BF_RGPU_MOST_LATENCY + 1, UINT32_MAX};
  simulation own = prepare(rows, 1);
  unsigned *latency[] = {&own.settings.fabric.two_cycles, &own.settings.fabric.three_cycles,
                         &own.settings.fabric.load_cycles};
  for (unsigned i = 0; i < 9; i++) {
    own.settings.fabric = bf_rgpu_fabric_published();
    *latency[i / 3] = bad[i % 3];
    assert_int_equal(simulate(&own), BF_BAD_INPUT);
    assert_non_null(strstr(own.diagnostic.message, "a latency is from 1 to 10000 cycles"));
  }
  finish(&own);
}

/* Counts calls, and remembers the largest part; stops where it is asked to. */
typedef struct watching {
  uint64_t calls, done, all, stop_at;
} watching;

static bool watch(void *context, uint64_t done, uint64_t all) {
  watching *own = context;
  assert_true(done >= own->done && done <= all);
  own->calls++;
  own->done = done;
  own->all = all;
  return own->calls != own->stop_at;
}

static void progress_is_told_and_can_stop(void **state) {
  (void)state;
  simulation own = prepare(rows, 1);
  watching seen = {0};
  own.settings.progress = watch;
  own.settings.progress_context = &seen;
  must_simulate(&own);
  assert_true(seen.calls > 4 && seen.done == seen.all);
  assert_int_equal(seen.all, 4 * 256 * 8);
  finish(&own);
  own = prepare(rows, 1);
  seen = (watching){.stop_at = 3};
  own.settings.progress = watch;
  own.settings.progress_context = &seen;
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_string_equal(own.diagnostic.message, "interrupted");
  assert_int_equal(seen.calls, 3);
  finish(&own);
}

/* What a node of a block waits for; NULL: it is not stuck. */
static const bf_rgpu_wait *find_wait(const simulation *own, uint64_t block, const char *node) {
  for (unsigned i = 0; i < own->result.stuck_blocks; i++)
    for (unsigned k = 0; k < own->result.stuck[i].waits; k++)
      if (own->result.stuck[i].block == block &&
          strcmp(own->result.stuck[i].wait[k].node, node) == 0)
        return &own->result.stuck[i].wait[k];
  return NULL;
}

/* On two SMs the last blocks would wait for the first ones, which have no place. */
static void wrong_order_is_a_deadlock(void **state) {
  (void)state;
  simulation own = prepare(rows, 1);
  own.gpu->sms = 2;
  own.settings.order = BF_RGPU_DECREASING;
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_non_null(strstr(own.diagnostic.message, "deadlock"));
  assert_int_equal(own.result.stuck_blocks, 2);
  uint64_t last = own.setup->blocks - 1;
  const bf_rgpu_wait *load = find_wait(&own, last, "b"), *sum = find_wait(&own, last, "c");
  assert_true(load && load->awaits_store && !load->other && load->fired == 0);
  assert_int_equal(load->stall, BF_RGPU_STALL_MEMORY);
  assert_true(sum && sum->stall == BF_RGPU_STALL_EMPTY && sum->fired == 0);
  assert_string_equal(sum->other, "b");
  assert_null(find_wait(&own, 0, "b"));
  finish(&own);
}

/* More loads than a queue of a slice has entries: what they wait for cannot get past them. */
static void full_queues_are_a_deadlock(void **state) {
  (void)state;
  simulation own = prepare("graph g\narray out u32 64\niterations 1\nblocks 15\n"
                           "a = inc step 4 start out\nb = ld.wait.u32 [a]\n",
                           1);
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_non_null(strstr(own.diagnostic.message, "fill the queue of a slice"));
  assert_int_equal(own.result.stuck_blocks, 15);
  const bf_rgpu_wait *load = find_wait(&own, 14, "b");
  assert_true(load && load->awaits_store);
  finish(&own);
}

/* What a deadlock says ends with a whole line, and with how many blocks are not in it. */
static void long_reports_are_cut_between_blocks(void **state) {
  (void)state;
  bf_text text = {0};
  bf_text_puts(&text, "graph g\narray out u32 64\niterations 1\nblocks 15\n"
                      "a = inc step 4 start out\nb = ld.wait.u32 [a]\n");
  for (unsigned i = 0; i < 10; i++)
    bf_text_addf(&text, "a_rather_long_name_for_node_%u = add.u32 b, %u\n", i, i);
  simulation own = prepare(text.data, 1);
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_int_equal(own.result.stuck_blocks, 15);
  bf_text_free(&text);
  bf_rgpu_stuck_explain(&own.result, &text);
  const char *last = strstr(text.data, "\nand 12 more blocks\n");
  assert_non_null(last);
  assert_string_equal(last, "\nand 12 more blocks\n");
  assert_non_null(strstr(text.data, "\nblock 2: b after 0: what it waits for is not stored; "
                                    "a_rather_long_name_for_node_0 after 0: nothing from b; "));
  assert_null(strstr(text.data, "block 3:"));
  bf_text_free(&text);
  finish(&own);
}

static void bad_addresses_are_found(void **state) {
  (void)state;
  simulation own = prepare("graph g\narray in u32 64\niterations 65\nblocks 1\n"
                           "a = inc step 4 start in\nb = ld.u32 [a]\n",
                           1);
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_non_null(strstr(own.diagnostic.message, "iteration 64: address"));
  finish(&own);
}

static void too_much_is_refused(void **state) {
  (void)state;
  simulation own = prepare("graph g\nshared own u32 20000\niterations 1\nblocks 1\n"
                           "a = inc step 4\nb = red.shared.add.u32 [a], 1\n",
                           1);
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_non_null(strstr(own.diagnostic.message, "80128 bytes of shared memory"));
  finish(&own);
  own = prepare("graph g\narray in u32 64\niterations 1\nblocks 1\na = inc step 4 start in\n"
                "b = ld.u32 [a]\n",
                17);
  assert_int_equal(simulate(&own), BF_BAD_INPUT);
  assert_non_null(
      strstr(own.diagnostic.message, "17 copies need 17 cores and 17 load/store units"));
  finish(&own);
}

/* ---- Sizes of FIFOs ---- */

static unsigned least_data(const char *text) {
  simulation own = prepare(text, 1);
  unsigned least = bf_rgpu_least_data_fifo(own.graph, 256, 64);
  finish(&own);
  return least;
}

static void least_sizes_are_known(void **state) {
  (void)state;
  const char *head = "graph g\niterations 8\nblocks 1\na = inc step 1 initial 8\n";
  char text[400];
  snprintf(text, sizeof text, "%sb = add.u32 a, 1\n", head);
  assert_int_equal(least_data(text), 1);
  /* Two old values of a stand in a FIFO while the new one goes round by b. */
  snprintf(text, sizeof text, "%sb = mov.u32 a\nc = add.u32 a after [0, 0], b\n", head);
  assert_int_equal(least_data(text), 3);
  snprintf(text, sizeof text, "%sb = add.u32 b after [5 x 0], a\n", head);
  assert_int_equal(least_data(text), 5);
}

/* ---- Random graphs ---- */

enum { MOST_NODES = 16, MOST_HELD = 3, ITERATIONS = 40, READ_WORDS = 64 };

typedef enum kind { STEP, LOAD, ADD, SUBTRACT, XOR, LARGER, CHOOSE, FUSED, STORE, KINDS } kind;

typedef struct input {
  int from; /* a node; -1: constant */
  unsigned held;
  uint32_t value[MOST_HELD]; /* held at first; or the constant */
} input;

typedef struct test_node {
  kind kind;
  unsigned inputs;
  input input[3];
  int predicate; /* a node, or -1 */
} test_node;

typedef struct test_graph {
  unsigned nodes;
  test_node node[MOST_NODES];
} test_graph;

static const unsigned inputs_of[KINDS] = {0, 1, 2, 2, 2, 2, 3, 3, 1};

/* An input from an earlier node or, with values held, from any. */
static input random_input(test_random *random, unsigned node, unsigned nodes) {
  input made = {.from = -1, .held = (unsigned)random_below(random, MOST_HELD + 1)};
  bool may_be_any = made.held > 0 && random_below(random, 4) == 0;
  for (unsigned i = 0; i < MOST_HELD; i++)
    made.value[i] = (uint32_t)random_below(random, 1000);
  if (random_below(random, 8))
    made.from = (int)random_below(random, may_be_any ? nodes - 1 : node);
  return made;
}

/* The first node counts, the last one stores; those between do anything. */
static test_graph random_graph(test_random *random) {
  test_graph graph = {.nodes = 4 + (unsigned)random_below(random, MOST_NODES - 3)};
  for (unsigned i = 0; i < graph.nodes; i++) {
    test_node *node = &graph.node[i];
    node->kind = i == 0                 ? STEP
                 : i + 1 == graph.nodes ? STORE
                                        : (kind)(LOAD + random_below(random, STORE - LOAD));
    node->inputs = inputs_of[node->kind];
    node->predicate = -1;
    for (unsigned j = 0; j < node->inputs; j++)
      node->input[j] = random_input(random, i, graph.nodes);
    if (node->kind == LOAD || node->kind == STORE) /* load: a counter as address; store: any data */
      node->input[0].from = node->kind == LOAD ? 0 : (int)random_below(random, i);
    if (node->kind == LOAD)
      node->input[0].held = 0;
    bool has_room = node->kind > LOAD && node->kind < CHOOSE && i > 1;
    if (has_room && random_below(random, 5) == 0)
      node->predicate = (int)random_below(random, i);
  }
  return graph;
}

static void write_input(const input *from, bf_text *text) {
  if (from->from < 0) {
    bf_text_addf(text, " %u", from->value[0]);
    return;
  }
  bf_text_addf(text, " n%d", from->from);
  for (unsigned i = 0; i < from->held; i++)
    bf_text_addf(text, "%s%u", i ? ", " : " after [", from->value[i]);
  bf_text_puts(text, from->held ? "]" : "");
}

static void write_node(const test_graph *graph, unsigned index, bf_text *text) {
  static const char *const names[KINDS] = {"",        "",        "add.u32", "sub.u32", "xor.u32",
                                           "max.s32", "sel.u32", "mad.u32", ""};
  static const char *const caches[] = {"", ".cg", ".cs"};
  const test_node *node = &graph->node[index];
  bf_text_addf(text, "n%u = ", index);
  if (node->predicate >= 0)
    bf_text_addf(text, "@n%d ", node->predicate);
  if (node->kind == STEP)
    bf_text_puts(text, "inc step 4 start 0 initial 3\n");
  else if (node->kind == LOAD)
    bf_text_addf(text, "ld%s.u32 [n0 + in]\n", caches[index % 3]);
  if (node->kind == STEP || node->kind == LOAD)
    return;
  bf_text_puts(text, node->kind == STORE ? "st.u32 [n0 + out]," : names[node->kind]);
  for (unsigned i = 0; i < node->inputs; i++) {
    bf_text_puts(text, i ? "," : "");
    write_input(&node->input[i], text);
  }
  bf_text_puts(text, "\n");
}

static void write_graph(const test_graph *graph, bf_text *text) {
  bf_text_addf(text,
               "graph g\narray in u32 %d = 37*index + 11\narray out u32 %d\niterations %d\n"
               "blocks 1\n",
               READ_WORDS, READ_WORDS, ITERATIONS);
  for (unsigned i = 0; i < graph->nodes; i++)
    write_node(graph, i, text);
}

/* ---- The interpreter: results of all nodes, iteration by iteration ---- */

typedef struct table {
  uint32_t result[MOST_NODES][ITERATIONS];
  bool is_known[MOST_NODES][ITERATIONS];
} table;

static uint32_t result_at(const test_graph *graph, table *known, unsigned node, unsigned turn);

static uint32_t input_at(const test_graph *graph, table *known, const input *from, unsigned turn) {
  if (from->from < 0)
    return from->value[0];
  if (turn < from->held)
    return from->value[turn];
  return result_at(graph, known, (unsigned)from->from, turn - from->held);
}

static uint32_t compute(const test_node *node, const uint32_t value[3], unsigned turn) {
  switch (node->kind) {
  case STEP:
    return 4 * turn;
  case LOAD:
    return 37 * (value[0] / 4) + 11;
  case ADD:
    return value[0] + value[1];
  case SUBTRACT:
    return value[0] - value[1];
  case XOR:
    return value[0] ^ value[1];
  case LARGER:
    return (int32_t)value[0] > (int32_t)value[1] ? value[0] : value[1];
  case CHOOSE:
    return value[2] ? value[0] : value[1];
  case FUSED:
    return value[0] * value[1] + value[2];
  default:
    return value[0];
  }
}

static uint32_t result_at(const test_graph *graph, table *known, unsigned node, unsigned turn) {
  const test_node *own = &graph->node[node];
  if (known->is_known[node][turn])
    return known->result[node][turn];
  uint32_t value[3] = {0}, result = 0;
  for (unsigned i = 0; i < own->inputs; i++)
    value[i] = input_at(graph, known, &own->input[i], turn);
  bool is_on = own->predicate < 0 || result_at(graph, known, (unsigned)own->predicate, turn);
  if (is_on)
    result = compute(own, value, turn);
  else if (turn)
    result = result_at(graph, known, node, turn - 1);
  known->is_known[node][turn] = true;
  return known->result[node][turn] = result;
}

/* A machine of any sizes and latencies. */
static bf_rgpu_fabric random_fabric(test_random *random) {
  bf_rgpu_fabric made = bf_rgpu_fabric_published();
  made.data_fifo = 1 + (unsigned)random_below(random, 6);
  made.address_fifo = 1 + (unsigned)random_below(random, 20);
  made.two_cycles = 1 + (unsigned)random_below(random, 12);
  made.three_cycles = 1 + (unsigned)random_below(random, 24);
  made.load_cycles = 1 + (unsigned)random_below(random, 50);
  made.no_prefetch = random_below(random, 2);
  made.folded = (unsigned)random_below(random, 3);
  made.pipelines_take_entries = random_below(random, 2);
  made.waits_for_sectors = random_below(random, 2);
  return made;
}

/* Runs a graph on such a machine: where bf_rgpu_can_run says so, which knows sizes of FIFOs only,
 * results are those of the interpreter; otherwise nothing can fire in the end. */
static bool compare(const test_graph *graph, const char *text, const bf_rgpu_fabric *fabric) {
  simulation own = prepare(text, 1);
  table *known = calloc(1, sizeof *known);
  unsigned data = fabric->data_fifo, address = fabric->address_fifo;
  own.settings.fabric = *fabric;
  own.settings.is_unchecked = true;
  bool can_run = bf_rgpu_can_run(own.graph, data, address, NULL);
  int error = simulate(&own);
  if (can_run && error != BF_OK)
    fail_msg("%s\n%s", own.diagnostic.message, text);
  if (!can_run && error == BF_OK)
    fail_msg("no deadlock with FIFOs of %u and %u:\n%s", data, address, text);
  for (unsigned i = 0; can_run && i < ITERATIONS; i++)
    if (words(&own, 1)[i] != result_at(graph, known, graph->nodes - 1, i))
      fail_msg("iteration %u differs with FIFOs of %u and %u:\n%s", i, data, address, text);
  free(known);
  finish(&own);
  return can_run;
}

static void random_graphs_compute_what_the_interpreter_does(void **state) {
  (void)state;
  test_random random = {.state = 20261115};
  unsigned ran = 0, stuck = 0;
  for (unsigned i = 0; i < 300; i++) {
    test_graph graph = random_graph(&random);
    bf_text text = {0};
    write_graph(&graph, &text);
    bf_rgpu_fabric fabric = random_fabric(&random);
    bool can_run = compare(&graph, text.data, &fabric);
    ran += can_run;
    stuck += !can_run;
    bf_text_free(&text);
  }
  assert_true(ran > 50 && stuck > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(latencies_are_those_of_the_document),
      cmocka_unit_test(loops_take_their_latency),
      cmocka_unit_test(blocks_pay_for_switching),
      cmocka_unit_test(prefetching_hides_memory),
      cmocka_unit_test(activity_covers_the_run),
      cmocka_unit_test(results_end_up_where_they_should),
      cmocka_unit_test(blocks_wait_for_each_other),
      cmocka_unit_test(assumptions_can_be_changed),
      cmocka_unit_test(copies_share_cores),
      cmocka_unit_test(latencies_can_be_changed),
      cmocka_unit_test(latencies_have_limits),
      cmocka_unit_test(progress_is_told_and_can_stop),
      cmocka_unit_test(wrong_order_is_a_deadlock),
      cmocka_unit_test(full_queues_are_a_deadlock),
      cmocka_unit_test(long_reports_are_cut_between_blocks),
      cmocka_unit_test(bad_addresses_are_found),
      cmocka_unit_test(too_much_is_refused),
      cmocka_unit_test(least_sizes_are_known),
      cmocka_unit_test(random_graphs_compute_what_the_interpreter_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
