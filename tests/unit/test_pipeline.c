/* The in-order pipelines of gou13, cycle by cycle: the situations of its Figs. 2 and 3, and
 * every queue filled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pipeline.h"

enum { MOST = 64, CYCLES = 64 };

/* What a test puts into a pipeline, and what it has seen. */
typedef struct scene {
  bf_sim_pipe *pipe;
  const char *program; /* per instruction: '-' not memory, '1' to '9' memory, cycles in MEM0 */
  unsigned leaving;    /* instruction whose parts leave for the interconnect; MOST: none */
  unsigned waits;      /* cycles that it finds no room before */
  unsigned entered, written;
  unsigned order[MOST]; /* of writing */
  bf_sim_stall stall[CYCLES];
  bool has_stalled[CYCLES];
  uint64_t now;
  char stage[MOST][CYCLES][10];
} scene;

static bf_sim_reached reached(void *context, const bf_sim_part *part) {
  scene *own = context;
  if (part->flight != own->leaving)
    return BF_SIM_STAYS;
  if (own->waits == 0)
    return BF_SIM_LEAVES;
  own->waits--;
  return BF_SIM_WAITS;
}

static void served(void *context, const bf_sim_part *part) {
  (void)context;
  assert_true(part->is_memory);
}

static void written(void *context, const bf_sim_part *part) {
  scene *own = context;
  own->order[own->written++] = part->flight;
}

static void tell(void *context, const bf_sim_part *part, const char *stage, bool is_stalled) {
  scene *own = context;
  snprintf(own->stage[part->flight][own->now], sizeof own->stage[0][0], "%s%s", stage,
           is_stalled ? "*" : "");
}

static scene *open_scene(const bf_sim_pipe_shape *shape, const char *program) {
  scene *made = calloc(1, sizeof *made);
  assert_non_null(made);
  made->program = program;
  made->leaving = MOST;
  bf_sim_pipe_user user = {
      .context = made, .reached = reached, .served = served, .written = written};
  assert_int_equal(bf_sim_pipe_create(shape, &user, &made->pipe, NULL), BF_OK);
  return made;
}

static void close_scene(scene *own) {
  bf_sim_pipe_free(own->pipe);
  free(own);
}

/* One cycle: everything moves, and the next instruction enters where it can. */
static void run_cycle(scene *own) {
  bf_sim_pipe_advance(own->pipe, own->now);
  char next = own->program[own->entered];
  if (next && !bf_sim_pipe_has_room(own->pipe)) {
    own->has_stalled[own->now] = true;
    own->stall[own->now] = bf_sim_pipe_blocked(own->pipe, own->now);
  } else if (next) {
    bf_sim_part part = {.flight = own->entered++,
                        .memory_cycles = next == '-' ? 1 : (uint16_t)(next - '0'),
                        .held_by = BF_SIM_CONFLICT,
                        .is_memory = next != '-'};
    bf_sim_pipe_enter(own->pipe, own->now, part);
  }
  bf_sim_pipe_tell_written(own->pipe, tell, own);
  bf_sim_pipe_tell(own->pipe, own->now, tell, own);
  own->now++;
}

static void run_cycles(scene *own, unsigned cycles) {
  for (unsigned i = 0; i < cycles; i++)
    run_cycle(own);
}

/* Compares the way of one instruction, stages separated by spaces from the cycle it enters on; a
 * star: it stays where it was. */
static void expect_way(const scene *own, unsigned index, unsigned first, const char *way) {
  char found[400] = "";
  for (unsigned cycle = 0; cycle < first; cycle++)
    assert_string_equal(own->stage[index][cycle], "");
  for (unsigned cycle = first; cycle < own->now && own->stage[index][cycle][0]; cycle++) {
    if (found[0])
      strcat(found, " ");
    strcat(found, own->stage[index][cycle]);
  }
  assert_string_equal(found, way);
}

/* The cycles in which nothing could enter, as a list. */
static void expect_stalls(const scene *own, const char *cycles, bf_sim_stall reason) {
  char found[400] = "";
  for (unsigned cycle = 0; cycle < own->now; cycle++)
    if (own->has_stalled[cycle]) {
      sprintf(found + strlen(found), "%s%u", found[0] ? " " : "", cycle);
      assert_int_equal(own->stall[cycle], reason);
    }
  assert_string_equal(found, cycles);
}

