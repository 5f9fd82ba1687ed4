/* bankfold emit: a hash as code for C, CUDA, CuTe, Triton or hardware. */
#include "emit/emit.h"
#include "cli/cli.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *hash, *form, *name, *output;
  uint64_t element_bytes, columns;
  bool testbench;
} settings;

static const cli_option options[] = {
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL, "the hash to write"},
    {"as", CLI_TEXT, offsetof(settings, form), "FORM", "cuda c cute triton verilog",
     "what to write"},
    {"name", CLI_TEXT, offsetof(settings, name), "PREFIX", NULL,
     "what all names in the text start with (default bankfold)"},
    {"element-bytes", CLI_NUMBER, offsetof(settings, element_bytes), "N", NULL,
     "triton: bytes of one element of the tile (default one word)"},
    {"columns", CLI_NUMBER, offsetof(settings, columns), "N", NULL,
     "triton: elements in one row of the tile (default as the hash needs)"},
    {"testbench", CLI_FLAG, offsetof(settings, testbench), NULL, NULL,
     "verilog: add a module that tests the module"},
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "where to write (default: standard output)"},
    CLI_COMMON(settings),
};

/* The emitted text of the hash; *canonical is the hash as its canonical text, in `text` too. */
static int emit(const settings *s, bf_text *canonical, bf_text *text, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  int error = cli_load_machine(&s->common, &machine, diagnostic);
  if (error)
    return error;
  bf_hash *hash;
  error = cli_load_hash(s->hash, machine, &hash, diagnostic);
  bf_machine_free(machine);
  if (error)
    return error;
  bf_emit_options given = {.name = s->name,
                           .testbench = s->testbench,
                           .element_bytes = s->element_bytes,
                           .columns = s->columns};
  error = bf_emit(hash, s->form, &given, text, diagnostic);
  bf_text_puts(canonical, bf_hash_text(hash));
  bf_hash_free(hash);
  return error;
}

static void write_json(const settings *s, const bf_text *hash, const bf_text *emitted,
                       bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "form", s->form);
  bf_json_string(&json, "hash", hash->data);
  bf_json_string(&json, "text", emitted->data);
  bf_json_end(&json, '}');
  text->failed |= hash->failed || emitted->failed;
}

static int run(const void *given, int count, char **arguments) {
  (void)count;
  (void)arguments;
  const settings *s = given;
  if (!s->hash)
    return cli_usage_error(&cli_emit, "--hash is missing");
  if (!s->form)
    return cli_usage_error(&cli_emit, "--as is missing");
  bf_text hash = {0}, emitted = {0}, text = {0};
  bf_diagnostic diagnostic;
  int status;
  if (emit(s, &hash, &emitted, &diagnostic) != BF_OK) {
    status = cli_complain(&diagnostic);
  } else if (s->common.json) {
    write_json(s, &hash, &emitted, &text);
    status = cli_write(s->output, &text);
  } else {
    status = cli_write(s->output, &emitted);
  }
  bf_text_free(&hash);
  bf_text_free(&emitted);
  return status;
}

const cli_command cli_emit = {
    .name = "emit",
    .summary = "write a hash as code: C, CUDA, CuTe, Triton, Verilog",
    .arguments = "",
    .details =
        "Writes the hash as something to build with. cuda and c: a header with functions that\n"
        "place a word or byte, recover it, and tell its bank; it needs no library. cute and\n"
        "triton: the type or layout that is the same, with the alignment it needs, or the error\n"
        "\"no such form\". verilog: a combinational module.",
    .examples =
        "bankfold emit --hash tma:128 --as cuda --name tile --output tile.h # for a kernel\n"
        "bankfold emit --hash xor:0,3,28 --as cute                          # is it a CuTe type?\n"
        "bankfold emit --hash tma:128 --as triton --element-bytes 2 --columns 64\n"
        "bankfold emit --hash fixed --as verilog --testbench                # for hardware\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 0,
    .run = run,
};
