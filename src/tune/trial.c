/* Trials on the emulator. */
#include "tune/trial.h"

#include <stdlib.h>
#include <string.h>

struct bf_trial_watch {
  const bf_trial_options *options;
  bf_trial *trial;
  /* Of the launch that runs: */
  size_t kernel;
  bf_profile *profile;
  bf_emu_observer counting, keeping, both;
  bf_sim_ledger simulated; /* all launches until now */
};

const bf_trial_kernel *bf_trial_find(const bf_trial *trial, const char *kernel) {
  for (size_t i = 0; i < trial->kernels; i++)
    if (strcmp(trial->kernel[i].name, kernel) == 0)
      return &trial->kernel[i];
  return NULL;
}

/* ---- Launches ---- */

/* The place of a kernel, which is made where there is none. */
static int find_or_add(bf_trial_watch *t, const bf_emu_kernel *kernel, bf_diagnostic *diagnostic) {
  bf_trial *trial = t->trial;
  const char *name = bf_emu_kernel_name(kernel);
  const bf_trial_kernel *found = bf_trial_find(trial, name);
  t->kernel = found ? (size_t)(found - trial->kernel) : trial->kernels;
  if (found)
    return BF_OK;
  if (trial->kernels == trial->kernel_capacity) {
    size_t capacity = trial->kernel_capacity ? 2 * trial->kernel_capacity : 8;
    bf_trial_kernel *grown = realloc(trial->kernel, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    trial->kernel = grown;
    trial->kernel_capacity = capacity;
  }
  bf_trial_kernel made = {.name = bf_arena_copy(&trial->arena, name)};
  if (!made.name)
    return bf_no_memory(diagnostic);
  if (t->options->keeps_accesses)
    BF_TRY(bf_observer_create(t->options->machine, kernel, t->options->examined, NULL,
                              &made.observer, diagnostic));
  trial->kernel[trial->kernels++] = made;
  return BF_OK;
}

/* Tells both the profile and whoever keeps accesses. */
static void observe(void *context, const bf_emu_event *event) {
  const bf_trial_watch *t = context;
  t->counting.access(t->counting.context, event);
  t->keeping.access(t->keeping.context, event);
}

static void observe_written(void *context, const bf_emu_event *event) {
  const bf_trial_watch *t = context;
  t->keeping.written(t->keeping.context, event);
}

/* Has a launch of the kernel observed. */
static void watch(bf_trial_watch *t, bf_emu_launch *launch) {
  bf_trial_kernel *kernel = &t->trial->kernel[t->kernel];
  t->counting = bf_profile_observer(t->profile);
  t->counting.as_merged = true;
  launch->observer = &t->counting;
  if (!kernel->observer)
    return;
  t->keeping = bf_observer_watch(kernel->observer);
  t->both = (bf_emu_observer){
      .access = observe, .written = observe_written, .context = t, .as_merged = true};
  launch->observer = &t->both;
}

int bf_trial_before(bf_trial_watch *t, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  const bf_trial_options *o = t->options;
  BF_TRY(find_or_add(t, launch->kernel, diagnostic));
  /* In simulations multiprocessors are the workers. */
  unsigned workers = o->gpu ? (unsigned)o->gpu->sms : (unsigned)o->workers;
  BF_TRY(bf_profile_create(o->machine, NULL, launch->kernel, workers, &t->profile, diagnostic));
  watch(t, launch);
  return BF_OK;
}

int bf_trial_execute(bf_trial_watch *t, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                     bf_emu_result *result, bf_diagnostic *diagnostic) {
  return t->options->gpu ? bf_sim_ledger_run(&t->simulated, emu, launch, hash, result, diagnostic)
                         : bf_emu_run(emu, launch, result, diagnostic);
}

int bf_trial_after(bf_trial_watch *t, const bf_emu_launch *launch, const bf_emu_result *result,
                   bf_diagnostic *diagnostic) {
  bf_trial_kernel *kernel = &t->trial->kernel[t->kernel];
  const bf_sim_gpu *gpu = t->options->gpu;
  uint64_t wavefronts = 0;
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch->kernel); i++)
    wavefronts += bf_profile_get(t->profile, i).wavefronts;
  kernel->took.wavefronts += wavefronts;
  kernel->took.instructions += (int64_t)result->warp_instructions;
  if (gpu) {
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    kernel->took.cycles += t->simulated.launch[t->simulated.launches - 1].result.cycles;
    kernel->took.work_cycles += bf_work_cycles(wavefronts, result->warp_instructions, blocks,
                                               (unsigned)gpu->sms, (unsigned)gpu->schedulers);
  }
  kernel->launches++;
  t->trial->launches++;
  bf_profile_free(t->profile);
  t->profile = NULL;
  return kernel->observer ? bf_observer_get(kernel->observer, &kernel->accesses, diagnostic)
                          : BF_OK;
}

/* ---- Memory ---- */

static int compare_serials(const void *a, const void *b) {
  const bf_emu_range *first = a, *second = b;
  return first->serial < second->serial ? -1 : first->serial > second->serial;
}

