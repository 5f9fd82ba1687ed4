/* Launch descriptions: reading, and making buffers and launches of them. */
#include "emu/script.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 80, MOST_ARGUMENTS = 64, MOST_BUFFER_BYTES = 1 << 30 };

typedef enum generator { ZERO, VALUE, INDEX, RANDOM, FROM_FILE } generator;

typedef struct buffer {
  const char *name;
  bf_ptx_type type;
  uint64_t count;
  generator generator;
  double number[2]; /* value; start, step; low, high */
  uint64_t seed;
  const char *path;
  struct buffer *next;
  uint64_t address; /* while running */
} buffer;

typedef struct argument {
  buffer *buffer; /* NULL: a number */
  bf_ptx_type type;
  uint64_t bits;
} argument;

typedef struct run {
  const char *kernel;
  uint64_t line;
  uint32_t grid[3], block[3];
  uint64_t shared_bytes;
  const char *hash; /* or NULL */
  unsigned arguments;
  argument argument[MOST_ARGUMENTS];
  struct run *next;
} run;

struct bf_script {
  bf_arena arena;
  const char *file;
  buffer *buffers, **last_buffer;
  run *runs, **last_run;
};

/* ---- Reading ---- */

/* A line cut into words. */
typedef struct line {
  bf_script *script;
  const char *text;
  uint64_t number;
  unsigned words, at;
  char *word[MOST_WORDS];            /* copies */
  const char *where[MOST_WORDS + 1]; /* in text; behind the last word its end */
  bf_diagnostic *diagnostic;
} line;

#define FAIL(from, place, ...)                                                                     \
  bf_fail_at((from)->diagnostic, (from)->script->file, (from)->number, (from)->text, (place),      \
             __VA_ARGS__)

/* Where the next word is, or would be. */
static const char *here(const line *from) { return from->where[from->at]; }

static int cut(line *to) {
  const char *at = to->text;
  for (;;) {
    while (isspace((unsigned char)*at))
      at++;
    to->where[to->words] = at;
    if (!*at || *at == '#')
      return BF_OK;
    if (to->words == MOST_WORDS)
      return FAIL(to, at, "more than %d words", MOST_WORDS);
    size_t length = 0;
    while (at[length] && !isspace((unsigned char)at[length]) && at[length] != '#')
      length++;
    char *copy = bf_arena_alloc(&to->script->arena, length + 1);
    if (!copy)
      return bf_no_memory(to->diagnostic);
    memcpy(copy, at, length);
    to->word[to->words++] = copy;
    at += length;
  }
}

/* The next word, or an error that says what is missing. */
static int next_word(line *from, const char *what, const char **word) {
  if (from->at == from->words)
    return FAIL(from, here(from), "%s is missing", what);
  *word = from->word[from->at++];
  return BF_OK;
}

static bool next_is(line *from, const char *word) {
  if (from->at == from->words || strcmp(from->word[from->at], word) != 0)
    return false;
  from->at++;
  return true;
}

static int next_count(line *from, const char *what, uint64_t least, uint64_t most,
                      uint64_t *value) {
  const char *place = here(from), *word = NULL;
  BF_TRY(next_word(from, what, &word));
  const char *cursor = word;
  if (!bf_parse_number(&cursor, value) || *cursor || *value < least || *value > most)
    return FAIL(from, place, "%s must be a whole number from %llu to %llu", what,
                (unsigned long long)least, (unsigned long long)most);
  return BF_OK;
}

static int next_real(line *from, const char *what, double *value) {
  const char *place = here(from), *word = NULL;
  BF_TRY(next_word(from, what, &word));
  char *end;
  *value = strtod(word, &end);
  if (end == word || *end)
    return FAIL(from, place, "%s must be a number", what);
  return BF_OK;
}

/* The types that buffers and arguments can have. */
static bf_ptx_type find_type(const char *name, size_t length) {
  static const bf_ptx_type types[] = {BF_PTX_U8,  BF_PTX_S8,  BF_PTX_U16, BF_PTX_S16, BF_PTX_U32,
                                      BF_PTX_S32, BF_PTX_U64, BF_PTX_S64, BF_PTX_F32, BF_PTX_F64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strlen(bf_ptx_type_name(types[i])) == length &&
        strncmp(bf_ptx_type_name(types[i]), name, length) == 0)
      return types[i];
  return BF_PTX_TYPE_NONE;
}

static buffer *find_buffer(const bf_script *script, const char *name) {
  for (buffer *at = script->buffers; at; at = at->next)
    if (strcmp(at->name, name) == 0)
      return at;
  return NULL;
}

