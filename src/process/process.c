/* Other programs as processes. */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_SIGNAL = 128, TICK_MILLISECONDS = 50 };

static bool is_watched(const bf_process *process) {
  return process->limit_seconds > 0 || process->tick;
}

/* ---- Standard streams ---- */

/* A descriptor, which moves where it has the place of a standard stream that is closed here. How:
 * F_DUPFD, or F_DUPFD_CLOEXEC for one that is not left to other programs. */
static int move_up(int file, int how) {
  if (file < 0 || file > 2)
    return file;
  int moved = fcntl(file, how, 3);
  close(file);
  return moved;
}

/* Opens a file for a stream, which stays -1 where it is ours. */
static int open_file(const char *path, int flags, int *stream, bf_diagnostic *diagnostic) {
  if (!path)
    return BF_OK;
  *stream = move_up(open(path, flags | O_CLOEXEC, 0600), F_DUPFD_CLOEXEC);
  return *stream >= 0 ? BF_OK
                      : bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
}

/* Opens what the standard streams of a program are. */
static int open_streams(const bf_process *process, int stream[3], bf_diagnostic *diagnostic) {
  int writing = O_WRONLY | O_CREAT | O_TRUNC;
  if (!process->keeps_output) {
    BF_TRY(open_file(process->input, O_RDONLY, &stream[0], diagnostic));
    BF_TRY(open_file(process->output, writing, &stream[1], diagnostic));
    return open_file(process->error, writing, &stream[2], diagnostic);
  }
  BF_TRY(open_file("/dev/null", O_RDONLY, &stream[0], diagnostic));
  stream[1] = move_up(memfd_create("output", MFD_CLOEXEC), F_DUPFD_CLOEXEC);
  stream[2] = move_up(memfd_create("error", MFD_CLOEXEC), F_DUPFD_CLOEXEC);
  return stream[1] >= 0 && stream[2] >= 0
             ? BF_OK
             : bf_fail(diagnostic, BF_IO, "cannot run %s: %s", process->path, strerror(errno));
}

static void close_streams(const int stream[3]) {
  for (unsigned i = 0; i < 3; i++)
    if (stream[i] >= 0)
      close(stream[i]);
}

/* The content of a file that was written to. */
static void read_back(int file, bf_text *text) {
  char piece[1 << 12];
  ssize_t got;
  lseek(file, 0, SEEK_SET);
  while ((got = read(file, piece, sizeof piece)) > 0)
    bf_text_add(text, piece, (size_t)got);
}

/* ---- Running ---- */

/* bf_process_become, with an environment. */
static int become(const char *path, char **arguments, char **environment) {
  signal(SIGPIPE, SIG_DFL);
  fflush(NULL);
  execve(path, arguments, environment);
  fprintf(stderr, "bankfold: error: cannot run %s: %s\n", path, strerror(errno));
  return BF_PROCESS_NOT_RUN;
}

int bf_process_become(const char *path, char **arguments) {
  return become(path, arguments, environ);
}

/* In the new process: becomes the program. */
static void start(const bf_process *process, const int stream[3]) {
  if (!process->has_terminal)
    prctl(PR_SET_PDEATHSIG, is_watched(process) ? SIGKILL : SIGTERM);
  if (is_watched(process))
    setpgid(0, 0);
  for (int i = 0; i < 3; i++)
    if (stream[i] >= 0)
      dup2(stream[i], i);
  if (process->output_is_error)
    dup2(2, 1);
  if (process->folder && chdir(process->folder) != 0)
    _exit(BF_PROCESS_NOT_RUN);
  _exit(become(process->path, process->arguments,
               process->environment ? process->environment : environ));
}

/* Sleeps for a moment that grows with the time that has passed, so that short runs end soon. */
static void wait_a_moment(double passed_seconds) {
  double milliseconds = passed_seconds * 20 + 0.2;
  if (milliseconds > TICK_MILLISECONDS)
    milliseconds = TICK_MILLISECONDS;
  struct timespec pause = {0, (long)(milliseconds * 1e6)};
  nanosleep(&pause, NULL);
}

/* Kills the group of a process that takes too long or is to be stopped. */
static void watch(const bf_process *process, pid_t child, bf_process_end *end) {
  bool is_late = process->limit_seconds > 0 && end->seconds > process->limit_seconds;
  bool is_stopped = process->tick && !process->tick(process->context);
  if ((is_late || is_stopped) && !end->is_late && !end->is_stopped) {
    end->is_late = is_late;
    end->is_stopped = is_stopped;
    kill(-child, SIGKILL);
  }
}