/* What a range is called that is no buffer: a variable of the module, or memory of a function. */
static const char *name_range(const bf_emu_module *module, const bf_ptx_module *ptx,
                              uint64_t address) {
  const char *name = NULL;
  bf_emu_range found;
  for (const bf_ptx_item *item = ptx->first; item && !name; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE &&
        bf_emu_variable(module, item->variable->name, &found) && found.address == address)
      name = item->variable->name;
  return name ? name : "memory of a function";
}

static int copy_range(bf_trial_watch *t, const char *name, const bf_emu_range *range) {
  bf_trial *trial = t->trial;
  bf_trial_memory made = {.name = bf_arena_copy(&trial->arena, name),
                          .address = range->address,
                          .bytes = range->bytes,
                          .content = malloc(range->bytes)};
  if (!made.name || !made.content) {
    free(made.content);
    return BF_NO_MEMORY;
  }
  memcpy(made.content, (const void *)(uintptr_t)range->address, range->bytes);
  trial->memory_bytes += range->bytes;
  trial->memory[trial->memories++] = made;
  return BF_OK;
}

/* Notes the functions of the module: where their addresses stand in memory, they differ from run to
 * run. */
static int keep_functions(bf_trial_watch *t) {
  bf_trial *trial = t->trial;
  size_t count = 0;
  for (const bf_ptx_item *item = t->options->module->first; item; item = item->next)
    count += item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body;
  trial->function = bf_arena_alloc(&trial->arena, (count + 1) * sizeof *trial->function);
  for (const bf_ptx_item *item = t->options->module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->has_body)
      continue;
    if (!trial->function)
      return BF_NO_MEMORY;
    bf_trial_function *made = &trial->function[trial->functions];
    made->name = bf_arena_copy(&trial->arena, item->function->name);
    made->address = bf_emu_function_pointer(item->function);
    if (!made->name)
      return BF_NO_MEMORY;
    trial->functions++;
  }
  return BF_OK;
}

int bf_trial_keep(bf_trial_watch *t, const bf_emu *emu, const bf_emu_module *module,
                  const char *(*buffer_at)(const void *context, uint64_t address),
                  const void *context, bf_diagnostic *diagnostic) {
  size_t count = bf_emu_ranges(emu, NULL, 0);
  bf_emu_range *range = calloc(count + 1, sizeof *range);
  t->trial->memory = bf_arena_alloc(&t->trial->arena, (count + 1) * sizeof *t->trial->memory);
  int error = range && t->trial->memory ? keep_functions(t) : BF_NO_MEMORY;
  if (!error) {
    bf_emu_ranges(emu, range, count);
    qsort(range, count, sizeof *range, compare_serials);
  }
  for (size_t i = 0; i < count && !error; i++) {
    const char *name = buffer_at(context, range[i].address);
    error = copy_range(t, name ? name : name_range(module, t->options->module, range[i].address),
                       &range[i]);
  }
  free(range);
  return error ? bf_no_memory(diagnostic) : BF_OK;
}

/* ---- The trial ---- */

int bf_trial_open(const bf_trial_options *options, bf_trial *trial, bf_trial_watch **watch,
                  bf_diagnostic *diagnostic) {
  *trial = (bf_trial){0};
  *watch = calloc(1, sizeof **watch);
  if (!*watch)
    return bf_no_memory(diagnostic);
  (*watch)->options = options;
  (*watch)->trial = trial;
  (*watch)->simulated.settings =
      (bf_sim_settings){.gpu = options->gpu, .workers = (unsigned)options->workers};
  (*watch)->simulated.sampler = options->sampler;
  return BF_OK;
}

void bf_trial_close(bf_trial_watch *watch) {
  bf_profile_free(watch->profile);
  bf_sim_ledger_free(&watch->simulated);
  free(watch);
}

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  return bf_trial_before(context, launch, diagnostic);
}

static int execute(void *context, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                   bf_emu_result *result, bf_diagnostic *diagnostic) {
  return bf_trial_execute(context, emu, launch, hash, result, diagnostic);
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 double seconds, bf_diagnostic *diagnostic) {
  (void)seconds;
  return bf_trial_after(context, launch, result, diagnostic);
}

static const char *buffer_at(const void *context, uint64_t address) {
  return bf_script_buffer_at(context, address);
}

static int keep(void *context, const bf_script *script, const bf_emu *emu,
                const bf_emu_module *module, bf_diagnostic *diagnostic) {
  return bf_trial_keep(context, emu, module, buffer_at, script, diagnostic);
}

/* Runs the launches of the description. */
static int run_description(const bf_trial_options *options, bf_trial_watch *watch,
                           bf_diagnostic *diagnostic) {
  bf_launches launches = {.file = options->file,
                          .module = options->module,
                          .description = options->description,
                          .workers = (unsigned)options->workers,
                          .before = before,
                          .execute = execute,
                          .after = after,
                          .done = options->keeps_memory ? keep : NULL,
                          .context = watch};
  return bf_launches_run(&launches, diagnostic);
}

