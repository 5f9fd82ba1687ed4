/* GPU files: the built-in ones hold what they should, every fault is reported where it is, and
 * values that cannot work together are refused with the reason. */
#include "sim/sim.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A complete small GPU; tests append to it. */
#define SMALL                                                                                      \
  "name small\n"                                                                                   \
  "title A small GPU\n"                                                                            \
  "machine fermi\n"                                                                                \
  "source s where it says so\n"
enum { SMALL_LINES = 4 };

static bf_sim_gpu *load(const char *name) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  if (bf_sim_gpu_load(name, &gpu, &diagnostic) != BF_OK)
    fail_msg("%s:%llu:%u: %s", diagnostic.file, (unsigned long long)diagnostic.line,
             diagnostic.column, diagnostic.message);
  return gpu;
}

static bf_sim_gpu *parse(const char *text) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  if (bf_sim_gpu_parse("test", text, &gpu, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message);
  return gpu;
}

static void set(bf_sim_gpu *gpu, const char *assignment) {
  bf_diagnostic diagnostic;
  if (bf_sim_gpu_set(gpu, assignment, &diagnostic) != BF_OK)
    fail_msg("%s: %s", assignment, diagnostic.message);
}

static const bf_sim_parameter *find(const char *name) {
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    if (strcmp(p->name, name) == 0)
      return p;
  fail_msg("no parameter %s", name);
  return NULL;
}

static const bf_machine_fact *find_fact(const bf_sim_gpu *gpu, const char *key) {
  for (size_t i = 0; i < gpu->fact_count; i++)
    if (strcmp(gpu->facts[i].key, key) == 0)
      return &gpu->facts[i];
  return NULL;
}

