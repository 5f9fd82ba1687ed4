/* The judge, by each of the three things that it can know; and plans, whose candidates are tried by
 * a runner with a table of costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/worth.h"
#include "tune/plans.h"
#include "tune/trial.h"

/* ---- Memory of two trials ---- */

/* Pointers are equal where they lead to the same place or to the function of the same name. */
static void pointers_are_compared_by_what_they_lead_to(void **state) {
  (void)state;
  uint64_t words[2][3] = {{1000, 16, 7}, {3000, 96, 7}};
  bf_trial_function functions[2][2] = {{{"f", 1000}, {"g", 1008}}, {{"g", 2992}, {"f", 3000}}};
  bf_trial_memory memory[2] = {{"table", 16, 24, (uint8_t *)words[0]},
                               {"table", 96, 24, (uint8_t *)words[1]}};
  bf_trial a = {.memories = 1, .memory = &memory[0], .functions = 2, .function = functions[0]};
  bf_trial b = {.memories = 1, .memory = &memory[1], .functions = 2, .function = functions[1]};
  bf_text difference = {0};
  assert_true(bf_trial_is_equal(&a, &b, &difference));
  words[1][0] = 2992; /* g */
  assert_false(bf_trial_is_equal(&a, &b, &difference));
  words[1][0] = 3001; /* amid f */
  assert_false(bf_trial_is_equal(&a, &b, &difference));
  bf_text_free(&difference);
}

/* ---- The judge ---- */

static void work_is_shared_by_busy_multiprocessors(void **state) {
  (void)state;
  assert_int_equal(bf_work_cycles(800, 400, 100, 4, 4), 225);
  assert_int_equal(bf_work_cycles(800, 400, 2, 4, 4), 450);
  assert_int_equal(bf_work_cycles(800, 400, 0, 4, 4), 0);
}

/* Four instructions are worth a wavefront. */
static void counts_must_gain(void **state) {
  (void)state;
  bf_comparison c = {{.wavefronts = 100, .instructions = 1000},
                     {.wavefronts = 90, .instructions = 1039}};
  assert_true(bf_judge_is_worth(&c));
  assert_true(bf_judge_gain(&c) == 0.25);
  c.after.instructions = 1040;
  assert_false(bf_judge_is_worth(&c));
}

/* Either the simulator speaks for a hash by more than its error, or it and the work saved do,
 * whatever the counts say. */
static void cycles_must_be_fewer_beyond_error_or_with_less_work(void **state) {
  (void)state;
  bf_comparison both = {{.wavefronts = 9, .cycles = 1000, .work_cycles = 900},
                        {.wavefronts = 99, .cycles = 990, .work_cycles = 860}};
  bf_comparison slower = both, little = both;
  bf_sim_gpu *gpu;
  assert_int_equal(bf_sim_gpu_load("h200", &gpu, NULL), BF_OK);
  double share = gpu->rewrite_share; /* that the judge's constant is made of */
  slower.after.cycles = 1000;
  little.after.work_cycles = 861;
  assert_true(bf_judge_is_worth(&both));
  assert_false(bf_judge_is_worth(&slower));
  assert_false(bf_judge_is_worth(&little));
  assert_true(bf_judge_is_better(&both, &little));
  assert_false(bf_judge_is_better(&little, &both));
  little.after.cycles = 777; /* a gain of 1.2870 */
  assert_true(bf_judge_is_worth(&little));
  bf_sim_worth worth = bf_sim_worth_find(share, 1000, 777);
  assert_true(worth.low > 1);
  little.after.cycles = 778;
  assert_false(bf_judge_is_worth(&little));
  worth = bf_sim_worth_find(share, 1000, 778);
  assert_true(worth.low < 1);
  bf_sim_gpu_free(gpu);
}

static bf_comparison predicted(double share, uint64_t wavefronts, int64_t instructions) {
  return (bf_comparison){
      {.wavefronts = 1000, .predicted_cycles = 1000, .error = 0.1},
      {.wavefronts = wavefronts, .instructions = instructions, .predicted_cycles = 1000 * share}};
}

static void assert_chosen(const bf_comparison *tried, const bool *was_tried, unsigned count,
                          int expected) {
  bool is_worth;
  assert_int_equal(bf_judge_choose(tried, was_tried, count, &is_worth), expected);
}

/* Of candidates that a prediction does not tell apart the one with least work is taken, and of
 * those with as little the one with fewest instructions. */
