/* Predictions from PTX: what blocks execute, times of launches, and hashes that are chosen. */
#include "sim/sim.h"
#include "tune/forecast.h"
#include "tune/resources.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/corpus.h"

/* ---- Modules ---- */

typedef struct bed {
  bf_machine *machine;
  bf_ptx_module *module;
  bf_plans plans;
  bf_predict_launch launch;
  bf_predict_options options;
} bed;

static void make_bed(bed *b, const char *text) {
  *b = (bed){0};
  assert_int_equal(bf_machine_load("hopper", NULL, &b->machine, NULL), BF_OK);
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &b->module, NULL), BF_OK);
  assert_int_equal(bf_plans_make(b->module, "test", NULL, &b->plans, NULL), BF_OK);
  b->options = (bf_predict_options){.machine = b->machine, .launch = &b->launch};
}

static void free_bed(bed *b) {
  bf_plans_free(&b->plans);
  bf_ptx_free(b->module);
  bf_machine_free(b->machine);
}

static void set_block(bed *b, uint32_t x, uint32_t y, uint32_t blocks) {
  b->launch.block[0] = x;
  b->launch.block[1] = y;
  b->launch.block[2] = 1;
  b->launch.grid[0] = blocks;
  b->launch.grid[1] = b->launch.grid[2] = blocks ? 1 : 0;
}

static bf_plan *plan_of(bed *b, const char *kernel) {
  for (unsigned i = 0; i < b->plans.count; i++)
    if (strcmp(b->plans.plan[i].name, kernel) == 0)
      return &b->plans.plan[i];
  fail_msg("no kernel %s", kernel);
  return NULL;
}

/* One prediction of the kernel. */
static void predict(bed *b, const bf_rewrite_result *result, bf_prediction *prediction) {
  bf_predict_pair *pair;
  assert_int_equal(bf_predict_prepare(&b->plans, plan_of(b, "kernel"), result->module,
                                      bf_ptx_find(result->module, "kernel"), &pair, NULL),
                   BF_OK);
  assert_int_equal(bf_predict(pair, &b->options, prediction, NULL), BF_OK);
  bf_predict_pair_free(pair);
}

/* A kernel with an array of 4096 bytes, which body does something to. */
static void make_kernel(char text[4096], const char *directives, const char *body) {
  snprintf(text, 4096,
           ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".visible .entry kernel(.param .u64 out, .param .u32 n)\n%s\n{\n"
           "\t.reg .pred %%p<4>;\n\t.reg .b32 %%r<32>;\n\t.reg .b64 %%rd<8>;\n"
           "\t.shared .align 4 .b8 words[4096];\n%s\tret;\n}\n",
           directives, body);
}

/* Rows are written, columns are read: all words of a warp are in one bank. */
#define COLUMNS                                                                                    \
  "\tmov.u32 %r1, %tid.x;\n\tshl.b32 %r2, %r1, 2;\n\tmov.u32 %r3, words;\n"                        \
  "\tadd.u32 %r4, %r3, %r2;\n\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n"                         \
  "\tand.b32 %r5, %r1, 31;\n\tshr.u32 %r6, %r1, 5;\n\tshl.b32 %r5, %r5, 7;\n"                      \
  "\tshl.b32 %r6, %r6, 2;\n\tadd.u32 %r5, %r5, %r6;\n\tadd.u32 %r5, %r5, %r3;\n"                   \
  "\tld.shared.u32 %r7, [%r5];\n\tld.param.u64 %rd1, [out];\n\tmul.wide.u32 %rd2, %r1, 4;\n"       \
  "\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.u32 [%rd3], %r7;\n"

/* ---- What is executed ---- */

static bf_analysis *analyze(bed *b, uint32_t threads) {
  bf_analyze_options options = {.block = {threads, 1, 1}, .accesses_only = true};
  bf_analysis *analysis;
  assert_int_equal(
      bf_analyze(b->module, bf_ptx_find(b->module, "kernel"), &options, &analysis, NULL), BF_OK);
  return analysis;
}

