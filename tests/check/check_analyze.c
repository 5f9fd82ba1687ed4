/* The analysis against the emulator: every benchmark of the corpus runs on the emulator, and what
 * the analysis says about each launch, without running it, must be what the emulator has seen. */
#include "analyze_compare.h"
#include "kernels/corpus.h"
#include "kernels/devices.h"

enum { MOST_KERNELS = 64, MOST_LAUNCHES = 3 };

typedef struct comparison {
  checker checker;
  bool is_active;                /* the launch in progress is compared */
  char names[MOST_KERNELS][128]; /* kernels, and how often each was launched */
  unsigned times[MOST_KERNELS], kernels;
} comparison;

/* Whether this launch of the kernel is one of the first few. */
static bool is_new(comparison *s, const char *name) {
  unsigned i = 0;
  while (i < s->kernels && strcmp(s->names[i], name) != 0)
    i++;
  if (i == MOST_KERNELS)
    return false;
  if (i == s->kernels)
    snprintf(s->names[s->kernels++], sizeof *s->names, "%s", name);
  return s->times[i]++ < MOST_LAUNCHES;
}

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  comparison *s = context;
  (void)diagnostic;
  s->is_active = is_new(s, bf_emu_kernel_name(launch->kernel));
  if (s->is_active)
    watch(&s->checker, launch);
  return BF_OK;
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 bf_diagnostic *diagnostic) {
  comparison *s = context;
  if (!s->is_active || result->fault.kind != BF_EMU_NO_FAULT)
    return BF_OK;
  return compare_launch(&s->checker, launch, diagnostic);
}

static int run_benchmark(const bf_corpus_benchmark *benchmark, comparison *s,
                         bf_diagnostic *diagnostic) {
  const char *text = bf_corpus_ptx(benchmark->folder);
  bf_ptx_module *ptx;
  BF_TRY(bf_ptx_parse(benchmark->folder, text, strlen(text), &ptx, diagnostic));
  s->checker.program = benchmark->name;
  s->checker.ptx = ptx;
  bf_emu_device_options options = {.workers = 1, .before = before, .after = after, .context = s};
  bf_device device;
  int error = bf_emu_device_create(benchmark->folder, text, &options, &device, diagnostic);
  if (error == BF_OK) {
    bf_corpus_outcome outcome = {0};
    error = bf_corpus_execute(benchmark, &device, 1, 0, &outcome, diagnostic);
    bf_emu_device_free(&device);
  }
  bf_ptx_free(ptx);
  return error;
}

/* Runs a benchmark and says how much was compared; the number of faults. */
static unsigned check_benchmark(const bf_corpus_benchmark *benchmark, const bf_machine *machine,
                                seen *event) {
  bf_diagnostic diagnostic = {0};
  comparison *s = calloc(1, sizeof *s);
  if (!s)
    return 1;
  s->checker.event = event;
  s->checker.machine = machine;
  int error = run_benchmark(benchmark, s, &diagnostic);
  printf("%-24s", benchmark->name);
  print_tally("known", &s->checker.known);
  print_tally("open", &s->checker.open);
  print_tally("assuming", &s->checker.assumed);
  printf("%s%s\n", error == BF_OK ? "" : "; ", diagnostic.message);
  unsigned faults = s->checker.known.faults + s->checker.open.faults + s->checker.assumed.faults +
                    s->checker.cut.faults;
  faults += error != BF_OK && error != BF_UNSUPPORTED; /* the emulator lacks an instruction */
  free(s);
  return faults;
}

int main(int argc, char **argv) {
  unsigned faults = 0;
  const bf_corpus_benchmark *benchmark;
  bf_machine *machine;
  seen *event = malloc(MOST_EVENTS * sizeof *event);
  if (!event || bf_machine_load("hopper", NULL, &machine, NULL))
    return 1;
  for (unsigned i = 0; (benchmark = bf_corpus_get(i)) != NULL; i++)
    if (argc == 1 || strcmp(argv[1], benchmark->name) == 0)
      faults += check_benchmark(benchmark, machine, event);
  bf_machine_free(machine);
  free(event);
  return faults ? 1 : 0;
}