/* What a buffer is filled with. */
static int read_generator(line *from, buffer *to) {
  const char *place = here(from), *word = NULL;
  to->number[1] = 1;
  if (next_is(from, "zero"))
    return BF_OK;
  if (next_is(from, "value")) {
    to->generator = VALUE;
    return next_real(from, "the value", &to->number[0]);
  }
  if (next_is(from, "index")) {
    to->generator = INDEX;
    if (from->at < from->words)
      BF_TRY(next_real(from, "the first number", &to->number[0]));
    return from->at < from->words ? next_real(from, "the step", &to->number[1]) : BF_OK;
  }
  if (next_is(from, "random")) {
    to->generator = RANDOM;
    BF_TRY(next_real(from, "the least number", &to->number[0]));
    BF_TRY(next_real(from, "the largest number", &to->number[1]));
    if (!(to->number[0] <= to->number[1]))
      return FAIL(from, place, "the least number is larger than the largest");
    return from->at < from->words ? next_count(from, "the seed", 0, UINT64_MAX, &to->seed) : BF_OK;
  }
  if (next_is(from, "file")) {
    to->generator = FROM_FILE;
    return next_word(from, "the name of the file", &to->path);
  }
  BF_TRY(next_word(from, "what the buffer holds (zero, value, index, random, file)", &word));
  return FAIL(from, place, "a buffer holds zero, value, index, random or file, not '%s'", word);
}

static int read_buffer(line *from) {
  bf_script *script = from->script;
  buffer *made = bf_arena_alloc(&script->arena, sizeof *made);
  if (!made)
    return bf_no_memory(from->diagnostic);
  const char *place = here(from), *type = NULL;
  BF_TRY(next_word(from, "the name of the buffer", &made->name));
  if (find_buffer(script, made->name))
    return FAIL(from, place, "there is a buffer '%s' already", made->name);
  place = here(from);
  BF_TRY(next_word(from, "the type of the buffer", &type));
  made->type = find_type(type, strlen(type));
  if (!made->type)
    return FAIL(from, place, "a buffer has type u8 to u64, s8 to s64, f32 or f64, not '%s'", type);
  BF_TRY(next_count(from, "the number of elements", 1,
                    MOST_BUFFER_BYTES / bf_ptx_type_bytes(made->type), &made->count));
  BF_TRY(read_generator(from, made));
  *script->last_buffer = made;
  script->last_buffer = &made->next;
  return BF_OK;
}

/* One to three sizes. */
static int read_sizes(line *from, const char *what, uint64_t most, uint32_t *sizes) {
  for (unsigned i = 0; i < 3; i++) {
    uint64_t value = 1;
    if (i == 0 || (from->at < from->words && isdigit((unsigned char)from->word[from->at][0])))
      BF_TRY(next_count(from, what, 1, most, &value));
    sizes[i] = (uint32_t)value;
  }
  return BF_OK;
}

/* The bits of a number written as type. */
static int number_bits(line *from, const char *place, bf_ptx_type type, const char *text,
                       uint64_t *bits) {
  char *end = NULL;
  errno = 0;
  if (type == BF_PTX_F32) {
    float value = strtof(text, &end);
    *bits = 0;
    memcpy(bits, &value, sizeof value);
  } else if (type == BF_PTX_F64) {
    double value = strtod(text, &end);
    memcpy(bits, &value, sizeof value);
  } else {
    *bits = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    unsigned width = 8 * bf_ptx_type_bytes(type);
    uint64_t high = width == 64 ? 0 : *bits >> width;
    if (errno || (high && high != UINT64_MAX >> width))
      return FAIL(from, place, "%s does not fit %s", text, bf_ptx_type_name(type));
  }
  return end == text || *end ? FAIL(from, place, "'%s' is no number", text) : BF_OK;
}

static int read_argument(line *from, run *to) {
  const char *place = here(from), *word = NULL, *colon;
  BF_TRY(next_word(from, "an argument", &word));
  if (to->arguments == MOST_ARGUMENTS)
    return FAIL(from, place, "more than %d arguments", MOST_ARGUMENTS);
  argument *made = &to->argument[to->arguments++];
  colon = strchr(word, ':');
  if (!colon) {
    made->buffer = find_buffer(from->script, word);
    made->type = BF_PTX_U64;
    return made->buffer ? BF_OK
                        : FAIL(from, place, "no buffer '%s'; numbers are written as s32:5", word);
  }
  made->type = find_type(word, (size_t)(colon - word));
  if (!made->type)
    return FAIL(from, place, "an argument has type u8 to u64, s8 to s64, f32 or f64");
  return number_bits(from, place, made->type, colon + 1, &made->bits);
}