int bf_trial_run(const bf_trial_options *options, bf_trial *trial, bf_diagnostic *diagnostic) {
  bf_trial_watch *watch;
  BF_TRY(bf_trial_open(options, trial, &watch, diagnostic));
  int error = options->run ? options->run(options->context, options, watch, diagnostic)
                           : run_description(options, watch, diagnostic);
  bf_trial_close(watch);
  return error;
}

void bf_trial_free(bf_trial *trial) {
  for (size_t i = 0; i < trial->kernels; i++)
    bf_observer_free(trial->kernel[i].observer);
  for (size_t i = 0; i < trial->memories; i++)
    free(trial->memory[i].content);
  free(trial->kernel);
  bf_arena_free(&trial->arena);
  *trial = (bf_trial){0};
}

/* ---- Comparison ---- */

/* Which memory of the trial holds an address, and where in it. */
static bool locate(const bf_trial *trial, uint64_t address, size_t *index, uint64_t *offset) {
  for (size_t i = 0; i < trial->memories; i++)
    if (address - trial->memory[i].address < trial->memory[i].bytes) {
      *index = i;
      *offset = address - trial->memory[i].address;
      return true;
    }
  return false;
}

/* The function to which a pointer leads, or NULL. */
static const char *find_function(const bf_trial *trial, uint64_t pointer) {
  for (size_t i = 0; i < trial->functions; i++)
    if (trial->function[i].address == pointer)
      return trial->function[i].name;
  return NULL;
}

/* Whether two pointers lead to the same function. */
static bool is_same_function(const bf_trial *a, const bf_trial *b, const uint64_t pointer[2]) {
  const char *first = find_function(a, pointer[0]), *second = find_function(b, pointer[1]);
  return first && second && strcmp(first, second) == 0;
}

/* Whether the aligned eight bytes around offset hold addresses of the same place or function. */
static bool is_same_pointer(const bf_trial *a, const bf_trial *b, size_t index, uint64_t offset) {
  uint64_t first = offset & ~UINT64_C(7), pointer[2], place[2];
  size_t memory[2];
  if (first + 8 > a->memory[index].bytes)
    return false;
  memcpy(&pointer[0], a->memory[index].content + first, 8);
  memcpy(&pointer[1], b->memory[index].content + first, 8);
  if (is_same_function(a, b, pointer))
    return true;
  return locate(a, pointer[0], &memory[0], &place[0]) &&
         locate(b, pointer[1], &memory[1], &place[1]) && memory[0] == memory[1] &&
         place[0] == place[1];
}

/* The first byte of a memory that differs, or its size. */
static uint64_t find_difference(const bf_trial *a, const bf_trial *b, size_t index) {
  const uint8_t *first = a->memory[index].content, *second = b->memory[index].content;
  uint64_t bytes = a->memory[index].bytes;
  if (memcmp(first, second, bytes) == 0)
    return bytes;
  for (uint64_t i = 0; i < bytes; i++)
    if (first[i] != second[i] && !is_same_pointer(a, b, index, i))
      return i;
  return bytes;
}

/* The aligned word of four bytes around offset, as far as the memory reaches. */
static uint32_t word_at(const bf_trial_memory *memory, uint64_t offset) {
  uint32_t word = 0;
  uint64_t first = offset & ~UINT64_C(3), left = memory->bytes - first;
  memcpy(&word, memory->content + first, left < 4 ? left : 4);
  return word;
}

bool bf_trial_is_equal(const bf_trial *a, const bf_trial *b, bf_text *difference) {
  if (a->memories != b->memories) {
    bf_text_addf(difference, "%zu buffers and variables, not %zu", b->memories, a->memories);
    return false;
  }
  for (size_t i = 0; i < a->memories; i++) {
    const bf_trial_memory *first = &a->memory[i], *second = &b->memory[i];
    if (first->bytes != second->bytes || strcmp(first->name, second->name) != 0) {
      bf_text_addf(difference, "%s of %llu bytes became %s of %llu", first->name,
                   (unsigned long long)first->bytes, second->name,
                   (unsigned long long)second->bytes);
      return false;
    }
    uint64_t at = find_difference(a, b, i);
    if (at < first->bytes) {
      bf_text_addf(difference, "%s differs at byte %llu: 0x%08x originally, 0x%08x rewritten",
                   first->name, (unsigned long long)(at & ~UINT64_C(3)), word_at(first, at),
                   word_at(second, at));
      return false;
    }
  }
  return true;
}

int bf_trial_compare(const bf_trial_options *options, const bf_ptx_module *other, bool *is_equal,
                     bf_text *difference, bf_diagnostic *diagnostic) {
  bf_trial_options own = *options;
  bf_trial first, second = {0};
  own.keeps_memory = true;
  int error = bf_trial_run(&own, &first, diagnostic);
  own.module = other;
  if (!error)
    error = bf_trial_run(&own, &second, diagnostic);
  if (!error)
    *is_equal = bf_trial_is_equal(&first, &second, difference);
  bf_trial_free(&first);
  bf_trial_free(&second);
  return error;
}
