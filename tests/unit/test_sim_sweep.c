/* Sweeps: reading their text, and result files that survive whatever ends the processes that write
 * them. A point's result here is a number made from its own, so that every row is known. */
#include "random.h"
#include "sanitized.h"
#include "sim/sweep.h"

#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Reading the text ---- */

/* "b=1,c=x b=1,c=y ...": the points of a sweep, in order. */
static void write_points(const bf_sim_sweep *sweep, bf_text *text) {
  for (uint64_t point = 0; point < sweep->points; point++) {
    bf_text_puts(text, point ? " " : "");
    for (unsigned i = 0; i < sweep->axes; i++)
      bf_text_addf(text, "%s%s=%s", i ? "," : "", sweep->axis[i].name,
                   bf_sim_sweep_value(sweep, point, i));
  }
}

static void test_points(void **state) {
  (void)state;
  static const struct {
    const char *text, *points;
  } rows[] = {
      {"a=1", "a=1"},
      {"a=1|2;b=x|y|z", "a=1,b=x a=1,b=y a=1,b=z a=2,b=x a=2,b=y a=2,b=z"},
      {" a = 1 | 2 ;\n b = x y ", "a=1,b=x y a=2,b=x y"},
      {"hash=none|xor:0,5,31|bits:0,4,1^5", "hash=none hash=xor:0,5,31 hash=bits:0,4,1^5"},
      {"n=1..4", "n=1 n=2 n=3 n=4"},
      {"n=1..32*2", "n=1 n=2 n=4 n=8 n=16 n=32"},
      {"n=3..30*3", "n=3 n=9 n=27"},
      {"n=0..10+4|7..7|100", "n=0 n=4 n=8 n=7 n=100"},
      {"n=18446744073709551614..18446744073709551615",
       "n=18446744073709551614 n=18446744073709551615"},
      {"n=9223372036854775808..18446744073709551615*2", "n=9223372036854775808"},
      {"gpu=../a.gpu|./1..2.gpu;x=1.5|.5", "gpu=../a.gpu,x=1.5 gpu=../a.gpu,x=.5 "
                                           "gpu=./1..2.gpu,x=1.5 gpu=./1..2.gpu,x=.5"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_sim_sweep *sweep;
    bf_diagnostic diagnostic;
    bf_text text = {0};
    assert_int_equal(bf_sim_sweep_parse(rows[i].text, NULL, NULL, &sweep, &diagnostic), BF_OK);
    write_points(sweep, &text);
    assert_string_equal(text.data, rows[i].points);
    bf_text_free(&text);
    bf_sim_sweep_free(sweep);
  }
}

/* Knows the axis "even", whose values have an even number of letters, and all others but "odd". */
static int check_even(void *context, const char *name, const char *value,
                      bf_diagnostic *diagnostic) {
  (void)context;
  if (strcmp(name, "odd") == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "there is no odd");
  if (value && strcmp(name, "even") == 0 && strlen(value) % 2)
    return bf_fail(diagnostic, BF_BAD_INPUT, "'%s' is odd", value);
  if (value && strchr(value, '?'))
    return bf_fail_at(diagnostic, "value", 1, value, strchr(value, '?'), "a question");
  return BF_OK;
}

static void test_faults(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
  } rows[] = {
      {"", 1, 1, "expected the name of an axis"},
      {"=1", 1, 1, "expected the name of an axis"},
      {"a=1;", 1, 5, "expected the name of an axis"},
      {"a=1;;b=2", 1, 5, "expected the name of an axis"},
      {"a", 1, 2, "expected '=' and values behind a"},
      {"a=1;b|2", 1, 6, "expected '=' and values behind b"},
      {"a=", 1, 3, "expected a value of a"},
      {"a=1|", 1, 5, "expected a value of a"},
      {"a=1||2", 1, 5, "expected a value of a"},
      {"a=1;\n b=2;a=3", 2, 6, "there is an axis a already"},
      {"a=1|2|1", 1, 7, "a has the value 1 twice"},
      {"a=1..4|3", 1, 8, "a has the value 3 twice"},
      {"a=1..", 1, 6, "expected the last number of a range: a whole number"},
      {"a=1..x", 1, 6, "expected the last number of a range: a whole number"},
      {"a=4..1", 1, 6, "a range goes up: 4..1 is empty"},
      {"a=1..4+0", 1, 8, "the step of a range is at least 1"},
      {"a=1..4*1", 1, 8, "the factor of a range is at least 2"},
      {"a=1..4*", 1, 8, "expected the factor of a range: a whole number"},
      {"a=0..4*2", 1, 3, "a range with a factor begins with at least 1"},
      {"a=1..4-1", 1, 7, "expected the end of the range, +STEP or *FACTOR"},
      {"a=1..5000", 1, 3, "a has more than 4096 values"},
      {"a=1..99999999999999999999", 1, 6, "expected the last number of a range: a whole number"},
      {"a=1..4000;b=1..4000", 1, 11,
       "with this axis there are 16000000 points; a sweep has at most 1000000"},
      {"a=1;odd=2", 1, 5, "there is no odd"},
      {"even=ab|abc", 1, 9, "'abc' is odd"},
      {"even=10..12|1..3", 1, 13, "'1' is odd"},
      {"a=ok|what?", 1, 10, "a question"},
      {"a=1;b=1;c=1;d=1;e=1;f=1;g=1;h=1;i=1;j=1;k=1;l=1;m=1;n=1;o=1;p=1;q=1", 1, 65,
       "a sweep has at most 16 axes"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_sim_sweep *sweep;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_sim_sweep_parse(rows[i].text, check_even, NULL, &sweep, &diagnostic),
                     BF_BAD_INPUT);
    assert_null(sweep);
    assert_string_equal(diagnostic.message, rows[i].message);
    assert_string_equal(diagnostic.file, "--sweep");
    assert_int_equal(diagnostic.line, rows[i].line);
    assert_int_equal(diagnostic.column, rows[i].column);
  }
}

