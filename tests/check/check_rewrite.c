/* Rewritten PTX does what the original does, and has the conflicts that the hash predicts.
 *
 * Benchmarks of the corpus, rewritten, give the results that their drivers expect; their wavefronts
 * without a hash equal those of the original under the hash, both counted as written, in the layout
 * of padded arrays. So it is with one hash and with one for each array, and there with kernels that
 * stand beside their originals, which have the wavefronts that they had. The verifier accepts all
 * of them. Random programs, of all instructions and of accesses, store the same with and without
 * random hashes, of kernels and of arrays.
 *
 *   check_rewrite [PROGRAMS [FIRST_SEED]] */
#include "../reference/programs.h"
#include "../unit/random.h"
#include "access_programs.h"
#include "emu/emu.h"
#include "kernels/devices.h"
#include "kernels/measure.h"
#include "rewrite/rewrite.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bf_geometry geometry = {5, 16, 4};

static unsigned complaints;

/* Says what went wrong; returns false. */
static bool complain(const char *what, const char *how, const bf_diagnostic *diagnostic) {
  complaints++;
  printf("%s: %s%s%s\n", what, how, diagnostic ? ": " : "", diagnostic ? diagnostic->message : "");
  return false;
}

/* ---- Hashes ---- */

enum { MOST_HASHES = 5 };

/* One hash for all, or with hashes > 1 one for each array, by its name. */
typedef struct choice {
  unsigned hashes;
  const bf_hash *hash[MOST_HASHES]; /* NULL: the array is left alone */
} choice;

/* The place in a choice of the hash of an array. */
static unsigned place_of(const choice *chosen, const char *array) {
  unsigned sum = 0;
  for (const char *at = array; *at; at++)
    sum = 31 * sum + (unsigned char)*at;
  return sum % chosen->hashes;
}

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const choice *chosen = context;
  (void)kernel;
  if (chosen->hashes == 1)
    return chosen->hash[0];
  return array ? chosen->hash[place_of(chosen, array->name)] : NULL;
}

/* ---- Rewriting text ---- */

/* Asks the verifier, which shares no code with the rewriter. */
static bool verify(const char *name, const bf_ptx_module *module, const choice *chosen,
                   const bf_rewrite_result *rewritten) {
  bf_ptx_module *after;
  bf_verify_result verdict;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse(name, rewritten->text.data, rewritten->text.size, &after, &diagnostic) != BF_OK)
    return complain(name, "does not parse when rewritten", &diagnostic);
  bool fine =
      bf_verify(module, after, (void *)(uintptr_t)chosen, hash_of, &verdict, &diagnostic) == BF_OK;
  if (!fine) {
    complain(name, "cannot be verified", &diagnostic);
  } else {
    if (!verdict.is_accepted)
      fine = complain(name, verdict.findings ? verdict.finding[0].text : "is rejected", NULL);
    else if (rewritten->is_changed != (verdict.accesses_hashed > 0))
      fine = complain(name, "is verified without looking", NULL);
    bf_verify_free(&verdict);
  }
  bf_ptx_free(after);
  return fine;
}

/* Parses and rewrites; *text, which the caller frees as *why, is what came of it, and *refused
 * tells whether a kernel was left alone. */
static bool rewrite_text(const char *name, const char *ptx, const choice *chosen, bf_text *text,
                         bool *refused, bf_text *why) {
  bf_ptx_module *module;
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  bf_rewrite_options options = {
      .context = (void *)(uintptr_t)chosen, .hash_of = hash_of, .padding_has_room = true};
  if (bf_ptx_parse(name, ptx, strlen(ptx), &module, &diagnostic) != BF_OK)
    return complain(name, "does not parse", &diagnostic);
  if (bf_rewrite(module, &options, &result, &diagnostic) != BF_OK) {
    bf_ptx_free(module);
    return complain(name, "is not rewritten", &diagnostic);
  }
  bool fine = verify(name, module, chosen, &result);
  bf_ptx_free(module);
  *refused = false;
  for (unsigned i = 0; i < result.kernels; i++)
    if (result.kernel[i].obstacles) {
      *refused = true;
      bf_text_free(why);
      bf_text_addf(why, "is refused: line %llu: %s",
                   (unsigned long long)result.kernel[i].obstacle[0].line,
                   result.kernel[i].obstacle[0].text);
      if (strstr(result.kernel[i].obstacle[0].text, "the verifier rejects"))
        fine = complain(name, why->data ? why->data : "no memory", NULL);
    }
  *text = result.text;
  result.text = (bf_text){0};
  bf_rewrite_free(&result);
  return fine;
}