static void assert_value(const bf_sim_gpu *gpu, const char *name, const char *expected) {
  bf_text text = {0};
  bf_sim_gpu_get(gpu, find(name), &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

/* ---- The table ---- */

static void every_parameter_has_a_meaning_and_a_default_in_range(void **state) {
  (void)state;
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++) {
    assert_true(strlen(p->meaning) > 3);
    assert_true((p->kind == BF_SIM_CHOICE) == (p->words != NULL));
    if (p->kind != BF_SIM_CHOICE)
      assert_true(p->least <= p->value && p->value <= p->most);
    for (const bf_sim_parameter *other = bf_sim_parameters; other != p; other++)
      assert_string_not_equal(other->name, p->name);
  }
}

static void choices_have_the_words_of_their_enumerations(void **state) {
  (void)state;
  bf_sim_gpu *gpu = parse(SMALL);
  gpu->pipeline = BF_SIM_ELASTIC;
  gpu->scheduler = BF_SIM_CONFLICT_AWARE;
  assert_value(gpu, "pipeline", "elastic");
  assert_value(gpu, "scheduler", "conflict-aware");
  gpu->pipeline = BF_SIM_SCOREBOARD;
  gpu->scheduler = BF_SIM_TWO_LEVEL;
  assert_value(gpu, "pipeline", "scoreboard");
  assert_value(gpu, "scheduler", "two-level");
  bf_sim_gpu_free(gpu);
}

/* ---- Built-in GPUs ---- */

static void builtin_gpus_are_sorted_and_load(void **state) {
  (void)state;
  unsigned count = 0;
  for (; bf_embedded_gpus[count].name; count++) {
    const char *name = bf_embedded_gpus[count].name;
    if (count)
      assert_true(strcmp(bf_embedded_gpus[count - 1].name, name) < 0);
    bf_sim_gpu *gpu = load(name);
    assert_string_equal(gpu->name, name);
    assert_true(strlen(gpu->title) > 0);
    assert_non_null(gpu->machine);
    bf_sim_gpu_free(gpu);
  }
  assert_int_equal(count, 19);
}

/* `bankfold machines NAME` looks for both. */
static void gpus_and_machines_have_different_names(void **state) {
  (void)state;
  for (unsigned i = 0; bf_embedded_gpus[i].name; i++)
    for (unsigned j = 0; bf_machine_builtin(j); j++)
      assert_string_not_equal(bf_embedded_gpus[i].name, bf_machine_builtin(j));
}

/* Every fact is of a parameter and has the value that the parameter has. */
static void facts_are_true_and_have_sources(void **state) {
  (void)state;
  for (unsigned i = 0; bf_embedded_gpus[i].name; i++) {
    bf_sim_gpu *gpu = load(bf_embedded_gpus[i].name);
    for (size_t f = 0; f < gpu->fact_count; f++) {
      assert_value(gpu, gpu->facts[f].key, gpu->facts[f].value);
      size_t source = 0;
      while (source < gpu->source_count &&
             strcmp(gpu->source_name[source], gpu->facts[f].source) != 0)
        source++;
      assert_true(source < gpu->source_count);
    }
    bf_sim_gpu_free(gpu);
  }
}

/* ---- Reading ---- */

static void values_without_a_line_have_their_default(void **state) {
  (void)state;
  bf_sim_gpu *gpu = parse(SMALL "sms 12 measured s\nclock_mhz 1544.5 assumed s\n"
                                "scheduler gto published s # greedy\n");
  assert_int_equal(gpu->sms, 12);
  assert_true(gpu->clock_mhz == 1544.5);
  assert_int_equal(gpu->scheduler, BF_SIM_GTO);
  assert_int_equal(gpu->warps_per_sm, (uint64_t)find("warps_per_sm")->value);
  assert_int_equal(gpu->fact_count, 3);
  assert_null(find_fact(gpu, "warps_per_sm"));
  assert_string_equal(find_fact(gpu, "sms")->basis, "measured");
  assert_string_equal(bf_machine_name(gpu->machine), "fermi");
  bf_sim_gpu_free(gpu);
}

static void a_base_gives_what_the_file_does_not_say(void **state) {
  (void)state;
  bf_sim_gpu *base = load("gtx580");
  bf_sim_gpu *gpu = parse("name mine\nbase gtx580\ntitle Mine\nsource s mine\nsms 3 measured s\n");
  assert_string_equal(gpu->name, "mine");
  assert_string_equal(gpu->title, "Mine");
  assert_int_equal(gpu->sms, 3);
  assert_string_equal(find_fact(gpu, "sms")->basis, "measured");
  assert_int_equal(gpu->shared_cycles, base->shared_cycles);
  assert_int_equal(gpu->fact_count, base->fact_count);
  assert_int_equal(gpu->source_count, base->source_count + 1);
  assert_string_equal(bf_machine_name(gpu->machine), "fermi");
  bf_sim_gpu_free(gpu);
  gpu = parse("name mine\ntitle Mine\nbase gtx580\nmachine kepler\n");
  assert_string_equal(bf_machine_name(gpu->machine), "kepler");
  bf_sim_gpu_free(gpu);
  bf_sim_gpu_free(base);
}

/* A fault in a file: where, and what is said. Line 0: the fault of the whole file. */
static void faults_are_reported_where_they_are(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
  } cases[] = {
      {"", 0, 1, "the file ends without 'name'"},
      {"name x\n", 1, 1, "the file ends without 'title'"},
      {"name x\ntitle y\n", 2, 1, "the file ends without 'machine'"},
      {"name a b\n", 1, 8, "unexpected 'b'"},
      {"name a\nname b\n", 2, 1, "name is given twice"},
      {"machine\n", 1, 8, "expected the name of a machine"},
      {SMALL "machine kepler\n", SMALL_LINES + 1, 1, "machine is given twice"},
      {SMALL "base gtx580\n", SMALL_LINES + 1, 1, "base comes once, before all but name and title"},
      {"base\n", 1, 5, "expected the name of a GPU"},
      {SMALL "sms 0 measured s\n", SMALL_LINES + 1, 5, "sms must be from 1 to 256"},
      {SMALL "sms 257 measured s\n", SMALL_LINES + 1, 5, "sms must be from 1 to 256"},
      {SMALL "sms x measured s\n", SMALL_LINES + 1, 5, "sms must be a whole number, not 'x'"},
      {SMALL "sms 1.5 measured s\n", SMALL_LINES + 1, 5, "sms must be a whole number, not '1.5'"},
      {SMALL "sms 18446744073709551615 measured s\n", SMALL_LINES + 1, 5,
       "sms must be from 1 to 256"},
      {SMALL "sms 1 2 measured s\n", SMALL_LINES + 1, 7, "unexpected '2'"},
      {SMALL "sms measured s\n", SMALL_LINES + 1, 4, "sms must be a whole number, not ''"},
      {SMALL "sms 1\n", SMALL_LINES + 1, 6,
       "a fact ends in measured, published or assumed and the name of a source"},
      {SMALL "sms 1 measured t\n", SMALL_LINES + 1, 16, "no source line above declares 't'"},
      {SMALL "sms 1 measured s\nsms 1 measured s\n", SMALL_LINES + 2, 1, "sms is given twice"},
      {SMALL "source s again\n", SMALL_LINES + 1, 8, "source 's' is declared twice"},
      {SMALL "clock_mhz nan measured s\n", SMALL_LINES + 1, 11,
       "clock_mhz must be a number, not 'nan'"},
      {SMALL "clock_mhz 1e9 measured s\n", SMALL_LINES + 1, 11,
       "clock_mhz must be from 1 to 10000"},
      {SMALL "clock_mhz 1e measured s\n", SMALL_LINES + 1, 11,
       "clock_mhz must be a number, not '1e'"},
      {SMALL "moves fre measured s\n", SMALL_LINES + 1, 7, "moves must be one of: free issue"},
      {SMALL "sheduler lrr measured s\n", SMALL_LINES + 1, 1,
       "unknown key 'sheduler'; near it: scheduler, schedulers"},
      {SMALL "l3_bytes 1 measured s\n", SMALL_LINES + 1, 1,
       "unknown key 'l3_bytes'; near it: l1_bytes, l2_bytes"},
      {SMALL "colour 1 measured s\n", SMALL_LINES + 1, 1, "unknown key 'colour'"},
      {SMALL "pipeline split measured s\nschedulers 2 measured s\n", 0, 0,
       "an in-order pipeline has schedulers=1 and dispatch=1, not 2 and 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_sim_gpu *gpu = NULL;
    bf_diagnostic diagnostic = {0};
    assert_int_equal(bf_sim_gpu_parse("test", cases[i].text, &gpu, &diagnostic), BF_BAD_INPUT);
    assert_null(gpu);
    assert_string_equal(diagnostic.message, cases[i].message);
    assert_int_equal(diagnostic.line, cases[i].line);
    assert_int_equal(diagnostic.column, cases[i].column);
  }
}

/* ---- Overrides ---- */

static void overrides_change_values_and_their_facts(void **state) {
  (void)state;
  bf_sim_gpu *gpu = load("gtx580");
  size_t facts = gpu->fact_count;
  set(gpu, "sms=2");
  set(gpu, "simd_width=4"); /* the file does not give it */
  set(gpu, "scheduler=oldest");
  set(gpu, "dram_sector_cycles=0.5");
  set(gpu, "machine=kepler8");
  assert_int_equal(gpu->sms, 2);
  assert_int_equal(gpu->simd_width, 4);
  assert_int_equal(gpu->scheduler, BF_SIM_OLDEST);
  assert_value(gpu, "dram_sector_cycles", "0.5");
  assert_string_equal(bf_machine_name(gpu->machine), "kepler8");
  assert_int_equal(gpu->fact_count, facts + 1);
  assert_string_equal(find_fact(gpu, "sms")->basis, "override");
  assert_string_equal(find_fact(gpu, "sms")->value, "2");
  bf_sim_gpu_free(gpu);
}

/* All parameters can be set, again and again, on a GPU whose file gives none. */
static void every_parameter_can_be_set_to_its_bounds(void **state) {
  (void)state;
  bf_sim_gpu *gpu = parse(SMALL);
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++) {
    char assignment[160];
    if (p->kind == BF_SIM_CHOICE) {
      snprintf(assignment, sizeof assignment, "%s=%.*s", p->name, (int)strcspn(p->words, " "),
               p->words);
      set(gpu, assignment);
      continue;
    }
    snprintf(assignment, sizeof assignment, "%s=%.10g", p->name, p->least);
    set(gpu, assignment);
    snprintf(assignment, sizeof assignment, "%s=%.0f", p->name, p->most);
    set(gpu, assignment);
    assert_value(gpu, p->name, strchr(assignment, '=') + 1);
  }
  bf_sim_gpu_free(gpu);
}