/* ---- Files and runs ---- */

typedef struct fixture {
  char folder[40], path[60], log[60];
  bf_sim_sweep *sweep;
  bf_sim_sweep_run run;
  uint64_t stop_at;  /* a point that cannot be run now; UINT64_MAX: none */
  uint64_t empty_at; /* one that empties the result file; UINT64_MAX: none */
  useconds_t microseconds;
} fixture;

static const char *const columns[] = {"cycles", "ratio", "limit", NULL};

/* Adds a line to the log of points run, by whatever process. */
static void log_point(const fixture *own, uint64_t point) {
  FILE *log = fopen(own->log, "a");
  assert_non_null(log);
  fprintf(log, "%llu\n", (unsigned long long)point);
  fclose(log);
}

/* The made-up simulation. Point 3 has an error for a result. */
static int run_point(void *context, uint64_t point, bf_sim_row *row, bf_diagnostic *diagnostic) {
  const fixture *own = context;
  log_point(own, point);
  usleep(own->microseconds);
  if (point == own->stop_at)
    return bf_fail(diagnostic, BF_IO, "stopped");
  if (point == own->empty_at)
    assert_int_equal(truncate(own->path, 0), 0);
  bf_sim_row_number(row, 1000 + point * point);
  if (point == 3)
    return bf_fail(diagnostic, BF_BAD_INPUT, "three, \"as they say\",\nis bad");
  bf_sim_row_real(row, (double)point / 8);
  bf_sim_row_text(row, point % 2 ? "registers, shared" : NULL);
  return BF_OK;
}

static void begin(fixture *own, const char *text, bool json) {
  bf_diagnostic diagnostic;
  *own = (fixture){
      .folder = "/tmp/bankfold-sweep-XXXXXX", .stop_at = UINT64_MAX, .empty_at = UINT64_MAX};
  assert_non_null(mkdtemp(own->folder));
  snprintf(own->path, sizeof own->path, "%s/results", own->folder);
  snprintf(own->log, sizeof own->log, "%s/log", own->folder);
  assert_int_equal(bf_sim_sweep_parse(text, NULL, NULL, &own->sweep, &diagnostic), BF_OK);
  own->run = (bf_sim_sweep_run){.path = own->path,
                                .form = {own->sweep, "made up", columns, json},
                                .workers = 1,
                                .point = run_point,
                                .context = own};
}