static void what_is_not_told_apart_is_chosen_by_work(void **state) {
  (void)state;
  bool all[] = {true, true, true}, last[] = {false, true, true}, none[3] = {false};
  bf_comparison told[] = {predicted(0.60, 400, 200), predicted(0.63, 300, 0),
                          predicted(0.59, 400, 400)};
  assert_chosen(told, none, 3, -1);
  assert_chosen(told, last, 3, 2);   /* more than 4% apart */
  assert_chosen(told, all, 3, 0);    /* 400 + 200/4 against 400 + 400/4 */
  told[1] = predicted(0.61, 460, 0); /* more work than 400 + 200/4, but not by 5% */
  assert_chosen(told, all, 3, 1);
  told[1] = predicted(0.61, 480, 0); /* by more */
  assert_chosen(told, all, 3, 0);
  told[1] = predicted(0.61, -20 + 460, -2000); /* less than no work: it is the least */
  assert_chosen(told, all, 3, 1);
  told[1].after.likely_work = 0.7; /* in the launch that is likely it is more */
  assert_chosen(told, all, 3, 0);
}

/* One that is not worth it for a hair is taken for the best, which is, where it is smaller. */
static void what_is_smaller_is_as_good(void **state) {
  (void)state;
  const bool both[] = {true, true};
  bf_comparison told[] = {predicted(0.910, 400, 100), predicted(0.909, 400, 200)};
  bool is_worth = false;
  assert_false(bf_judge_is_worth(&told[0]));
  assert_int_equal(bf_judge_choose(told, both, 2, &is_worth), 0);
  assert_true(is_worth);
  told[0].after.wavefronts = 430; /* more work */
  assert_int_equal(bf_judge_choose(told, both, 2, &is_worth), 1);
  told[0] = predicted(0.95, 400, 100); /* told apart */
  assert_int_equal(bf_judge_choose(told, both, 2, &is_worth), 1);
  told[1] = predicted(0.92, 400, 200); /* the best is not worth it */
  assert_int_equal(bf_judge_choose(told, both, 2, &is_worth), 1);
  assert_false(is_worth);
}

/* Where nothing is worth it, the best is named; measured times are told apart. */
/* Fewer wavefronts, or as many, and a third of the instructions; shares count, as both may be of
 * other launches. */
static void what_is_clearly_cheaper_adds_a_third(void **state) {
  (void)state;
  bf_comparison hash = {{.wavefronts = 100}, {.wavefronts = 20, .instructions = 30}};
  bf_comparison rows = {{.wavefronts = 200}, {.wavefronts = 40, .instructions = 10}};
  assert_true(bf_judge_is_clearly_cheaper(&rows, &hash));
  assert_false(bf_judge_is_clearly_cheaper(&hash, &rows));
  rows.after.instructions = 11;
  assert_false(bf_judge_is_clearly_cheaper(&rows, &hash));
  rows.after.instructions = -5; /* some are not needed any more */
  assert_true(bf_judge_is_clearly_cheaper(&rows, &hash));
  rows.after.wavefronts = 41;
  assert_false(bf_judge_is_clearly_cheaper(&rows, &hash));
}

static void what_is_told_apart_is_the_best(void **state) {
  (void)state;
  const bool both[] = {true, true};
  bf_comparison useless[] = {predicted(0.97, 900, 10), predicted(0.96, 950, 100)};
  bf_comparison measured[] = {{{.ns = 100}, {.ns = 61}}, {{.ns = 100}, {.ns = 60}}};
  assert_chosen(useless, both, 2, 1);
  assert_chosen(measured, both, 2, 1);
}

/* Measured times decide before all else, beyond a hundredth and beyond noise. */
static void times_must_beat_noise(void **state) {
  (void)state;
  bf_comparison c = {{.cycles = 10, .work_cycles = 10, .ns = 1000},
                     {.cycles = 20, .work_cycles = 20, .ns = 989}};
  assert_true(bf_judge_is_worth(&c));
  c.after.ns = 990;
  assert_false(bf_judge_is_worth(&c));
  c.after.ns = 960;
  c.before.noise = 0.05;
  assert_false(bf_judge_is_worth(&c));
  c.before.noise = 0;
  c.after.noise = 0.03;
  assert_true(bf_judge_is_worth(&c));
}

