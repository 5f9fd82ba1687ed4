/* Timelines and pipeline diagrams from events told by hand. */
#include "emu.h"

#include "sim/diagram.h"
#include "sim/timeline.h"
#include "sim/watch_pair.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Instruction 0 loads a parameter, 1 reads shared memory, 2 adds under a guard, 3 ends. */
static const char program[] = ".version 8.0\n"
                              ".target sm_80\n"
                              ".address_size 64\n"
                              ".file 1 \"kernels/tile.cu\"\n"
                              ".visible .entry tile(.param .u32 p)\n"
                              "{\n"
                              ".reg .pred %p<2>;\n"
                              ".reg .b32 %r<4>;\n"
                              ".shared .align 4 .b8 a[128];\n"
                              "ld.param.u32 %r1, [p];\n"
                              ".loc 1 19 3\n"
                              "ld.shared.u32 %r2, [a];\n"
                              "@%p1 add.s32 %r3, %r1, %r2;\n"
                              "ret;\n"
                              "}\n";

typedef struct watched {
  bed at;
  const bf_emu_kernel *kernel;
  char folder[64], path[80];
} watched;

static int setup(void **state) {
  static watched made;
  bed_open_text(&made.at, "tile.ptx", program, strlen(program), NULL);
  assert_int_equal(bf_emu_kernel_get(made.at.module, "tile", &made.kernel, NULL), BF_OK);
  strcpy(made.folder, "/tmp/bankfold-watch-XXXXXX");
  assert_non_null(mkdtemp(made.folder));
  snprintf(made.path, sizeof made.path, "%s/timeline.json", made.folder);
  *state = &made;
  return 0;
}

static int teardown(void **state) {
  watched *made = *state;
  unlink(made->path);
  rmdir(made->folder);
  bed_close(&made->at);
  return 0;
}

static bf_sim_event event(unsigned slot, uint32_t instruction, uint64_t issued, uint64_t done,
                          unsigned wavefronts) {
  return (bf_sim_event){.slot = slot,
                        .block = 7,
                        .warp = slot,
                        .instruction = instruction,
                        .issued = issued,
                        .done = done,
                        .wavefronts = wavefronts};
}

/* ---- Timelines ---- */

static char *read_whole(const char *path) {
  static char bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
  fclose(file);
  return bytes;
}

static unsigned occurrences(const char *text, const char *word) {
  unsigned count = 0;
  for (const char *at = text; (at = strstr(at, word)); at++)
    count++;
  return count;
}

static void timeline_has_an_event_per_instruction(void **state) {
  watched *made = *state;
  bf_timeline *timeline;
  bf_sim_watch watch;
  assert_int_equal(bf_timeline_open(made->path, &timeline, NULL), BF_OK);
  assert_int_equal(bf_timeline_begin(timeline, made->kernel, 1000, &watch, NULL), BF_OK);
  assert_int_equal(watch.last_cycle, 999);
  bf_sim_event told = event(3, 1, 10, 42, 32);
  told.sm = 1;
  watch.event(watch.context, &told);
  bf_timeline_end(timeline, 50);
  assert_int_equal(bf_timeline_events(timeline), 1);
  assert_int_equal(access(made->path, F_OK), -1);
  assert_int_equal(bf_timeline_commit(timeline, NULL), BF_OK);
  bf_timeline_close(timeline);
  const char *text = read_whole(made->path);
  assert_non_null(strstr(text,
                         "{\"ph\":\"X\",\"pid\":3,\"tid\":2,\"ts\":10,\"dur\":32,\"name\": "
                         "\"ld.shared.u32\", \"args\": {\"instruction\": \"ld.shared.u32 %r2, "
                         "[a]\", \"ptx_line\": 12, \"source\": \"tile.cu:19\",\"block\":7,"
                         "\"warp\":3,\"scheduler\":0,\"wavefronts\":32}}"));
  assert_non_null(strstr(text, "\"name\":\"SM 1\""));
  assert_non_null(strstr(text, "\"name\":\"warp slot 3\""));
  assert_non_null(strstr(text, "\"ts\": 0, \"dur\": 50, \"name\": \"tile\""));
}

/* Threads of the X events of processes of multiprocessors, in the order of the file. */
static unsigned threads_of(const char *text, unsigned *tid) {
  unsigned count = 0;
  for (const char *at = text; (at = strstr(at, "{\"ph\":\"X\",\"pid\":2,\"tid\":")); at++)
    assert_int_equal(sscanf(at, "{\"ph\":\"X\",\"pid\":2,\"tid\":%u", &tid[count++]), 1);
  return count;
}