static void end(fixture *own) {
  unlink(own->path);
  unlink(own->log);
  assert_int_equal(rmdir(own->folder), 0); /* nothing else is left */
  bf_sim_sweep_free(own->sweep);
}

static void read_whole(const char *path, bf_text *text) {
  char some[4096];
  size_t got;
  FILE *file = fopen(path, "rb");
  bf_text_add(text, "", 0);
  while (file && (got = fread(some, 1, sizeof some, file)) > 0)
    bf_text_add(text, some, got);
  if (file)
    fclose(file);
}

static void write_whole(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

/* Runs the sweep to its end. */
static bf_sim_sweep_outcome finish(fixture *own) {
  bf_sim_sweep_outcome outcome;
  bf_diagnostic diagnostic = {0};
  int error = bf_sim_sweep_all(&own->run, &outcome, &diagnostic);
  if (error)
    print_message("%s\n", diagnostic.message);
  assert_int_equal(error, BF_OK);
  assert_int_equal(outcome.count.finished, own->sweep->points);
  return outcome;
}

static void assert_file_equals(const char *path, const bf_text *expected) {
  bf_text found = {0};
  read_whole(path, &found);
  assert_int_equal(found.size, expected->size);
  assert_memory_equal(found.data, expected->data, found.size);
  bf_text_free(&found);
}

/* The file of a sweep that nothing disturbs. */
static void reference_of(fixture *own, bf_text *text) {
  finish(own);
  read_whole(own->path, text);
  unlink(own->path);
  unlink(own->log);
}

static void test_csv(void **state) {
  (void)state;
  fixture own;
  bf_text text = {0};
  begin(&own, "hash=none|xor:0,5,31;sms=1..2", false);
  bf_sim_sweep_outcome outcome = finish(&own);
  assert_int_equal(outcome.count.failed, 1);
  assert_int_equal(outcome.own, 4);
  read_whole(own.path, &text);
  assert_memory_equal(text.data, "# bankfold sweep ", 17);
  assert_string_equal(text.data + 33,
                      ": hash=none|xor:0,5,31;sms=1..2\n"
                      "point,hash,sms,cycles,ratio,limit,error\n"
                      "0,none,1,1000,0,,\n"
                      "1,none,2,1001,0.125,\"registers, shared\",\n"
                      "2,\"xor:0,5,31\",1,1004,0.25,,\n"
                      "3,\"xor:0,5,31\",2,,,,\"three, \"\"as they say\"\", is bad\"\n");
  bf_text_free(&text);
  end(&own);
}

static void test_json(void **state) {
  (void)state;
  fixture own;
  bf_text text = {0};
  begin(&own, "hash=none|fixed;sms=1..2", true);
  assert_int_equal(finish(&own).count.failed, 1);
  read_whole(own.path, &text);
  assert_memory_equal(text.data, "{\"signature\": \"", 15);
  assert_string_equal(text.data + 31,
                      "\", \"sweep\": \"hash=none|fixed;sms=1..2\", \"points\": 4}\n"
                      "{\"point\": 0, \"hash\": \"none\", \"sms\": \"1\", \"cycles\": 1000, "
                      "\"ratio\": 0, \"limit\": null, "
                      "\"error\": null}\n"
                      "{\"point\": 1, \"hash\": \"none\", \"sms\": \"2\", \"cycles\": 1001, "
                      "\"ratio\": 0.125, \"limit\": "
                      "\"registers, shared\", \"error\": null}\n"
                      "{\"point\": 2, \"hash\": \"fixed\", \"sms\": \"1\", \"cycles\": 1004, "
                      "\"ratio\": 0.25, \"limit\": "
                      "null, \"error\": null}\n"
                      "{\"point\": 3, \"hash\": \"fixed\", \"sms\": \"2\", \"cycles\": null, "
                      "\"ratio\": null, \"limit\": "
                      "null, \"error\": \"three, \\\"as they say\\\",\\u000ais bad\"}\n");
  bf_text_free(&text);
  end(&own);
}

/* Whole lines of results in the first size bytes. */
static unsigned results_in(const char *text, size_t size, bool json) {
  unsigned lines = 0, header = json ? 1 : 2;
  for (size_t i = 0; i < size; i++)
    lines += text[i] == '\n';
  return lines > header ? lines - header : 0;
}

/* The file cut off at every byte (with sanitizers, every fifth): what is whole is kept, and the
 * rest is run. */
static void cut_everywhere(bool json) {
  fixture own;
  bf_text reference = {0};
  begin(&own, "hash=none|xor:0,5,31;sms=1..3", json);
  reference_of(&own, &reference);
  for (size_t size = 0; size <= reference.size; size += IS_SANITIZED ? 5 : 1) {
    write_whole(own.path, reference.data, size);
    bf_sim_sweep_outcome outcome = finish(&own);
    unsigned kept = results_in(reference.data, size, json);
    assert_int_equal(outcome.before, kept);
    assert_int_equal(outcome.own, 6 - kept);
    assert_file_equals(own.path, &reference);
  }
  bf_text_free(&reference);
  end(&own);
}

static void test_cut_csv(void **state) {
  (void)state;
  cut_everywhere(false);
}

static void test_cut_json(void **state) {
  (void)state;
  cut_everywhere(true);
}

/* Lines that are damaged, foreign or there twice do not count, and are gone in the end. */
static void test_damage(void **state) {
  (void)state;
  static const char *const lines[] = {"1,2,1001,0.125,\"registers, shared\",\n",
                                      "0,1,1000,0,,\n0,1,1000,0,,\n",
                                      "0,1,1000,0,\n",
                                      "0,1,1000,0,,,\n",
                                      "0,2,1000,0,,\n",
                                      "5,6,1000,0,,\n",
                                      "-1,0,1000,0,,\n",
                                      "0,1,1000,0,\",\n",
                                      "\n",
                                      "18446744073709551616,1,1000,0,,\n",
                                      "0\n",
                                      "0,1\n",
                                      "0,1,10\x01\x01,0,,\n"};
  fixture own;
  bf_text reference = {0};
  begin(&own, "n=1..4", false);
  reference_of(&own, &reference);
  size_t header = (size_t)(strstr(reference.data, "\n0,") + 1 - reference.data);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    bf_text damaged = {0};
    bf_text_add(&damaged, reference.data, header);
    bf_text_puts(&damaged, lines[i]);
    write_whole(own.path, damaged.data, damaged.size);
    assert_int_equal(finish(&own).before, i < 2);
    assert_file_equals(own.path, &reference);
    bf_text_free(&damaged);
  }
  bf_text_free(&reference);
  end(&own);
}