/* Ten iterations by all warps; behind them, one warp of four. */
static void known_loops_are_counted(void **state) {
  char text[4096];
  bed b;
  (void)state;
  make_kernel(text, "",
              "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, 0;\nloop:\n\tadd.u32 %r2, %r2, 1;\n"
              "\tsetp.lt.u32 %p1, %r2, 10;\n\t@%p1 bra loop;\n\tsetp.gt.u32 %p2, %r1, 31;\n"
              "\t@%p2 bra end;\n\tst.shared.u32 [words], %r2;\nend:\n");
  make_bed(&b, text);
  bf_analysis *analysis = analyze(&b, 128);
  assert_int_equal(analysis->blocks, 5);
  assert_int_equal(analysis->executed[1].warps, 40);
  assert_int_equal(analysis->executed[1].passes, 10);
  assert_int_equal(analysis->executed[1].open_loops, 0);
  assert_int_equal(analysis->executed[3].warps, 1);
  assert_int_equal(analysis->executed[4].warps, 4);
  bf_analysis_free(analysis);
  free_bed(&b);
}

/* A loop that ends with a parameter is gone through once, and said to be open. */
static void open_loops_are_gone_through_once(void **state) {
  char text[4096];
  bed b;
  (void)state;
  make_kernel(text, "",
              "\tld.param.u32 %r3, [n];\n\tmov.u32 %r2, 0;\nloop:\n\tadd.u32 %r2, %r2, 1;\n"
              "\tst.shared.u32 [words], %r2;\n\tsetp.lt.u32 %p1, %r2, %r3;\n\t@%p1 bra loop;\n");
  make_bed(&b, text);
  bf_analysis *analysis = analyze(&b, 64);
  assert_int_equal(analysis->executed[0].open_loops, 0);
  assert_int_equal(analysis->executed[1].warps, 2);
  assert_int_equal(analysis->executed[1].open_loops, 1);
  bf_analysis_free(analysis);
  free_bed(&b);
}

/* The GPU of predictions is that of the simulator. */
static void numbers_are_those_of_the_simulator(void **state) {
  const bf_predict_gpu *own = &bf_predict_h200;
  bf_sim_gpu *gpu;
  (void)state;
  assert_int_equal(bf_sim_gpu_load("h200", &gpu, NULL), BF_OK);
  assert_int_equal(own->multiprocessors, gpu->sms);
  assert_int_equal(own->schedulers, gpu->schedulers);
  assert_int_equal(own->blocks, gpu->blocks_per_sm);
  assert_int_equal(own->warps, gpu->warps_per_sm);
  assert_int_equal(own->registers, gpu->registers_per_sm);
  assert_int_equal(own->shared_bytes, gpu->shared_bytes_per_sm);
  assert_true(fabs(own->bytes_per_cycle - (double)gpu->return_bytes_per_cycle) < 1e-9);
  assert_true(fabs(own->launch_cycles - (double)gpu->launch_cycles) < 1e-9);
  assert_true(fabs(own->launch_sm_cycles - gpu->launch_sm_cycles) < 1e-9);
  bf_sim_gpu_free(gpu);
}

/* ---- Times ---- */

static void blocks_share_a_multiprocessor(void **state) {
  (void)state;
  assert_int_equal(bf_predict_resident(&bf_predict_h200, 256, 0, 32), 8);
  assert_int_equal(bf_predict_resident(&bf_predict_h200, 32, 0, 16), 32);
  assert_int_equal(bf_predict_resident(&bf_predict_h200, 256, 48 * 1024, 32), 4);
  assert_int_equal(bf_predict_resident(&bf_predict_h200, 1024, 0, 64), 1);
  assert_int_equal(bf_predict_resident(&bf_predict_h200, 1024, 220 * 1024, 255), 1);
}

/* One block takes its latency, many take the throughput of the busiest unit. */
static void small_launches_wait_and_large_ones_are_busy(void **state) {
  (void)state;
  bf_work work = {.shared_cycles = 1000, .latency_cycles = 5000};
  double start = bf_predict_start(&bf_predict_h200);
  double one = bf_forecast_cycles(&bf_predict_h200, &work, 8, 1) - start;
  double layer = bf_forecast_cycles(&bf_predict_h200, &work, 8, 132) - start;
  double many = bf_forecast_cycles(&bf_predict_h200, &work, 32, 132 * 32 * 4) - start;
  assert_true(one > 9900 && one < 10200);
  assert_true(layer == one);
  assert_true(many > 128000 && many < 132000);
}