static void timeline_keeps_overlapping_events_apart(void **state) {
  watched *made = *state;
  bf_timeline *timeline;
  bf_sim_watch watch;
  const bf_sim_event told[] = {
      event(0, 1, 10, 40, 1), /* first of the slot */
      event(0, 2, 11, 17, 0), /* overlaps it */
      event(0, 2, 17, 20, 0), /* begins where the second ends */
      event(0, 2, 40, 41, 0), /* begins where the first ends */
      event(1, 2, 10, 16, 0), /* another slot */
      event(0, 1, 12, 60, 0), /* told late: overlaps all */
  };
  assert_int_equal(bf_timeline_open(made->path, &timeline, NULL), BF_OK);
  assert_int_equal(bf_timeline_begin(timeline, made->kernel, 1000, &watch, NULL), BF_OK);
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    watch.event(watch.context, &told[i]);
  assert_int_equal(bf_timeline_commit(timeline, NULL), BF_OK);
  bf_timeline_close(timeline);
  unsigned tid[8];
  assert_int_equal(threads_of(read_whole(made->path), tid), 6);
  const unsigned expected[] = {2, 3, 3, 2, 4, 5};
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(tid[i], expected[i]);
}

static void timeline_puts_launches_behind_each_other(void **state) {
  watched *made = *state;
  bf_timeline *timeline;
  bf_sim_watch watch;
  assert_int_equal(bf_timeline_open(made->path, &timeline, NULL), BF_OK);
  for (unsigned launch = 0; launch < 2; launch++) {
    assert_int_equal(bf_timeline_begin(timeline, made->kernel, 1000, &watch, NULL), BF_OK);
    bf_sim_event told = event(0, 1, 10, 130, 0); /* its data comes after the end */
    watch.event(watch.context, &told);
    bf_timeline_end(timeline, 100);
  }
  assert_int_equal(bf_timeline_commit(timeline, NULL), BF_OK);
  bf_timeline_close(timeline);
  const char *text = read_whole(made->path);
  assert_non_null(strstr(text, "\"ts\":10,\"dur\":120"));
  assert_non_null(strstr(text, "\"ts\":140,\"dur\":120"));
  assert_non_null(strstr(text, "\"ts\": 130, \"dur\": 100"));
}

/* More text than is kept before it is written, and more threads than at first. */
static void timeline_grows(void **state) {
  watched *made = *state;
  bf_timeline *timeline;
  bf_sim_watch watch;
  assert_int_equal(bf_timeline_open(made->path, &timeline, NULL), BF_OK);
  assert_int_equal(bf_timeline_begin(timeline, made->kernel, 1000, &watch, NULL), BF_OK);
  for (unsigned i = 0; i < 2000; i++) {
    bf_sim_event told = event(i % 64, 2, i, i + 100, 0);
    told.sm = i % 5;
    watch.event(watch.context, &told);
  }
  assert_int_equal(bf_timeline_commit(timeline, NULL), BF_OK);
  bf_timeline_close(timeline);
  struct stat status;
  assert_int_equal(stat(made->path, &status), 0);
  assert_true(status.st_size > 1 << 17);
  assert_true(occurrences(read_whole(made->path), "warp slot") > 64);
}

static void timeline_without_commit_leaves_nothing(void **state) {
  watched *made = *state;
  bf_timeline *timeline;
  bf_sim_watch watch;
  unlink(made->path);
  assert_int_equal(bf_timeline_open(made->path, &timeline, NULL), BF_OK);
  assert_int_equal(bf_timeline_begin(timeline, made->kernel, 1000, &watch, NULL), BF_OK);
  bf_sim_event told = event(0, 1, 10, 40, 1);
  watch.event(watch.context, &told);
  bf_timeline_close(timeline);
  assert_int_equal(access(made->path, F_OK), -1);
  assert_int_equal(rmdir(made->folder), 0);
  bf_diagnostic diagnostic;
  assert_int_equal(bf_timeline_open(made->path, &timeline, &diagnostic), BF_IO);
  assert_int_equal(mkdir(made->folder, 0700), 0);
}

/* ---- Diagrams ---- */