static void explained(const bf_comparison *c, const char *expected) {
  bf_text text = {0};
  bf_judge_explain(c, &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

static void reasons_name_what_decided(void **state) {
  (void)state;
  bf_comparison c = {{.wavefronts = 100, .instructions = 10},
                     {.wavefronts = 95, .instructions = 70}};
  explained(&c, "rewritten, it would take 95 wavefronts, not 100, and 60 more instructions");
  c.before.cycles = 500;
  c.after.cycles = 510;
  explained(&c, "rewritten, it would take 95 wavefronts, not 100, and 60 more instructions: 510 "
                "cycles, not 500");
  c.before.ns = 200;
  c.after.ns = 199;
  c.after.noise = 0.02;
  explained(&c, "hashed, it takes 99.5% of the time, with noise of 2.0%");
}

/* ---- Plans ---- */

/* Two kernels that read columns of a tile. */
#define KERNEL(name)                                                                               \
  ".visible .entry " name "()\n{\n.shared .align 16 .b8 " name "_tile[4096];\n"                    \
  ".reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nmov.u32 %r3, " name               \
  "_tile;\nadd.u32 %r4, %r3, %r2;\nld.shared.u32 %r5, [%r4];\nst.shared.u32 [%r3], "               \
  "%r5;\nret;\n}\n"
static const char text[] =
    ".version 8.5\n.target sm_90\n.address_size 64\n" KERNEL("first") KERNEL("second");

/* A column and a row, so that there is something to propose. */
static bf_workload *make_accesses(void) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned way = 0; way < 2; way++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = UINT32_MAX, .count = 100};
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = way ? 4 * lane : 128 * lane;
    assert_int_equal(bf_workload_add(workload, &access), BF_OK);
  }
  return workload;
}

/* A runner: what each kernel takes after the run, or that it is no good. */
typedef struct table {
  const bf_plans *plans;
  unsigned runs;
  bool is_good;
  uint64_t after_first, after_second; /* wavefronts; 0: not launched */
  uint64_t cycles;                    /* after, of 1000 before; 0: not simulated */
  bool had_hash;
} table;

static int run(void *context, bool *is_good, bf_diagnostic *diagnostic) {
  table *t = context;
  bf_rewrite_result result = {0};
  assert_int_equal(bf_plans_rewrite(t->plans, true, &result, diagnostic), BF_OK);
  t->had_hash |= result.is_changed && result.module;
  bf_rewrite_free(&result);
  t->runs++;
  *is_good = t->is_good;
  return BF_OK;
}

static bool compare(void *context, const char *kernel, bf_comparison *comparison) {
  const table *t = context;
  uint64_t after = strcmp(kernel, "first") == 0 ? t->after_first : t->after_second;
  *comparison = (bf_comparison){{.wavefronts = 1000}, {.wavefronts = after}};
  if (t->cycles) {
    comparison->before.cycles = comparison->before.work_cycles = 1000;
    comparison->after.cycles = comparison->after.work_cycles = t->cycles;
  }
  return after;
}

/* Proposes for both kernels and tries with the table. */
static void tune(table *t, bf_ptx_module **module, bf_machine **machine, bf_plans *plans) {
  bf_diagnostic diagnostic;
  bf_workload *accesses = make_accesses();
  bf_observed observed = {.written = accesses, .merged = accesses};
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), module, &diagnostic), BF_OK);
  assert_int_equal(bf_machine_load("hopper", NULL, machine, &diagnostic), BF_OK);
  assert_int_equal(bf_plans_make(*module, "test", NULL, plans, &diagnostic), BF_OK);
  bf_plans_search search = {.machine = *machine};
  bf_plans_runner runner = {.run = run, .compare = compare, .context = t};
  t->plans = plans;
  for (unsigned i = 0; i < plans->count; i++)
    assert_int_equal(bf_plan_propose(plans, &plans->plan[i], &search, &observed, &diagnostic),
                     BF_OK);
  assert_true(plans->plan[0].proposal.candidates > 0);
  assert_int_equal(bf_plans_try(&plans, 1, &runner, &diagnostic), BF_OK);
  bf_workload_free(accesses);
}

static void end(bf_ptx_module *module, bf_machine *machine, bf_plans *plans) {
  bf_plans_free(plans);
  bf_ptx_free(module);
  bf_machine_free(machine);
}

