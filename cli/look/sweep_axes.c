/* The axes of sim --sweep. */
#include "cli/look/sweep_axes.h"

#include <string.h>

/* ---- Points ---- */

/* Adds "name=value" to the changes of the GPU's parameters. */
static int add_change(cli_point *point, const char *name, const char *value,
                      bf_diagnostic *diagnostic) {
  cli_texts *set = &point->simulated.set;
  if (set->count == CLI_MOST_TEXTS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--set and axes change more than %d parameters",
                   CLI_MOST_TEXTS);
  size_t size = strlen(name) + strlen(value) + 2;
  char *change = bf_arena_alloc(&point->arena, size);
  if (!change)
    return bf_no_memory(diagnostic);
  snprintf(change, size, "%s=%s", name, value);
  set->text[set->count++] = change;
  return BF_OK;
}

static int set_lock_hash(cli_point *point, const char *value, bf_diagnostic *diagnostic) {
  if (strcmp(value, "none") != 0 && strcmp(value, "plain") != 0 && strcmp(value, "xor") != 0 &&
      strcmp(value, "add") != 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "lock-hash is one of: none xor add; not '%s'", value);
  point->simulated.lock_hash = value;
  return BF_OK;
}

static int set_benchmark(cli_point *point, const char *value, bf_diagnostic *diagnostic) {
  return bf_corpus_named(value, &point->benchmark, diagnostic);
}

/* A whole number from least to most. */
static int set_number(const char *name, const char *value, uint64_t least, uint64_t most,
                      unsigned *number, bf_diagnostic *diagnostic) {
  uint64_t found;
  const char *end = value;
  if (!bf_parse_number(&end, &found) || *end || found < least || found > most)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s is a whole number from %llu to %llu, not '%s'",
                   name, (unsigned long long)least, (unsigned long long)most, value);
  *number = (unsigned)found;
  return BF_OK;
}

/* Gives an axis its value at a point. */
static int apply(cli_point *point, const char *name, const char *value, bf_diagnostic *diagnostic) {
  if (strcmp(name, "gpu") == 0)
    point->simulated.gpu = value;
  else if (strcmp(name, "hash") == 0)
    point->simulated.hash = value;
  else if (strcmp(name, "lock-hash") == 0)
    return set_lock_hash(point, value, diagnostic);
  else if (strcmp(name, "benchmark") == 0)
    return set_benchmark(point, value, diagnostic);
  else if (strcmp(name, "scale") == 0)
    return set_number(name, value, 1, 1024, &point->scale, diagnostic);
  else if (strcmp(name, "seed") == 0)
    return set_number(name, value, 0, UINT32_MAX, &point->seed, diagnostic);
  else
    return add_change(point, name, value, diagnostic);
  return BF_OK;
}

/* A point of which no axis has a value yet. */
static cli_point first_settings(const cli_sweep *request) {
  cli_point point = {.simulated = *request->simulated,
                     .benchmark = request->benchmark ? bf_corpus_find(request->benchmark) : NULL,
                     .scale = request->scale ? (unsigned)request->scale : 1,
                     .seed = (unsigned)request->seed};
  point.simulated.workers = 1;
  return point;
}

int cli_axes_point(const cli_sweep *request, const bf_sim_sweep *sweep, uint64_t number,
                   cli_point *point, bf_diagnostic *diagnostic) {
  *point = first_settings(request);
  for (unsigned i = 0; i < sweep->axes; i++)
    BF_TRY(apply(point, sweep->axis[i].name, bf_sim_sweep_value(sweep, number, i), diagnostic));
  return BF_OK;
}

/* ---- Checking names and values ---- */

typedef struct checking {
  const cli_sweep *request;
  const bf_sim_sweep *sweep; /* read before without checks */
  bf_sim_gpu *gpu;           /* to try changes on */
} checking;

static const bf_sim_axis *find_axis(const bf_sim_sweep *sweep, const char *name) {
  for (unsigned i = 0; i < sweep->axes; i++)
    if (strcmp(sweep->axis[i].name, name) == 0)
      return &sweep->axis[i];
  return NULL;
}

/* Whether --set changes the parameter. */
static bool is_set(const cli_texts *set, const char *name) {
  size_t length = strlen(name);
  for (unsigned i = 0; i < set->count; i++)
    if (strncmp(set->text[i], name, length) == 0 && set->text[i][length] == '=')
      return true;
  return false;
}