/* ---- Fig. 2 and 3: W1 is the access with a conflict degree of 2, i = 1 ---- */

static const bf_sim_pipe_shape unified = {BF_SIM_UNIFIED, 3, 2, 2, 0, 4};
static const bf_sim_pipe_shape split = {BF_SIM_SPLIT, 3, 2, 2, 0, 4};
static const bf_sim_pipe_shape elastic = {BF_SIM_ELASTIC, 3, 2, 2, 1, 4};

/* Fig. 2a: the stages before MEM0 stand still for a cycle; the front sees it in cycle i + 4, and
 * the writeback stage is empty in cycle i + 5. */
static void test_fig_2a(void **state) {
  (void)state;
  scene *own = open_scene(&unified, "-2-----");
  run_cycles(own, 14);
  expect_way(own, 0, 0, "IF ID EXE MEM0 MEM1 WB");
  expect_way(own, 1, 1, "IF ID EXE MEM0 MEM0* MEM1 WB");
  expect_way(own, 2, 2, "IF ID EXE EXE* MEM0 MEM1 WB");
  expect_way(own, 3, 3, "IF ID ID* EXE MEM0 MEM1 WB");
  expect_way(own, 4, 4, "IF IF* ID EXE MEM0 MEM1 WB");
  expect_way(own, 5, 6, "IF ID EXE MEM0 MEM1 WB");
  expect_stalls(own, "5", BF_SIM_CONFLICT);
  assert_int_equal(own->written, 7);
  close_scene(own);
}

/* Fig. 2b: W2 passes beside, but both come to the writeback stage in cycle i + 6; the front stands
 * still in the same cycle. The writeback stage is still empty in cycle i + 5. */
static void test_fig_2b(void **state) {
  (void)state;
  scene *own = open_scene(&split, "-2------");
  run_cycles(own, 15);
  expect_way(own, 0, 0, "IF ID EXE NONMEM0 NONMEM1 WB");
  expect_way(own, 1, 1, "IF ID EXE MEM0 MEM0* MEM1 WB");
  expect_way(own, 2, 2, "IF ID EXE NONMEM0 NONMEM1 NONMEM1* WB");
  expect_way(own, 3, 3, "IF ID EXE NONMEM0 NONMEM0* NONMEM1 WB");
  expect_way(own, 4, 4, "IF ID EXE EXE* NONMEM0 NONMEM1 WB");
  expect_way(own, 5, 5, "IF ID ID* EXE NONMEM0 NONMEM1 WB");
  expect_way(own, 6, 6, "IF IF* ID EXE NONMEM0 NONMEM1 WB");
  expect_way(own, 7, 8, "IF ID EXE NONMEM0 NONMEM1 WB");
  expect_stalls(own, "7", BF_SIM_WRITEBACK);
  close_scene(own);
}

/* Fig. 3: nothing stands still; what finds the writeback stage taken waits in the NONMEM queue. */
static void test_fig_3(void **state) {
  (void)state;
  scene *own = open_scene(&elastic, "-2------");
  run_cycles(own, 14);
  expect_way(own, 0, 0, "IF ID EXE WB");
  expect_way(own, 1, 1, "IF ID EXE MEM0 MEM0* MEM1 WB");
  expect_way(own, 2, 2, "IF ID EXE WB");
  expect_way(own, 3, 3, "IF ID EXE WB");
  expect_way(own, 4, 4, "IF ID EXE NONMEM0 WB");
  expect_way(own, 5, 5, "IF ID EXE NONMEM0 WB");
  expect_way(own, 7, 7, "IF ID EXE NONMEM0 WB");
  expect_stalls(own, "", BF_SIM_EMPTY);
  assert_int_equal(own->written, 8);
  close_scene(own);
}

/* Section 4.3: W2 is the other half of the access. It waits in the PREMEM queue in cycle i + 4,
 * and W3 goes to the writeback stage at the beginning of cycle i + 5. */
static void test_premem(void **state) {
  (void)state;
  scene *own = open_scene(&elastic, "-22-----");
  run_cycles(own, 14);
  expect_way(own, 1, 1, "IF ID EXE MEM0 MEM0* MEM1 WB");
  expect_way(own, 2, 2, "IF ID EXE PREMEM0 MEM0 MEM0* MEM1 WB");
  expect_way(own, 3, 3, "IF ID EXE WB");
  assert_string_equal(own->stage[2][5], "PREMEM0");
  assert_string_equal(own->stage[3][6], "WB");
  expect_stalls(own, "", BF_SIM_EMPTY);
  close_scene(own);
}

