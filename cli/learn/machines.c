/* bankfold machines: the memory models and GPUs, and where their numbers come from. */
#include "cli/learn/gpus.h"
#include "search/search.h"

#include <math.h>
#include <string.h>

typedef struct settings {
  cli_common common;
} settings;

static const cli_option options[] = {CLI_COMMON(settings)};

/* How many facts of machine have that basis. */
static unsigned count_basis(const bf_machine *machine, const char *basis) {
  unsigned count = 0;
  for (size_t i = 0; i < machine->fact_count; i++)
    count += strcmp(machine->facts[i].basis, basis) == 0;
  return count;
}

/* Bytes as KiB where they are whole KiB. */
static const char *size_text(uint64_t bytes, char *text, size_t size) {
  if (bytes % 1024 == 0)
    snprintf(text, size, "%llu KiB", (unsigned long long)(bytes / 1024));
  else
    snprintf(text, size, "%llu B", (unsigned long long)bytes);
  return text;
}

/* ---- All machines ---- */

static void write_row(bf_text *text, const bf_machine *machine) {
  char size[32];
  bf_text_addf(text, "%-10s %5u %5u %4u %9s %8u %9u %7u  %s\n", machine->name, machine->lanes,
               1u << machine->bank_bits, machine->word_bytes,
               size_text(machine->capacity_bytes, size, sizeof size),
               count_basis(machine, "measured"), count_basis(machine, "published"),
               count_basis(machine, "assumed"), machine->title);
}

/* The members that both the list and a single machine have. */
static void write_json_summary(bf_json *json, const bf_machine *machine) {
  bf_json_string(json, "name", machine->name);
  bf_json_string(json, "title", machine->title);
  bf_json_number(json, "lanes", machine->lanes);
  bf_json_number(json, "banks", (uint64_t)1 << machine->bank_bits);
  bf_json_number(json, "word_bytes", machine->word_bytes);
  bf_json_number(json, "capacity_bytes", machine->capacity_bytes);
  bf_json_number(json, "address_bits", machine->address_bits);
  bf_json_number(json, "measured", count_basis(machine, "measured"));
  bf_json_number(json, "published", count_basis(machine, "published"));
  bf_json_number(json, "assumed", count_basis(machine, "assumed"));
}

/* Adds built-in machine number index to the list. */
static int add_to_list(unsigned index, bf_json *json, bool wants_json, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  BF_TRY(bf_machine_load(bf_machine_builtin(index), NULL, &machine, diagnostic));
  if (wants_json) {
    bf_json_begin(json, NULL, '{', true);
    write_json_summary(json, machine);
    bf_json_end(json, '}');
  } else {
    write_row(json->text, machine);
  }
  bf_machine_free(machine);
  return BF_OK;
}

/* Adds all built-in machines: rows of a table, or the member "machines" of an open object. */
static int list_machines(bf_json *json, bool wants_json, bf_diagnostic *diagnostic) {
  if (wants_json)
    bf_json_begin(json, "machines", '[', false);
  else
    bf_text_addf(json->text, "%-10s %5s %5s %4s %9s %8s %9s %7s  %s\n", "name", "lanes", "banks",
                 "word", "capacity", "measured", "published", "assumed", "title");
  for (unsigned i = 0; bf_machine_builtin(i); i++) {
    BF_TRY(add_to_list(i, json, wants_json, diagnostic));
  }
  if (wants_json)
    bf_json_end(json, ']');
  return BF_OK;
}

static void write_lists_end(bf_text *text) {
  bf_text_puts(text, "\nword: bytes per bank and row; SMs: multiprocessors; memory: the machine "
                     "that is the GPU's shared memory;\nmeasured, published, assumed, default: on "
                     "what the numbers rest. 'bankfold machines NAME' shows each\nof them with its "
                     "source.\n");
}

static int list_all(const settings *s) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_diagnostic diagnostic;
  if (s->common.json)
    bf_json_begin(&json, NULL, '{', false);
  else
    bf_text_puts(&text, "Machines: memories whose wavefronts are counted\n\n");
  int error = list_machines(&json, s->common.json, &diagnostic);
  if (!s->common.json)
    bf_text_puts(&text, "\nGPUs: what the simulator needs beyond the memory\n\n");
  if (!error)
    error = cli_list_gpus(&json, s->common.json, &diagnostic);
  if (error) {
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  if (s->common.json)
    bf_json_end(&json, '}');
  else
    write_lists_end(&text);
  return cli_print(&text);
}

/* ---- One machine ---- */

/* The longest key and value among facts, at most most. */
static void fact_widths(const bf_machine *machine, int most, int *key, int *value) {
  *key = *value = 0;
  for (size_t i = 0; i < machine->fact_count; i++) {
    int key_length = (int)strlen(machine->facts[i].key);
    int value_length = (int)strlen(machine->facts[i].value);
    *key = key_length > *key && key_length <= most ? key_length : *key;
    *value = value_length > *value && value_length <= most ? value_length : *value;
  }
}

