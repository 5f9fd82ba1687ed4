/* bankfold convert: a hash in its other text forms, or a trace in its other file form. */
#include "cli/cli.h"
#include "cli/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *from, *hash, *to, *output;
  uint64_t level;
  bool packed, text;
} settings;

static const cli_option options[] = {
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL, "the hash to convert"},
    {"to", CLI_TEXT, offsetof(settings, to), "FORM",
     "none fixed perm xor tma cute bits rows add mod pad", "only this form (default: all)"},
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "where to write (default: standard output)"},
    {"packed", CLI_FLAG, offsetof(settings, packed), NULL, NULL,
     "write the trace in the packed form (default)"},
    {"text", CLI_FLAG, offsetof(settings, text), NULL, NULL, "write the trace as text"},
    {"level", CLI_NUMBER, offsetof(settings, level), "N", NULL,
     "how hard zstd packs: 1 (fast) to 19 (small) (default 2, or repeats alone)"},
    CLI_COMMON(settings),
    CLI_FROM(settings),
};

/* ---- Hashes ---- */

/* hash in one form: converted is empty and the result BF_UNSUPPORTED if there is none. */
static int write_form(const bf_hash *hash, const char *form, bf_json *json, bool wants_json,
                      bf_diagnostic *diagnostic) {
  bf_text converted = {0};
  int error = bf_hash_convert(hash, form, &converted, diagnostic);
  if (!error || error == BF_UNSUPPORTED) {
    const char *found = !error ? converted.data : NULL;
    if (wants_json)
      bf_json_string(json, form, found);
    else
      bf_text_addf(json->text, "%-6s %s\n", form, found ? found : "no such form");
    error = BF_OK;
  }
  bf_text_free(&converted);
  return error;
}

/* What the hash costs and what it keeps together. */
static void write_properties(const bf_hash *hash, bf_json *json, bool wants_json) {
  bf_hash_cost cost = bf_hash_get_cost(hash);
  uint64_t word_bytes = hash->geometry.word_bytes;
  uint64_t words = (uint64_t)1 << hash->geometry.address_bits;
  uint64_t wasted = bf_hash_capacity_words(hash, words) - words;
  if (wants_json) {
    bf_json_begin(json, "cost", '{', true);
    bf_json_number(json, "xor_inputs", cost.xor_inputs);
    bf_json_number(json, "instructions", cost.instructions);
    bf_json_number(json, "gate_depth", cost.gate_depth);
    bf_json_number(json, "gates", cost.gates);
    bf_json_number(json, "bytes_wasted", wasted * word_bytes);
    bf_json_end(json, '}');
    bf_json_number(json, "granule_bytes", bf_hash_granule_words(hash) * word_bytes);
    bf_json_number(json, "block_bytes", bf_hash_block_words(hash) * word_bytes);
    return;
  }
  bf_text_addf(json->text,
               "cost: %u XOR inputs, %u gate levels, %u instructions per address, %llu bytes "
               "unused\n",
               cost.xor_inputs, cost.gate_depth, cost.instructions,
               (unsigned long long)(wasted * word_bytes));
}

static int list_forms(const settings *s, const bf_hash *hash, bf_text *text,
                      bf_diagnostic *diagnostic) {
  bf_json json = {.text = text};
  bool wants_json = s->common.json;
  int error = BF_OK;
  if (wants_json) {
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "hash", bf_hash_text(hash));
    bf_json_begin(&json, "forms", '{', false);
  }
  for (unsigned i = 0; bf_hash_forms[i] && !error; i++)
    error = write_form(hash, bf_hash_forms[i], &json, wants_json, diagnostic);
  if (wants_json)
    bf_json_end(&json, '}');
  write_properties(hash, &json, wants_json);
  if (wants_json)
    bf_json_end(&json, '}');
  return error;
}

