/* Running other programs: their streams, how they end, and when they are killed. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"
#include "process/ranks.h"

static char shell[] = "/bin/sh", option[] = "-c";

/* Runs a line of shell as a process that is described but for that. */
static bf_process_end run(bf_process process, const char *line) {
  bf_diagnostic diagnostic;
  bf_process_end end;
  char *arguments[] = {shell, option, (char *)line, NULL};
  process.path = shell;
  process.arguments = arguments;
  if (bf_process_run(&process, &end, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return end;
}

/* Runs a line whose output is kept. */
static void assert_printed(const char *line, const char *output, const char *error, int status) {
  bf_process_end end = run((bf_process){.keeps_output = true}, line);
  assert_string_equal(end.output.data ? end.output.data : "", output);
  assert_string_equal(end.error.data ? end.error.data : "", error);
  assert_int_equal(end.status, status);
  bf_process_end_free(&end);
}

static void test_kept(void **state) {
  (void)state;
  assert_printed("echo out; echo error >&2; exit 3", "out\n", "error\n", 3);
  assert_printed("cat", "", "", 0); /* it reads nothing */
  assert_printed("exit 0", "", "", 0);
  bf_process_end much = run((bf_process){.keeps_output = true}, "head -c 100000 /dev/zero");
  assert_int_equal(much.output.size, 100000);
  bf_process_end_free(&much);
}

/* Streams are those that are asked for also where the standard input of this process is closed. */
static void test_closed(void **state) {
  (void)state;
  int input = dup(0);
  close(0);
  assert_printed("echo out; echo error >&2; cat", "out\n", "error\n", 0);
  if (input >= 0) {
    dup2(input, 0);
    close(input);
  }
}

static void test_files(void **state) {
  (void)state;
  char folder[] = "/tmp/bankfold.XXXXXX", in[64], out[64], error[64];
  bf_text text = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(in, sizeof in, "%s/in", folder);
  snprintf(out, sizeof out, "%s/out", folder);
  snprintf(error, sizeof error, "%s/error", folder);
  assert_int_equal(bf_write_file(in, "word", 4, NULL), BF_OK);
  run((bf_process){.input = in, .output = out, .error = error}, "cat; echo bad >&2");
  assert_int_equal(bf_read_file(out, 100, &text, NULL), BF_OK);
  assert_string_equal(text.data, "word");
  text.size = 0;
  assert_int_equal(bf_read_file(error, 100, &text, NULL), BF_OK);
  assert_string_equal(text.data, "bad\n");
  text.size = 0;
  run((bf_process){.input = in, .error = out, .output_is_error = true}, "cat; echo bad >&2");
  assert_int_equal(bf_read_file(out, 100, &text, NULL), BF_OK);
  assert_string_equal(text.data, "wordbad\n");
  bf_text_free(&text);
  unlink(in);
  unlink(out);
  unlink(error);
  rmdir(folder);
}

/* Signals end a program as shells say it. */
static void test_signals(void **state) {
  (void)state;
  bf_process_end end = run((bf_process){0}, "kill -TERM $$");
  assert_int_equal(end.status, 128 + SIGTERM);
  assert_int_equal(end.signal, SIGTERM);
  assert_false(end.is_late || end.is_stopped);
  pid_t child = fork();
  if (child == 0)
    _exit(bf_process_end_alike(&end));
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  assert_int_equal(bf_process_end_alike(&(bf_process_end){.status = 7}), 7);
}

static bool count_down(void *context) {
  int *left = context;
  return --*left > 0;
}

/* What is watched is killed with its children, late or stopped; what ends in time is not. */
static void test_watched(void **state) {
  (void)state;
  int left = 3;
  bf_process_end late = run((bf_process){.limit_seconds = 0.1}, "sleep 60 & sleep 60; exit 3");
  assert_true(late.is_late && !late.is_stopped && !late.signal && late.seconds < 30);
  assert_int_equal(late.status, 128 + SIGKILL);
  bf_process_end stopped = run((bf_process){.tick = count_down, .context = &left}, "sleep 60");
  assert_true(stopped.is_stopped && !stopped.is_late && !stopped.signal);
  left = 1 << 30;
  bf_process_end whole =
      run((bf_process){.limit_seconds = 60, .tick = count_down, .context = &left}, "exit 5");
  assert_int_equal(whole.status, 5);
  assert_false(whole.is_late || whole.is_stopped);
}

/* While the program has the terminal, an interrupt does not end this process. */
static void test_terminal(void **state) {
  (void)state;
  struct sigaction before, after;
  signal(SIGINT, SIG_DFL); /* a shell that starts something beside it lets it ignore interrupts */
  sigaction(SIGINT, NULL, &before);
  bf_process_end end = run((bf_process){.has_terminal = true}, "kill -INT $PPID; kill -INT $$");
  assert_int_equal(end.signal, SIGINT);
  sigaction(SIGINT, NULL, &after);
  assert_true(before.sa_handler == after.sa_handler);
}

static void test_not_run(void **state) {
  (void)state;
  char name[] = "/none/program";
  char *arguments[] = {name, NULL};
  bf_diagnostic diagnostic;
  bf_process_end end;
  bf_process process = {.path = name, .arguments = arguments, .keeps_output = true};
  assert_int_equal(bf_process_run(&process, &end, &diagnostic), BF_OK);
  assert_int_equal(end.status, BF_PROCESS_NOT_RUN);
  assert_string_equal(end.error.data,
                      "bankfold: error: cannot run /none/program: No such file or directory\n");
  bf_process_end_free(&end);
  process = (bf_process){.path = shell, .arguments = arguments, .input = "/none/input"};
  assert_int_equal(bf_process_run(&process, &end, &diagnostic), BF_IO);
  assert_string_equal(diagnostic.file, "/none/input");
  process = (bf_process){.path = shell, .arguments = arguments, .output = "/none/output"};
  assert_int_equal(bf_process_run(&process, &end, &diagnostic), BF_IO);
}

/* A file in memory is there for programs that are run. */
static void test_memory_file(void **state) {
  (void)state;
  char path[BF_PROCESS_PATH_BYTES], line[64];
  bf_text text = {0};
  bf_text_puts(&text, "content");
  int file = bf_process_memory_file(&text, path);
  assert_true(file >= 0);
  snprintf(line, sizeof line, "cat %s", path);
  assert_printed(line, "content", "", 0);
  close(file);
  bf_text_free(&text);
}

/* A program has the folder and the variables that it is given; its folder goes with its files. */
static void test_folder(void **state) {
  (void)state;
  char folder[PATH_MAX], variable[] = "WORD=own";
  char *environment[] = {variable, NULL};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_process_make_folder(folder, &diagnostic), BF_OK);
  bf_process_end end =
      run((bf_process){.keeps_output = true, .folder = folder, .environment = environment},
          "pwd; echo $WORD $HOME; : >file");
  assert_memory_equal(end.output.data, folder, strlen(folder));
  assert_string_equal(end.output.data + strlen(folder), "\nown\n");
  bf_process_end_free(&end);
  bf_process_empty_folder(folder);
  assert_int_equal(rmdir(folder), 0); /* nothing was left in it */
  end = run((bf_process){.folder = folder}, "exit 0");
  assert_int_equal(end.status, BF_PROCESS_NOT_RUN);
}

static bool refuses(const char *path) {
  (void)path;
  return false;
}

static void test_find(void **state) {
  (void)state;
  char path[PATH_MAX];
  const char *before = getenv("PATH");
  char *kept = before ? strdup(before) : NULL;
  assert_int_equal(setenv("PATH", "/none:/bin", 1), 0);
  assert_true(bf_process_find("sh", NULL, path, sizeof path));
  assert_string_equal(path, "/bin/sh");
  assert_false(bf_process_find("sh", refuses, path, sizeof path));
  assert_false(bf_process_find("bin", NULL, path, sizeof path)); /* a folder */
  assert_true(bf_process_find("/bin/sh", NULL, path, sizeof path));
  assert_true(bf_process_prepend_variable("PATH", "/first"));
  assert_string_equal(getenv("PATH"), "/first:/none:/bin");
  unsetenv("PATH");
  assert_false(bf_process_find("sh", NULL, path, sizeof path));
  assert_true(bf_process_prepend_variable("PATH", "/only"));
  assert_string_equal(getenv("PATH"), "/only");
  setenv("PATH", kept ? kept : "", 1);
  free(kept);
}

/* A library comes first, also before AddressSanitizer, unless the user says otherwise. */
static void test_preload(void **state) {
  (void)state;
  const char *options = getenv("ASAN_OPTIONS"), *libraries = getenv("LD_PRELOAD");
  char *kept[] = {options ? strdup(options) : NULL, libraries ? strdup(libraries) : NULL};
  setenv("ASAN_OPTIONS", "halt_on_error=1", 1);
  setenv("LD_PRELOAD", "b.so", 1);
  assert_true(bf_process_preload("a.so") && bf_process_preload("first.so"));
  assert_string_equal(getenv("LD_PRELOAD"), "first.so:a.so:b.so");
  assert_string_equal(getenv("ASAN_OPTIONS"), "verify_asan_link_order=0:halt_on_error=1");
  setenv("ASAN_OPTIONS", "verify_asan_link_order=1", 1);
  assert_true(bf_process_preload("a.so"));
  assert_string_equal(getenv("ASAN_OPTIONS"), "verify_asan_link_order=1");
  for (unsigned i = 0; i < 2; i++) {
    const char *name = i ? "LD_PRELOAD" : "ASAN_OPTIONS";
    if (kept[i])
      setenv(name, kept[i], 1);
    else
      unsetenv(name);
    free(kept[i]);
  }
}

/* Sets three variables, or takes them out of the environment where values are NULL. */
static void set_ranks(const char *const *names, const char *const *values) {
  for (unsigned i = 0; i < 3; i++)
    if (values)
      setenv(names[i], values[i], 1);
    else
      unsetenv(names[i]);
}

/* What other programs than Open MPI's mpirun tell. */
static void test_other_ranks(void **state) {
  (void)state;
  static const char *const mpich[] = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"};
  static const char *const slurm[] = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                                      "SLURM_STEP_TASKS_PER_NODE"};
  set_ranks(mpich, (const char *const[]){"3", "8", "4"});
  bf_ranks ranks = bf_ranks_find();
  assert_true(ranks.own == 3 && ranks.all == 8 && ranks.on_this_host == 4);
  set_ranks(mpich, NULL);
  set_ranks(slurm, (const char *const[]){"6", "9", "4(x2),1"});
  ranks = bf_ranks_find();
  assert_true(ranks.own == 6 && ranks.all == 9 && ranks.on_this_host == 4);
  set_ranks(slurm, (const char *const[]){"9", "9", "9"}); /* none of them */
  ranks = bf_ranks_find();
  assert_true(ranks.own == 0 && ranks.all == 1 && ranks.on_this_host == 1);
  set_ranks(slurm, (const char *const[]){"1", "2x", "9"});
  ranks = bf_ranks_find();
  assert_true(ranks.own == 0 && ranks.all == 1);
  set_ranks(slurm, NULL);
}

