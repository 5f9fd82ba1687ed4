/* Comparing sums by site, for tests; after cmocka.h. */
#ifndef TEST_SAME_SUMS_H
#define TEST_SAME_SUMS_H

#include "memory/site_sums.h"

static inline void assert_same_sums(bf_site_sums *one, bf_site_sums *other) {
  size_t rows, other_rows;
  const bf_site_sum *row = bf_site_sums_rows(one, &rows);
  const bf_site_sum *same = bf_site_sums_rows(other, &other_rows);
  assert_int_equal(rows, other_rows);
  for (size_t i = 0; i < rows; i++) {
    assert_string_equal(row[i].key, same[i].key);
    assert_memory_equal(&row[i].sum, &same[i].sum, sizeof row[i].sum);
    assert_int_equal(row[i].worst_line, same[i].worst_line);
    assert_string_equal(row[i].worst, same[i].worst);
  }
}

#endif
