/* What the program asks of its system and a browser is not: names of C++ without GCC's library,
 * calls that wasi-libc lacks, and refusals to run other programs. */
#include "cli/library.h"
#include "cli/look/sweep.h"
#include "cli/use/compile.h"
#include "kernels/corpus.h"
#include "kernels/sim_device.h"
#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"
#include "process/ranks.h"
#include "process/traced.h"
#include "search/together.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- Names of C++ ---- */

/* LLVM's demangler (libc++abi.a). */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);
/* GCC's, which src/ptx/demangle.c calls. */
int __gcclibcxx_demangle_callback(const char *mangled,
                                  void (*piece)(const char *text, size_t size, void *context),
                                  void *context);

/* Behind the return type of the function that a local name begins with, which LLVM prints and GCC
 * does not: "void f<int>(int)::x". The name itself where there is none. */
static const char *without_return_type(const char *plain) {
  const char *name = plain;
  unsigned depth = 0;
  for (const char *at = plain; *at; at++) {
    bool is_anonymous = strncmp(at, "(anonymous", 10) == 0;
    if (*at == '(' && !depth && !is_anonymous)
      return name;
    depth += *at == '<' || *at == '(';
    depth -= depth && (*at == '>' || *at == ')');
    if (*at == ' ' && !depth)
      name = at + 1;
  }
  return plain;
}

/* All in one piece, and nothing where it is longer than the caller would take, which it could not
 * leave by longjmp here. */
int __gcclibcxx_demangle_callback(const char *mangled,
                                  void (*piece)(const char *text, size_t size, void *context),
                                  void *context) {
  enum { MOST_MANGLED = 1 << 10, MOST_BYTES = 3 << 10 };
  int status = -1;
  char *plain =
      strlen(mangled) > MOST_MANGLED ? NULL : __cxa_demangle(mangled, NULL, NULL, &status);
  bool is_known = plain && strlen(plain) <= MOST_BYTES;
  if (is_known) {
    const char *name = strncmp(mangled, "_ZZ", 3) == 0 ? without_return_type(plain) : plain;
    piece(name, strlen(name), context);
  }
  free(plain);
  return is_known ? 0 : -1;
}

/* ---- Calls that wasi-libc lacks ---- */

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
  (void)flags;
  return getentropy(buffer, size) == 0 ? (ssize_t)size : -1;
}

int madvise(void *memory, size_t size, int advice) {
  (void)memory, (void)size, (void)advice;
  return 0;
}

/* One at a time, which is all that the commands need. */
FILE *tmpfile(void) { return fopen("/temporary", "w+b"); }

char *strsignal(int number) {
  (void)number;
  return "a signal";
}

/* ---- What cannot be done in a browser ---- */

static int refuse(const char *what, bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_UNSUPPORTED, "%s cannot be run in a browser", what);
}

int bf_process_run(const bf_process *process, bf_process_end *end, bf_diagnostic *diagnostic) {
  (void)end;
  return refuse(process->path, diagnostic);
}

int bf_process_find_tool(const char *name, bf_variable variable, char path[PATH_MAX],
                         bf_diagnostic *diagnostic) {
  (void)variable, (void)path;
  return refuse(name, diagnostic);
}

void bf_process_end_free(bf_process_end *end) { (void)end; }

int bf_process_trace(const bf_traced_run *run, const char *trace, const char *output, int *status,
                     bf_diagnostic *diagnostic) {
  (void)run, (void)trace, (void)output, (void)status;
  return refuse("a program", diagnostic);
}

int cli_compile_ptx(const char *source, const cli_texts *flags, const char *output,
                    bf_diagnostic *diagnostic) {
  (void)source, (void)flags, (void)output;
  return refuse("nvcc", diagnostic);
}

int cli_try_ptx(const char *source, const cli_texts *flags, const char *output,
                bf_diagnostic *diagnostic) {
  return cli_compile_ptx(source, flags, output, diagnostic);
}

int cli_compile_program(const char *source, const cli_texts *flags, const char *output,
                        bf_diagnostic *diagnostic) {
  return cli_compile_ptx(source, flags, output, diagnostic);
}

int bf_process_make_folder(char folder[PATH_MAX], bf_diagnostic *diagnostic) {
  (void)diagnostic;
  strcpy(folder, "/folder");
  return BF_OK;
}

bool cli_find_library(const char *build_folder, const char *library, char folder[PATH_MAX]) {
  (void)build_folder, (void)library, (void)folder;
  return false;
}

void bf_process_remove_folder(const char *folder) { (void)folder; }

bf_ranks bf_ranks_find(void) { return (bf_ranks){.all = 1, .on_this_host = 1}; }

unsigned bf_ranks_workers(const bf_ranks *ranks) {
  (void)ranks;
  return 1;
}

int bf_together_open(const char *path, bf_exact *exact, uint32_t tasks, bf_together **together,
                     bf_diagnostic *diagnostic) {
  (void)path, (void)exact, (void)tasks, (void)together;
  return refuse("a shared search", diagnostic);
}

void bf_together_close(bf_together *together) { (void)together; }

bool bf_together_is_done(bf_together *together, uint32_t task, uint64_t limit) {
  (void)together, (void)task, (void)limit;
  return false;
}

bool bf_together_take(bf_together *together, int *descriptor, uint32_t task) {
  (void)together, (void)descriptor, (void)task;
  return false;
}

void bf_together_leave(bf_together *together, int descriptor, uint32_t task, uint64_t cost) {
  (void)together, (void)descriptor, (void)task, (void)cost;
}

int cli_sweep_run(const cli_sweep *request) {
  (void)request;
  bf_diagnostic diagnostic = {.caret = -1};
  refuse("a sweep", &diagnostic);
  return cli_complain(&diagnostic);
}

/* Benchmarks are not part of the page. */
const bf_corpus_benchmark *bf_corpus_find(const char *name) {
  (void)name;
  return NULL;
}

int bf_corpus_named(const char *name, const bf_corpus_benchmark **benchmark,
                    bf_diagnostic *diagnostic) {
  *benchmark = NULL;
  return refuse(name, diagnostic);
}

const char *bf_corpus_ptx(const char *folder) {
  (void)folder;
  return NULL;
}

int bf_corpus_simulate(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed,
                       bf_sim_ledger *ledger, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  (void)benchmark, (void)scale, (void)seed, (void)ledger, (void)outcome;
  return refuse("a benchmark", diagnostic);
}