static int one_form(const settings *s, const bf_hash *hash, bf_text *text,
                    bf_diagnostic *diagnostic) {
  bf_text converted = {0};
  int error = bf_hash_convert(hash, s->to, &converted, diagnostic);
  if (!error && s->common.json) {
    bf_json json = {.text = text};
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "hash", bf_hash_text(hash));
    bf_json_begin(&json, "forms", '{', false);
    bf_json_string(&json, s->to, converted.data);
    bf_json_end(&json, '}');
    write_properties(hash, &json, true);
    bf_json_end(&json, '}');
  } else if (!error) {
    bf_text_addf(text, "%s\n", converted.data);
  }
  bf_text_free(&converted);
  return error;
}

static int convert_hash(const settings *s) {
  bf_machine *machine;
  bf_hash *hash = NULL;
  bf_text text = {0};
  bf_diagnostic diagnostic;
  int error = cli_load_machine(&s->common, &machine, &diagnostic);
  if (!error) {
    error = cli_load_hash(s->hash, machine, &hash, &diagnostic);
    bf_machine_free(machine);
  }
  if (!error)
    error = s->to ? one_form(s, hash, &text, &diagnostic) : list_forms(s, hash, &text, &diagnostic);
  bf_hash_free(hash);
  if (!error)
    return cli_write(s->output, &text);
  bf_text_free(&text);
  return cli_complain(&diagnostic);
}

/* ---- Traces ---- */

enum { LEVEL_MAX = 19, ACCESSES_BETWEEN_STEPS = 1 << 16 };

/* Says how far the trace was read after so many accesses; BF_STOPPED where that is enough. */
static int tell(const bf_trace *trace, cli_block_bar *bar, bf_diagnostic *diagnostic) {
  uint64_t bytes, size;
  bf_trace_place(trace, &bytes, &size);
  return cli_block_bar_step(bar, bytes, size) ? BF_OK
                                              : bf_fail(diagnostic, BF_STOPPED, "interrupted");
}

/* Copies every access, in bounded memory. */
static int copy_accesses(bf_trace *trace, bf_trace_writer *writer, cli_block_bar *bar,
                         uint64_t *accesses, bf_diagnostic *diagnostic) {
  const bf_access *access;
  int result;
  while ((result = bf_trace_step(trace, &access, diagnostic)) > 0) {
    BF_TRY(bf_trace_writer_add(writer, access, diagnostic));
    if (++*accesses % ACCESSES_BETWEEN_STEPS == 0)
      BF_TRY(tell(trace, bar, diagnostic));
  }
  return result < 0 ? result : bf_trace_writer_commit(writer, diagnostic);
}

/* Writes the accesses one by one. */
static int write_accesses(const settings *s, bf_trace *trace, cli_block_bar *bar,
                          uint64_t *accesses, bf_diagnostic *diagnostic) {
  bf_trace_writer *writer;
  BF_TRY(bf_trace_writer_open(s->output ? s->output : "-", !s->text, &writer, diagnostic));
  int error = s->level ? bf_trace_writer_set_level(writer, (int)s->level, diagnostic) : BF_OK;
  if (!error)
    error = copy_accesses(trace, writer, bar, accesses, diagnostic);
  bf_trace_writer_close(writer);
  return error;
}

/* Checks every access while the bytes that it is read from are copied. */
static int check_accesses(bf_trace *trace, cli_block_bar *bar, uint64_t *accesses,
                          bf_diagnostic *diagnostic) {
  uint64_t more, told = 0;
  int result;
  while ((result = bf_trace_pass(trace, &more, diagnostic)) > 0) {
    *accesses += more;
    if (*accesses - told < ACCESSES_BETWEEN_STEPS)
      continue;
    told = *accesses;
    BF_TRY(tell(trace, bar, diagnostic));
  }
  return result;
}

/* Writes the bytes of a packed trace: as they are stored, unless they are to be packed anew. */
static int copy_bytes(const settings *s, bf_trace *trace, cli_block_bar *bar, uint64_t *accesses,
                      bf_diagnostic *diagnostic) {
  bool as_stored = !s->level && bf_trace_can_copy(trace, true);
  bf_writer *writer;
  BF_TRY(bf_writer_open(s->output ? s->output : "-", !as_stored, &writer, diagnostic));
  int error = s->level ? bf_writer_set_level(writer, (int)s->level, diagnostic) : BF_OK;
  if (!error)
    error = bf_trace_copy_to(trace, writer, as_stored, diagnostic);
  if (!error)
    error = check_accesses(trace, bar, accesses, diagnostic);
  if (!error)
    error = bf_writer_commit(writer, diagnostic);
  bf_writer_close(writer);
  return error;
}

