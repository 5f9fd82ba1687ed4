/* Answers on their way to a multiprocessor against a list that is searched for the first. */
#include "sim/answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 4096 };

/* Answers by the order in which they were added. */
typedef struct listed {
  uint64_t cycle[MOST];
  bool is_taken[MOST];
  unsigned count, left;
} listed;

/* The one that comes first; of those of a cycle the one that was added first. */
static unsigned first_of(const listed *list) {
  unsigned first = MOST;
  for (unsigned i = 0; i < list->count; i++)
    if (!list->is_taken[i] && (first == MOST || list->cycle[i] < list->cycle[first]))
      first = i;
  return first;
}

static void add(bf_sim_answers *answers, listed *list, uint64_t cycle) {
  bf_sim_request request = {.line = 3 * list->count, .token = list->count, .sectors = 5, .kind = 1};
  assert_true(bf_sim_answers_add(answers, &request, cycle));
  list->cycle[list->count] = cycle;
  list->is_taken[list->count++] = false;
  list->left++;
}

static void take(bf_sim_answers *answers, listed *list) {
  unsigned first = first_of(list);
  assert_int_equal(bf_sim_answers_next(answers), list->cycle[first]);
  bf_sim_answer own = bf_sim_answers_take(answers);
  assert_int_equal(own.token, first);
  assert_int_equal(own.line, 3 * first);
  assert_int_equal(own.cycle, list->cycle[first]);
  assert_true(own.sectors == 5 && own.kind == 1);
  list->is_taken[first] = true;
  list->left--;
}

/* In order, in order but for some, in two orders at once, and at random: what is added comes out by
 * cycle, also while more is added. */
static void come_out_in_order(void **state) {
  (void)state;
  static listed list;
  uint64_t random = 7;
  for (unsigned way = 0; way < 4; way++)
    for (unsigned round = 0; round < 20; round++) {
      bf_sim_answers answers = {0};
      list.count = list.left = 0;
      answers.number = UINT32_MAX - 20; /* numbers come round */
      uint64_t now = 100;
      while (list.count < 600 || list.left) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned drawn = (unsigned)(random >> 33);
        now += drawn % 3;
        uint64_t later = way == 0   ? 0
                         : way == 1 ? (drawn / 8 % 16 ? 0 : drawn / 256 % 400)
                         : way == 2 ? drawn / 8 % 2 * 300
                                    : drawn / 8 % 500;
        if (list.count < 600 && (drawn / 4 % 2 || !list.left))
          add(&answers, &list, now + later);
        else
          take(&answers, &list);
        assert_int_equal(bf_sim_answers_are_empty(&answers), list.left == 0);
      }
      assert_int_equal(bf_sim_answers_next(&answers), UINT64_MAX);
      bf_sim_answers_free(&answers);
    }
}

/* What is found without a call is the first one, and is found as long as all are in order. */
static void peek(void **state) {
  (void)state;
  static listed list;
  bf_sim_answers answers = {0};
  list.count = list.left = 0;
  assert_null(bf_sim_answers_peek(&answers));
  for (unsigned i = 0; i < 20; i++)
    add(&answers, &list, 10 + i);
  for (unsigned i = 0; i < 10; i++) {
    assert_int_equal(bf_sim_answers_peek(&answers)->token, i);
    bf_sim_answers_drop(&answers);
    list.is_taken[i] = true;
    list.left--;
  }
  add(&answers, &list, 15); /* before those that are left */
  assert_null(bf_sim_answers_peek(&answers));
  take(&answers, &list);
  assert_int_equal(bf_sim_answers_peek(&answers)->token, 10);
  take(&answers, &list);
  bf_sim_answers_free(&answers);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(come_out_in_order), cmocka_unit_test(peek)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