static void check_text(bf_diagram *diagram, unsigned width, const char *expected) {
  bf_text text = {0};
  assert_int_equal(bf_diagram_text(diagram, false, width, &text, NULL), BF_OK);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

/* Warps: issue, memory, conflicts, and what comes after the last cycle is left out. */
static void diagram_of_warps(void **state) {
  watched *made = *state;
  bf_diagram *diagram;
  bf_sim_watch watch;
  assert_int_equal(bf_diagram_create(0, 0, 20, &diagram, NULL), BF_OK);
  assert_int_equal(bf_diagram_begin(diagram, made->kernel, &watch, NULL), BF_OK);
  const bf_sim_event told[] = {
      event(0, 0, 100, 101, 0), event(0, 1, 102, 106, 1),  event(2, 1, 103, 140, 8),
      event(0, 2, 104, 110, 0), event(0, 1, 112, 115, 32), event(1, 2, 120, 121, 0),
  };
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    watch.event(watch.context, &told[i]);
  bf_sim_event elsewhere = event(5, 2, 101, 102, 0);
  elsewhere.sm = 1;
  watch.event(watch.context, &elsewhere);
  check_text(diagram, 80,
             "SM 0, tile: warp slots by cycles; I issues, M accesses memory, 2-9 # that many "
             "wavefronts, - waits for a result\n"
             "cycle 100       110\n"
             "W0    I.M-I-----..#--.....\n"
             "W1    ....................\n"
             "W2    ...8----------------\n"
             "\n");
  bf_text svg = {0};
  assert_int_equal(bf_diagram_svg(diagram, &svg, NULL), BF_OK);
  assert_non_null(strstr(svg.data,
                         "<title>cycle 112, block 7, warp 0: ld.shared.u32 %r2, [a], PTX "
                         "line 12, tile.cu:19, 32 wavefronts; cycles 112 to 115</title>"));
  assert_int_equal(occurrences(svg.data, "<g>"), occurrences(svg.data, "</g>"));
  assert_int_equal(occurrences(svg.data, "class=\"bad\""), 2);
  bf_text_free(&svg);
  bf_diagram_free(diagram);
}

static void tell(const bf_sim_watch *watch, uint64_t cycle, const char *stage, unsigned slot,
                 unsigned part, bool is_stalled) {
  bf_sim_stage told = {.cycle = cycle,
                       .stage = stage,
                       .slot = slot,
                       .part = part,
                       .number = slot,
                       .is_stalled = is_stalled};
  watch->stage(watch->context, &told);
}

/* Fig. 2a of gou13: W0 conflicts at MEM0, which stalls what is behind it. */
static void diagram_of_stages(void **state) {
  watched *made = *state;
  bf_diagram *diagram;
  bf_sim_watch watch;
  assert_int_equal(bf_diagram_create(0, 0, 7, &diagram, NULL), BF_OK);
  assert_int_equal(bf_diagram_begin(diagram, made->kernel, &watch, NULL), BF_OK);
  tell(&watch, 0, "IF", 0, 0, false);
  tell(&watch, 1, "EXE", 0, 0, false);
  tell(&watch, 1, "EXE3", 5, 0, false);
  tell(&watch, 1, "IF", 1, 0, false);
  tell(&watch, 2, "MEM0", 0, 0, true);
  tell(&watch, 2, "EXE", 1, 0, false);
  tell(&watch, 3, "MEM0", 0, 0, false);
  tell(&watch, 3, "EXE", 1, 0, true);
  tell(&watch, 4, "MEM1", 0, 0, false);
  tell(&watch, 4, "MEM0", 1, 0, false);
  tell(&watch, 5, "WB", 0, 0, false);
  tell(&watch, 5, "MEM1", 1, 0, false);
  tell(&watch, 6, "WB", 1, 0, false);
  tell(&watch, 7, "WB", 2, 0, false); /* behind the last column */
  check_text(diagram, 80,
             "SM 0, tile: stages by cycles; * stalled, + and others\n"
             "cycle 0   1   2   3   4   5   6\n"
             "IF    W0  W1  .   .   .   .   .\n"
             "EXE3  .   W5  .   .   .   .   .\n"
             "EXE   .   W0  W1  W1* .   .   .\n"
             "MEM0  .   .   W0* W0  W1  .   .\n"
             "MEM1  .   .   .   .   W0  W1  .\n"
             "WB    .   .   .   .   .   W0  W1\n"
             "\n");
  bf_text svg = {0};
  assert_int_equal(bf_diagram_svg(diagram, &svg, NULL), BF_OK);
  assert_int_equal(occurrences(svg.data, " stalled\""), 2);
  bf_text_free(&svg);
  bf_diagram_free(diagram);
}

/* Parts of warps, queues with several entries, and bands where the terminal is narrow. */
static void diagram_of_parts_in_bands(void **state) {
  watched *made = *state;
  bf_diagram *diagram;
  bf_sim_watch watch;
  assert_int_equal(bf_diagram_create(0, 0, 12, &diagram, NULL), BF_OK);
  assert_int_equal(bf_diagram_begin(diagram, made->kernel, &watch, NULL), BF_OK);
  for (unsigned part = 0; part < 4; part++) {
    tell(&watch, 8 + part, "MEM0", 1, part, false);
    tell(&watch, 11, "PREMEM", 2, part, part == 3);
  }
  tell(&watch, 19, "NONMEM1", 3, 0, false);
  check_text(diagram, 40,
             "SM 0, tile: stages by cycles; * stalled, + and others\n"
             "cycle   8      9      10     11     12     13     14     15     16     17\n"
             "PREMEM  .      .      .      W2.3+* .      .      .      .      .      .\n"
             "MEM0    W1.0   W1.1   W1.2   W1.3   .      .      .      .      .      .\n"
             "NONMEM1 .      .      .      .      .      .      .      .      .      .\n"
             "\n"
             "cycle   18     19\n"
             "PREMEM  .      .\n"
             "MEM0    .      .\n"
             "NONMEM1 .      W3.0\n"
             "\n");
  bf_diagram_free(diagram);
}

/* Of what was issued before the cycle asked for, only the wait is seen. */
static void diagram_from_a_cycle(void **state) {
  watched *made = *state;
  bf_diagram *diagram;
  bf_sim_watch watch;
  assert_int_equal(bf_diagram_create(0, 50, 10, &diagram, NULL), BF_OK);
  assert_int_equal(bf_diagram_begin(diagram, made->kernel, &watch, NULL), BF_OK);
  assert_int_equal(watch.first_cycle, 0);
  const bf_sim_event told[] = {event(0, 2, 40, 50, 0), event(0, 2, 49, 53, 0),
                               event(0, 2, 55, 57, 0), event(0, 2, 60, 61, 0)};
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    watch.event(watch.context, &told[i]);
  bf_text text = {0};
  assert_int_equal(bf_diagram_text(diagram, false, 80, &text, NULL), BF_OK);
  assert_non_null(strstr(text.data, "\ncycle 50\nW0    ---..I-...\n"));
  bf_text_free(&text);
  bf_diagram_free(diagram);
}

static void diagram_of_nothing(void **state) {
  watched *made = *state;
  bf_diagram *diagram;
  bf_sim_watch watch;
  assert_int_equal(bf_diagram_create(0, 0, 5, &diagram, NULL), BF_OK);
  assert_int_equal(bf_diagram_begin(diagram, made->kernel, &watch, NULL), BF_OK);
  check_text(diagram, 80, "SM 0, tile: nothing happens\n");
  bf_diagram_free(diagram);
}

/* ---- Both ---- */

static void both_are_told_what_they_want(void **state) {
  watched *made = *state;
  bf_timeline *timeline;
  bf_diagram *diagram;
  bf_sim_watch_pair pair;
  assert_int_equal(bf_timeline_open(made->path, &timeline, NULL), BF_OK);
  assert_int_equal(bf_timeline_begin(timeline, made->kernel, 15, &pair.watch[0], NULL), BF_OK);
  assert_int_equal(bf_diagram_create(0, 0, 10, &diagram, NULL), BF_OK);
  assert_int_equal(bf_diagram_begin(diagram, made->kernel, &pair.watch[1], NULL), BF_OK);
  bf_sim_watch watch = bf_sim_watch_both(&pair);
  assert_int_equal(watch.first_cycle, 0);
  assert_true(watch.last_cycle == UINT64_MAX);
  bf_sim_event early = event(0, 2, 14, 15, 0), late = event(0, 2, 15, 16, 0);
  watch.event(watch.context, &early);
  watch.event(watch.context, &late);
  assert_int_equal(bf_timeline_events(timeline), 1);
  tell(&watch, 14, "WB", 4, 0, false);
  check_text(diagram, 80,
             "SM 0, tile: stages by cycles; * stalled, + and others\n"
             "cycle 14 15 16 17 18 19 20 21 22 23\n"
             "WB    W4 .  .  .  .  .  .  .  .  .\n"
             "\n");
  bf_diagram_free(diagram);
  bf_timeline_close(timeline);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(timeline_has_an_event_per_instruction, setup, teardown),
      cmocka_unit_test_setup_teardown(timeline_keeps_overlapping_events_apart, setup, teardown),
      cmocka_unit_test_setup_teardown(timeline_puts_launches_behind_each_other, setup, teardown),
      cmocka_unit_test_setup_teardown(timeline_grows, setup, teardown),
      cmocka_unit_test_setup_teardown(timeline_without_commit_leaves_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(diagram_of_warps, setup, teardown),
      cmocka_unit_test_setup_teardown(diagram_of_stages, setup, teardown),
      cmocka_unit_test_setup_teardown(diagram_of_parts_in_bands, setup, teardown),
      cmocka_unit_test_setup_teardown(diagram_from_a_cycle, setup, teardown),
      cmocka_unit_test_setup_teardown(diagram_of_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(both_are_told_what_they_want, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