static void better_is_taken_and_worse_is_not(void **state) {
  (void)state;
  table t = {.is_good = true, .after_first = 100, .after_second = 1001};
  bf_ptx_module *module;
  bf_machine *machine;
  bf_plans plans;
  tune(&t, &module, &machine, &plans);
  assert_int_equal(t.runs, plans.plan[0].proposal.candidates);
  assert_true(t.had_hash);
  assert_true(bf_plan_has_hash(&plans, &plans.plan[0]));
  assert_string_equal(plans.plan[0].reason, "");
  assert_false(bf_plan_has_hash(&plans, &plans.plan[1]));
  assert_string_equal(plans.plan[1].reason,
                      "rewritten, it would take 1001 wavefronts, not 1000, and "
                      "0 more instructions");
  end(module, machine, &plans);
}

static void cycles_decide_where_they_are_known(void **state) {
  (void)state;
  table t = {.is_good = true, .after_first = 100, .after_second = 100, .cycles = 980};
  bf_ptx_module *module;
  bf_machine *machine;
  bf_plans plans;
  tune(&t, &module, &machine, &plans);
  assert_false(bf_plan_has_hash(&plans, &plans.plan[0])); /* 2% is less than the error */
  end(module, machine, &plans);
  t = (table){.is_good = true, .after_first = 2000, .after_second = 2000, .cycles = 950};
  tune(&t, &module, &machine, &plans);
  assert_true(bf_plan_has_hash(&plans, &plans.plan[0]));
  end(module, machine, &plans);
}

static void runs_that_end_otherwise_count_nothing(void **state) {
  (void)state;
  table t = {.is_good = false, .after_first = 1, .after_second = 1};
  bf_ptx_module *module;
  bf_machine *machine;
  bf_plans plans;
  tune(&t, &module, &machine, &plans);
  assert_false(bf_plan_has_hash(&plans, &plans.plan[0]));
  assert_string_equal(plans.plan[0].reason, "no run with a candidate ended as the first did");
  end(module, machine, &plans);
}

/* What was rewritten stays as it is, whoever asks: plans, and a list of hashes. */
static void rewritten_modules_are_refused(void **state) {
  (void)state;
  bf_ptx_module *module;
  bf_machine *machine;
  bf_plans plans, again;
  bf_rewrite_result once, twice;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &module, &diagnostic), BF_OK);
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  bf_geometry geometry = bf_machine_geometry(machine);
  assert_int_equal(bf_plans_make(module, "test", "first", &plans, &diagnostic), BF_OK);
  assert_int_equal(bf_plans_set_hash(&plans, "fixed", &geometry, &diagnostic), BF_OK);
  assert_int_equal(bf_plans_rewrite(&plans, false, &once, &diagnostic), BF_OK);
  assert_true(once.is_changed && !once.was_rewritten);
  assert_int_equal(bf_plans_make(once.module, "test", NULL, &again, &diagnostic), BF_OK);
  assert_true(again.examined.was_rewritten);
  assert_false(bf_plan_is_open(&again, &again.plan[0]));
  assert_int_equal(bf_plans_set_hash(&again, "fixed", &geometry, &diagnostic), BF_OK);
  assert_int_equal(bf_plans_rewrite(&again, false, &twice, &diagnostic), BF_OK);
  assert_true(twice.was_rewritten && !twice.is_changed && !twice.module);
  for (unsigned i = 0; i < twice.kernels; i++)
    assert_string_equal(twice.kernel[i].obstacle[0].text, "it was rewritten before");
  bf_rewrite_free(&twice);
  bf_plans_free(&again);
  bf_rewrite_free(&once);
  end(module, machine, &plans);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pointers_are_compared_by_what_they_lead_to),
      cmocka_unit_test(work_is_shared_by_busy_multiprocessors),
      cmocka_unit_test(counts_must_gain),
      cmocka_unit_test(cycles_must_be_fewer_beyond_error_or_with_less_work),
      cmocka_unit_test(what_is_not_told_apart_is_chosen_by_work),
      cmocka_unit_test(what_is_smaller_is_as_good),
      cmocka_unit_test(what_is_clearly_cheaper_adds_a_third),
      cmocka_unit_test(what_is_told_apart_is_the_best),
      cmocka_unit_test(times_must_beat_noise),
      cmocka_unit_test(reasons_name_what_decided),
      cmocka_unit_test(better_is_taken_and_worse_is_not),
      cmocka_unit_test(cycles_decide_where_they_are_known),
      cmocka_unit_test(runs_that_end_otherwise_count_nothing),
      cmocka_unit_test(rewritten_modules_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