/* Runs the sweep, which must be refused with a message that has this part, and leave the file. */
static void assert_refused(fixture *own, const char *part) {
  bf_sim_sweep_outcome outcome;
  bf_diagnostic diagnostic;
  bf_text before = {0};
  read_whole(own->path, &before);
  assert_true(bf_sim_sweep_all(&own->run, &outcome, &diagnostic) < 0);
  assert_non_null(strstr(diagnostic.message, part));
  assert_file_equals(own->path, &before);
  bf_text_free(&before);
}

static void test_other_files(void **state) {
  (void)state;
  fixture own, other;
  begin(&own, "n=1..4", false);
  begin(&other, "n=1..5", false);
  finish(&own);
  own.run.form.basis = "another";
  assert_refused(&own, "is not the result file of this sweep, but begins with '# bankfold sweep ");
  own.run.form.basis = "made up";
  own.run.form.json = true;
  assert_refused(&own, "is not the result file of this sweep");
  own.run.form.json = false;
  other.run.path = own.path;
  assert_int_equal(rename(own.path, other.path), 0);
  other.run.path = other.path;
  assert_refused(&other, ": n=1..4'");
  write_whole(own.path, "my thesis", 9);
  assert_refused(&own, "begins with 'my thesis'");
  own.run.path = own.folder;
  assert_refused(&own, "Is a directory");
  own.run.path = "/nowhere/results";
  assert_refused(&own, "No such file");
  own.run.path = "/dev/null";
  assert_refused(&own, "need a regular file");
  end(&own);
  end(&other);
}

/* The same sweep in other words goes on. */
static void test_other_words(void **state) {
  (void)state;
  fixture own, other;
  begin(&own, "n=1..4", false);
  begin(&other, "n = 1|2|3..4", false);
  finish(&own);
  assert_int_equal(rename(own.path, other.path), 0);
  assert_int_equal(finish(&other).before, 4);
  end(&own);
  end(&other);
}

