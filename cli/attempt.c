/* Running a program under watch. It has a process group of its own, so that its children can be
 * ended with it. */
#include "cli/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_SIGNAL = 128, STATUS_NOT_RUN = 127, TICK_MILLISECONDS = 50 };

/* Makes a file standard input (to 0) or output; false where it cannot be opened. */
static bool redirect(const char *path, int flags, int to) {
  int file = open(path ? path : "/dev/null", flags | O_CLOEXEC, 0600);
  return file >= 0 && dup2(file, to) == to;
}

/* Becomes the program. */
static void become(const cli_attempt *attempt) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  if (redirect(attempt->input, O_RDONLY, 0) &&
      redirect(attempt->output, O_WRONLY | O_CREAT | O_TRUNC, 1) &&
      (attempt->shows_errors || redirect(NULL, O_WRONLY, 2)))
    execv(attempt->path, attempt->arguments);
  _exit(STATUS_NOT_RUN);
}

/* Sleeps for a moment that grows with the time that has passed, so that short runs end soon. */
static void wait_a_moment(double passed_seconds) {
  double milliseconds = passed_seconds * 20 + 0.2;
  if (milliseconds > TICK_MILLISECONDS)
    milliseconds = TICK_MILLISECONDS;
  struct timespec pause = {0, (long)(milliseconds * 1e6)};
  nanosleep(&pause, NULL);
}

/* Waits for the child; where it takes too long or is to be stopped, its group is killed. */
static int watch(const cli_attempt *attempt, pid_t child, cli_attempt_end *end) {
  double begun = bf_seconds();
  int status = 0;
  for (;;) {
    pid_t ended = waitpid(child, &status, WNOHANG);
    end->seconds = bf_seconds() - begun;
    if (ended == child || (ended < 0 && errno != EINTR))
      break;
    bool is_late = attempt->limit_seconds > 0 && end->seconds > attempt->limit_seconds;
    bool is_stopped = attempt->tick && !attempt->tick(attempt->context);
    if ((is_late || is_stopped) && !end->is_late && !end->is_stopped) {
      end->is_late = is_late;
      end->is_stopped = is_stopped;
      kill(-child, SIGKILL);
    }
    wait_a_moment(end->seconds);
  }
  return status;
}

int cli_attempt_run(const cli_attempt *attempt, cli_attempt_end *end, bf_diagnostic *diagnostic) {
  *end = (cli_attempt_end){0};
  if (attempt->input && access(attempt->input, R_OK) != 0)
    return bf_fail_file(diagnostic, BF_IO, attempt->input, "cannot open: %s", strerror(errno));
  fflush(NULL);
  pid_t child = fork();
  if (child < 0)
    return bf_fail(diagnostic, BF_IO, "cannot start %s: %s", attempt->path, strerror(errno));
  if (child == 0)
    become(attempt);
  setpgid(child, child); /* whoever is first */
  int status = watch(attempt, child, end);
  bool was_killed = end->is_late || end->is_stopped;
  end->signal = WIFSIGNALED(status) && !was_killed ? WTERMSIG(status) : 0;
  end->status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
  return BF_OK;
}