/* The prediction must beat its own error, and less work must be left. */
static void predictions_must_beat_their_error(void **state) {
  (void)state;
  bf_comparison c = {{.wavefronts = 9, .predicted_cycles = 1000, .error = 0.05},
                     {.wavefronts = 1, .predicted_cycles = 950, .error = 0.05}};
  assert_true(bf_judge_is_worth(&c));
  c.after.instructions = 4 * 8; /* as much as the wavefronts that are saved */
  assert_false(bf_judge_is_worth(&c));
  c.after.instructions = 4 * 8 - 1; /* a little less than that, which is not told from nothing */
  assert_false(bf_judge_is_worth(&c));
  c.after.instructions = 4 * 8 - 2;
  assert_true(bf_judge_is_worth(&c));
  c.after.instructions = 0;
  c.after.predicted_cycles = 953;
  assert_false(bf_judge_is_worth(&c));
  c.after.predicted_cycles = 900;
  c.after.error = 0.2;
  assert_false(bf_judge_is_worth(&c));
  c.before.cycles = c.after.cycles = 10; /* what was simulated counts more */
  c.before.work_cycles = 10;
  assert_false(bf_judge_is_worth(&c));
}

/* ---- Choosing ---- */

static void choose(bed *b) {
  assert_int_equal(bf_predict_choose(&b->plans, &b->options, NULL), BF_OK);
}

static void conflicts_get_a_hash(void **state) {
  char text[4096];
  bed b;
  (void)state;
  make_kernel(text, ".reqntid 1024, 1, 1", COLUMNS);
  make_bed(&b, text);
  choose(&b);
  bf_plan *plan = plan_of(&b, "kernel");
  assert_non_null(plan->hash);
  assert_true(plan->comparison.before.wavefronts == 32 * 33);
  assert_true(plan->comparison.after.wavefronts == 64);
  assert_true(bf_judge_share(&plan->comparison) < 0.5);
  free_bed(&b);
}

/* The same for what bf_predict says of launches of the rewritten kernel: large ones win more. */
static void the_launch_decides(void **state) {
  char text[4096];
  bed b;
  bf_rewrite_result result;
  bf_prediction small, full;
  (void)state;
  make_kernel(text, ".reqntid 1024, 1, 1", COLUMNS);
  make_bed(&b, text);
  choose(&b);
  assert_int_equal(bf_plans_rewrite(&b.plans, false, &result, NULL), BF_OK);
  set_block(&b, 1024, 1, 1);
  predict(&b, &result, &small);
  set_block(&b, 1024, 1, 100000);
  predict(&b, &result, &full);
  assert_true(small.is_known && full.is_known && full.is_worth);
  assert_true(full.share < small.share);
  assert_true(small.full_share < small.share);
  assert_true(full.least_blocks > 0);
  b.launch.block[0] = 0;
  predict(&b, &result, &small);
  assert_false(small.is_known || small.is_worth);
  bf_rewrite_free(&result);
  free_bed(&b);
}

/* Half as many blocks at once make the prediction less certain, in a launch that has as many. */
static void fewer_blocks_at_once_count(void **state) {
  static const unsigned residents[3][2] = {{2, 2}, {2, 1}, {2, 1}};
  static const uint32_t grids[3] = {100000, 100000, 132};
  char text[4096];
  bed b;
  bf_rewrite_result result;
  bf_prediction got[3];
  (void)state;
  make_kernel(text, ".reqntid 1024, 1, 1", COLUMNS);
  make_bed(&b, text);
  choose(&b);
  assert_int_equal(bf_plans_rewrite(&b.plans, false, &result, NULL), BF_OK);
  for (unsigned i = 0; i < 3; i++) {
    set_block(&b, 1024, 1, grids[i]);
    memcpy(b.launch.resident, residents[i], sizeof residents[i]);
    predict(&b, &result, &got[i]);
  }
  assert_true(got[1].error > got[0].error + 0.3 && got[1].share >= got[0].share);
  assert_true(got[2].error < got[0].error + 0.1);
  bf_rewrite_free(&result);
  free_bed(&b);
}

