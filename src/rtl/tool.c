/* Finds programs, and runs each in a folder of its own. */
#include "rtl/tool.h"
#include "process/process.h"
#include "process/program.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const bf_rtl_tool bf_rtl_yosys = {"yosys", "yosys", BF_VARIABLE_YOSYS, "yosys",
                                  "synthesize the unit"};
const bf_rtl_tool bf_rtl_opensta = {"OpenSTA", "sta", BF_VARIABLE_STA, "opensta", "time the unit"};

/* ---- Finding it ---- */

bool bf_rtl_names_tool(const bf_rtl_tool *tool) { return bf_variable_get(tool->variable) != NULL; }

/* path gets it. */
static bool find_tool(const bf_rtl_tool *tool, char path[BF_RTL_PATH_BYTES]) {
  const char *named = bf_variable_get(tool->variable);
  return bf_process_find(named ? named : tool->program, NULL, path, BF_RTL_PATH_BYTES);
}

bool bf_rtl_has_tool(const bf_rtl_tool *tool) {
  char path[BF_RTL_PATH_BYTES];
  return find_tool(tool, path);
}

/* ---- Its folder ---- */

/* The program is run in another folder: its path must not depend on this one. */
static void make_absolute(char path[BF_RTL_PATH_BYTES]) {
  char whole[PATH_MAX];
  if (path[0] != '/' && realpath(path, whole))
    snprintf(path, BF_RTL_PATH_BYTES, "%s", whole);
}

int bf_rtl_job_open(const bf_rtl_tool *tool, bf_rtl_job *job, bf_diagnostic *diagnostic) {
  const char *place = getenv("TMPDIR");
  job->tool = tool;
  if (!find_tool(tool, job->program))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%s is needed, and neither in PATH nor what %s names (Debian: apt-get install "
                   "%s)",
                   tool->name, bf_variable_name(tool->variable), tool->package);
  make_absolute(job->program);
  if (snprintf(job->folder, sizeof job->folder, "%s/bankfold-XXXXXX",
               place && *place ? place : "/tmp") >= (int)sizeof job->folder ||
      !mkdtemp(job->folder))
    return bf_fail(diagnostic, BF_IO, "cannot make a folder for %s: %s", tool->name,
                   strerror(errno));
  return BF_OK;
}

static void path_in(const bf_rtl_job *job, const char *name, char path[BF_RTL_PATH_BYTES]) {
  snprintf(path, BF_RTL_PATH_BYTES, "%s/%s", job->folder, name);
}

int bf_rtl_job_write(const bf_rtl_job *job, const char *name, const char *text,
                     bf_diagnostic *diagnostic) {
  char path[BF_RTL_PATH_BYTES];
  path_in(job, name, path);
  return bf_write_file(path, text, strlen(text), diagnostic);
}

int bf_rtl_job_link(const bf_rtl_job *job, const char *name, const char *given,
                    bf_diagnostic *diagnostic) {
  char path[BF_RTL_PATH_BYTES], target[BF_RTL_PATH_BYTES];
  path_in(job, name, path);
  if (!realpath(given, target) || symlink(target, path) != 0)
    return bf_fail_file(diagnostic, BF_IO, given, "cannot be read: %s", strerror(errno));
  return BF_OK;
}

int bf_rtl_job_read(const bf_rtl_job *job, const char *name, bf_text *text,
                    bf_diagnostic *diagnostic) {
  char path[BF_RTL_PATH_BYTES], piece[4096];
  path_in(job, name, path);
  FILE *file = fopen(path, "r");
  size_t got;
  if (!file)
    return bf_fail(diagnostic, BF_IO, "%s wrote no file '%s': %s", job->tool->name, name,
                   strerror(errno));
  while ((got = fread(piece, 1, sizeof piece, file)) > 0)
    bf_text_add(text, piece, got);
  fclose(file);
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* One file or folder; links are removed, not followed. */
static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)kind, (void)at;
  return remove(path);
}

/* With all that the tool and what it calls have left there. */
void bf_rtl_job_close(const bf_rtl_job *job) {
  enum { OPEN_FOLDERS = 8 };
  nftw(job->folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* ---- Running it ---- */

/* The tool's own folder is its place for temporary files and its home, so that it leaves nothing
 * elsewhere and takes no settings from there. */
static const char *const own_variables[] = {"TMPDIR=.", "HOME=."};
enum { OWN_VARIABLES = sizeof own_variables / sizeof *own_variables };

/* Whether an "X=..." sets one of them. */
static bool is_own(const char *variable) {
  for (unsigned i = 0; i < OWN_VARIABLES; i++)
    if (strncmp(variable, own_variables[i], strcspn(own_variables[i], "=") + 1) == 0)
      return true;
  return false;
}

/* The environment with these; NULL: out of memory. Made before the new process, which must not
 * allocate. */
static char **make_environment(void) {
  size_t count = 0, kept = 0;
  while (environ[count])
    count++;
  char **made = calloc(count + OWN_VARIABLES + 1, sizeof *made);
  for (size_t i = 0; made && i < count; i++)
    if (!is_own(environ[i]))
      made[kept++] = environ[i];
  for (unsigned i = 0; made && i < OWN_VARIABLES; i++)
    made[kept++] = (char *)(uintptr_t)own_variables[i];
  return made;
}

int bf_rtl_job_run(const bf_rtl_job *job, const char *const *arguments, bf_diagnostic *diagnostic) {
  char log[BF_RTL_PATH_BYTES];
  char **environment = make_environment();
  if (!environment)
    return bf_no_memory(diagnostic);
  path_in(job, BF_RTL_LOG, log);
  bf_process process = {.path = job->program,
                        .arguments = (char **)(uintptr_t)arguments,
                        .input = "/dev/null",
                        .output = "/dev/null",
                        .error = log,
                        .output_is_error = true,
                        .folder = job->folder,
                        .environment = environment};
  bf_process_end end;
  int error = bf_process_run(&process, &end, diagnostic);
  free(environment);
  if (error)
    return error;
  return end.status == 0 ? BF_OK : bf_rtl_job_fail(job, "it ended without a message", diagnostic);
}

int bf_rtl_job_fail(const bf_rtl_job *job, const char *otherwise, bf_diagnostic *diagnostic) {
  char path[BF_RTL_PATH_BYTES], line[256], error[256];
  snprintf(error, sizeof error, "%s", otherwise);
  path_in(job, BF_RTL_LOG, path);
  FILE *log = fopen(path, "r");
  while (log && fgets(line, sizeof line, log))
    if (strcasestr(line, "error"))
      snprintf(error, sizeof error, "%.*s", (int)strcspn(line, "\n"), line);
  if (log)
    fclose(log);
  return bf_fail(diagnostic, BF_UNSUPPORTED, "%s does not %s: %.200s", job->tool->name,
                 job->tool->purpose, error);
}