/* Whether an option gives what the axis of that name is for. */
static bool is_option(const cli_sweep *request, const char *name) {
  const cli_simulated *simulated = request->simulated;
  const struct {
    const char *name;
    bool is_given;
  } options[] = {{"gpu", simulated->gpu != NULL},
                 {"hash", simulated->hash != NULL},
                 {"lock-hash", simulated->lock_hash != NULL},
                 {"benchmark", request->benchmark != NULL},
                 {"scale", request->scale != 0},
                 {"seed", request->seed != 0}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (strcmp(options[i].name, name) == 0)
      return options[i].is_given;
  return false;
}

static bool is_word_of(const char *name, const char *const *words) {
  while (*words && strcmp(*words, name) != 0)
    words++;
  return *words != NULL;
}

static int check_name(const checking *with, const char *name, bf_diagnostic *diagnostic) {
  static const char *const of_benchmarks[] = {"benchmark", "scale", "seed", NULL};
  static const char *const of_all[] = {"gpu", "machine", "hash", "lock-hash", NULL};
  if (is_option(with->request, name))
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s is an axis, but --%s is given as well", name,
                   name);
  if (is_set(&with->request->simulated->set, name))
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s is an axis, but --set changes it as well", name);
  if (is_word_of(name, of_benchmarks))
    return with->request->file ? bf_fail(diagnostic, BF_BAD_INPUT,
                                         "%s is for benchmarks, but a file is given", name)
                               : BF_OK;
  if (is_word_of(name, of_all))
    return BF_OK;
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    if (strcmp(p->name, name) == 0)
      return BF_OK;
  /* The message says which names are near. */
  char change[128];
  snprintf(change, sizeof change, "%.100s=0", name);
  return bf_sim_gpu_set(with->gpu, change, diagnostic);
}

static int check_gpu(const char *name, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu = NULL;
  bf_diagnostic inner;
  int error = bf_sim_gpu_load(name, &gpu, &inner);
  bf_sim_gpu_free(gpu);
  if (error && inner.file[0] && inner.line)
    return bf_fail(diagnostic, error, "%s:%llu: %s", inner.file, (unsigned long long)inner.line,
                   inner.message);
  if (error)
    *diagnostic = inner;
  return error;
}

/* Whether the hash is one on that GPU with that machine (NULL: its own). Where there is no such GPU
 * or machine, that is the fault, and not the hash. */
static int try_hash(const char *text, const char *gpu_name, const char *machine,
                    bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  bf_hash *hash = NULL;
  if (bf_sim_gpu_load(gpu_name, &gpu, NULL) != BF_OK)
    return BF_OK;
  char change[256];
  snprintf(change, sizeof change, "machine=%s", machine ? machine : "");
  bool is_there = !machine || bf_sim_gpu_set(gpu, change, NULL) == BF_OK;
  int error = is_there ? cli_load_hash(text, gpu->machine, &hash, diagnostic) : BF_OK;
  bf_hash_free(hash);
  bf_sim_gpu_free(gpu);
  return error;
}

/* A hash must be one for some of the GPUs; where it is not, the point has an error. */
static int check_hash(const checking *with, const char *text, bf_diagnostic *diagnostic) {
  const bf_sim_axis *gpus = find_axis(with->sweep, "gpu");
  const bf_sim_axis *machines = find_axis(with->sweep, "machine");
  const char *option = with->request->simulated->gpu;
  int error = BF_BAD_INPUT;
  for (unsigned i = 0; error && i < (gpus ? gpus->values : 1); i++)
    for (unsigned k = 0; error && k < (machines ? machines->values : 1); k++)
      error = try_hash(text,
                       gpus     ? gpus->value[i]
                       : option ? option
                                : CLI_DEFAULT_GPU,
                       machines ? machines->value[k] : NULL, diagnostic);
  return error;
}

/* The callback of bf_sim_sweep_parse. */
static int check(void *context, const char *name, const char *value, bf_diagnostic *diagnostic) {
  checking *with = context;
  if (!value)
    return check_name(with, name, diagnostic);
  if (strcmp(name, "gpu") == 0)
    return check_gpu(value, diagnostic);
  if (strcmp(name, "hash") == 0)
    return check_hash(with, value, diagnostic);
  cli_point point = {0};
  int error = apply(&point, name, value, diagnostic);
  if (!error && point.simulated.set.count)
    error = bf_sim_gpu_set(with->gpu, point.simulated.set.text[0], diagnostic);
  bf_arena_free(&point.arena);
  return error;
}