static void no_conflicts_get_none(void **state) {
  char text[4096];
  bed b;
  (void)state;
  make_kernel(text, "",
              "\tmov.u32 %r1, %tid.x;\n\tshl.b32 %r2, %r1, 2;\n\tmov.u32 %r3, words;\n"
              "\tadd.u32 %r4, %r3, %r2;\n\tst.shared.u32 [%r4], %r1;\n");
  make_bed(&b, text);
  choose(&b);
  bf_plan *plan = plan_of(&b, "kernel");
  assert_null(plan->hash);
  assert_non_null(strstr(plan->reason, "no conflicts are known"));
  free_bed(&b);
}

/* Of kernels whose shape is not known those that win in one are looked at in all of them: what is
 * counted is what a known shape gives; of others nothing is left but the reason. */
static void a_glance_dismisses_what_does_not_win(void **state) {
  char text[4096], body[3072];
  bed b, known;
  (void)state;
  make_kernel(text, "", COLUMNS);
  make_bed(&b, text);
  choose(&b);
  bf_plan *plan = plan_of(&b, "kernel");
  assert_true(bf_plan_has_hash(&b.plans, plan));
  make_kernel(text, ".reqntid 32", COLUMNS);
  make_bed(&known, text);
  choose(&known);
  bf_plan *alone = plan_of(&known, "kernel");
  assert_int_equal(plan->comparison.before.wavefronts, alone->comparison.before.wavefronts);
  assert_int_equal(plan->comparison.after.wavefronts, alone->comparison.after.wavefronts);
  free_bed(&known);
  free_bed(&b);
  size_t used = (size_t)snprintf(
      body, sizeof body,
      "\tmov.u32 %%r1, %%tid.x;\n\tshl.b32 %%r2, %%r1, 3;\n\tand.b32 %%r2, %%r2, 2047;\n"
      "\tmov.u32 %%r3, words;\n\tadd.u32 %%r4, %%r3, %%r2;\n\tst.shared.u32 [%%r4], %%r1;\n");
  for (unsigned i = 0; i < 60; i++)
    used += (size_t)snprintf(body + used, sizeof body - used, "\tmul.lo.u32 %%r1, %%r1, %%r1;\n");
  snprintf(body + used, sizeof body - used, "\tst.shared.u32 [%%r4+4], %%r1;\n");
  make_kernel(text, "", body);
  make_bed(&b, text);
  choose(&b);
  plan = plan_of(&b, "kernel");
  assert_false(bf_plan_has_hash(&b.plans, plan));
  assert_int_equal(plan->proposal.candidates, 0);
  assert_true(plan->reason[0]);
  free_bed(&b);
}

/* A loop of unknown length that does not touch shared memory: with many iterations the hash changes
 * next to nothing, with few it gains. If each iteration accesses what is hashed, it may lose. */
static void loops_that_a_hash_does_not_touch_do_no_harm(void **state) {
  enum { SQUARES = 24 };
  (void)state;
  for (unsigned is_touched = 0; is_touched < 2; is_touched++) {
    char text[4096], body[3072];
    size_t used = (size_t)snprintf(body, sizeof body,
                                   "%s\tld.param.u32 %%r12, [n];\n\tmov.u32 %%r8, 0;\n"
                                   "\tmov.u32 %%r9, %%r1;\nloop:\n",
                                   COLUMNS);
    bed b;
    for (unsigned i = 0; i < SQUARES; i++)
      used += (size_t)snprintf(body + used, sizeof body - used,
                               "\tmul.lo.u32 %%r9, %%r9, %%r9;\n\txor.b32 %%r9, %%r9, %u;\n", i);
    snprintf(body + used, sizeof body - used,
             "%s\tadd.u32 %%r8, %%r8, 1;\n\tsetp.lt.u32 %%p1, %%r8, %%r12;\n\t@%%p1 bra loop;\n"
             "\tst.global.u32 [%%rd3], %%r9;\n",
             is_touched ? "\tand.b32 %r10, %r9, 4092;\n\tadd.u32 %r10, %r3, %r10;\n"
                          "\tld.shared.u32 %r11, [%r10];\n\tadd.u32 %r9, %r9, %r11;\n"
                        : "");
    make_kernel(text, ".reqntid 1024", body);
    make_bed(&b, text);
    choose(&b);
    if (bf_plan_has_hash(&b.plans, plan_of(&b, "kernel")) == is_touched)
      fail_msg("loop %u: %s", is_touched, plan_of(&b, "kernel")->reason);
    free_bed(&b);
  }
}