static int read_launch(line *from) {
  bf_script *script = from->script;
  run *made = bf_arena_alloc(&script->arena, sizeof *made);
  if (!made)
    return bf_no_memory(from->diagnostic);
  made->line = from->number;
  BF_TRY(next_word(from, "the name of the kernel", &made->kernel));
  while (from->at < from->words && !next_is(from, "with")) {
    if (next_is(from, "grid"))
      BF_TRY(read_sizes(from, "a size of the grid", INT32_MAX, made->grid));
    else if (next_is(from, "block"))
      BF_TRY(read_sizes(from, "a size of the block", BF_EMU_MOST_THREADS, made->block));
    else if (next_is(from, "shared"))
      BF_TRY(next_count(from, "the bytes of shared memory", 0, 1 << 28, &made->shared_bytes));
    else if (next_is(from, "hash"))
      BF_TRY(next_word(from, "the hash of the banks", &made->hash));
    else
      return FAIL(from, here(from), "a launch has grid, block, shared, hash and with, not '%s'",
                  from->word[from->at]);
  }
  if (!made->grid[0] || !made->block[0])
    return FAIL(from, here(from), "%s is missing", made->grid[0] ? "block" : "grid");
  while (from->at < from->words)
    BF_TRY(read_argument(from, made));
  *script->last_run = made;
  script->last_run = &made->next;
  return BF_OK;
}

static int read_line(line *from) {
  BF_TRY(cut(from));
  if (from->words == 0)
    return BF_OK;
  if (next_is(from, "buffer"))
    BF_TRY(read_buffer(from));
  else if (next_is(from, "launch"))
    BF_TRY(read_launch(from));
  else
    return FAIL(from, here(from), "a line starts with buffer or launch, not '%s'", from->word[0]);
  if (from->at < from->words)
    return FAIL(from, here(from), "'%s' is too much", from->word[from->at]);
  return BF_OK;
}

/* Reads all lines of text. */
static int read_all(bf_script *script, const char *text, bf_diagnostic *diagnostic) {
  uint64_t number = 0;
  while (*text) {
    const char *end = strchr(text, '\n');
    size_t length = end ? (size_t)(end - text) : strlen(text);
    char *copy = bf_arena_alloc(&script->arena, length + 1);
    if (!copy)
      return bf_no_memory(diagnostic);
    memcpy(copy, text, length);
    line from = {.script = script, .text = copy, .number = ++number, .diagnostic = diagnostic};
    BF_TRY(read_line(&from));
    text += length + (end != NULL);
  }
  if (!script->runs)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, script->file, "no launch");
  return BF_OK;
}

int bf_script_read(const char *file, const char *text, bf_script **script,
                   bf_diagnostic *diagnostic) {
  bf_script *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->last_buffer = &made->buffers;
  made->last_run = &made->runs;
  made->file = bf_arena_copy(&made->arena, file);
  int error = made->file ? read_all(made, text, diagnostic) : bf_no_memory(diagnostic);
  if (error)
    bf_script_free(made);
  else
    *script = made;
  return error;
}

void bf_script_free(bf_script *script) {
  if (!script)
    return;
  bf_arena_free(&script->arena);
  free(script);
}

/* ---- Buffers ---- */

/* A stream of numbers that is the same everywhere (xorshift64*). */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

/* Stores a number as an element of type. */
static void store(bf_ptx_type type, double number, uint8_t *at) {
  float single = (float)number;
  int64_t whole = (int64_t)number;
  if (type == BF_PTX_F32)
    memcpy(at, &single, sizeof single);
  else if (type == BF_PTX_F64)
    memcpy(at, &number, sizeof number);
  else
    memcpy(at, &whole, bf_ptx_type_bytes(type));
}

static double random_number(const buffer *of, uint64_t *state) {
  uint64_t bits = next_random(state);
  double low = of->number[0], span = of->number[1] - low;
  if (of->type == BF_PTX_F32 || of->type == BF_PTX_F64)
    return low + span * ((double)(bits >> 11) / 9007199254740992.0);
  double values = span + 1;
  return low + (double)(uint64_t)((double)(bits >> 11) / 9007199254740992.0 * values);
}

/* The path of a file named in a description: relative to the description's folder. */
static char *path_of(const bf_script *script, const buffer *of) {
  const char *slash = strrchr(script->file, '/');
  bf_text path = {0};
  if (of->path[0] != '/' && slash)
    bf_text_add(&path, script->file, (size_t)(slash - script->file) + 1);
  bf_text_puts(&path, of->path);
  return path.failed ? NULL : path.data;
}