static int copy_trace(const settings *s, const char *path, uint64_t *accesses,
                      bf_diagnostic *diagnostic) {
  bf_machine *machine;
  int error = cli_load_machine(&s->common, &machine, diagnostic);
  if (error)
    return error;
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_machine_free(machine);
  bf_trace *trace;
  BF_TRY(bf_trace_open_form(path, cli_trace_form(s->from), &limits, &trace, diagnostic));
  cli_block_bar bar = cli_block_bar_begin(bf_input_name(path));
  bar.unit = "bytes";
  error = !s->text && bf_trace_can_copy(trace, false)
              ? copy_bytes(s, trace, &bar, accesses, diagnostic)
              : write_accesses(s, trace, &bar, accesses, diagnostic);
  cli_block_bar_end(&bar);
  if (error == BF_IO && errno == EPIPE)
    error = BF_OK; /* whoever reads has seen enough */
  bf_trace_close(trace);
  return error;
}

static int print_trace_json(const settings *s, const char *path, uint64_t accesses) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "input", path);
  bf_json_string(&json, "output", s->output);
  bf_json_string(&json, "form", s->text ? "text" : "packed");
  bf_json_number(&json, "accesses", accesses);
  bf_json_end(&json, '}');
  return cli_print(&text);
}

static int convert_trace(const settings *s, const char *path) {
  bool to_standard_output = !s->output || strcmp(s->output, "-") == 0;
  if (s->packed && s->text)
    return cli_usage_error(&cli_convert, "--packed and --text exclude each other");
  if (s->level && (s->text || s->level > LEVEL_MAX))
    return cli_usage_error(&cli_convert, "--level is 1 to %d, for packed traces", LEVEL_MAX);
  if (s->common.json && to_standard_output)
    return cli_usage_error(&cli_convert, "--json needs an --output file");
  if (!s->text && to_standard_output && isatty(1))
    return cli_usage_error(&cli_convert, "a packed trace is not for terminals; give --output FILE");
  uint64_t accesses = 0;
  bf_diagnostic diagnostic;
  if (copy_trace(s, path, &accesses, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  return s->common.json ? print_trace_json(s, path, accesses) : CLI_OK;
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  if (s->hash && count)
    return cli_usage_error(&cli_convert, "give --hash or a trace, not both");
  if (!s->hash && count == 0)
    return cli_usage_error(&cli_convert, "give --hash or a trace");
  if (count && s->to)
    return cli_usage_error(&cli_convert, "--to is for hashes, not for traces");
  if (s->hash && (s->packed || s->text || s->level))
    return cli_usage_error(&cli_convert,
                           "--packed, --text and --level are for traces, not for hashes");
  return s->hash ? convert_hash(s) : convert_trace(s, arguments[0]);
}

const cli_command cli_convert = {
    .name = "convert",
    .summary = "convert a hash to its other forms, or a trace to its other form",
    .arguments = "[TRACE]",
    .details =
        "With --hash, lists every text form that gives each word the same bank and what the\n"
        "hash costs, or prints the one form that --to asks for (error \"no such form\" where\n"
        "there is none). With a TRACE (\"-\": standard input), text or packed, writes the\n"
        "same accesses in the packed form, which is much smaller, or as text.",
    .examples = "bankfold convert --hash tma:128                       # all its forms\n"
                "bankfold convert --hash bits:0,1,2^5,3^6,4^7 --to cute # is it a CuTe swizzle?\n"
                "bankfold convert kernel.trace --output kernel.bft     # pack a trace\n"
                "bankfold convert kernel.bft --text | less             # look into a packed one\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = run,
};