static void bad_overrides_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *assignment, *message;
  } cases[] = {
      {"sms", "expected key=value, not 'sms'"},
      {"=3", "expected key=value, not '=3'"},
      {"sms=", "sms must be a whole number, not ''"},
      {"sms=-1", "sms must be a whole number, not '-1'"},
      {"shceduler=lrr", "unknown key 'shceduler'; near it: scheduler"},
      {"dram=3", "unknown key 'dram'; near it: dram_fetch, dram_channels, dram_banks, "
                 "dram_row_bytes"},
      {"name=x", "unknown key 'name'"},
      {"merge=maybe", "merge must be one of: no yes"},
      {"barrel=loose", "barrel must be one of: strict relaxed ordered"},
  };
  bf_sim_gpu *gpu = load("gtx580");
  bf_diagnostic diagnostic;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(bf_sim_gpu_set(gpu, cases[i].assignment, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, cases[i].message);
  }
  assert_int_equal(bf_sim_gpu_set(gpu, "machine=voodoo", &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "unknown machine 'voodoo'"));
  assert_string_equal(bf_machine_name(gpu->machine), "fermi");
  bf_sim_gpu_free(gpu);
}

/* ---- What cannot work together ---- */

static void impossible_combinations_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *gpu, *set[3], *message;
  } cases[] = {
      {"elastic",
       {"schedulers=2"},
       "an in-order pipeline has schedulers=1 and dispatch=1, not 2 and 1"},
      {"elastic",
       {"dispatch=2"},
       "an in-order pipeline has schedulers=1 and dispatch=1, not 1 and 2"},
      {"elastic",
       {"pipeline=unified", "dispatch=2"},
       "an in-order pipeline has schedulers=1 and dispatch=1, not 1 and 2"},
      {"elastic", {"scheduler=two-level"}, "scheduler=two-level needs pipeline=scoreboard"},
      {"elastic", {"lookahead=4"}, "lookahead=4 needs pipeline=scoreboard"},
      {"elastic", {"simd_width=12"}, "simd_width=12 does not divide a warp of 32 lanes"},
      {"elastic", {"stages=6"}, "memory_stages=4 leave fewer than 3 of 6 stages for the rest"},
      {"elastic",
       {"scheduler=lrr", "let_through=yes"},
       "let_through=yes needs scheduler=conflict-aware"},
      {"gtx580",
       {"schedulers=8", "warps_per_sm=7"},
       "warps_per_sm=7 leave some of 8 schedulers without warps"},
      {"gtx580",
       {"registers_per_sm=1024"},
       "registers_per_sm=1024 are fewer than the 2048 of a warp with registers_per_thread=63"},
      {"gtx580", {"machine=kepler8", "shared_bytes_per_sm=1024"}, NULL},
      {"gtx580", {"l1_bytes=1000"}, "l1_bytes=1000 is no multiple of l1_ways * 128 = 512"},
      {"gtx580",
       {"l2_slices=5"},
       "l2_bytes=786432 is no multiple of l2_slices * l2_ways * 128 = 10240"},
      {"gtx580", {"dram_row_bytes=1000"}, "dram_row_bytes=1000 is no multiple of 128"},
      {"gtx580", {"dram_miss_cycles=10"}, "dram_miss_cycles=10 are fewer than dram_hit_cycles=220"},
      {"gtx580", {"l1_bytes=0", "l2_bytes=0"}, NULL},
      {"elastic", {"stages=9"}, NULL},
      {"elastic", {"let_through=yes"}, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_sim_gpu *gpu = load(cases[i].gpu);
    bf_diagnostic diagnostic;
    for (unsigned j = 0; j < 3 && cases[i].set[j]; j++)
      set(gpu, cases[i].set[j]);
    int error = bf_sim_gpu_check(gpu, &diagnostic);
    assert_int_equal(error, cases[i].message ? BF_BAD_INPUT : BF_OK);
    if (cases[i].message)
      assert_string_equal(diagnostic.message, cases[i].message);
    bf_sim_gpu_free(gpu);
  }
}