/* Addresses that depend on data cannot be known: nothing is done. */
static void what_is_unknown_is_left_alone(void **state) {
  char text[4096];
  bed b;
  (void)state;
  make_kernel(
      text, "",
      "\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n"
      "\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u32 %r2, [%rd3];\n\tand.b32 %r2, %r2, 1020;\n"
      "\tmov.u32 %r3, words;\n\tadd.u32 %r4, %r3, %r2;\n\tst.shared.u32 [%r4], %r1;\n");
  make_bed(&b, text);
  choose(&b);
  assert_null(plan_of(&b, "kernel")->hash);
  free_bed(&b);
}

/* A hash that is asked for stays. */
static void hashes_that_were_given_stay(void **state) {
  char text[4096];
  bed b;
  (void)state;
  make_kernel(text, ".reqntid 1024, 1, 1", COLUMNS);
  make_bed(&b, text);
  bf_geometry geometry = bf_machine_geometry(b.machine);
  assert_int_equal(bf_plans_set_hash(&b.plans, "xor:0,6,31", &geometry, NULL), BF_OK);
  choose(&b);
  assert_string_equal(bf_hash_text(plan_of(&b, "kernel")->hash), "xor:0,6,31");
  free_bed(&b);
}

static void corpus_bed(bed *b, const char *folder) { make_bed(b, bf_corpus_ptx(folder)); }