/* Waits for the process and says how it ended. */
static void wait_for(const bf_process *process, pid_t child, bf_process_end *end) {
  double begun = bf_seconds();
  int status = 0;
  for (;;) {
    pid_t ended = waitpid(child, &status, is_watched(process) ? WNOHANG : 0);
    end->seconds = bf_seconds() - begun;
    if (ended == child || (ended < 0 && errno != EINTR))
      break;
    if (!is_watched(process))
      continue;
    watch(process, child, end);
    wait_a_moment(end->seconds);
  }
  bool was_killed = end->is_late || end->is_stopped;
  end->signal = WIFSIGNALED(status) && !was_killed ? WTERMSIG(status) : 0;
  end->status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The program that has the terminal, for the handler; 0: none. */
static volatile pid_t running;

/* Hands a request to end on to the program, which this process waits for. */
static void pass_on(int number) {
  if (running > 0)
    kill(running, number);
}

/* The same for an interrupt that a process has sent; that of a terminal reaches the program, too.
 */
static void pass_on_sent(int number, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code <= 0)
    pass_on(number);
}

/* Has requests to end go to the program, or, where it is 0, to this process as before. */
static void pass_requests(pid_t program) {
  static const int requests[] = {SIGTERM, SIGHUP};
  struct sigaction pass = {.sa_handler = pass_on}, was;
  sigemptyset(&pass.sa_mask);
  running = program;
  for (unsigned i = 0; i < sizeof requests / sizeof *requests; i++) {
    sigaction(requests[i], NULL, &was);
    if (program && was.sa_handler == SIG_DFL)
      sigaction(requests[i], &pass, NULL);
    else if (!program && was.sa_handler == pass_on)
      signal(requests[i], SIG_DFL);
  }
}

/* Runs the program with these streams. */
static int run(const bf_process *process, const int stream[3], bf_process_end *end,
               bf_diagnostic *diagnostic) {
  struct sigaction pass = {.sa_sigaction = pass_on_sent, .sa_flags = SA_SIGINFO}, interrupt, quit;
  sigemptyset(&pass.sa_mask);
  sigaction(SIGINT, process->has_terminal ? &pass : NULL, &interrupt);
  sigaction(SIGQUIT, process->has_terminal ? &pass : NULL, &quit);
  fflush(NULL);
  pid_t child = fork();
  int reason = errno;
  if (child == 0) {
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    start(process, stream);
  }
  if (child > 0 && is_watched(process))
    setpgid(child, child); /* whoever is first */
  if (child > 0 && process->has_terminal)
    pass_requests(child);
  if (child > 0)
    wait_for(process, child, end);
  if (child > 0 && process->has_terminal)
    pass_requests(0);
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGQUIT, &quit, NULL);
  return child > 0
             ? BF_OK
             : bf_fail(diagnostic, BF_IO, "cannot run %s: %s", process->path, strerror(reason));
}

int bf_process_run(const bf_process *process, bf_process_end *end, bf_diagnostic *diagnostic) {
  int stream[3] = {-1, -1, -1};
  *end = (bf_process_end){.status = BF_PROCESS_NOT_RUN};
  int error = open_streams(process, stream, diagnostic);
  if (!error)
    error = run(process, stream, end, diagnostic);
  if (!error && process->keeps_output) {
    read_back(stream[1], &end->output);
    read_back(stream[2], &end->error);
  }
  close_streams(stream);
  return error;
}

void bf_process_end_free(bf_process_end *end) {
  bf_text_free(&end->output);
  bf_text_free(&end->error);
}

int bf_process_end_alike(const bf_process_end *end) {
  if (end->signal) {
    signal(end->signal, SIG_DFL);
    raise(end->signal);
  }
  return end->status;
}

/* ---- Files in memory ---- */

int bf_process_memory_file(const bf_text *content, char path[BF_PROCESS_PATH_BYTES]) {
  int file = move_up(memfd_create("bankfold", 0), F_DUPFD);
  size_t done = 0;
  while (file >= 0 && done < content->size) {
    ssize_t written = write(file, content->data + done, content->size - done);
    if (written < 0) {
      close(file);
      return -1;
    }
    done += (size_t)written;
  }
  snprintf(path, BF_PROCESS_PATH_BYTES, "/proc/self/fd/%d", file);
  return file;
}
