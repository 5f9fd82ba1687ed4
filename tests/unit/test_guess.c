/* Names that may be meant: near ones are, far ones are not, and the distance is that of a slow
 * twin. */
#include "base/guess.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void near_names_are_found(void **state) {
  (void)state;
  static const struct {
    const char *word, *names, *expected; /* NULL: none */
  } rows[] = {
      {"chek", "check classify draw", "check"},
      {"hoper", "hopper ada", "hopper"},
      {"H10", "h100 h200", "h100"},
      {"slove", "solve align", "solve"},
      {"transpos", "transpose_plain", "transpose_plain"},
      {"x", "check", NULL},
      {"banana", "check solve", NULL},
      {"", "check", NULL},
      {"ab", "cd", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[BF_GUESS_BYTES], expected[BF_GUESS_BYTES] = "";
    bf_guess guess = bf_guess_begin(rows[i].word);
    bf_guess_offer_words(&guess, rows[i].names);
    if (rows[i].expected)
      snprintf(expected, sizeof expected, " (did you mean '%s'?)", rows[i].expected);
    assert_string_equal(bf_guess_text(&guess, text), expected);
  }
}

/* Edits between two words by trying all of them, from the front. */
static unsigned slow_distance(const char *a, const char *b) {
  if (!*a || !*b)
    return (unsigned)(strlen(a) + strlen(b));
  unsigned best = slow_distance(a + 1, b + 1) + (*a != *b), other = slow_distance(a + 1, b) + 1;
  best = other < best ? other : best;
  other = slow_distance(a, b + 1) + 1;
  best = other < best ? other : best;
  if (a[1] && b[1] && a[0] == b[1] && a[1] == b[0]) {
    other = slow_distance(a + 2, b + 2) + 1;
    best = other < best ? other : best;
  }
  return best;
}

static void distances_are_those_of_all_edits(void **state) {
  (void)state;
  test_random random = {11};
  unsigned found = 0;
  for (unsigned i = 0; i < 3000; i++) {
    char a[8] = "", b[8] = "";
    unsigned a_length = 4 + (unsigned)random_below(&random, 3),
             b_length = 4 + (unsigned)random_below(&random, 3);
    for (unsigned k = 0; k < a_length; k++)
      a[k] = (char)('a' + random_below(&random, 2));
    for (unsigned k = 0; k < b_length; k++)
      b[k] = (char)('a' + random_below(&random, 2));
    bf_guess guess = bf_guess_begin(a);
    bf_guess_offer(&guess, b, b_length);
    unsigned edits = slow_distance(a, b);
    bool is_beginning = strncmp(a, b, a_length) == 0;
    assert_int_equal(guess.best != NULL, edits <= a_length / 3 || is_beginning);
    if (guess.best && !is_beginning)
      assert_int_equal(guess.edits, edits);
    found += guess.best != NULL;
  }
  assert_in_range(found, 100, 2900);
}

static void other_names_of_machines_are_known(void **state) {
  (void)state;
  bf_machine *machine;
  bf_diagnostic diagnostic;
  static const char *const names[][2] = {
      {"h100", "hopper"}, {"sm_90", "hopper"}, {"A100", "ampere"}, {"sm_70", "volta"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(bf_machine_load(names[i][0], NULL, &machine, &diagnostic), BF_OK);
    assert_string_equal(bf_machine_name(machine), names[i][1]);
    bf_machine_free(machine);
  }
  assert_int_equal(bf_machine_load("sm_9", NULL, &machine, &diagnostic), BF_BAD_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(near_names_are_found),
      cmocka_unit_test(distances_are_those_of_all_edits),
      cmocka_unit_test(other_names_of_machines_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
