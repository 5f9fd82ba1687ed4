/* Tables from keys to values. */
#include "base/table.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_key_has_the_value_it_was_given(void **state) {
  (void)state;
  bf_arena arena = {0};
  bf_table table = {.arena = &arena};
  enum { MANY = 5000 };
  int values[MANY];
  assert_null(bf_table_find(&table, "none", 4));
  for (int i = 0; i < MANY; i++) {
    char key[16];
    int size = snprintf(key, sizeof key, "k%d", i);
    void **place = bf_table_at(&table, key, (size_t)size);
    assert_non_null(place);
    assert_null(*place);
    *place = &values[i];
  }
  for (int i = 0; i < MANY; i++) {
    char key[16];
    int size = snprintf(key, sizeof key, "k%d", i);
    assert_ptr_equal(bf_table_find(&table, key, (size_t)size), &values[i]);
    assert_ptr_equal(*bf_table_at(&table, key, (size_t)size), &values[i]);
  }
  assert_int_equal(table.entries, MANY);
  bf_arena_free(&arena);
}

static void keys_are_bytes_of_any_number(void **state) {
  (void)state;
  bf_arena arena = {0};
  bf_table table = {.arena = &arena};
  *bf_table_at(&table, "ab\0c", 4) = &arena;
  assert_null(bf_table_find(&table, "ab", 2));
  assert_null(bf_table_find(&table, "ab\0d", 4));
  assert_null(bf_table_find(&table, "", 0));
  assert_ptr_equal(bf_table_find(&table, "ab\0c", 4), &arena);
  *bf_table_at(&table, "", 0) = &table;
  assert_ptr_equal(bf_table_find(&table, "", 0), &table);
  bf_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_has_the_value_it_was_given),
      cmocka_unit_test(keys_are_bytes_of_any_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