/* Gives the kernels that stand beside others the names of those, and those other names. */
static bool swap_names(const bf_rewrite_result *result, bf_text *text) {
  bf_text_add(text, result->text.data, result->text.size);
  for (unsigned k = 0; k < result->kernels && !text->failed; k++) {
    const bf_rewrite_kernel *kernel = &result->kernel[k];
    bf_text swapped = {0};
    char own[512], beside[512];
    if (!kernel->beside)
      continue;
    snprintf(own, sizeof own, ".entry %s(", kernel->name);
    snprintf(beside, sizeof beside, ".entry %s(", kernel->beside);
    const char *first = strstr(text->data, own), *second = strstr(text->data, beside);
    if (!first || !second || second < first)
      return false;
    bf_text_addf(&swapped, "%.*s.entry %s__was(", (int)(first - text->data), text->data,
                 kernel->name);
    first += strlen(own);
    bf_text_addf(&swapped, "%.*s%s%s", (int)(second - first), first, own, second + strlen(beside));
    bf_text_free(text);
    *text = swapped;
  }
  return !text->failed;
}

/* The module with rewritten kernels beside the originals: as it is, and with their names swapped.
 */
static bool rewrite_beside(const char *name, const char *ptx, const choice *chosen, bf_text *text,
                           bf_text *swapped) {
  bf_ptx_module *module;
  bf_rewrite_result result;
  bf_diagnostic diagnostic;
  bf_rewrite_options options = {.context = (void *)(uintptr_t)chosen,
                                .hash_of = hash_of,
                                .padding_has_room = true,
                                .is_beside = true};
  if (bf_ptx_parse(name, ptx, strlen(ptx), &module, &diagnostic) != BF_OK)
    return complain(name, "does not parse", &diagnostic);
  int error = bf_rewrite(module, &options, &result, &diagnostic);
  bf_ptx_free(module);
  if (error)
    return complain(name, "has no copies", &diagnostic);
  bool fine = swap_names(&result, swapped) || complain(name, "has copies of other names", NULL);
  *text = result.text;
  result.text = (bf_text){0};
  bf_rewrite_free(&result);
  return fine;
}

static const char *keep_body(void *context, const bf_ptx_function *function) {
  (void)context, (void)function;
  return NULL;
}

static const bf_ptx_instruction *
keep_instruction(void *context, const bf_ptx_instruction *instruction, const char **before) {
  (void)context, (void)before;
  return instruction;
}

/* Static arrays that have a hash as whole rows. */
static bf_ptx_variable pad(void *context, const bf_ptx_variable *variable) {
  bf_ptx_variable padded = *variable;
  if (!hash_of(context, NULL, variable))
    return padded;
  padded.alignment_bytes = padded.alignment_bytes > 128 ? padded.alignment_bytes : 128;
  if (padded.bytes % 128) {
    unsigned element = bf_ptx_type_bytes(padded.type);
    padded.dimensions = 1;
    padded.dimension[0] = (padded.bytes + 127) / 128 * 128 / element;
  }
  return padded;
}

/* The module with padded arrays and nothing else changed. */
static bool pad_text(const char *name, const char *ptx, const choice *chosen, bf_text *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  bf_ptx_print_hooks hooks = {(void *)(uintptr_t)chosen, keep_body, keep_instruction, pad, NULL};
  if (bf_ptx_parse(name, ptx, strlen(ptx), &module, &diagnostic) != BF_OK)
    return complain(name, "does not parse", &diagnostic);
  bf_ptx_print_hooked(module, &hooks, text);
  bf_ptx_free(module);
  return true;
}