/* The same without a PREMEM queue: the front stands still. */
static void test_no_premem(void **state) {
  (void)state;
  bf_sim_pipe_shape shape = elastic;
  shape.premem_queue = 0;
  scene *own = open_scene(&shape, "-22-----");
  run_cycles(own, 14);
  expect_way(own, 2, 2, "IF ID EXE EXE* MEM0 MEM0* MEM1 WB");
  expect_stalls(own, "5", BF_SIM_CONFLICT);
  close_scene(own);
}

/* Eq. 3: memory instructions at the safe distance never make the front stand still. */
static void test_safe_distance(void **state) {
  (void)state;
  bf_sim_pipe_shape shape = elastic;
  shape.premem_queue = 0;
  scene *own = open_scene(&shape, "4---4---9--------1--");
  run_cycles(own, 50);
  expect_stalls(own, "", BF_SIM_EMPTY);
  assert_int_equal(own->written, 20);
  close_scene(own);
  own = open_scene(&shape, "4--4----");
  run_cycles(own, 20);
  expect_stalls(own, "6", BF_SIM_CONFLICT);
  close_scene(own);
}

/* ---- Queues that are full ---- */

/* The PREMEM queue has one place: the third access stays in EXE, the front fills up behind it. */
static void test_full_premem(void **state) {
  (void)state;
  scene *own = open_scene(&elastic, "911-----");
  run_cycles(own, 24);
  expect_way(own, 1, 1,
             "IF ID EXE PREMEM0 PREMEM0* PREMEM0* PREMEM0* PREMEM0* PREMEM0* PREMEM0* "
             "PREMEM0* MEM0 MEM1 WB");
  expect_way(own, 2, 2, "IF ID EXE EXE* EXE* EXE* EXE* EXE* EXE* EXE* PREMEM0 MEM0 MEM1 WB");
  expect_stalls(own, "5 6 7 8 9 10 11", BF_SIM_CONFLICT);
  close_scene(own);
}

/* Data from the interconnect is written first: the NONMEM queue fills, then the front. */
static void test_full_nonmem(void **state) {
  (void)state;
  scene *own = open_scene(&elastic, "----------");
  run_cycles(own, 3);
  bf_sim_pipe_return(own->pipe, 20, 8);
  run_cycles(own, 21);
  expect_way(own, 0, 0,
             "IF ID EXE NONMEM0 NONMEM1 NONMEM1* NONMEM1* NONMEM1* NONMEM1* NONMEM1* NONMEM1* WB");
  expect_way(own, 1, 1,
             "IF ID EXE NONMEM0 NONMEM0* NONMEM0* NONMEM0* NONMEM0* NONMEM0* NONMEM0* NONMEM1 WB");
  expect_way(own, 2, 2, "IF ID EXE EXE* EXE* EXE* EXE* EXE* EXE* NONMEM0 NONMEM1 WB");
  expect_stalls(own, "5 6 7 8 9 10", BF_SIM_WRITEBACK);
  assert_int_equal(own->order[0], 20);
  assert_int_equal(own->order[7], 20);
  assert_int_equal(own->order[8], 0);
  close_scene(own);
}

/* The table of returns holds four: they are written in the order in which they came. */
static void test_full_returns(void **state) {
  (void)state;
  scene *own = open_scene(&unified, "");
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < 4; i++)
      bf_sim_pipe_return(own->pipe, 10 + 4 * round + i, 2);
    run_cycles(own, 8);
  }
  assert_int_equal(own->written, 16);
  for (unsigned i = 0; i < 16; i++)
    assert_int_equal(own->order[i], 10 + i / 2);
  assert_true(bf_sim_pipe_next(own->pipe, own->now) == UINT64_MAX);
  close_scene(own);
}