/* What people padded by hand is left alone, in whatever blocks. */
static void padded_kernels_are_left_alone(void **state) {
  static const struct {
    const char *folder, *kernel, *padded;
    uint32_t x, y;
  } rows[] = {{"transpose", "transpose32", "transpose32_padded", 32, 8},
              {"haar", "haar", "haar_padded", 256, 1},
              {"softmax", "softmax", "softmax_padded", 64, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (unsigned known = 0; known < 2; known++) {
      bed b;
      corpus_bed(&b, rows[i].folder);
      if (known)
        set_block(&b, rows[i].x, rows[i].y, 0);
      choose(&b);
      assert_true(bf_plan_has_hash(&b.plans, plan_of(&b, rows[i].kernel)));
      assert_false(bf_plan_has_hash(&b.plans, plan_of(&b, rows[i].padded)));
      free_bed(&b);
    }
}

/* Only arrays with conflicts are hashed where all accesses are known. */
static void arrays_without_conflicts_stay(void **state) {
  bed b;
  (void)state;
  corpus_bed(&b, "lud");
  set_block(&b, 32, 1, 10000);
  choose(&b);
  bf_plan *plan = plan_of(&b, "lud_perimeter");
  assert_true(plan->is_by_array);
  unsigned hashed = 0;
  for (unsigned i = 0; i < bf_plan_examined(&b.plans, plan)->arrays; i++)
    hashed += plan->array_hash[i] != NULL;
  assert_int_equal(hashed, 1);
  free_bed(&b);
}

/* Where nothing shows that subscripts stay in rows, these are made longer at the access, unless
 * that takes many instructions; and taken where they add a third of those of a hash. */
static void cheap_places_are_proposed(void **state) {
  bed b;
  (void)state;
  corpus_bed(&b, "matrix_scan");
  choose(&b);
  bf_plan *plan = plan_of(&b, "matrix_scan");
  assert_true(plan->is_unusual && plan->is_by_array);
  assert_string_equal(bf_hash_text(plan->array_hash[0]), "pad:32+1");
  free_bed(&b);
  corpus_bed(&b, "haar");
  b.plans.blocks_are_checked = b.options.decides_by_launch = true;
  choose(&b);
  plan = plan_of(&b, "haar");
  assert_true(plan->is_unusual && !plan->is_by_array);
  assert_string_equal(bf_hash_text(plan->hash), "xor:0,5,15");
  free_bed(&b);
  corpus_bed(&b, "dct8x8");
  choose(&b);
  assert_false(bf_plan_has_hash(&b.plans, plan_of(&b, "dct8x8_padded")));
  free_bed(&b);
}

/* Of paddings that leave as many wavefronts, the one that keeps accesses which ptxas merges. */
static void merged_accesses_stay_merged(void **state) {
  bed b;
  (void)state;
  corpus_bed(&b, "dct8x8");
  b.plans.blocks_are_checked = b.options.decides_by_launch = true;
  choose(&b);
  bf_plan *plan = plan_of(&b, "dct8x8");
  assert_true(plan->is_by_array && !plan->is_unusual);
  assert_string_equal(bf_hash_text(plan->array_hash[0]), "pad:32+4@32");
  free_bed(&b);
}

/* A hash that wins in blocks of some shapes only is for those who can decide at the launch. */
static void launches_can_decide(void **state) {
  bed b;
  (void)state;
  corpus_bed(&b, "reduction");
  choose(&b);
  assert_false(bf_plan_has_hash(&b.plans, plan_of(&b, "reduction_interleaved")));
  free_bed(&b);
  corpus_bed(&b, "reduction");
  b.options.decides_by_launch = true;
  choose(&b);
  assert_true(bf_plan_has_hash(&b.plans, plan_of(&b, "reduction_interleaved")));
  assert_false(bf_plan_has_hash(&b.plans, plan_of(&b, "reduction_sequential")));
  free_bed(&b);
}

/* Values that are assumed of parameters may lead out of memory: that keeps neither the kernel nor
 * the others of its module from hashes. */
static void what_is_assumed_may_lie_beyond_memory(void **state) {
  bed b;
  bf_text text = {0};
  (void)state;
  assert_int_equal(bf_read_file("tests/data/predict/beyond.ptx", SIZE_MAX, &text, NULL), BF_OK);
  make_bed(&b, text.data);
  b.options.decides_by_launch = true;
  choose(&b);
  assert_true(bf_plan_has_hash(&b.plans, plan_of(&b, "beyond")));
  assert_true(bf_plan_has_hash(&b.plans, plan_of(&b, "transposed")));
  free_bed(&b);
  bf_text_free(&text);
}

/* Vectors of 16 bytes stay whole. */
static void granules_fit_the_widest_access(void **state) {
  bed b;
  (void)state;
  corpus_bed(&b, "gemm_mma");
  set_block(&b, 256, 1, 0);
  choose(&b);
  bf_plan *plan = plan_of(&b, "gemm_mma");
  assert_true(bf_plan_has_hash(&b.plans, plan));
  bf_rewrite_result result;
  assert_int_equal(bf_plans_rewrite(&b.plans, false, &result, NULL), BF_OK);
  assert_true(result.kernel[plan - b.plans.plan].is_rewritten);
  bf_rewrite_free(&result);
  free_bed(&b);
}

/* Kernels of kinds that were measured on an H200, in large launches: trees, rows and butterflies
 * gain by a hash, small cyclic reductions, byte histograms and what has no conflicts lose. */
static void known_kinds_are_judged_rightly(void **state) {
  static const struct {
    const char *kernel;
    bool gains;
  } rows[] = {{"tree_scan", true},         {"rows", true},     {"exchange_sort", true},
              {"cyclic_reduction", false}, {"columns", false}, {"multiply", false},
              {"byte_histogram", false}};
  bed b;
  bf_text text = {0};
  (void)state;
  assert_int_equal(bf_read_file("tests/data/predict/known.ptx", SIZE_MAX, &text, NULL), BF_OK);
  make_bed(&b, text.data);
  choose(&b);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (bf_plan_has_hash(&b.plans, plan_of(&b, rows[i].kernel)) != rows[i].gains)
      fail_msg("%s: %s", rows[i].kernel, plan_of(&b, rows[i].kernel)->reason);
  free_bed(&b);
  bf_text_free(&text);
}

/* ---- Units, against counters of an H200 ---- */

/* The whole file; free it. */
static char *text_of(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

/* Kernels of Triton 3.6 in blocks of 128 threads: cycles of a block that its multiprocessor issues,
 * works on integers and accesses shared memory, as Nsight Compute counted them
 * (bench/results/2026-11-16-h200-triton-units.md). */
static void units_are_as_busy_as_counted(void **state) {
  static const struct {
    const char *path, *kernel;
    double issue, integer, shared;
  } rows[] = {{"tests/data/predict/triton_sort_256.ptx", "sort_any_kernel", 416, 604, 481},
              {"tests/data/predict/triton_topk.ptx", "topk_kernel", 1132, 1850, 842},
              {"tests/data/predict/triton_histogram.ptx", "histogram_kernel", 630, 958, 286}};
  const double most = 0.17; /* what the worst of them is off */
  (void)state;
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    bed b;
    bf_work_version original = {0};
    bf_work_counters counters = {0};
    bf_forecast forecast = {0};
    char *text = text_of(rows[i].path);
    make_bed(&b, text);
    assert_int_equal(
        bf_work_version_make(b.module, bf_ptx_find(b.module, rows[i].kernel), &original, NULL),
        BF_OK);
    assert_int_equal(bf_forecast_make(b.module,
                                      bf_plan_examined(&b.plans, plan_of(&b, rows[i].kernel)),
                                      &original, &b.options, (const uint32_t[]){128, 1, 1},
                                      &counters, &forecast, NULL),
                     BF_OK);
    assert_string_equal(forecast.reason, "");
    const bf_work *work = &forecast.before[0];
    print_message("%s: issue %.0f, counted %.0f; integers %.0f, %.0f; shared %.0f, %.0f\n",
                  rows[i].kernel, work->issue_cycles, rows[i].issue, work->integer_cycles,
                  rows[i].integer, work->shared_cycles, rows[i].shared);
    assert_true(fabs(work->issue_cycles / rows[i].issue - 1) < most);
    assert_true(fabs(work->integer_cycles / rows[i].integer - 1) < most);
    assert_true(fabs(work->shared_cycles / rows[i].shared - 1) < most);
    bf_forecast_free(&forecast);
    bf_work_counters_free(&counters);
    bf_work_version_free(&original);
    free_bed(&b);
    free(text);
  }
}

/* Who measures candidates is given what may win, too, and what cannot be predicted as addresses
 * depend on data: not what has no wavefronts to save. */
static void what_may_win_is_measured(void **state) {
  static const struct {
    const char *kernel;
    bool may_gain;
  } rows[] = {{"tree_scan", true},
              {"cyclic_reduction", true},
              {"columns", false},
              {"multiply", false},
              {"byte_histogram", true}};
  bed b;
  bf_text text = {0};
  (void)state;
  assert_int_equal(bf_read_file("tests/data/predict/known.ptx", SIZE_MAX, &text, NULL), BF_OK);
  make_bed(&b, text.data);
  b.options.decides_by_launch = true;
  choose(&b);
  assert_false(bf_plan_has_hash(&b.plans, plan_of(&b, "byte_histogram")));
  free_bed(&b);
  make_bed(&b, text.data);
  b.options.decides_by_launch = b.options.is_measured = true;
  choose(&b);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (bf_plan_has_hash(&b.plans, plan_of(&b, rows[i].kernel)) != rows[i].may_gain)
      fail_msg("%s: %s", rows[i].kernel, plan_of(&b, rows[i].kernel)->reason);
  free_bed(&b);
  bf_text_free(&text);
}

/* ---- What ptxas says ---- */

/* Why a kernel is to stay as it is, by what ptxas says before and after; "": it is not. */
static void compare(const char *directives, const char *before, const char *after, double share,
                    char reason[200]) {
  char text[4096];
  bed b;
  bf_resources one = {0}, other = {0};
  make_kernel(text, directives, "ret;");
  make_bed(&b, text);
  assert_int_equal(bf_resources_read(before, &one, NULL), BF_OK);
  assert_int_equal(bf_resources_read(after, &other, NULL), BF_OK);
  *reason = 0;
  bf_resources_compare(&one, &other, bf_ptx_find(b.module, "kernel"), share, reason, 200);
  bf_resources_free(&one);
  bf_resources_free(&other);
  free_bed(&b);
}

#define SAYS(registers, spills)                                                                    \
  "ptxas info    : Compiling entry function 'kernel' for 'sm_90'\n"                                \
  "    0 bytes stack frame, " spills " bytes spill stores, 0 bytes spill loads\n"                  \
  "ptxas info    : Used " registers " registers, 4096 bytes smem\n"

static void resources_are_read_and_compared(void **state) {
  (void)state;
  char reason[200];
  bf_resources read = {0};
  assert_int_equal(bf_resources_read(SAYS("24", "8") "noise\n", &read, NULL), BF_OK);
  assert_int_equal(read.count, 1);
  assert_string_equal(read.item[0].kernel, "kernel");
  assert_int_equal(read.item[0].registers, 24);
  assert_int_equal(read.item[0].spill_bytes, 8);
  assert_int_equal(read.item[0].shared_bytes, 4096);
  bf_resources_free(&read);
  compare("", SAYS("24", "0"), SAYS("28", "0"), 0.5, reason);
  assert_string_equal(reason, "");
  compare(".maxntid 1024", SAYS("64", "0"), SAYS("72", "0"), 0, reason);
  assert_string_equal(reason,
                      "it would need 72 registers, not 64: too many for blocks of 1024 threads");
  compare(".maxntid 256", SAYS("64", "0"), SAYS("72", "0"), 0, reason);
  assert_string_equal(reason, "");
  compare("", SAYS("24", "0"), SAYS("24", "16"), 0.5, reason);
  assert_string_equal(reason, "it would spill registers to memory: 16 bytes, not 0");
  compare("", SAYS("24", "0"), SAYS("24", "16"), 0, reason); /* the hash was asked for */
  assert_string_equal(reason, "");
  compare(".maxntid 256", SAYS("32", "0"), SAYS("128", "0"), 0.9, reason);
  assert_non_null(strstr(reason, "and lose more by it than it gains"));
  compare("", SAYS("24", "0"), "nothing\n", 0.5, reason); /* it does not say */
  assert_string_equal(reason, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_those_of_the_simulator),
      cmocka_unit_test(units_are_as_busy_as_counted),
      cmocka_unit_test(known_loops_are_counted),
      cmocka_unit_test(open_loops_are_gone_through_once),
      cmocka_unit_test(blocks_share_a_multiprocessor),
      cmocka_unit_test(small_launches_wait_and_large_ones_are_busy),
      cmocka_unit_test(predictions_must_beat_their_error),
      cmocka_unit_test(conflicts_get_a_hash),
      cmocka_unit_test(the_launch_decides),
      cmocka_unit_test(fewer_blocks_at_once_count),
      cmocka_unit_test(no_conflicts_get_none),
      cmocka_unit_test(a_glance_dismisses_what_does_not_win),
      cmocka_unit_test(loops_that_a_hash_does_not_touch_do_no_harm),
      cmocka_unit_test(what_is_unknown_is_left_alone),
      cmocka_unit_test(hashes_that_were_given_stay),
      cmocka_unit_test(padded_kernels_are_left_alone),
      cmocka_unit_test(arrays_without_conflicts_stay),
      cmocka_unit_test(cheap_places_are_proposed),
      cmocka_unit_test(merged_accesses_stay_merged),
      cmocka_unit_test(launches_can_decide),
      cmocka_unit_test(what_is_assumed_may_lie_beyond_memory),
      cmocka_unit_test(granules_fit_the_widest_access),
      cmocka_unit_test(known_kinds_are_judged_rightly),
      cmocka_unit_test(what_may_win_is_measured),
      cmocka_unit_test(resources_are_read_and_compared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