/* Whether there is something to run at every point. */
static int check_work(const cli_sweep *request, const bf_sim_sweep *sweep,
                      bf_diagnostic *diagnostic) {
  if (request->file || request->benchmark || find_axis(sweep, "benchmark"))
    return BF_OK;
  return bf_fail(diagnostic, BF_BAD_INPUT,
                 "nothing to simulate: give FILE, --benchmark, or an axis benchmark=...");
}

int cli_axes_read(const cli_sweep *request, bf_sim_sweep **sweep, bf_diagnostic *diagnostic) {
  bf_sim_sweep *unchecked = NULL;
  checking with = {.request = request};
  *sweep = NULL;
  int error = bf_sim_gpu_load(request->simulated->gpu ? request->simulated->gpu : CLI_DEFAULT_GPU,
                              &with.gpu, diagnostic);
  if (!error)
    error = bf_sim_sweep_parse(request->text, NULL, NULL, &unchecked, diagnostic);
  with.sweep = unchecked;
  if (!error)
    error = check_work(request, unchecked, diagnostic);
  if (!error)
    error = bf_sim_sweep_parse(request->text, check, &with, sweep, diagnostic);
  bf_sim_sweep_free(unchecked);
  bf_sim_gpu_free(with.gpu);
  return error;
}

/* ---- What results depend on ---- */

/* A GPU with all its parameters. */
static int add_gpu(const char *name, bf_text *text, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load(name, &gpu, diagnostic));
  bf_text_addf(text, "gpu %s", bf_machine_name(gpu->machine));
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++) {
    bf_text_addf(text, " %s=", p->name);
    bf_sim_gpu_get(gpu, p, text);
  }
  bf_text_puts(text, "\n");
  bf_sim_gpu_free(gpu);
  return BF_OK;
}

/* A number that stands for the content of a file (NULL: none): FNV-1a with 64 bits. */
static int add_content(const char *path, bf_text *text, bf_diagnostic *diagnostic) {
  bf_reader *reader;
  unsigned char piece[1 << 14];
  uint64_t hash = 0xcbf29ce484222325ull;
  size_t got = 1;
  if (!path)
    return BF_OK;
  BF_TRY(bf_reader_open(path, &reader, diagnostic));
  int error = BF_OK;
  while (!error && got) {
    error = bf_reader_read(reader, piece, sizeof piece, &got, diagnostic);
    for (size_t i = 0; !error && i < got; i++)
      hash = (hash ^ piece[i]) * 0x100000001b3ull;
  }
  bf_reader_close(reader);
  bf_text_addf(text, "file %016llx\n", (unsigned long long)hash);
  return error;
}

static void add_option(const char *name, const char *value, bf_text *text) {
  if (value)
    bf_text_addf(text, "--%s %s\n", name, value);
}

int cli_axes_basis(const cli_sweep *request, const bf_sim_sweep *sweep, bf_text *text,
                   bf_diagnostic *diagnostic) {
  const cli_simulated *simulated = request->simulated;
  const bf_sim_axis *gpus = find_axis(sweep, "gpu");
  bf_text_addf(text, "bankfold %s scale %llu seed %llu module %llu max-cycles %llu\n", BF_VERSION,
               (unsigned long long)request->scale, (unsigned long long)request->seed,
               (unsigned long long)request->module, (unsigned long long)simulated->most_cycles);
  add_option("benchmark", request->benchmark, text);
  add_option("check", request->check, text);
  add_option("hash", simulated->hash, text);
  add_option("lock-hash", simulated->lock_hash, text);
  for (unsigned i = 0; i < simulated->set.count; i++)
    add_option("set", simulated->set.text[i], text);
  if (!gpus)
    BF_TRY(add_gpu(simulated->gpu ? simulated->gpu : CLI_DEFAULT_GPU, text, diagnostic));
  for (unsigned i = 0; gpus && i < gpus->values; i++)
    BF_TRY(add_gpu(gpus->value[i], text, diagnostic));
  BF_TRY(add_content(request->file, text, diagnostic));
  BF_TRY(add_content(request->launch, text, diagnostic));
  BF_TRY(add_content(simulated->hash_file, text, diagnostic));
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}
