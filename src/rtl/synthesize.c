/* Runs yosys in a folder of its own, which is removed afterwards. */
#include "rtl/cost.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* ---- Finding it ---- */

static bool can_run(const char *path) { return access(path, X_OK) == 0; }

bool bf_rtl_find_yosys(char *path, size_t bytes) {
  const char *given = getenv("BANKFOLD_YOSYS");
  if (given && *given) {
    snprintf(path, bytes, "%s", given);
    return can_run(path);
  }
  const char *folders = getenv("PATH");
  while (folders && *folders) {
    size_t length = strcspn(folders, ":");
    snprintf(path, bytes, "%.*s/yosys", (int)length, folders);
    if (length && can_run(path))
      return true;
    folders += length + (folders[length] == ':');
  }
  return false;
}

/* ---- Running it ---- */

/* One file or folder; links are removed, not followed. */
static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)kind, (void)at;
  return remove(path);
}

/* All that yosys and what it calls have left there, too. */
static void remove_folder(const char *folder) {
  enum { OPEN_FOLDERS = 8 };
  nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* The environment with TMPDIR set to assignment ("TMPDIR=..."), so that yosys leaves nothing
 * elsewhere; NULL: out of memory. Made before the new process, which must not allocate. */
static char **make_environment(char *assignment) {
  size_t count = 0, kept = 0;
  while (environ[count])
    count++;
  char **made = calloc(count + 2, sizeof *made);
  for (size_t i = 0; made && i < count; i++)
    if (strncmp(environ[i], "TMPDIR=", 7) != 0)
      made[kept++] = environ[i];
  if (made)
    made[kept] = assignment;
  return made;
}

/* In the new process: becomes yosys, in the folder, with its output in the file log. */
static void become_yosys(const char *yosys, const char *folder, const char *script,
                         char **environment) {
  char *const arguments[] = {(char[]){"yosys"}, (char[]){"-q"}, (char[]){"-p"},
                             (char *)(uintptr_t)script, NULL};
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  int log = chdir(folder) == 0 ? open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
  int nothing = open("/dev/null", O_RDONLY);
  if (log >= 0 && nothing >= 0) {
    dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    execve(yosys, arguments, environment);
  }
  _exit(127);
}

static bool run_yosys(const char *yosys, const char *folder, const char *script) {
  char assignment[] = "TMPDIR=."; /* its folder */
  char **environment = make_environment(assignment);
  int status = 0;
  fflush(NULL);
  pid_t child = environment ? fork() : -1;
  if (child == 0)
    become_yosys(yosys, folder, script, environment);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  free(environment);
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The last line of the log that says what is wrong. */
static int fail_yosys(const char *folder, bf_diagnostic *diagnostic) {
  char path[PATH_BYTES], line[256], error[256] = "it ended without a message";
  snprintf(path, sizeof path, "%s/log", folder);
  FILE *log = fopen(path, "r");
  while (log && fgets(line, sizeof line, log))
    if (strstr(line, "ERROR"))
      snprintf(error, sizeof error, "%.*s", (int)strcspn(line, "\n"), line);
  if (log)
    fclose(log);
  return bf_fail(diagnostic, BF_UNSUPPORTED, "yosys does not synthesize the unit: %.200s", error);
}

/* The whole of a file. */
static int read_file(const char *folder, const char *name, bf_text *text,
                     bf_diagnostic *diagnostic) {
  char path[PATH_BYTES], piece[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  size_t got;
  if (!file)
    return bf_fail(diagnostic, BF_IO, "yosys wrote no netlist: %s", strerror(errno));
  while ((got = fread(piece, 1, sizeof piece, file)) > 0)
    bf_text_add(text, piece, got);
  fclose(file);
  return text->failed ? bf_fail(diagnostic, BF_NO_MEMORY, "out of memory") : BF_OK;
}

static int synthesize_in(const char *folder, const char *yosys, const char *verilog,
                         const char *top, const char *liberty_path, bf_text *blif,
                         bf_diagnostic *diagnostic) {
  char path[PATH_BYTES], library[PATH_BYTES], script[1024];
  snprintf(path, sizeof path, "%s/unit.v", folder);
  BF_TRY(bf_write_file(path, verilog, strlen(verilog), diagnostic));
  snprintf(path, sizeof path, "%s/cells.lib", folder);
  if (!realpath(liberty_path, library) || symlink(library, path) != 0)
    return bf_fail_file(diagnostic, BF_IO, liberty_path, "cannot be read: %s", strerror(errno));
  snprintf(script, sizeof script,
           "read_verilog unit.v; hierarchy -check -top %s; proc; flatten; opt; techmap; opt; "
           "dfflibmap -liberty cells.lib; opt; abc -liberty cells.lib; opt_clean -purge; "
           "write_blif -gates unit.blif",
           top);
  if (!run_yosys(yosys, folder, script))
    return fail_yosys(folder, diagnostic);
  return read_file(folder, "unit.blif", blif, diagnostic);
}

int bf_rtl_synthesize(const char *verilog, const char *top, const char *liberty_path, bf_text *blif,
                      bf_diagnostic *diagnostic) {
  const char *place = getenv("TMPDIR");
  char yosys[PATH_BYTES], folder[512];
  if (!bf_rtl_find_yosys(yosys, sizeof yosys))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "yosys is needed, and neither in PATH nor what BANKFOLD_YOSYS names (Debian: "
                   "apt-get install yosys)");
  if (snprintf(folder, sizeof folder, "%s/bankfold-XXXXXX", place && *place ? place : "/tmp") >=
          (int)sizeof folder ||
      !mkdtemp(folder))
    return bf_fail(diagnostic, BF_IO, "cannot make a folder for yosys: %s", strerror(errno));
  int error = synthesize_in(folder, yosys, verilog, top, liberty_path, blif, diagnostic);
  remove_folder(folder);
  return error;
}