static void a_machine_must_take_a_whole_warp(void **state) {
  (void)state;
  bf_sim_gpu *gpu = load("gtx580");
  bf_diagnostic diagnostic;
  gpu->machine->lanes = 16;
  assert_int_equal(bf_sim_gpu_check(gpu, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message,
                      "machine fermi has 16 lanes, fewer than the 32 of a warp");
  bf_sim_gpu_free(gpu);
}

/* ---- Files ---- */

static void write_file(const char *path, const char *text) {
  bf_diagnostic diagnostic;
  assert_int_equal(bf_write_file(path, text, strlen(text), &diagnostic), BF_OK);
}

/* Bases and machines named by a file are looked for beside it. */
static void files_name_files_beside_them(void **state) {
  (void)state;
  char folder[] = "/tmp/bankfold-gpu-XXXXXX", path[80], other[80];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a.gpu", folder);
  snprintf(other, sizeof other, "%s/b.gpu", folder);
  write_file(path, "name a\ntitle A\nbase b.gpu\n");
  write_file(other, SMALL "sms 7 measured s\n");
  bf_sim_gpu *gpu = load(path);
  assert_int_equal(gpu->sms, 7);
  bf_sim_gpu_free(gpu);

  bf_diagnostic diagnostic;
  char expected[200];
  write_file(other, "name b\ntitle B\nbase a.gpu\n");
  assert_int_equal(bf_sim_gpu_load(path, &gpu, &diagnostic), BF_BAD_INPUT);
  snprintf(expected, sizeof expected, "'%s' has itself as its base", path);
  assert_string_equal(diagnostic.message, expected);
  assert_string_equal(diagnostic.file, other);
  assert_int_equal(diagnostic.line, 3);

  /* The same file by ever longer names. */
  write_file(path, "name a\ntitle A\nbase ./a.gpu\n");
  assert_int_equal(bf_sim_gpu_load(path, &gpu, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "more than 8 bases below each other");

  write_file(path, "name a\ntitle A\nmachine ./none.machine\n");
  assert_int_equal(bf_sim_gpu_load(path, &gpu, &diagnostic), BF_BAD_INPUT);
  snprintf(expected, sizeof expected, "%s/./none.machine: cannot open: No such file or directory",
           folder);
  assert_string_equal(diagnostic.message, expected);
  assert_int_equal(diagnostic.column, 9);
  unlink(path);
  unlink(other);
  rmdir(folder);
}

static void unknown_gpus_are_refused(void **state) {
  (void)state;
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_sim_gpu_load("voodoo", &gpu, &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "unknown GPU 'voodoo'; there are "));
  assert_non_null(strstr(diagnostic.message, " gtx580"));
  assert_int_equal(bf_sim_gpu_load("nowhere/x", &gpu, &diagnostic), BF_IO);
  assert_null(gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_parameter_has_a_meaning_and_a_default_in_range),
      cmocka_unit_test(choices_have_the_words_of_their_enumerations),
      cmocka_unit_test(builtin_gpus_are_sorted_and_load),
      cmocka_unit_test(gpus_and_machines_have_different_names),
      cmocka_unit_test(facts_are_true_and_have_sources),
      cmocka_unit_test(values_without_a_line_have_their_default),
      cmocka_unit_test(a_base_gives_what_the_file_does_not_say),
      cmocka_unit_test(faults_are_reported_where_they_are),
      cmocka_unit_test(overrides_change_values_and_their_facts),
      cmocka_unit_test(every_parameter_can_be_set_to_its_bounds),
      cmocka_unit_test(bad_overrides_are_refused),
      cmocka_unit_test(impossible_combinations_are_refused),
      cmocka_unit_test(a_machine_must_take_a_whole_warp),
      cmocka_unit_test(files_name_files_beside_them),
      cmocka_unit_test(unknown_gpus_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
