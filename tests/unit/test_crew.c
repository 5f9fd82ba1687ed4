/* Crews: threads that wait between jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 5 };

typedef struct job {
  unsigned calls[MOST + 2]; /* by index */
  unsigned all;
} job;

static void work(void *context, unsigned index) {
  job *own = context;
  __atomic_add_fetch(&own->calls[index <= MOST ? index : MOST + 1], 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&own->all, 1, __ATOMIC_SEQ_CST);
}

/* Every index is called at most once a job, and none after its end. */
static void each_index_is_called_once(void **state) {
  (void)state;
  bf_crew *crew = bf_crew_create();
  assert_non_null(crew);
  for (unsigned round = 0; round < 2000; round++) {
    unsigned most = 1 + round % MOST;
    job own = {{0}, 0};
    assert_true(bf_crew_begin(crew, most, work, &own));
    if (round % 3 == 0)
      while (__atomic_load_n(&own.all, __ATOMIC_SEQ_CST) < most)
        usleep(10);
    bf_crew_end(crew);
    assert_int_equal(own.calls[0], 0);
    for (unsigned i = 1; i <= MOST + 1; i++)
      assert_true(own.calls[i] <= (i <= most));
  }
  bf_crew_free(crew);
}

/* A crew has one job at a time. */
static void a_busy_crew_says_so(void **state) {
  (void)state;
  bf_crew *crew = bf_crew_create();
  job own = {{0}, 0};
  assert_true(bf_crew_begin(crew, 1, work, &own));
  assert_false(bf_crew_begin(crew, 1, work, &own));
  bf_crew_end(crew);
  assert_true(bf_crew_begin(crew, 1, work, &own));
  bf_crew_end(crew);
  bf_crew_free(crew);
  bf_crew_free(NULL);
}

/* A child of fork has none of the threads, and gets its own. */
static void children_get_their_own(void **state) {
  (void)state;
  bf_crew *crew = bf_crew_create();
  job own = {{0}, 0};
  assert_true(bf_crew_begin(crew, 2, work, &own));
  bf_crew_end(crew);
  pid_t child = fork();
  if (child == 0) {
    job inside = {{0}, 0};
    bool is_begun = bf_crew_begin(crew, 2, work, &inside);
    while (__atomic_load_n(&inside.all, __ATOMIC_SEQ_CST) < 2)
      usleep(10);
    bf_crew_end(crew);
    _exit(is_begun ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  bf_crew_free(crew);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_index_is_called_once),
      cmocka_unit_test(a_busy_crew_says_so),
      cmocka_unit_test(children_get_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