/* A number given by its decimal logarithm: whole up to a million, else like 9.7e7. */
static void write_size(bf_text *text, const char *name, double logarithm) {
  double exponent = floor(logarithm + 1e-9);
  if (exponent < 6)
    bf_text_addf(text, "  %-28s %.0f\n", name, pow(10, logarithm));
  else
    bf_text_addf(text, "  %-28s %.1fe%.0f\n", name, pow(10, logarithm - exponent), exponent);
}

static void write_class_sizes(const bf_machine *machine, bf_text *text) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_class_sizes sizes = bf_search_class_sizes(&geometry);
  bf_text_puts(text, "\nHash functions from its address bits to its banks:\n");
  write_size(text, "bit-vector permutations", sizes.bit_vector);
  write_size(text, "bit-vector XORs", sizes.bit_vector_xor);
  write_size(text, "bitwise permutations", sizes.permutation);
  write_size(text, "bitwise XORs", sizes.bitwise_xor);
  write_size(text, "XORs up to names of banks", sizes.unique_xor);
  write_size(text, "XORs", sizes.xor_based);
  write_size(text, "all functions", sizes.all);
}

static void write_machine(const bf_machine *machine, bf_text *text) {
  char size[32];
  int key_width, value_width;
  bf_text_addf(text, "%s: %s\n", machine->name, machine->title);
  bf_text_addf(text, "%u lanes, %u banks of %u-byte words, %s, %u address bits\n\n", machine->lanes,
               1u << machine->bank_bits, machine->word_bytes,
               size_text(machine->capacity_bytes, size, sizeof size), machine->address_bits);
  fact_widths(machine, 60, &key_width, &value_width);
  for (size_t i = 0; i < machine->fact_count; i++) {
    const bf_machine_fact *fact = &machine->facts[i];
    bf_text_addf(text, "  %-*s  %-*s  %-9s %s\n", key_width, fact->key, value_width, fact->value,
                 fact->basis, fact->source);
  }
  write_class_sizes(machine, text);
  bf_text_puts(text, "\nSources:\n");
  for (size_t i = 0; i < machine->source_count; i++)
    bf_text_addf(text, "  %s: %s\n", machine->source_name[i], machine->source_text[i]);
}

static void write_machine_json(const bf_machine *machine, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  write_json_summary(&json, machine);
  bf_json_begin(&json, "facts", '[', false);
  for (size_t i = 0; i < machine->fact_count; i++) {
    bf_json_begin(&json, NULL, '{', true);
    bf_json_string(&json, "key", machine->facts[i].key);
    bf_json_string(&json, "value", machine->facts[i].value);
    bf_json_string(&json, "basis", machine->facts[i].basis);
    bf_json_string(&json, "source", machine->facts[i].source);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_begin(&json, "sources", '{', false);
  for (size_t i = 0; i < machine->source_count; i++)
    bf_json_string(&json, machine->source_name[i], machine->source_text[i]);
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
}

static int show_machine(const cli_common *common) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (cli_load_machine(common, &machine, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  bf_text text = {0};
  if (common->json)
    write_machine_json(machine, &text);
  else
    write_machine(machine, &text);
  bf_machine_free(machine);
  return cli_print(&text);
}

static int show_gpu(const char *name, bool wants_json) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  if (bf_sim_gpu_load(name, &gpu, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  bf_text text = {0};
  if (wants_json)
    cli_write_gpu_json(gpu, &text);
  else
    cli_write_gpu(gpu, &text);
  bf_sim_gpu_free(gpu);
  return cli_print(&text);
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  cli_common common = s->common;
  if (count && common.machine)
    return cli_usage_error(&cli_machines, "give the machine as an argument or by --machine");
  bool overrides = common.banks || common.word_bytes || common.lanes || common.address_bits;
  if (count && cli_is_gpu(arguments[0])) {
    if (overrides)
      return cli_usage_error(&cli_machines, "overrides change a machine, not a GPU");
    return show_gpu(arguments[0], common.json);
  }
  if (count)
    common.machine = arguments[0];
  if (common.machine)
    return show_machine(&common);
  if (overrides)
    return cli_usage_error(&cli_machines, "overrides need a machine to change");
  return list_all(s);
}

const cli_command cli_machines = {
    .name = "machines",
    .summary = "list the memory models and GPUs and the source of each of their numbers",
    .arguments = "[NAME|GPU]",
    .details = "Without a name, one line for each built-in machine and GPU. With the name of a\n"
               "built-in one, or the path of a machine file or of a GPU file (which ends in\n"
               ".gpu), every number of it, whether it was measured, published or is assumed,\n"
               "and its source.",
    .examples = "bankfold machines                  # all machines\n"
                "bankfold machines hopper           # every number of one machine\n"
                "bankfold machines ./mine.machine   # check a machine file of your own\n"
                "bankfold machines fermi --banks 16 # what overrides change\n"
                "bankfold machines gtx580           # every parameter of a GPU\n"
                "bankfold machines ./mine.gpu       # check a GPU file of your own\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = run,
};
