/* Lets allocation number 0, 1, 2, ... fail while functions of the public header work on bytes in
 * memory: each time the answer is that memory ran out. Leaks are found by the sanitizer. */
#include "../failing_memory.h"

#include <string.h>

/* A file, and how the attempts use it. */
typedef struct subject {
  const char *kernel;
  bf_text bytes;
  bf_machine *machine;
  bf_module *module;
} subject;

static int try_trace(const void *input) {
  const subject *s = input;
  bf_workload *workload;
  bf_workload_totals totals;
  int error = bf_workload_parse(s->bytes.data, s->bytes.size, s->machine, NULL, &workload, NULL);
  if (!error)
    error = bf_memory_count_workload(s->machine, NULL, workload, &totals, NULL);
  int result = verdict(error);
  bf_workload_free(workload);
  return result;
}

static int try_module(const void *input) {
  const subject *s = input;
  bf_module *module;
  char *text = NULL;
  int error = bf_module_parse(s->bytes.data, s->bytes.size, NULL, &module, NULL);
  if (!error)
    error = bf_module_text(module, &text, NULL);
  int result = verdict(error);
  bf_free(text);
  bf_module_free(module);
  return result;
}

static int try_analysis(const void *input) {
  const subject *s = input;
  bf_analyze_kernel_options options;
  bf_kernel_analysis *analysis;
  bf_workload *workload = NULL;
  bf_analyze_kernel_default_options(&options);
  options.block[0] = 64;
  int error = bf_analyze_kernel(s->module, s->kernel, NULL, &options, &analysis, NULL);
  if (!error)
    error = bf_kernel_analysis_workload(analysis, &workload, NULL);
  int result = verdict(error);
  bf_workload_free(workload);
  bf_kernel_analysis_free(analysis);
  return result;
}

/* Some allocations of a launch may fail: estimates, and threads of its own. Inside a kernel, the
 * stack is what has no room. */
static int try_launch(const void *input) {
  const subject *s = input;
  float out[1] = {0}, in[256] = {0};
  const bf_argument arguments[] = {bf_argument_buffer(NULL, out, sizeof out),
                                   bf_argument_buffer(in, NULL, sizeof in)};
  bf_launch launch;
  bf_launch_profile *profile;
  bf_default_launch(&launch);
  launch.block[0] = 256;
  launch.argument = arguments;
  launch.arguments = 2;
  launch.threads = 1;
  bf_diagnostic diagnostic;
  int error = bf_profile_launch(s->module, s->kernel, NULL, &launch, &profile, &diagnostic);
  if (error == BF_FAULT && strstr(diagnostic.message, "out of memory"))
    error = BF_NO_MEMORY;
  int result = !error && left < 0 ? 0 : verdict(error);
  bf_launch_profile_free(profile);
  return result;
}

/* As in a launch, estimates may do without. */
static int try_simulation(const void *input) {
  const subject *s = input;
  float out[1] = {0}, in[256] = {0};
  const bf_argument arguments[] = {bf_argument_buffer(NULL, out, sizeof out),
                                   bf_argument_buffer(in, NULL, sizeof in)};
  bf_launch launch;
  bf_simulate_options options;
  bf_simulation *simulation;
  bf_diagnostic diagnostic;
  bf_default_launch(&launch);
  launch.block[0] = 256;
  launch.argument = arguments;
  launch.arguments = 2;
  launch.threads = 1;
  bf_simulate_default_options(&options);
  options.gpu = "8800gt";
  options.set = "sms=1 registers_per_sm=65536 warps_per_sm=64";
  int error = bf_simulate_launch(s->module, s->kernel, &launch, &options, &simulation, &diagnostic);
  if (error == BF_FAULT && strstr(diagnostic.message, "out of memory"))
    error = BF_NO_MEMORY;
  int result = !error && left < 0 ? 0 : verdict(error);
  bf_simulation_free(simulation);
  return result;
}

