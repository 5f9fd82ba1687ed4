/* The first call of a function that was led away: finds what takes its place. */
#include "lead.h"

#include "exchange/settings.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Called with an entry in r11 and the arguments of some function in their places: asks
 * lead_resolve, and goes on to what it says as if nothing had been. */
__asm__(".text\n"
        ".globl lead_first_call\n"
        ".hidden lead_first_call\n"
        ".type lead_first_call, @function\n"
        "lead_first_call:\n"
        "  push %rbp\n"
        "  mov %rsp, %rbp\n"
        "  sub $192, %rsp\n"
        "  mov %rdi, (%rsp)\n"
        "  mov %rsi, 8(%rsp)\n"
        "  mov %rdx, 16(%rsp)\n"
        "  mov %rcx, 24(%rsp)\n"
        "  mov %r8, 32(%rsp)\n"
        "  mov %r9, 40(%rsp)\n"
        "  mov %rax, 48(%rsp)\n"
        "  movaps %xmm0, 64(%rsp)\n"
        "  movaps %xmm1, 80(%rsp)\n"
        "  movaps %xmm2, 96(%rsp)\n"
        "  movaps %xmm3, 112(%rsp)\n"
        "  movaps %xmm4, 128(%rsp)\n"
        "  movaps %xmm5, 144(%rsp)\n"
        "  movaps %xmm6, 160(%rsp)\n"
        "  movaps %xmm7, 176(%rsp)\n"
        "  mov %r11, %rdi\n"
        "  call lead_resolve\n"
        "  mov %rax, %r11\n"
        "  mov (%rsp), %rdi\n"
        "  mov 8(%rsp), %rsi\n"
        "  mov 16(%rsp), %rdx\n"
        "  mov 24(%rsp), %rcx\n"
        "  mov 32(%rsp), %r8\n"
        "  mov 40(%rsp), %r9\n"
        "  mov 48(%rsp), %rax\n"
        "  movaps 64(%rsp), %xmm0\n"
        "  movaps 80(%rsp), %xmm1\n"
        "  movaps 96(%rsp), %xmm2\n"
        "  movaps 112(%rsp), %xmm3\n"
        "  movaps 128(%rsp), %xmm4\n"
        "  movaps 144(%rsp), %xmm5\n"
        "  movaps 160(%rsp), %xmm6\n"
        "  movaps 176(%rsp), %xmm7\n"
        "  leave\n"
        "  jmp *%r11\n"
        ".size lead_first_call, . - lead_first_call\n");

void lead_say(const char *format, ...) {
  char line[PATH_MAX + 512];
  va_list arguments;
  if (bf_variable_get(BF_VARIABLE_QUIET))
    return;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0)
    dprintf(2, "bankfold: %s\n", line);
}

/* ---- Functions that fail ---- */

static int fail_1(void) { return 1; }
static int fail_7(void) { return 7; }
static int fail_101(void) { return 101; }
static int not_supported(void) { return 801; } /* cudaErrorNotSupported */

/* A function that returns a status. */
static const void *failing(int status) {
  return status == 7     ? (const void *)fail_7
         : status == 101 ? (const void *)fail_101
                         : (const void *)fail_1;
}

/* ---- The runtime ---- */

/* Bankfold's runtime for programs of a version; the process ends where there is none, because what
 * follows could only be NVIDIA's. */
static void *open_runtime(unsigned version) {
  Dl_info own;
  char path[PATH_MAX];
  const char *library = bf_cuda_library(version);
  if (!dladdr((const void *)open_runtime, &own) || !own.dli_fname || !strchr(own.dli_fname, '/'))
    own.dli_fname = "./";
  snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(own.dli_fname, '/') - own.dli_fname),
           own.dli_fname, library);
  void *runtime = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (runtime)
    return runtime;
  lead_say("%s", dlerror());
  _exit(127);
}

/* What an entry leads to: called by lead_first_call. */
const void *lead_resolve(lead_entry *entry);
__attribute__((used, visibility("hidden"))) const void *lead_resolve(lead_entry *entry) {
  if (entry->library) {
    lead_say("%s: %s", entry->library->name, entry->library->advice);
    return entry->target = failing(entry->library->status);
  }
  void *runtime = open_runtime(entry->runtime);
  const void *target = dlsym(runtime, entry->name);
  if (target)
    return entry->target = target;
  void *symbol = dlsym(runtime, "bankfoldRefuse");
  int (*refuse)(const char *name);
  memcpy(&refuse, &symbol, sizeof refuse);
  if (refuse) /* every time: the call's error becomes the last one */
    refuse(entry->name);
  return (const void *)not_supported;
}