static void test_any_workers(void **state) {
  (void)state;
  fixture own;
  bf_text reference = {0};
  begin(&own, "a=1..10;b=1..12", false);
  reference_of(&own, &reference);
  for (unsigned workers = 0; workers <= 200; workers += workers < 4 ? 1 : 98) {
    own.run.workers = workers;
    assert_int_equal(finish(&own).own, 120);
    assert_file_equals(own.path, &reference);
    unlink(own.path);
  }
  bf_text_free(&reference);
  end(&own);
}

/* What progress has told. */
typedef struct progress_told {
  fixture own;
  unsigned calls;
  bf_sim_sweep_count last;
} progress_told;

static double work_of(void *context, uint64_t point) {
  (void)context;
  return (double)(point * 7 % 5);
}

/* The longest points are run first, of equals those with lower numbers; the file is the same. */
static void test_longest_first(void **state) {
  (void)state;
  fixture own;
  bf_text expected = {0}, log = {0};
  begin(&own, "a=1..10", false);
  reference_of(&own, &expected);
  own.run.work = work_of;
  finish(&own);
  assert_file_equals(own.path, &expected);
  read_whole(own.log, &log);
  assert_string_equal(log.data, "2\n7\n4\n9\n1\n6\n3\n8\n0\n5\n");
  bf_text_free(&log);
  bf_text_free(&expected);
  end(&own);
}

static void note_progress(void *context, const bf_sim_sweep_count *count, uint64_t before) {
  progress_told *told = context;
  assert_int_equal(before, 0);
  assert_int_equal(count->points, 30);
  assert_true(count->finished >= told->last.finished && count->failed >= told->last.failed);
  told->last = *count;
  told->calls++;
}

static void test_progress(void **state) {
  (void)state;
  progress_told told = {0};
  begin(&told.own, "n=1..30", false);
  told.own.run.context = &told;
  told.own.run.progress = note_progress;
  finish(&told.own);
  assert_in_range(told.calls, 2, 1000);
  assert_int_equal(told.last.finished, 30);
  assert_int_equal(told.last.failed, 1);
  end(&told.own);
}

/* A symbolic link stays one, and the file keeps its permissions. */
static void test_link(void **state) {
  (void)state;
  fixture own;
  char target[80];
  struct stat status;
  begin(&own, "n=1..40", false);
  own.run.workers = 4;
  own.microseconds = 100;
  snprintf(target, sizeof target, "%s/target", own.folder);
  write_whole(target, "", 0);
  assert_int_equal(chmod(target, 0640), 0);
  assert_int_equal(symlink("target", own.path), 0);
  finish(&own);
  assert_int_equal(lstat(own.path, &status), 0);
  assert_true(S_ISLNK(status.st_mode));
  assert_int_equal(stat(own.path, &status), 0);
  assert_int_equal(status.st_mode & 0777, 0640);
  unlink(target);
  end(&own);
}

/* An error that is no result ends the sweep; later it goes on. */
static void test_stop(void **state) {
  (void)state;
  fixture own;
  bf_sim_sweep_outcome outcome;
  bf_diagnostic diagnostic;
  begin(&own, "n=1..100", false);
  own.run.workers = 3;
  own.stop_at = 50;
  assert_int_equal(bf_sim_sweep_all(&own.run, &outcome, &diagnostic), BF_IO);
  assert_string_equal(diagnostic.message, "stopped");
  own.stop_at = UINT64_MAX;
  outcome = finish(&own);
  assert_in_range(outcome.before, 50, 99);
  assert_int_equal(outcome.own, 100 - outcome.before);
  end(&own);
}

/* A file that loses its lines while the sweep runs ends the sweep, rather than to let it run for
 * ever. */
static void test_changed(void **state) {
  (void)state;
  fixture own;
  bf_sim_sweep_outcome outcome;
  bf_diagnostic diagnostic;
  begin(&own, "n=1..10", false);
  own.empty_at = 5;
  assert_int_equal(bf_sim_sweep_all(&own.run, &outcome, &diagnostic), BF_IO);
  assert_string_equal(diagnostic.message, "somebody else has changed the file");
  end(&own);
}