/* An access in words and as pictures of all forms. */
static int try_drawing(const void *input) {
  const subject *s = input;
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
  bf_geometry geometry = bf_machine_geometry(s->machine);
  bf_classification classification;
  bf_hash *hash;
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = 128 * lane;
  int error = bf_hash_parse("fixed", &geometry, &hash, NULL);
  if (!error)
    error = bf_access_get_class(s->machine, &access, NULL, &classification, NULL);
  for (int form = BF_DRAWING_TEXT; form <= BF_DRAWING_JSON && !error; form++) {
    bf_drawing_options options;
    char *text;
    bf_drawing_default_options(&options);
    options.form = (bf_drawing_form)form;
    error = bf_access_draw(s->machine, hash, &access, &options, &text, NULL);
    bf_free(text);
  }
  bf_hash_free(hash);
  return verdict(error);
}

/* One hash for all kernels and a list for one, whose name is readable or not. */
static int try_rewriting(const void *input) {
  const subject *s = input;
  bf_rewrite_module_options options;
  bf_rewriting *rewriting;
  char hashes[100];
  snprintf(hashes, sizeof hashes, "%s xor:0,5,31\n", s->kernel);
  bf_rewrite_module_default_options(&options);
  options.hash = "fixed";
  options.hashes = hashes;
  int result = verdict(bf_rewrite_module(s->module, &options, &rewriting, NULL));
  bf_rewriting_free(rewriting);
  return result;
}

/* Some allocations may fail here as in a launch, and in searches that try without. */
static int try_tuning(const void *input) {
  const subject *s = input;
  float out[1] = {0}, in[256] = {0};
  const bf_argument arguments[] = {bf_argument_buffer(NULL, out, sizeof out),
                                   bf_argument_buffer(in, NULL, sizeof in)};
  bf_launch launch;
  bf_default_launch(&launch);
  launch.block[0] = 256;
  launch.argument = arguments;
  launch.arguments = 2;
  bf_tune_launch list = {s->kernel, &launch};
  bf_tune_module_options options;
  bf_tuning *tuning;
  bf_diagnostic diagnostic;
  bf_tune_module_default_options(&options);
  options.threads = 1;
  int error = bf_tune_module(s->module, &list, 1, &options, &tuning, &diagnostic);
  if (error == BF_FAULT && strstr(diagnostic.message, "out of memory"))
    error = BF_NO_MEMORY;
  int result = !error && left < 0 ? 0 : verdict(error);
  bf_tuning_free(tuning);
  return result;
}

static int try_code(const void *input) {
  const subject *s = input;
  bf_geometry geometry = bf_machine_geometry(s->machine);
  bf_hash *hash;
  char *text = NULL;
  int error = bf_hash_parse("fixed", &geometry, &hash, NULL);
  if (!error)
    error = bf_hash_emit(hash, "cuda", NULL, &text, NULL);
  int result = verdict(error);
  bf_free(text);
  bf_hash_free(hash);
  return result;
}

/* memory TRACE PTX KERNEL FATBIN */
int main(int count, char **arguments) {
  subject s = {.kernel = count == 5 ? arguments[3] : NULL};
  if (!s.kernel || bf_machine_load("hopper", NULL, &s.machine, NULL) != BF_OK)
    return 2;
  bool fine = bf_read_file(arguments[1], SIZE_MAX, &s.bytes, NULL) == BF_OK &&
              all_fail_well("trace", try_trace, &s);
  for (unsigned i = 2; i <= 4; i += 2) {
    s.bytes.size = 0;
    fine &= bf_read_file(arguments[i], SIZE_MAX, &s.bytes, NULL) == BF_OK &&
            all_fail_well(arguments[i], try_module, &s);
    bf_module *module = NULL;
    if (i == 2 && bf_module_parse(s.bytes.data, s.bytes.size, NULL, &module, NULL) == BF_OK)
      s.module = module;
  }
  fine &= s.module && all_fail_well("analysis", try_analysis, &s) &&
          all_fail_well("launch", try_launch, &s) && all_fail_well("rewriting", try_rewriting, &s);
  fine &= all_fail_well("code", try_code, &s) && all_fail_well("drawing", try_drawing, &s) &&
          all_fail_well("simulation", try_simulation, &s);
  bf_module_free(s.module);
  bf_machine_free(s.machine);
  bf_text_free(&s.bytes);
  return !fine;
}