/* ---- Corpus ---- */

/* Wavefronts of what a kernel does under the hashes of a choice (NULL: none). */
typedef struct counting {
  const bf_machine *machine;
  const choice *chosen;
  bf_ptx_module *module; /* the same text, for: */
  bf_rewrite_result examined;
  bf_counter *counter[MOST_HASHES];
  const bf_emu_kernel *kernel; /* that runs */
  bf_emu_observer observer;
  uint64_t accesses, wavefronts;
  bool failed;
} counting;

/* The counter of an access, by the array that its line is known to be to. */
static bf_counter *counter_of(const counting *work, unsigned site) {
  uint64_t line = bf_emu_kernel_site(work->kernel, site).line;
  if (!work->chosen || work->chosen->hashes == 1)
    return work->counter[0];
  for (unsigned k = 0; k < work->examined.kernels; k++) {
    const bf_rewrite_kernel *kernel = &work->examined.kernel[k];
    for (unsigned a = 0;
         strcmp(kernel->name, bf_emu_kernel_name(work->kernel)) == 0 && a < kernel->arrays; a++)
      for (unsigned i = 0; i < kernel->array[a].accesses; i++)
        if (kernel->array[a].access[i]->line == line)
          return work->counter[place_of(work->chosen, kernel->array[a].name)];
  }
  return NULL;
}

static void count_access(void *context, const bf_emu_event *event) {
  counting *work = context;
  bf_counter *counter = counter_of(work, event->site);
  bf_access access = {
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = 1};
  bf_count count = {0};
  memcpy(access.address, event->shared_address, 32 * sizeof *access.address);
  if (!counter || bf_counter_count(counter, &access, &count, NULL) != BF_OK)
    work->failed = true;
  work->accesses++;
  work->wavefronts +=
      (uint64_t)count.wavefronts_load + count.wavefronts_store + count.wavefronts_atomic;
}

static int before_launch(void *context, struct bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  counting *work = context;
  (void)diagnostic;
  work->kernel = launch->kernel;
  work->observer = (bf_emu_observer){.access = count_access, .context = work};
  launch->observer = &work->observer;
  return BF_OK;
}

static int after_launch(void *context, const struct bf_emu_launch *launch,
                        const struct bf_emu_result *result, bf_diagnostic *diagnostic) {
  const counting *work = context;
  (void)launch, (void)result;
  return work->failed ? bf_fail(diagnostic, BF_BAD_INPUT, "an access cannot be counted") : BF_OK;
}

static void stop_counting(counting *work) {
  for (unsigned i = 0; i < MOST_HASHES; i++)
    bf_counter_free(work->counter[i]);
  bf_rewrite_free(&work->examined);
  bf_ptx_free(work->module);
}

static bool start_counting(counting *work, const char *ptx) {
  unsigned hashes = work->chosen ? work->chosen->hashes : 1;
  bool fine = bf_ptx_parse("counted", ptx, strlen(ptx), &work->module, NULL) == BF_OK &&
              bf_rewrite_examine(work->module, &work->examined, NULL) == BF_OK;
  for (unsigned i = 0; i < hashes && fine; i++)
    fine = bf_counter_create(work->machine, work->chosen ? work->chosen->hash[i] : NULL,
                             &work->counter[i], NULL) == BF_OK;
  return fine;
}

