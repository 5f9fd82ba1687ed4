/* Trials on the emulator. */
#include "tune/trial.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A kernel that makes more different accesses than this is searched by those it made until then. */
enum { MOST_ACCESSES = 1 << 16 };

typedef struct trying {
  const bf_trial_options *options;
  bf_trial *trial;
  uint64_t missing_ops;
  pthread_mutex_t lock; /* kernels run on several threads */
  /* Of the launch that runs: */
  size_t kernel;
  bf_profile *profile;
  bf_emu_observer counting, observer;
  bf_sim_record simulated; /* all launches until now */
  const char **array;      /* per site: the array it is known to access, or NULL */
  bool has_failed;
} trying;

const bf_trial_kernel *bf_trial_find(const bf_trial *trial, const char *kernel) {
  for (size_t i = 0; i < trial->kernels; i++)
    if (strcmp(trial->kernel[i].name, kernel) == 0)
      return &trial->kernel[i];
  return NULL;
}

/* ---- Launches ---- */

int bf_trial_add(bf_trial *trial, const char *name, bool keeps_accesses, size_t *index,
                 bf_diagnostic *diagnostic) {
  const bf_trial_kernel *found = bf_trial_find(trial, name);
  *index = found ? (size_t)(found - trial->kernel) : trial->kernels;
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
  if (!made.name || (keeps_accesses && bf_workload_create(&made.workload) != BF_OK))
    return bf_no_memory(diagnostic);
  trial->kernel[trial->kernels++] = made;
  return BF_OK;
}

/* Finds the arrays of the sites of a kernel. */
static int name_sites(trying *t, const bf_emu_kernel *kernel, bf_diagnostic *diagnostic) {
  const bf_rewrite_result *examined = t->options->examined;
  unsigned sites = bf_emu_kernel_sites(kernel);
  t->array = bf_arena_alloc(&t->trial->arena, ((size_t)sites + 1) * sizeof *t->array);
  if (!t->array)
    return bf_no_memory(diagnostic);
  for (unsigned k = 0; examined && k < examined->kernels; k++)
    for (unsigned i = 0;
         strcmp(examined->kernel[k].name, bf_emu_kernel_name(kernel)) == 0 && i < sites; i++)
      t->array[i] = bf_rewrite_accessed_array(&examined->kernel[k],
                                              bf_emu_kernel_site(kernel, i).instruction);
  return BF_OK;
}

/* Keeps an access in the workload of its kernel. */
static void keep(trying *t, const bf_emu_event *event) {
  bf_trial_kernel *kernel = &t->trial->kernel[t->kernel];
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = t->array[event->site]};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  pthread_mutex_lock(&t->lock);
  if (bf_workload_size(kernel->workload) >= MOST_ACCESSES)
    kernel->is_cut = true;
  else if (bf_workload_add(kernel->workload, &access) != BF_OK)
    t->has_failed = true;
  pthread_mutex_unlock(&t->lock);
}

static void observe(void *context, const bf_emu_event *event) {
  trying *t = context;
  t->counting.access(t->counting.context, event);
  if (t->options->keeps_accesses && event->shared_address && !(t->missing_ops >> event->op & 1))
    keep(t, event);
}

/* Rounds the dynamic shared memory of a launch up. */
static void round_shared(bf_trial_kernel *kernel, uint64_t granule, bf_emu_launch *launch) {
  uint64_t asked = launch->dynamic_shared_bytes, given = (asked + granule - 1) / granule * granule;
  launch->dynamic_shared_bytes = given;
  if (given == asked || kernel->given_bytes)
    return;
  kernel->asked_bytes = asked;
  kernel->given_bytes = given;
}

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  trying *t = context;
  const bf_trial_options *o = t->options;
  const char *name = bf_emu_kernel_name(launch->kernel);
  BF_TRY(bf_trial_add(t->trial, name, o->keeps_accesses, &t->kernel, diagnostic));
  if (o->shared_granule_bytes)
    round_shared(&t->trial->kernel[t->kernel], o->shared_granule_bytes, launch);
  BF_TRY(name_sites(t, launch->kernel, diagnostic));
  /* In simulations multiprocessors are the workers. */
  unsigned workers = o->gpu ? o->gpu->sms : (unsigned)o->workers;
  BF_TRY(bf_profile_create(o->machine, NULL, launch->kernel, workers, &t->profile, diagnostic));
  t->counting = bf_profile_observer(t->profile);
  t->observer = (bf_emu_observer){.access = observe, .context = t, .as_merged = !o->as_written};
  launch->observer = &t->observer;
  if (o->gpu)
    bf_sim_record_attach(&t->simulated, launch);
  return BF_OK;
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 double seconds, bf_diagnostic *diagnostic) {
  trying *t = context;
  bf_trial_kernel *kernel = &t->trial->kernel[t->kernel];
  (void)seconds;
  uint64_t wavefronts = 0;
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch->kernel); i++)
    wavefronts += bf_profile_get(t->profile, i).wavefronts;
  kernel->wavefronts += wavefronts;
  kernel->warp_instructions += result->warp_instructions;
  if (t->options->gpu) {
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    kernel->cycles += t->simulated.launch[t->simulated.launches - 1].result.cycles;
    kernel->work +=
        bf_work_cycles(wavefronts, result->warp_instructions, blocks,
                       (unsigned)t->options->gpu->sms, (unsigned)t->options->gpu->schedulers);
  }
  kernel->launches++;
  t->trial->launches++;
  bf_profile_free(t->profile);
  t->profile = NULL;
  return t->has_failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* ---- Memory ---- */