/* ---- Several processes ---- */

/* Starts a process that runs the sweep. */
static pid_t start(fixture *own) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    bf_sim_sweep_outcome outcome;
    bf_diagnostic diagnostic;
    _exit(bf_sim_sweep_all(&own->run, &outcome, &diagnostic) == BF_OK ? 0 : 1);
  }
  return child;
}

/* Points in the log. */
static unsigned logged(const fixture *own) {
  bf_text text = {0};
  unsigned lines = 0;
  read_whole(own->log, &text);
  for (size_t i = 0; i < text.size; i++)
    lines += text.data[i] == '\n';
  bf_text_free(&text);
  return lines;
}

/* Processes that nothing disturbs share the points: each is run once. */
static void test_processes(void **state) {
  (void)state;
  enum { PROCESSES = 4 };
  fixture own;
  bf_text reference = {0};
  pid_t child[PROCESSES];
  begin(&own, "a=1..15;b=1..16", true);
  reference_of(&own, &reference);
  own.run.workers = 2;
  own.microseconds = 200;
  for (unsigned i = 0; i < PROCESSES; i++)
    child[i] = start(&own);
  for (unsigned i = 0; i < PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(logged(&own), 240);
  assert_file_equals(own.path, &reference);
  bf_text_free(&reference);
  end(&own);
}

/* Starts processes, two at a time, and kills them at random moments. */
static void start_and_kill(fixture *own, test_random *random, unsigned pairs) {
  for (unsigned i = 0; i < pairs; i++) {
    pid_t first = start(own), second = start(own);
    usleep((useconds_t)random_below(random, 12000));
    kill(first, SIGKILL);
    usleep((useconds_t)random_below(random, 3000));
    kill(second, SIGKILL);
    assert_int_equal(waitpid(first, NULL, 0), first);
    assert_int_equal(waitpid(second, NULL, 0), second);
  }
}

/* Removes the temporary files that killed processes have left: nothing but that is called so. */
static void remove_temporary(const fixture *own) {
  char pattern[sizeof own->folder + 32];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/.bankfold-*", own->folder);
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++)
      unlink(found.gl_pathv[i]);
    globfree(&found);
  }
}

static void test_kills(void **state) {
  (void)state;
  fixture own;
  bf_text reference = {0};
  test_random random = {2};
  begin(&own, "a=1..10;b=1..15", false);
  reference_of(&own, &reference);
  own.run.workers = 2;
  own.microseconds = 300;
  for (unsigned round = 0; round < 10; round++) {
    start_and_kill(&own, &random, round);
    bf_sim_sweep_outcome outcome = finish(&own);
    assert_int_equal(outcome.before + outcome.own, 150);
    assert_file_equals(own.path, &reference);
    /* A killed process loses no more than what its two workers were at. */
    assert_in_range(logged(&own), 150, 150 + 2 * 2 * round);
    unlink(own.path);
    unlink(own.log);
  }
  bf_text_free(&reference);
  remove_temporary(&own);
  end(&own);
}

/* What one has finished, the other does not take; here both are in one process. */
static void test_two_files(void **state) {
  (void)state;
  fixture own;
  bf_sim_sweep_file *one, *other;
  bf_sim_claim claim;
  bf_sim_row row;
  uint64_t point;
  bf_diagnostic diagnostic;
  begin(&own, "n=1..3", false);
  assert_int_equal(bf_sim_sweep_file_open(own.path, &own.run.form, &one, &diagnostic), BF_OK);
  assert_int_equal(bf_sim_sweep_file_open(own.path, &own.run.form, &other, &diagnostic), BF_OK);
  for (uint64_t expected = 0; expected < 2; expected++) {
    bf_sim_sweep_file *file = expected ? other : one;
    assert_int_equal(bf_sim_sweep_file_claim(file, &claim, &point, &diagnostic), BF_OK);
    assert_int_equal(claim, BF_SIM_CLAIM_TAKEN);
    assert_int_equal(point, expected);
    bf_sim_row_begin(&own.run.form, point, &row);
    bf_sim_row_end(&row, NULL);
    assert_int_equal(bf_sim_sweep_file_add(file, point, &row, &diagnostic), BF_OK);
    bf_text_free(&row.text);
  }
  assert_int_equal(bf_sim_sweep_file_claim(one, &claim, &point, &diagnostic), BF_OK);
  assert_int_equal(point, 2);
  assert_int_equal(bf_sim_sweep_file_claim(one, &claim, &point, &diagnostic), BF_OK);
  assert_int_equal(claim, BF_SIM_CLAIM_NONE);
  assert_int_equal(bf_sim_sweep_file_claim(other, &claim, &point, &diagnostic), BF_OK);
  assert_int_equal(claim, BF_SIM_CLAIM_WAIT);
  bf_sim_sweep_file_close(one);
  assert_int_equal(bf_sim_sweep_file_claim(other, &claim, &point, &diagnostic), BF_OK);
  assert_int_equal(claim, BF_SIM_CLAIM_TAKEN);
  bf_sim_sweep_file_close(other);
  end(&own);
}