/* Runs a benchmark with the given PTX and counts its wavefronts under the hash. */
static bool run_benchmark(const bf_corpus_benchmark *benchmark, const char *ptx, counting *work) {
  if (!start_counting(work, ptx))
    return complain(benchmark->name, "cannot be counted", NULL);
  bf_device device;
  bf_diagnostic diagnostic;
  bf_corpus_outcome outcome = {0};
  bf_emu_device_options options = {
      .workers = 1, .before = before_launch, .after = after_launch, .context = work};
  if (bf_emu_device_create(benchmark->name, ptx, &options, &device, &diagnostic) != BF_OK)
    return complain(benchmark->name, "cannot be loaded", &diagnostic);
  int error = bf_corpus_execute(benchmark, &device, 1, 0, &outcome, &diagnostic);
  bf_emu_device_free(&device);
  if (error != BF_OK)
    return complain(benchmark->name, "does not run", &diagnostic);
  return outcome.wrong == 0 || complain(benchmark->name, outcome.first_wrong, NULL);
}

/* Whether two runs of a benchmark did the same. */
static bool compare_counts(const char *name, const char *how, const counting *a,
                           const counting *b) {
  if (a->accesses == b->accesses && a->wavefronts == b->wavefronts)
    return true;
  printf("  %llu accesses, %llu wavefronts; rewritten: %llu, %llu\n",
         (unsigned long long)a->accesses, (unsigned long long)a->wavefronts,
         (unsigned long long)b->accesses, (unsigned long long)b->wavefronts);
  return complain(name, how, NULL);
}

/* Rewritten kernels that stand beside their originals do what those that were rewritten in their
 * place do, and the originals what they did. */
static void check_beside(const bf_corpus_benchmark *benchmark, const bf_machine *machine,
                         const choice *chosen, const counting *in_place) {
  const char *ptx = bf_corpus_ptx(benchmark->folder);
  bf_text text = {0}, swapped = {0};
  counting before = {.machine = machine}, kept = {.machine = machine}, copy = {.machine = machine};
  if (rewrite_beside(benchmark->name, ptx, chosen, &text, &swapped) &&
      run_benchmark(benchmark, ptx, &before) && run_benchmark(benchmark, text.data, &kept) &&
      run_benchmark(benchmark, swapped.data, &copy) &&
      compare_counts(benchmark->name, "has other wavefronts beside its copies", &before, &kept))
    compare_counts(benchmark->name, "has copies with other wavefronts", in_place, &copy);
  stop_counting(&before);
  stop_counting(&kept);
  stop_counting(&copy);
  bf_text_free(&text);
  bf_text_free(&swapped);
}

/* Compares the rewritten benchmark with the original under the hashes. Returns whether it was
 * rewritten as a whole. */
static bool check_benchmark(const bf_corpus_benchmark *benchmark, const bf_machine *machine,
                            const choice *chosen, bool with_copies) {
  const char *ptx = bf_corpus_ptx(benchmark->folder);
  bf_text rewritten = {0}, padded = {0}, why = {0};
  counting before = {.machine = machine, .chosen = chosen}, after = {.machine = machine};
  bool refused = true;
  if (rewrite_text(benchmark->name, ptx, chosen, &rewritten, &refused, &why) && !refused &&
      pad_text(benchmark->name, ptx, chosen, &padded) &&
      run_benchmark(benchmark, padded.data, &before) &&
      run_benchmark(benchmark, rewritten.data, &after) &&
      compare_counts(benchmark->name, "has other wavefronts than predicted", &before, &after) &&
      with_copies)
    check_beside(benchmark, machine, chosen, &after);
  stop_counting(&before);
  stop_counting(&after);
  bf_text_free(&rewritten);
  bf_text_free(&padded);
  bf_text_free(&why);
  return !refused;
}

static bf_hash *hash_from(const char *text) {
  bf_hash *hash;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) == BF_OK)
    return hash;
  complain(text, "is no hash", &diagnostic);
  return NULL;
}

/* Every benchmark with hashes of all granules, and with one for each array; each must be rewritten
 * with the widest. */
