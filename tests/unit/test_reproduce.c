/* Runs of reproductions: claims, tables, files. */
#include "reproduce/frame/frame.h"
#include "reproduce/h200/energy_fit.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A reproduction to try things with ---- */

static int try_things(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  BF_TRY(bf_reproduce_step(run, 0, 1, "things", diagnostic));
  assert_true(bf_reproduce_workers(run) > 0);
  bf_reproduce_table *table = bf_reproduce_table_add(run, "numbers", "Some numbers", "name|value");
  bf_reproduce_cell(table, "%s", "a, b");
  bf_reproduce_cell(table, "%d", 1);
  bf_reproduce_cell(table, "%s", "say \"x|y\"");
  bf_reproduce_cell(table, "%d", 2);
  bf_reproduce_table *rows = bf_reproduce_table_add(run, "rows", "Many rows", "row");
  bf_reproduce_cell(rows, "7");
  bf_reproduce_table_csv_only(rows);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "near", .published = 100, .ours = 109, .must_hold = true});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "far",
                                                    .published = 4,
                                                    .ours = 5,
                                                    .unit = "%",
                                                    .must_hold = !bf_reproduce_is_quick(run),
                                                    .why = "it is too far."});
  bf_reproduce_fact(run, "shape", "it rises", true, true, "never shown", "by %d", 3);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "also far",
                                                    .document = "brown01",
                                                    .published = 4,
                                                    .ours = 5,
                                                    .unit = "%",
                                                    .why = "it is too far."});
  bf_reproduce_missing(run, "what needs %s.", "a moon");
  bf_reproduce_note(run, "A note about %s.", "numbers");
  static const double values[] = {1, 2};
  const bf_chart_series series = {.name = "s", .x = values, .y = values, .count = 2};
  return bf_reproduce_chart(run, "line",
                            &(bf_chart){.title = "A line", .series = &series, .series_count = 1},
                            diagnostic);
}

static const bf_reproduction things = {"things", "things", "smith99, Fig. 0", "Tries things.",
                                       try_things};

/* ---- Helpers ---- */

static char *folder_for_test(char *name) {
  assert_non_null(mkdtemp(name));
  return name;
}

static char *read_text(const char *folder, const char *name) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static char text[20000];
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