/* A part that finds no room below waits in MEM0, and then leaves without being written. */
static void test_no_room(void **state) {
  (void)state;
  scene *own = open_scene(&unified, "1-----");
  own->leaving = 0;
  own->waits = 5;
  run_cycles(own, 20);
  expect_way(own, 0, 0, "IF ID EXE MEM0 MEM0* MEM0* MEM0* MEM0* MEM0");
  expect_way(own, 1, 1, "IF ID EXE EXE* EXE* EXE* EXE* EXE* MEM0 MEM1 WB");
  expect_stalls(own, "4 5 6 7 8", BF_SIM_OTHER);
  assert_int_equal(own->written, 5);
  close_scene(own);
}

/* With a single memory stage MEM0 is the last one too. */
static void test_one_memory_stage(void **state) {
  (void)state;
  bf_sim_pipe_shape shape = {BF_SIM_UNIFIED, 3, 1, 1, 0, 4};
  scene *own = open_scene(&shape, "3-1-");
  own->leaving = 2;
  run_cycles(own, 16);
  expect_way(own, 0, 0, "IF ID EXE MEM0 MEM0* MEM0* WB");
  expect_way(own, 1, 1, "IF ID EXE EXE* EXE* MEM0 WB");
  expect_way(own, 2, 2, "IF ID ID* ID* EXE MEM0");
  assert_int_equal(own->written, 3);
  close_scene(own);
}

/* Cycles that can be skipped: an instruction alone in the front is next heard of when it leaves. */
static void test_next(void **state) {
  (void)state;
  scene *own = open_scene(&elastic, "-");
  assert_true(bf_sim_pipe_next(own->pipe, 0) == UINT64_MAX);
  run_cycle(own);
  assert_int_equal(bf_sim_pipe_next(own->pipe, 0), 3);
  close_scene(own);
}

/* Too many stages are refused. */
static void test_refused(void **state) {
  (void)state;
  bf_sim_pipe *pipe;
  bf_sim_pipe_user user = {0};
  bf_sim_pipe_shape shape = unified;
  shape.memory_stages = 33;
  assert_int_equal(bf_sim_pipe_create(&shape, &user, &pipe, NULL), BF_BAD_INPUT);
  assert_null(pipe);
}

/* ---- History ---- */

/* The last value counts; the least recently used of a full set is forgotten. */
static void test_history(void **state) {
  (void)state;
  bf_sim_history *history;
  uint32_t value = 99;
  assert_int_equal(bf_sim_history_create(4, 2, &history, NULL), BF_OK);
  assert_false(bf_sim_history_look(history, 1, &value));
  assert_int_equal(value, 99);
  bf_sim_history_set(history, 1, 28);
  bf_sim_history_set(history, 1, 12);
  assert_true(bf_sim_history_look(history, 1, &value));
  assert_int_equal(value, 12);
  bf_sim_history_set(history, 5, 7);
  assert_true(bf_sim_history_look(history, 1, &value)); /* 5 is now the older one */
  bf_sim_history_set(history, 9, 8);
  assert_true(bf_sim_history_look(history, 1, &value));
  assert_false(bf_sim_history_look(history, 5, &value));
  assert_true(bf_sim_history_look(history, 9, &value));
  assert_int_equal(value, 8);
  assert_false(bf_sim_history_look(history, 2, &value)); /* another set is not touched */
  bf_sim_history_free(history);
}

/* All entries of the published size, 256 sets of 2, hold what was put in. */
static void test_full_history(void **state) {
  (void)state;
  bf_sim_history *history;
  uint32_t value;
  assert_int_equal(bf_sim_history_create(256, 2, &history, NULL), BF_OK);
  for (uint32_t i = 0; i < 513; i++)
    bf_sim_history_set(history, i, i + 1);
  for (uint32_t i = 1; i < 513; i++) {
    assert_true(bf_sim_history_look(history, i, &value));
    assert_int_equal(value, i + 1);
  }
  assert_false(bf_sim_history_look(history, 0, &value));
  bf_sim_history_free(history);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fig_2a),
      cmocka_unit_test(test_fig_2b),
      cmocka_unit_test(test_fig_3),
      cmocka_unit_test(test_premem),
      cmocka_unit_test(test_no_premem),
      cmocka_unit_test(test_safe_distance),
      cmocka_unit_test(test_full_premem),
      cmocka_unit_test(test_full_nonmem),
      cmocka_unit_test(test_full_returns),
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_one_memory_stage),
      cmocka_unit_test(test_next),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_history),
      cmocka_unit_test(test_full_history),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