static void check_corpus(const bf_machine *machine) {
  bf_hash *narrow = hash_from("fixed"), *middle = hash_from("bits:0,1^5^9,2^7,3^6^11,4^8");
  bf_hash *wide = hash_from("cute:3,4,3"), *twice = hash_from("bits:0,1,2^5^9,3^6^8,4^7");
  const struct {
    bool is_wide, with_copies;
    choice chosen;
  } cases[] = {{false, false, {1, {narrow}}},
               {false, false, {1, {middle}}},
               {true, false, {1, {wide}}},
               {true, false, {1, {twice}}},
               {true, true, {3, {wide, NULL, twice}}},
               {true, false, {2, {NULL, twice}}},
               {false, false, {5, {narrow, middle, NULL, twice, wide}}}};
  unsigned rewritten = 0, runs = 0;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (unsigned i = 0; bf_corpus_get(i); i++, runs++) {
      bool fine =
          check_benchmark(bf_corpus_get(i), machine, &cases[c].chosen, cases[c].with_copies);
      rewritten += fine;
      if (!fine && cases[c].is_wide)
        complain(bf_corpus_get(i)->name, "is refused", NULL);
    }
  bf_hash_free(narrow);
  bf_hash_free(middle);
  bf_hash_free(wide);
  bf_hash_free(twice);
  printf("corpus: %u of %u runs rewritten\n", rewritten, runs);
}

/* ---- Random programs ---- */

/* A row-preserving hash with at least that granule: each bank bit above it XORs a few bits. */
static bf_hash *random_hash(test_random *random, unsigned granule_bits) {
  uint64_t row[5];
  bf_hash *hash;
  bf_diagnostic diagnostic;
  for (unsigned i = 0; i < 5; i++) {
    row[i] = (uint64_t)1 << i;
    for (unsigned k = 0; i >= granule_bits && k < 3; k++)
      row[i] |= (uint64_t)(random_bits(random) & 1) << (5 + random_below(random, 6));
  }
  if (bf_hash_from_rows(row, &geometry, &hash, &diagnostic) == BF_OK)
    return hash;
  complain("random hash", "is none", &diagnostic);
  return NULL;
}

/* Runs entry "program" with two buffers as parameters. */
static bool run_program(const char *name, const char *ptx, uint8_t *input, size_t input_bytes,
                        uint8_t *output, size_t output_bytes) {
  bf_ptx_module *module = NULL;
  bf_emu *emu = NULL;
  bf_emu_module *loaded = NULL;
  bf_emu_result result = {0};
  bf_diagnostic diagnostic = {0};
  void *parameters[2] = {input, output};
  bf_emu_launch launch = {.grid = {PROGRAM_BLOCKS, 1, 1},
                          .block = {PROGRAM_BLOCK_THREADS, 1, 1},
                          .parameters = parameters,
                          .parameter_bytes = sizeof parameters,
                          .dynamic_shared_bytes = 8192,
                          .workers = 1};
  memset(output, 0, output_bytes);
  bool fine = bf_ptx_parse(name, ptx, strlen(ptx), &module, &diagnostic) == BF_OK &&
              bf_emu_create(&emu, &diagnostic) == BF_OK &&
              bf_emu_register(emu, input, input_bytes, 0, &diagnostic) == BF_OK &&
              bf_emu_register(emu, output, output_bytes, 0, &diagnostic) == BF_OK &&
              bf_emu_load(emu, module, &loaded, &diagnostic) == BF_OK &&
              bf_emu_kernel_get(loaded, "program", &launch.kernel, &diagnostic) == BF_OK;
  fine = fine && bf_emu_run(emu, &launch, &result, &diagnostic) == BF_OK;
  if (!fine)
    complain(name, "does not run", &diagnostic);
  if (fine && result.fault.kind != BF_EMU_NO_FAULT) {
    bf_text text = {0};
    bf_emu_fault_explain(&result.fault, &text);
    fine = complain(name, text.data ? text.data : "fault", NULL);
    bf_text_free(&text);
  }
  if (emu)
    bf_emu_free(emu);
  if (module)
    bf_ptx_free(module);
  return fine;
}

enum { MOST_OUTPUT = PROGRAM_OUTPUT_BYTES > 1 << 14 ? PROGRAM_OUTPUT_BYTES : 1 << 14 };