static void remove_folder(const char *folder) {
  static const char *const names[] = {"numbers.csv", "rows.csv", "line.svg", "claims.csv",
                                      "index.md"};
  for (unsigned i = 0; i < 5; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  assert_int_equal(rmdir(folder), 0);
}

/* ---- Tests ---- */

/* Claims and what the one rule must say about them. */
static void test_verdicts(void **state) {
  (void)state;
  static const double four[] = {5, 1, 2, 4}, near[] = {5.7, 0.9, 2, 4}, far[] = {5, 1, 2, 4.7};
  static const double order[] = {50, 1, 2, 3}, mixed[] = {50, 2, 1, 3};
  static const struct {
    bf_reproduce_claim claim;
    bf_reproduce_verdict verdict;
  } cases[] = {
      {{.published = 2, .ours = 2.3}, BF_HOLDS},
      {{.published = 2, .ours = 1.69}, BF_DIFFERS},
      {{.published = -2, .ours = -1.7}, BF_HOLDS},
      {{.published = 0, .ours = 0}, BF_HOLDS},
      {{.published = 0, .ours = 0.1}, BF_DIFFERS},
      {{.rule = BF_CLAIM_GAIN, .published = 1.2, .ours = 1.23}, BF_HOLDS},
      {{.rule = BF_CLAIM_GAIN, .published = 1.2, .ours = 1.24}, BF_DIFFERS},
      {{.rule = BF_CLAIM_GAIN, .published = 0.8, .ours = 0.83}, BF_HOLDS},
      {{.rule = BF_CLAIM_GAIN, .published = 0.8, .ours = 0.84}, BF_DIFFERS},
      {{.rule = BF_CLAIM_AT_MOST, .published = 4.5, .ours = 4.5}, BF_HOLDS},
      {{.rule = BF_CLAIM_AT_MOST, .published = 4.5, .ours = 4.6}, BF_DIFFERS},
      {{.rule = BF_CLAIM_AT_LEAST, .published = 4.5, .ours = 4.4}, BF_DIFFERS},
      {{.rule = BF_CLAIM_ALL, .published = 22, .ours = 22}, BF_HOLDS},
      {{.rule = BF_CLAIM_ALL, .published = 22, .ours = 21}, BF_DIFFERS},
      {{.published_list = four, .ours_list = near, .count = 4}, BF_HOLDS},
      {{.published_list = four, .ours_list = far, .count = 4}, BF_DIFFERS},
      {{.rule = BF_CLAIM_ORDER, .published_list = four, .ours_list = order, .count = 4}, BF_HOLDS},
      {{.rule = BF_CLAIM_ORDER, .published_list = four, .ours_list = mixed, .count = 4},
       BF_DIFFERS},
      {{.rule = BF_CLAIM_SAME, .published_text = "nw", .ours_text = "nw"}, BF_HOLDS},
      {{.rule = BF_CLAIM_SAME, .published_text = "nw", .ours_text = "nn"}, BF_DIFFERS},
      {{.rule = BF_CLAIM_WORDS, .is_so = true}, BF_HOLDS},
      {{.rule = BF_CLAIM_NONE, .is_so = true}, BF_DIFFERS},
      /* What was declared takes a success away, and hides no difference. */
      {{.published = 2, .ours = 2, .fitted = "the size"}, BF_FITTED},
      {{.published = 2, .ours = 2, .derived = "it is a sum"}, BF_DERIVED},
      {{.published = 2, .ours = 3, .fitted = "the size", .derived = "a sum"}, BF_DIFFERS},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
    if (bf_reproduce_judge(&cases[i].claim) != cases[i].verdict)
      fail_msg("case %u", i);
}

static void test_files(void **state) {
  (void)state;
  char name[] = "/tmp/bankfold-test-XXXXXX", inner[64], deeper[80];
  snprintf(inner, sizeof inner, "%s/a", folder_for_test(name));
  snprintf(deeper, sizeof deeper, "%s/b", inner);
  bf_reproduce_run *run;
  bf_diagnostic diagnostic;
  bf_reproduce_settings settings = {.folder = deeper};
  assert_int_equal(bf_reproduce_execute(&things, &settings, &run, &diagnostic), BF_OK);
  assert_int_equal(bf_reproduce_failures(run), 1);
  assert_string_equal(read_text(deeper, "numbers.csv"),
                      "name,value\n\"a, b\",1\n\"say \"\"x|y\"\"\",2\n");
  assert_string_equal(read_text(deeper, "rows.csv"), "row\n7\n");
  assert_string_equal(read_text(deeper, "claims.csv"),
                      "document,verdict,reproduction,claim,published,ours,difference,reason\n"
                      "smith99,holds,things,near,100,109,+9.0%,\n"
                      "smith99,differs,things,far,4%,5%,+25.0%,it is too far.\n"
                      "smith99,holds,things,shape,it rises,by 3,-,\n"
                      "brown01,differs,things,also far,4%,5%,+25.0%,it is too far.\n");
  bf_reproduce_summary summary;
  bf_text counts = {0};
  bf_reproduce_summary_begin(&summary);
  bf_reproduce_summary_add(&summary, run);
  bf_reproduce_summary_text(&summary, &counts);
  assert_non_null(strstr(counts.data, "smith99          2       1       0       0\n"));
  assert_non_null(strstr(counts.data, "brown01          0       1       0       0\n"));
  assert_non_null(strstr(counts.data, "documents        2       2       0       0\n"));
  bf_text_free(&counts);
  assert_non_null(strstr(read_text(deeper, "line.svg"), "</svg>"));
  assert_string_equal(read_text(deeper, "index.md"),
                      "# Things\n\nTries things. (smith99, Fig. 0)\n\n"
                      "| claim | published | ours | difference | verdict |\n|---|---|---|---|---|\n"
                      "| near | 100 | 109 | +9.0% | holds |\n"
                      "| far | 4% | 5% | +25.0% | **differs** |\n"
                      "| shape | it rises | by 3 | - | holds |\n"
                      "| also far | 4% | 5% | +25.0% | **differs** |\n\n"
                      "- Why not \"far\", \"also far\": it is too far.\n\n"
                      "**Not computed:** what needs a moon.\n\n"
                      "A note about numbers.\n\n"
                      "![A line](line.svg)\n\n"
                      "Some numbers ([numbers.csv](numbers.csv))\n\n"
                      "| name | value |\n|---|---|\n| a, b | 1 |\n| say \"x\\|y\" | 2 |\n\n"
                      "Many rows ([rows.csv](rows.csv))\n\n");
  bf_reproduce_free(run);
  remove_folder(deeper);
  assert_int_equal(rmdir(inner), 0);
  assert_int_equal(rmdir(name), 0);
}

static void test_quick_and_json(void **state) {
  (void)state;
  char name[] = "/tmp/bankfold-test-XXXXXX";
  bf_reproduce_run *run;
  bf_diagnostic diagnostic;
  bf_reproduce_settings settings = {.folder = folder_for_test(name), .quick = true};
  assert_int_equal(bf_reproduce_execute(&things, &settings, &run, &diagnostic), BF_OK);
  assert_int_equal(bf_reproduce_failures(run), 0);
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', false);
  bf_reproduce_json(run, &json);
  bf_json_end(&json, '}');
  assert_non_null(strstr(text.data, "\"verdict\": \"differs\""));
  assert_non_null(strstr(text.data, "\"reason\": \"it is too far.\""));
  assert_null(strstr(text.data, "never shown"));
  assert_non_null(strstr(text.data, "[\"numbers.csv\", \"rows.csv\", \"line.svg\", \"claims.csv\", "
                                    "\"index.md\"]"));
  bf_text_free(&text);
  bf_reproduce_free(run);
  remove_folder(name);
}

static bool refuse(void *context, unsigned done, unsigned total, const char *next) {
  (void)context, (void)done, (void)total, (void)next;
  return false;
}

static void test_stopped(void **state) {
  (void)state;
  char name[] = "/tmp/bankfold-test-XXXXXX";
  bf_reproduce_run *run;
  bf_diagnostic diagnostic;
  bf_reproduce_settings settings = {.folder = folder_for_test(name), .progress = refuse};
  assert_int_equal(bf_reproduce_execute(&things, &settings, &run, &diagnostic), BF_UNSUPPORTED);
  assert_string_equal(diagnostic.message, "things: stopped");
  bf_reproduce_free(run);
  remove_folder(name);
}

static void test_no_folder(void **state) {
  (void)state;
  bf_reproduce_run *run;
  bf_diagnostic diagnostic;
  bf_reproduce_settings settings = {.folder = "/dev/null/results"};
  assert_int_equal(bf_reproduce_execute(&things, &settings, &run, &diagnostic), BF_IO);
  assert_string_equal(diagnostic.message, "cannot make the folder: Not a directory");
  bf_reproduce_free(run);
}

/* ---- Parallel work ---- */

typedef struct tally {
  unsigned char done[100];
  unsigned bad;
} tally;

static int do_piece(void *context, unsigned index, bf_diagnostic *diagnostic) {
  tally *all = context;
  if (index == all->bad)
    return bf_fail(diagnostic, BF_BAD_INPUT, "piece %u is bad", index);
  all->done[index]++;
  return BF_OK;
}

static int do_all(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  tally all = {.bad = 100};
  BF_TRY(bf_reproduce_parallel(run, 100, "pieces", do_piece, &all, diagnostic));
  for (unsigned i = 0; i < 100; i++)
    assert_int_equal(all.done[i], 1);
  all.bad = 40;
  return bf_reproduce_parallel(run, 100, "pieces", do_piece, &all, diagnostic);
}

static void test_parallel(void **state) {
  (void)state;
  static const bf_reproduction pieces = {"pieces", "Pieces", "smith99", "Many.", do_all};
  char name[] = "/tmp/bankfold-test-XXXXXX";
  bf_reproduce_settings settings = {.folder = folder_for_test(name), .workers = 4};
  bf_reproduce_run *run;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_reproduce_execute(&pieces, &settings, &run, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "piece 40 is bad");
  bf_reproduce_free(run);
  remove_folder(name);
}

/* What the build has found can be found by name, once. */
static void test_list(void **state) {
  (void)state;
  const bf_reproduction *at;
  unsigned count = 0;
  for (; (at = bf_reproduce_get(count)); count++) {
    assert_ptr_equal(bf_reproduce_find(at->name), at);
    assert_true(at->title && at->document && at->summary && at->run);
  }
  assert_true(count > 0);
  assert_null(bf_reproduce_find("no such thing"));
  assert_null(bf_reproduce_ptx("no such thing"));
  assert_non_null(strstr(bf_reproduce_ptx("genindex"), ".entry genindex"));
}

/* Energies that launches were made from are found again, and none is below 0. */
static void test_energy_fit(void **state) {
  (void)state;
  static const double truth[H200_ENERGIES] = {100, 300, 0, 600, 1200, 400, 90, 1500};
  enum { ROWS = 40 };
  static h200_energy_row row[ROWS];
  bf_sim_gpu gpu = {.dram_picojoules = 30}, fitted = {.dram_picojoules = 30};
  uint32_t random = 1;
  for (unsigned i = 0; i < H200_ENERGIES; i++)
    *h200_energy_of(&gpu, i) = truth[i];
  for (unsigned i = 0; i < ROWS; i++) {
    bf_sim_result *own = &row[i].result;
    uint64_t *counts[] = {&own->activity[BF_SIM_ACTIVITY_INT],
                          &own->activity[BF_SIM_ACTIVITY_FLOAT],
                          &own->activity[BF_SIM_ACTIVITY_SPECIAL],
                          &own->activity[BF_SIM_ACTIVITY_MATRIX],
                          &own->activity[BF_SIM_ACTIVITY_OTHER],
                          &own->shared_wavefronts,
                          &own->global_sectors,
                          &own->dram_read_bytes};
    for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++)
      *counts[k] = (random = random * 1664525 + 1013904223) >> 12;
    own->seconds = 1e-5 * (1 + i % 7);
    bf_sim_energy energy;
    assert_true(bf_sim_energy_find(&gpu, own, &energy));
    row[i].joules = energy.total;
    row[i].is_fitted = true;
  }
  assert_false(h200_energy_fit(row, 10, &fitted));
  assert_true(h200_energy_fit(row, ROWS, &fitted));
  for (unsigned i = 0; i < H200_ENERGIES; i++) {
    double found = *h200_energy_of(&fitted, i);
    assert_true(found >= 0 && found - truth[i] < 0.5 && truth[i] - found < 0.5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verdicts),       cmocka_unit_test(test_files),
      cmocka_unit_test(test_quick_and_json), cmocka_unit_test(test_stopped),
      cmocka_unit_test(test_no_folder),      cmocka_unit_test(test_list),
      cmocka_unit_test(test_parallel),       cmocka_unit_test(test_energy_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