/* One of two processes dies with a point of its own: the other waits for it and takes it over. */
static void test_takes_over(void **state) {
  (void)state;
  fixture own;
  bf_diagnostic diagnostic;
  begin(&own, "n=1..3", false);
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t holder = fork();
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bf_sim_sweep_file *file;
    bf_sim_claim claim;
    uint64_t point;
    if (bf_sim_sweep_file_open(own.path, &own.run.form, &file, &diagnostic) ||
        bf_sim_sweep_file_claim(file, &claim, &point, &diagnostic) ||
        write(ready[1], &point, sizeof point) != sizeof point)
      _exit(1);
    pause();
    _exit(0);
  }
  uint64_t point;
  assert_int_equal(read(ready[0], &point, sizeof point), sizeof point);
  assert_int_equal(point, 0);
  pid_t other = start(&own);
  int status;
  while (logged(&own) < 2 && waitpid(other, &status, WNOHANG) == 0)
    usleep(1000);
  usleep(150000); /* it has nothing to do now */
  assert_int_equal(waitpid(other, &status, WNOHANG), 0);
  assert_int_equal(logged(&own), 2);
  kill(holder, SIGKILL);
  assert_int_equal(waitpid(holder, NULL, 0), holder);
  assert_int_equal(waitpid(other, &status, 0), other);
  assert_int_equal(status, 0);
  assert_int_equal(logged(&own), 3);
  assert_int_equal(finish(&own).before, 3);
  close(ready[0]);
  close(ready[1]);
  end(&own);
}

/* A full disk, played by a limit on the size of files: what is there stays, and is resumed. */
static void test_no_room(void **state) {
  (void)state;
  fixture own;
  bf_text reference = {0};
  begin(&own, "n=1..20", false);
  reference_of(&own, &reference);
  for (size_t limit = 1; limit < reference.size; limit += IS_SANITIZED ? 35 : 7) {
    pid_t child = fork();
    if (child == 0) {
      bf_sim_sweep_outcome outcome;
      bf_diagnostic diagnostic;
      struct rlimit size = {limit, limit};
      signal(SIGXFSZ, SIG_IGN);
      int error = setrlimit(RLIMIT_FSIZE, &size);
      if (!error)
        error = bf_sim_sweep_all(&own.run, &outcome, &diagnostic);
      _exit(error == BF_IO && strstr(diagnostic.message, "cannot write: ") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    finish(&own);
    assert_file_equals(own.path, &reference);
    unlink(own.path);
  }
  bf_text_free(&reference);
  end(&own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_points),      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_csv),         cmocka_unit_test(test_json),
      cmocka_unit_test(test_cut_csv),     cmocka_unit_test(test_cut_json),
      cmocka_unit_test(test_damage),      cmocka_unit_test(test_other_files),
      cmocka_unit_test(test_other_words), cmocka_unit_test(test_any_workers),
      cmocka_unit_test(test_progress),    cmocka_unit_test(test_link),
      cmocka_unit_test(test_stop),        cmocka_unit_test(test_changed),
      cmocka_unit_test(test_processes),   cmocka_unit_test(test_kills),
      cmocka_unit_test(test_two_files),   cmocka_unit_test(test_longest_first),
      cmocka_unit_test(test_takes_over),  cmocka_unit_test(test_no_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