/* Compares what a program stores with and without a hash. */
static void compare_program(const char *name, const char *ptx, const choice *chosen,
                            uint8_t *input) {
  static uint8_t plain[MOST_OUTPUT], hashed[MOST_OUTPUT];
  bf_text text = {0}, why = {0}, both = {0}, swapped = {0};
  bool refused = false;
  bool fine = rewrite_text(name, ptx, chosen, &text, &refused, &why);
  if (fine && refused)
    complain(name, why.data ? why.data : "is refused", NULL);
  else if (fine && run_program(name, ptx, input, PROGRAM_INPUT_BYTES, plain, sizeof plain) &&
           run_program(name, text.data, input, PROGRAM_INPUT_BYTES, hashed, sizeof hashed) &&
           memcmp(plain, hashed, sizeof plain) != 0)
    complain(name, "stores something else", NULL);
  else if (fine && rewrite_beside(name, ptx, chosen, &both, &swapped) &&
           run_program(name, swapped.data, input, PROGRAM_INPUT_BYTES, hashed, sizeof hashed) &&
           memcmp(plain, hashed, sizeof plain) != 0)
    complain(name, "has a copy that stores something else", NULL);
  bf_text_free(&both);
  bf_text_free(&swapped);
  bf_text_free(&text);
  bf_text_free(&why);
}

/* The emulator's random programs, whose widest access has 8 bytes. */
static void check_programs(uint64_t first, uint64_t programs) {
  static uint8_t input[PROGRAM_INPUT_BYTES];
  for (uint64_t seed = first; seed < first + programs && complaints < 10; seed++) {
    unsigned statements;
    char name[40];
    test_random random = {seed * 2 + 1};
    char *ptx = program_make(seed, NULL, &statements);
    bf_hash *hash = random_hash(&random, 1 + (unsigned)random_below(&random, 2));
    snprintf(name, sizeof name, "program %llu", (unsigned long long)seed);
    program_fill_input(seed, input);
    if (ptx && hash)
      compare_program(name, ptx, &(choice){1, {hash}}, input);
    else
      complain(name, "no memory", NULL);
    bf_hash_free(hash);
    free(ptx);
  }
  printf("%llu random programs\n", (unsigned long long)programs);
}

/* Programs of accesses, with hashes that keep their widest together. */
static void check_accesses(uint64_t first, uint64_t programs) {
  static uint8_t input[PROGRAM_INPUT_BYTES];
  for (uint64_t seed = first; seed < first + programs && complaints < 10; seed++) {
    char name[40];
    bf_text text = {0};
    test_random random = {seed * 2 + 1};
    unsigned granule_bits = (unsigned)random_below(&random, 3);
    bf_hash *hash = random_hash(&random, granule_bits);
    bf_hash *other = random_hash(&random, granule_bits);
    bool by_array = seed % 2;
    choice chosen = {by_array ? 3 : 1, {hash, NULL, other}};
    access_program(seed, 4U << granule_bits, by_array, &text);
    snprintf(name, sizeof name, "accesses %llu", (unsigned long long)seed);
    program_fill_input(seed, input);
    if (hash && other && !text.failed)
      compare_program(name, text.data, &chosen, input);
    bf_hash_free(hash);
    bf_hash_free(other);
    bf_text_free(&text);
  }
  printf("%llu programs of accesses\n", (unsigned long long)programs);
}

int main(int count, char **argument) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  uint64_t programs = count > 1 ? strtoull(argument[1], NULL, 0) : 1000;
  uint64_t first = count > 2 ? strtoull(argument[2], NULL, 0) : 0;
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    return complain("hopper", "cannot be loaded", &diagnostic) ? 0 : 1;
  check_corpus(machine);
  check_programs(first, programs);
  check_accesses(first, programs);
  bf_machine_free(machine);
  printf("%u faults\n", complaints);
  return complaints ? 1 : 0;
}