/* What mpirun tells, and the cores and disks that follow from it. */
static void test_ranks(void **state) {
  (void)state;
  bf_ranks ranks = bf_ranks_find();
  assert_int_equal(ranks.own, 0);
  assert_int_equal(ranks.all, 1);
  assert_false(bf_ranks_have_own_disk(&ranks, "/tmp/nothing"));
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "100000", 1);
  ranks = bf_ranks_find();
  assert_int_equal(ranks.own, 5);
  assert_int_equal(ranks.all, 8);
  assert_int_equal(bf_ranks_workers(&ranks), 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "0", 1);
  setenv("OMPI_COMM_WORLD_RANK", "nonsense", 1);
  ranks = bf_ranks_find();
  assert_int_equal(ranks.on_this_host, 1);
  assert_int_equal(ranks.own, 0);
  assert_false(bf_ranks_have_own_disk(&ranks, "/proc/self/status"));
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
}

/* Source without an architecture is compiled for the next one where an instruction is missing. */
static void test_architectures(void **state) {
  (void)state;
  static const char missing[] =
      "ptxas x.ptx, line 7; error : Instruction 'wgmma.fence' not supported on .target 'sm_90'";
  assert_string_equal(bf_process_next_architecture(NULL, NULL), "sm_90");
  assert_string_equal(bf_process_next_architecture("sm_90", missing), "sm_90a");
  assert_string_equal(bf_process_next_architecture("sm_90a", missing), "sm_100a");
  assert_null(bf_process_next_architecture("sm_100a", missing));
  assert_null(
      bf_process_next_architecture("sm_90", "x.cu(3): error: identifier \"y\" is undefined"));
  assert_null(bf_process_next_architecture("sm_90", NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kept),        cmocka_unit_test(test_closed),
      cmocka_unit_test(test_files),       cmocka_unit_test(test_signals),
      cmocka_unit_test(test_watched),     cmocka_unit_test(test_terminal),
      cmocka_unit_test(test_not_run),     cmocka_unit_test(test_memory_file),
      cmocka_unit_test(test_folder),      cmocka_unit_test(test_find),
      cmocka_unit_test(test_preload),     cmocka_unit_test(test_ranks),
      cmocka_unit_test(test_other_ranks), cmocka_unit_test(test_architectures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
