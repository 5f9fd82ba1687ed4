/* A program whose launches are timed, for tests of bankfold tune with the stub driver:
 *
 *   tuned FILE STEP...
 *
 * loads FILE as a module and takes its steps:
 *
 *   KERNEL*N         launches it N times
 *   KERNEL*N+BLOCKS  the same with another grid
 *   KERNEL*N@T       launches it N times from each of T threads, with streams of their own
 *   capture:KERNEL   launches it into a graph
 *   fork:STEP        does it in a child and waits for that
 *   print:TEXT       prints a line
 *   process          prints its number
 *   input            prints what it reads
 *   table:FILE       from now on launches take what this table says
 *   exit:N, _exit:N, abort, hang
 *   HASH?STEP        takes a step only in runs with that BANKFOLD_HASH; ?STEP: without one */
#include "abi.h"
#include "exchange/settings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_THREADS = 32 };

static void *library, *module;

static void fail(const char *what) {
  printf("tuned: %s\n", what);
  exit(1);
}

/* Calls a function of the driver, which must succeed. */
#define CALL(name, types, ...)                                                                     \
  do {                                                                                             \
    int(*call) types;                                                                              \
    *(void **)&call = dlsym(library, #name);                                                       \
    if (!call || call(__VA_ARGS__) != CUDA_SUCCESS)                                                \
      fail(#name);                                                                                 \
  } while (0)

static void load(const char *path) {
  static char image[1 << 16];
  FILE *file = fopen(path, "rb");
  if (!file || fread(image, 1, sizeof image - 1, file) == 0)
    fail("cannot read the file");
  fclose(file);
  CALL(cuModuleLoadData, (void **, const void *), &module, image);
}

/* Launches of one thread. */
typedef struct work {
  char kernel[64];
  unsigned times, blocks;
  void *stream;
  pthread_t thread;
} work;

static void *launch(void *given) {
  const work *own = given;
  void *function;
  CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, own->kernel);
  for (unsigned i = 0; i < own->times; i++)
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         function, own->blocks, 2, 3, 4, 5, 6, 1000, own->stream, (void **)own->stream, NULL);
  return NULL;
}

/* KERNEL*N, with what may follow. */
static void launch_step(const char *step) {
  work all[MOST_THREADS] = {{.blocks = 1, .stream = (void *)2}};
  unsigned threads = 0;
  if (sscanf(step, "%63[^*]*%u@%u", all[0].kernel, &all[0].times, &threads) < 2)
    fail("a bad step");
  sscanf(step, "%*[^*]*%*u+%u", &all[0].blocks);
  if (threads == 0)
    launch(&all[0]);
  for (unsigned i = 0; i < threads && i < MOST_THREADS; i++) {
    all[i] = all[0];
    all[i].stream = (void *)(uintptr_t)(i + 3);
    if (pthread_create(&all[i].thread, NULL, launch, &all[i]) != 0)
      fail("no thread");
  }
  for (unsigned i = 0; i < threads && i < MOST_THREADS; i++)
    pthread_join(all[i].thread, NULL);
}

/* Launches into a graph, while another stream is used as always. */
static void capture(const char *kernel) {
  work captured = {.times = 1, .blocks = 1, .stream = (void *)2}, other = captured;
  void *graph;
  snprintf(captured.kernel, sizeof captured.kernel, "%s", kernel);
  other = captured;
  other.stream = (void *)3;
  CALL(cuStreamBeginCapture_v2, (void *, int), captured.stream, 0);
  launch(&captured);
  launch(&other);
  CALL(cuStreamEndCapture, (void *, void **), captured.stream, &graph);
}

static void print_input(void) {
  char line[256];
  while (fgets(line, sizeof line, stdin))
    fputs(line, stdout);
}

static void take(const char *step);

static void in_child(const char *step) {
  int status;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    take(step);
    exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0)
    fail("a child fails");
}

/* What follows a word at the start of a step, or NULL. */
static const char *behind(const char *step, const char *word) {
  size_t length = strlen(word);
  return strncmp(step, word, length) == 0 ? step + length : NULL;
}

static void take(const char *step) {
  const char *mark = strchr(step, '?'), *hash = bf_variable_get(BF_VARIABLE_HASH), *rest;
  if (mark) {
    if (!hash ? mark == step : strlen(hash) == (size_t)(mark - step) && behind(step, hash))
      take(mark + 1);
  } else if ((rest = behind(step, "capture:")))
    capture(rest);
  else if ((rest = behind(step, "fork:")))
    in_child(rest);
  else if ((rest = behind(step, "print:")))
    puts(rest);
  else if ((rest = behind(step, "table:")))
    setenv("STUB_TIMES", rest, 1);
  else if (strcmp(step, "process") == 0)
    printf("%ld\n", (long)getpid());
  else if (strcmp(step, "input") == 0)
    print_input();
  else if ((rest = behind(step, "exit:")))
    exit(atoi(rest));
  else if ((rest = behind(step, "_exit:")))
    _exit(atoi(rest));
  else if (strcmp(step, "abort") == 0)
    abort();
  else if (strcmp(step, "hang") == 0)
    pause();
  else
    launch_step(step);
}

int main(int argc, char **argv) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (argc < 2 || !library)
    fail("usage: tuned FILE STEP..., and libcuda.so.1");
  CALL(cuInit, (unsigned), 0);
  load(argv[1]);
  for (int i = 2; i < argc; i++)
    take(argv[i]);
  puts("done");
  return 0;
}