static int compare_serials(const void *a, const void *b) {
  const bf_emu_range *first = a, *second = b;
  return first->serial < second->serial ? -1 : first->serial > second->serial;
}

/* What a range is called: a buffer of the description, a variable of the module, or neither. */
static const char *name_range(const bf_script *script, const bf_emu_module *module,
                              const bf_ptx_module *ptx, uint64_t address) {
  const char *name = bf_script_buffer_at(script, address);
  bf_emu_range found;
  for (const bf_ptx_item *item = ptx->first; item && !name; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE &&
        bf_emu_variable(module, item->variable->name, &found) && found.address == address)
      name = item->variable->name;
  return name ? name : "memory of a function";
}

static int copy_range(trying *t, const char *name, const bf_emu_range *range) {
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

/* Copies everything that kernels can have written. */
static int copy_memory(void *context, const bf_script *script, const bf_emu *emu,
                       const bf_emu_module *module, bf_diagnostic *diagnostic) {
  trying *t = context;
  size_t count = bf_emu_ranges(emu, NULL, 0);
  bf_emu_range *range = calloc(count + 1, sizeof *range);
  t->trial->memory = bf_arena_alloc(&t->trial->arena, (count + 1) * sizeof *t->trial->memory);
  int error = range && t->trial->memory ? BF_OK : BF_NO_MEMORY;
  if (!error) {
    bf_emu_ranges(emu, range, count);
    qsort(range, count, sizeof *range, compare_serials);
  }
  for (size_t i = 0; i < count && !error; i++)
    error =
        copy_range(t, name_range(script, module, t->options->module, range[i].address), &range[i]);
  free(range);
  return error ? bf_no_memory(diagnostic) : BF_OK;
}

/* ---- The trial ---- */

int bf_trial_run(const bf_trial_options *options, bf_trial *trial, bf_diagnostic *diagnostic) {
  *trial = (bf_trial){0};
  trying t = {.options = options,
              .trial = trial,
              .missing_ops = bf_machine_limits(options->machine).missing_ops};
  bf_launches launches = {.file = options->file,
                          .module = options->module,
                          .description = options->description,
                          .workers = (unsigned)options->workers,
                          .before = before,
                          .after = after,
                          .done = options->keeps_memory ? copy_memory : NULL,
                          .context = &t};
  t.simulated.settings =
      (bf_sim_settings){.gpu = options->gpu, .workers = (unsigned)options->workers};
  pthread_mutex_init(&t.lock, NULL);
  int error = bf_launches_run(&launches, diagnostic);
  bf_profile_free(t.profile);
  bf_sim_record_free(&t.simulated);
  pthread_mutex_destroy(&t.lock);
  return error;
}

void bf_trial_free(bf_trial *trial) {
  for (size_t i = 0; i < trial->kernels; i++)
    bf_workload_free(trial->kernel[i].workload);
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

/* Whether the aligned eight bytes around offset hold addresses of the same place. */
static bool is_same_pointer(const bf_trial *a, const bf_trial *b, size_t index, uint64_t offset) {
  uint64_t first = offset & ~UINT64_C(7), pointer[2], place[2];
  size_t memory[2];
  if (first + 8 > a->memory[index].bytes)
    return false;
  memcpy(&pointer[0], a->memory[index].content + first, 8);
  memcpy(&pointer[1], b->memory[index].content + first, 8);
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