static int fill_from_file(const bf_script *script, const buffer *of, uint8_t *memory,
                          uint64_t bytes, bf_diagnostic *diagnostic) {
  char *path = path_of(script, of);
  bf_reader *reader = NULL;
  if (!path)
    return bf_no_memory(diagnostic);
  int error = bf_reader_open(path, &reader, diagnostic);
  size_t done = 0, got = 1;
  while (!error && done < bytes && got) {
    error = bf_reader_read(reader, memory + done, bytes - done, &got, diagnostic);
    done += got;
  }
  if (!error && done < bytes)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "%llu bytes, but buffer '%s' needs %llu",
                         (unsigned long long)done, of->name, (unsigned long long)bytes);
  if (reader)
    bf_reader_close(reader);
  free(path);
  return error;
}

static int fill(const bf_script *script, buffer *of, bf_emu *emu, bf_diagnostic *diagnostic) {
  unsigned size = bf_ptx_type_bytes(of->type);
  BF_TRY(bf_emu_alloc(emu, of->count * size, 0, &of->address, diagnostic));
  uint8_t *memory = (uint8_t *)(uintptr_t)of->address;
  memset(memory, 0, of->count * size);
  uint64_t state = (of->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  if (of->generator == FROM_FILE)
    return fill_from_file(script, of, memory, of->count * size, diagnostic);
  for (uint64_t i = 0; of->generator != ZERO && i < of->count; i++) {
    double number = of->generator == VALUE   ? of->number[0]
                    : of->generator == INDEX ? of->number[0] + of->number[1] * (double)i
                                             : random_number(of, &state);
    store(of->type, number, memory + i * size);
  }
  return BF_OK;
}

/* ---- Launches ---- */

/* Lays the arguments out as the kernel wants them. */
static int place_arguments(const bf_script *script, const run *from, const bf_emu_kernel *kernel,
                           uint8_t *parameters, bf_diagnostic *diagnostic) {
  uint64_t offset, bytes;
  unsigned wanted = 0;
  while (bf_emu_kernel_parameter(kernel, wanted, &offset, &bytes))
    wanted++;
  bf_error bad = BF_BAD_INPUT;
  int error = BF_OK;
  if (wanted != from->arguments)
    error = bf_fail_file(diagnostic, bad, script->file, "kernel '%s' takes %u arguments, not %u",
                         from->kernel, wanted, from->arguments);
  for (unsigned i = 0; i < wanted && !error; i++) {
    const argument *given = &from->argument[i];
    uint64_t bits = given->buffer ? given->buffer->address : given->bits;
    bf_emu_kernel_parameter(kernel, i, &offset, &bytes);
    if (bytes != bf_ptx_type_bytes(given->type))
      error = bf_fail_file(diagnostic, bad, script->file,
                           "argument %u of kernel '%s' has %llu bytes, not %u", i + 1, from->kernel,
                           (unsigned long long)bytes, bf_ptx_type_bytes(given->type));
    else
      memcpy(parameters + offset, &bits, bytes);
  }
  if (error && diagnostic)
    diagnostic->line = from->line;
  return error;
}

static int run_one(const bf_script *script, const run *from, bf_emu_module *module,
                   bf_script_launch *launch, void *context, bf_diagnostic *diagnostic) {
  const bf_emu_kernel *kernel;
  BF_TRY(bf_emu_kernel_get(module, from->kernel, &kernel, diagnostic));
  uint64_t bytes = bf_emu_kernel_needs(kernel)->parameter_bytes;
  uint8_t *parameters = calloc(1, bytes + 8);
  if (!parameters)
    return bf_no_memory(diagnostic);
  int error = place_arguments(script, from, kernel, parameters, diagnostic);
  bf_emu_launch made = {.kernel = kernel,
                        .dynamic_shared_bytes = from->shared_bytes,
                        .parameters = parameters,
                        .parameter_bytes = bytes};
  memcpy(made.grid, from->grid, sizeof made.grid);
  memcpy(made.block, from->block, sizeof made.block);
  if (!error)
    error = launch(context, &made, from->hash, diagnostic);
  if (error && diagnostic && !diagnostic->file[0]) {
    snprintf(diagnostic->file, sizeof diagnostic->file, "%s", script->file);
    diagnostic->line = from->line;
  }
  free(parameters);
  return error;
}

int bf_script_run(const bf_script *script, bf_emu *emu, bf_emu_module *module,
                  bf_script_launch *launch, void *context, bf_diagnostic *diagnostic) {
  for (buffer *at = script->buffers; at; at = at->next)
    BF_TRY(fill(script, at, emu, diagnostic));
  for (const run *at = script->runs; at; at = at->next)
    BF_TRY(run_one(script, at, module, launch, context, diagnostic));
  return BF_OK;
}

const char *bf_script_buffer_at(const bf_script *script, uint64_t address) {
  for (const buffer *at = script->buffers; at; at = at->next)
    if (at->address == address)
      return at->name;
  return NULL;
}
