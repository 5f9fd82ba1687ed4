/* Faults seeded into rewritten PTX: one change each, of every kind that a rewriter could get wrong.
 *
 * Modules are random programs that do little but access shared memory and store all of it in the
 * end, rewritten with random hashes, of kernels and of arrays. A fault that the verifier rejects is
 * fine. One that it accepts must be harmless: the program stores what it stored before, for two
 * inputs. Of the rejected ones, every eighth is run as well, which shows that faults do harm.
 *
 *   check_faults [FAULTS_OF_A_KIND_IN_A_MODULE [FIRST_SEED]] */
#include "../reference/programs.h"
#include "../unit/random.h"
#include "access_programs.h"
#include "emu/emu.h"
#include "rewrite/rewrite.h"
#include "verify/verify.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MODULES = 24,
  MOST_LINES = 20000,
  MOST_LINE = 400,
  INPUTS = 2,
  OUTPUT_BYTES = PROGRAM_OUTPUT_BYTES,
  LEAST_FAULTS = 1000,
};

static const bf_geometry geometry = {5, 16, 4};
static unsigned complaints;

static bool complain(const char *what, const char *how) {
  complaints++;
  printf("%s: %s\n", what, how);
  return false;
}

/* ---- Hashes ---- */

/* Hashes by array, one for all arrays, and another for kernels other than "program". */
typedef struct choice {
  bool by_array;
  bf_hash *hash[2];
} choice;

static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const choice *chosen = context;
  if (strcmp(kernel->name, "program") != 0)
    return chosen->hash[1];
  if (!chosen->by_array)
    return chosen->hash[0];
  switch (array ? array->name[1] : 0) {
  case 'i': /* first */
    return chosen->hash[0];
  case 'e': /* second */
    return chosen->hash[1];
  case 'p': /* open */
    return chosen->hash[0];
  default: /* fourth, counters */
    return NULL;
  }
}

/* A row-preserving hash with at least that granule that moves something. */
static bf_hash *random_hash(test_random *random, unsigned granule_bits) {
  uint64_t row[5];
  bf_hash *hash;
  for (unsigned i = 0; i < 5; i++) {
    row[i] = (uint64_t)1 << i;
    if (i >= granule_bits)
      row[i] |= (uint64_t)1 << (5 + (i + random_below(random, 3)) % 6);
  }
  return bf_hash_from_rows(row, &geometry, &hash, NULL) == BF_OK ? hash : NULL;
}

/* ---- Modules ---- */

typedef struct subject {
  char name[40];
  bf_text original, rewritten;
  bf_ptx_module *module; /* of the original */
  choice chosen;
  unsigned lines; /* of the rewritten one: */
  char **line;    /* without line feeds */
  _Alignas(64) uint8_t input[INPUTS][PROGRAM_INPUT_BYTES];
  _Alignas(64) uint8_t wanted[INPUTS][OUTPUT_BYTES];
} subject;

/* Another kernel, with a hash of its own, so that functions need copies. */
static const char second_kernel[] =
    ".visible .entry other()\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, counters;\n"
    "{\n.param .b32 at;\n.param .b32 value;\nst.param.b32 [at], %r0;\n"
    "call (value), load_shared, (at);\nld.param.b32 %r1, [value];\n}\n"
    "st.shared.b32 [%r0+128], %r1;\nret;\n}\n";

/* Ends a launch that goes on for ever: a block that is done or has used up its turn is one of a few
 * reports. */
static bool has_patience(void *context, uint64_t done, uint64_t blocks) {
  enum { MOST_REPORTS = 16 };
  (void)done, (void)blocks;
  return ++*(unsigned *)context < MOST_REPORTS;
}

/* Runs entry "program"; false where it does not run, or faults, or does not end. */
static bool run(const char *ptx, uint8_t *input, uint8_t *output) {
  bf_ptx_module *module = NULL;
  bf_emu *emu = NULL;
  bf_emu_module *loaded = NULL;
  bf_emu_result result = {0};
  void *parameters[2] = {input, output};
  unsigned reports = 0;
  bf_emu_launch launch = {.grid = {PROGRAM_BLOCKS, 1, 1},
                          .block = {PROGRAM_BLOCK_THREADS, 1, 1},
                          .parameters = parameters,
                          .parameter_bytes = sizeof parameters,
                          .dynamic_shared_bytes = 8192,
                          .progress = has_patience,
                          .progress_context = &reports,
                          .workers = 1};
  memset(output, 0, OUTPUT_BYTES);
  bool fine = bf_ptx_parse("program", ptx, strlen(ptx), &module, NULL) == BF_OK &&
              bf_emu_create(&emu, NULL) == BF_OK &&
              bf_emu_register(emu, input, PROGRAM_INPUT_BYTES, 0, NULL) == BF_OK &&
              bf_emu_register(emu, output, OUTPUT_BYTES, 0, NULL) == BF_OK &&
              bf_emu_load(emu, module, &loaded, NULL) == BF_OK &&
              bf_emu_kernel_get(loaded, "program", &launch.kernel, NULL) == BF_OK &&
              bf_emu_run(emu, &launch, &result, NULL) == BF_OK &&
              result.fault.kind == BF_EMU_NO_FAULT;
  if (emu)
    bf_emu_free(emu);
  if (module)
    bf_ptx_free(module);
  return fine;
}

/* Whether a text stores what the original stores. */
static bool stores_the_same(subject *s, const char *text) {
  static _Alignas(64) uint8_t output[OUTPUT_BYTES];
  for (unsigned i = 0; i < INPUTS; i++)
    if (!run(text, s->input[i], output) || memcmp(output, s->wanted[i], sizeof output) != 0)
      return false;
  return true;
}

/* Whether the text parses, and the verifier accepts it. */
static bool is_accepted(const subject *s, const char *text) {
  bf_ptx_module *module;
  bf_verify_result verdict;
  if (bf_ptx_parse("fault", text, strlen(text), &module, NULL) != BF_OK)
    return false;
  bool accepted = bf_verify(s->module, module, (void *)(uintptr_t)&s->chosen, hash_of, &verdict,
                            NULL) == BF_OK &&
                  verdict.is_accepted;
  bf_verify_free(&verdict);
  bf_ptx_free(module);
  return accepted;
}

/* Cuts the rewritten text into lines; false without memory. */
static bool cut(subject *s) {
  s->line = calloc(MOST_LINES, sizeof *s->line);
  char *at = s->rewritten.data;
  while (s->line && *at && s->lines < MOST_LINES) {
    size_t size = strcspn(at, "\n");
    if (!(s->line[s->lines] = strndup(at, size)))
      return false;
    s->lines++;
    at += size + (at[size] == '\n');
  }
  return s->line && !*at;
}

/* Rewrites what the subject holds. */
static bool rewrite(subject *s) {
  bf_rewrite_options options = {
      .context = &s->chosen, .hash_of = hash_of, .padding_has_room = true};
  bf_rewrite_result result;
  if (bf_ptx_parse(s->name, s->original.data, s->original.size, &s->module, NULL) != BF_OK ||
      bf_rewrite(s->module, &options, &result, NULL) != BF_OK)
    return complain(s->name, "is not rewritten");
  bool fine = true;
  for (unsigned i = 0; i < result.kernels; i++)
    if (!result.kernel[i].is_rewritten)
      fine = complain(s->name, result.kernel[i].obstacles ? result.kernel[i].obstacle[0].text
                                                          : "has no hash");
  s->rewritten = result.text;
  result.text = (bf_text){0};
  bf_rewrite_free(&result);
  return fine && cut(s);
}

/* Makes the module of a seed: by array, or with functions and generic addresses and perhaps another
 * kernel. */
static bool make(subject *s, uint64_t seed) {
  test_random random = {seed * 2 + 1};
  unsigned granule_bits = (unsigned)random_below(&random, 3);
  *s = (subject){.chosen.by_array = seed % 2};
  snprintf(s->name, sizeof s->name, "module %llu", (unsigned long long)seed);
  for (unsigned i = 0; i < 2; i++)
    if (!(s->chosen.hash[i] = random_hash(&random, granule_bits)))
      return complain(s->name, "has no hash");
  access_program(seed, 4U << granule_bits, s->chosen.by_array, &s->original);
  if (seed % 4 == 2)
    bf_text_puts(&s->original, second_kernel);
  if (s->original.failed || !rewrite(s))
    return complain(s->name, "is not made");
  for (unsigned i = 0; i < INPUTS; i++) {
    program_fill_input(seed * INPUTS + i, s->input[i]);
    if (!run(s->original.data, s->input[i], s->wanted[i]))
      return complain(s->name, "does not run");
  }
  if (!is_accepted(s, s->rewritten.data) || !stores_the_same(s, s->rewritten.data))
    return complain(s->name, "is rewritten wrongly");
  return true;
}

static void drop(subject *s) {
  for (unsigned i = 0; i < s->lines; i++)
    free(s->line[i]);
  free(s->line);
  bf_text_free(&s->original);
  bf_text_free(&s->rewritten);
  bf_ptx_free(s->module);
  bf_hash_free(s->chosen.hash[0]);
  bf_hash_free(s->chosen.hash[1]);
}

/* ---- Lines ---- */

/* What replaces lines first to first + count - 1. */
typedef struct fault {
  unsigned first, count;
  char text[16 * MOST_LINE]; /* lines with line feeds */
} fault;

/* Whether the line is an instruction that the rewriter added. */
static bool is_added(const char *line) {
  const char *operand = strstr(line, " \t%bf");
  return operand && line[0] == '\t' && line[1] != '.';
}

/* Whether the line is an instruction of the original. */
static bool is_own(const char *line) {
  return line[0] == '\t' && line[1] != '.' && line[1] != '{' && line[1] != '}' &&
         strchr(line, ';') && !is_added(line);
}

static bool is_hashed_access(const char *line) { return is_own(line) && strstr(line, "[%bf"); }
static bool is_shared(const char *line) { return strstr(line, ".shared .align") && *line; }
static bool is_label(const char *line) {
  return isalpha((unsigned char)*line) && line[strlen(line) - 1] == ':';
}
static bool is_call(const char *line) { return strstr(line, "\tcall"); }
static bool is_test(const char *line) {
  return is_added(line) && (strstr(line, "selp") || strstr(line, "isspacep"));
}
static bool is_bitwise(const char *line) {
  return is_added(line) && (strstr(line, "xor.") || strstr(line, "and.") || strstr(line, "shr."));
}
static bool is_xor(const char *line) { return is_added(line) && strstr(line, "\txor."); }
static bool is_shift(const char *line) { return is_added(line) && strstr(line, "\tshr."); }
static bool is_mask(const char *line) { return is_added(line) && strstr(line, "\tand."); }
static bool has_number(const char *line) {
  const char *comma = strrchr(line, ',');
  return is_added(line) && comma && (isdigit((unsigned char)comma[2]) || comma[2] == '-');
}
static bool names_array(const char *line) {
  static const char *const names[] = {", first", ", second", ", open", ", fourth", ", counters"};
  for (size_t i = 0; is_added(line) && i < sizeof names / sizeof *names; i++)
    if (strstr(line, names[i]))
      return true;
  return false;
}

/* A random line that fits; lines for none. */
static unsigned pick(const subject *s, test_random *random, bool (*fits)(const char *line)) {
  unsigned start = (unsigned)random_below(random, s->lines);
  for (unsigned i = 0; i < s->lines; i++)
    if (fits(s->line[(start + i) % s->lines]))
      return (start + i) % s->lines;
  return s->lines;
}

/* The line with `size` characters at `at` replaced. */
static void put(fault *made, const char *line, const char *at, size_t size, const char *text) {
  snprintf(made->text, sizeof made->text, "%.*s%s%s\n", (int)(at - line), line, text, at + size);
}

/* ---- Kinds of faults ---- */

/* Each changes the line that was picked, in made->first; false where it cannot. */

/* The address goes through no hash: xor becomes a move. */
static bool without_hash(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first], *comma = strrchr(line, ',');
  char moved[MOST_LINE];
  (void)random;
  snprintf(moved, sizeof moved, "%.*s;", (int)(comma - line), line);
  put(made, moved, strstr(moved, "xor."), 4, "mov.");
  return true;
}

static bool left_out(const subject *s, test_random *random, fault *made) {
  (void)s, (void)random;
  made->text[0] = 0;
  return true;
}

/* The number at the end of the line becomes another. */
static bool other_number(const subject *s, fault *made, long long change, bool is_xor_of) {
  const char *line = s->line[made->first], *comma = strrchr(line, ',');
  char *end, text[40];
  long long number = comma ? strtoll(comma + 2, &end, 10) : 0;
  if (!comma || end == comma + 2)
    return false;
  snprintf(text, sizeof text, "%lld", is_xor_of ? number ^ change : number + change);
  put(made, line, comma + 2, (size_t)(end - comma - 2), text);
  return true;
}

static bool other_shift(const subject *s, test_random *random, fault *made) {
  return other_number(s, made, random_below(random, 2) ? 1 : -1, false);
}

static bool other_mask(const subject *s, test_random *random, fault *made) {
  return other_number(s, made, 1LL << random_below(random, 12), true);
}

static bool other_constant(const subject *s, test_random *random, fault *made) {
  static const int changes[] = {-128, -4, -1, 1, 2, 4, 16, 128};
  return other_number(s, made, changes[random_below(random, 8)], false);
}

/* The last two operands change places. */
static bool operands_swapped(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first], *last = strrchr(line, ','), *first = last;
  (void)random;
  while (first && first > line && (first == last || *first != ','))
    first--;
  if (!first || first == line)
    return false;
  snprintf(made->text, sizeof made->text, "%.*s, %.*s,%.*s;\n", (int)(first - line), line,
           (int)strcspn(last + 2, ";"), last + 2, (int)(last - first - 1), first + 1);
  return true;
}

/* Another offset behind the register of an access. */
static bool other_offset(const subject *s, test_random *random, fault *made) {
  static const char *const changes[] = {"+4", "+128", "+-4", "+1", "+16", "+-128"};
  const char *line = s->line[made->first], *at = strchr(strstr(line, "[%bf"), ']');
  const char *sign = strstr(line, "[%bf") + strcspn(strstr(line, "[%bf"), "+]");
  char text[40];
  if (*sign == '+') {
    snprintf(text, sizeof text, "+%lld", strtoll(sign + 1, NULL, 10) ^ 4);
    put(made, line, sign, (size_t)(at - sign), text);
  } else {
    put(made, line, at, 0, changes[random_below(random, 6)]);
  }
  return true;
}

/* A number inside a register's name becomes another. */
static bool other_register(const char *line, const char *name, test_random *random, fault *made) {
  const char *digits = name + 1;
  char text[40];
  while (isalpha((unsigned char)*digits) || *digits == '_')
    digits++;
  size_t size = strspn(digits, "0123456789");
  if (!size)
    return false;
  long long number = strtoll(digits, NULL, 10), other = (long long)random_below(random, 4);
  snprintf(text, sizeof text, "%lld", other == number ? number + 1 : other);
  put(made, line, digits, size, text);
  return true;
}

/* An access through another place. */
static bool other_place(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first];
  return other_register(line, strstr(line, "[%bf") + 1, random, made);
}

/* An added instruction that reads another register of the program. */
static bool other_source(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first];
  for (const char *at = strstr(line, ", %"); at; at = strstr(at + 1, ", %"))
    if (strncmp(at + 2, "%bf", 3) != 0)
      return other_register(line, at + 2, random, made);
  return false;
}

/* An added instruction that writes or reads another register of ours. */
static bool other_result(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first], *at = strstr(line, "%bf");
  bool next = random_below(random, 2);
  if (next && strstr(at + 1, "%bf"))
    at = strstr(at + 1, "%bf");
  return other_register(line, at, random, made);
}

static bool other_array(const subject *s, test_random *random, fault *made) {
  static const char *const names[] = {"first", "second", "open", "fourth", "counters"};
  const char *line = s->line[made->first], *at = strrchr(line, ',') + 2;
  size_t size = strcspn(at, "+;");
  const char *name = names[random_below(random, 5)];
  if (strlen(name) == size && strncmp(at, name, size) == 0)
    return false;
  put(made, line, at, size, name);
  return true;
}

/* Another operation in place of one. */
static bool other_operation(const subject *s, test_random *random, fault *made) {
  static const char *const names[] = {"xor.b", "and.b", "or.b", "add.u", "sub.u", "shl.b", "shr.u"};
  const char *line = s->line[made->first];
  put(made, line, line + 1, strcspn(line + 1, "0123456789"), names[random_below(random, 7)]);
  return true;
}

/* isspacep and selp: their answer does not matter, is turned round, or is about all. */
static bool other_question(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first], *answer;
  if (strstr(line, "isspacep")) {
    put(made, line, strstr(line, ".shared"), 7, random_below(random, 2) ? ".global" : ".local");
    return true;
  }
  if (random_below(random, 2))
    return operands_swapped(s, random, made) || true;
  answer = strrchr(line, ',');
  const char *second = answer - 1;
  while (*second != ',')
    second--;
  char moved[MOST_LINE];
  snprintf(moved, sizeof moved, "%.*s;", (int)(second - line), line);
  put(made, moved, strstr(moved, "selp."), 5, "mov.");
  return true;
}

/* An added instruction under a guard that the access does not have. */
static bool under_guard(const subject *s, test_random *random, fault *made) {
  char text[20];
  snprintf(text, sizeof text, "@%s%%p%u ", random_below(random, 2) ? "!" : "",
           (unsigned)random_below(random, 4));
  put(made, s->line[made->first], s->line[made->first] + 1, 0, text);
  return true;
}

/* The line goes down past the next ones, or up past those before. */
static bool moved(const subject *s, test_random *random, fault *made) {
  unsigned by = 1 + (unsigned)random_below(random, 8), from = made->first;
  bool up = random_below(random, 2);
  if (up ? from < by : from + by >= s->lines)
    return false;
  made->first = up ? from - by : from;
  made->count = by + 1;
  made->text[0] = 0;
  size_t size = 0;
  for (unsigned i = 0; i <= by; i++) {
    unsigned at = up ? (i ? from - by + i - 1 : from) : (i < by ? from + 1 + i : from);
    if (strchr(s->line[at], '}') || strchr(s->line[at], '{'))
      return false;
    size += (size_t)snprintf(made->text + size, sizeof made->text - size, "%s\n", s->line[at]);
  }
  return true;
}

static bool twice(const subject *s, test_random *random, fault *made) {
  (void)random;
  snprintf(made->text, sizeof made->text, "%s\n%s\n", s->line[made->first], s->line[made->first]);
  return true;
}

/* Another alignment, or the size that it had, or another. */
static bool other_alignment(const subject *s, test_random *random, fault *made) {
  static const char *const alignments[] = {"4", "16", "32", "64", "128", "256", "512"};
  const char *line = s->line[made->first], *at = strstr(line, ".align ") + 7;
  put(made, line, at, strspn(at, "0123456789"), alignments[random_below(random, 4)]);
  return true;
}

static bool other_size(const subject *s, test_random *random, fault *made) {
  const char *line = s->line[made->first], *at = strrchr(line, '[') + 1;
  char text[40];
  long long number = strtoll(at, NULL, 10);
  static const int less[] = {4, 64, 100, 128, 132, 1};
  if (number < 200)
    return false;
  snprintf(text, sizeof text, "%lld", number - less[random_below(random, 6)]);
  put(made, line, at, strspn(at, "0123456789"), text);
  return true;
}

/* A call leads to another version of the function, or to another function. */
static bool other_function(const subject *s, test_random *random, fault *made) {
  static const char *const names[] = {"load_shared", "load_generic", "load_shared__bankfold_1",
                                      "load_shared__bankfold_2", "load_generic__bankfold_1"};
  const char *line = s->line[made->first], *at = strstr(line, "load_");
  const char *name = names[random_below(random, 5)];
  size_t size = at ? strcspn(at, ",") : 0;
  if (!at || (strlen(name) == size && strncmp(at, name, size) == 0))
    return false;
  put(made, line, at, size, name);
  return true;
}

typedef struct kind {
  const char *name;
  bool (*fits)(const char *line);
  bool (*change)(const subject *s, test_random *random, fault *made);
  unsigned rejected, harmless, missed;
} kind;

static kind kinds[] = {
    {"a hash dropped", is_xor, without_hash, 0, 0, 0},
    {"an added instruction left out", is_added, left_out, 0, 0, 0},
    {"an added instruction twice", is_added, twice, 0, 0, 0},
    {"another shift", is_shift, other_shift, 0, 0, 0},
    {"another mask", is_mask, other_mask, 0, 0, 0},
    {"another constant", has_number, other_constant, 0, 0, 0},
    {"another operation", is_bitwise, other_operation, 0, 0, 0},
    {"operands swapped", is_added, operands_swapped, 0, 0, 0},
    {"another offset of an access", is_hashed_access, other_offset, 0, 0, 0},
    {"another place of an access", is_hashed_access, other_place, 0, 0, 0},
    {"the hash of another register", is_added, other_source, 0, 0, 0},
    {"another register of ours", is_added, other_result, 0, 0, 0},
    {"another array", names_array, other_array, 0, 0, 0},
    {"a question left out or turned", is_test, other_question, 0, 0, 0},
    {"a guard that the access lacks", is_added, under_guard, 0, 0, 0},
    {"an added instruction moved", is_added, moved, 0, 0, 0},
    {"a label moved", is_label, moved, 0, 0, 0},
    {"an access moved", is_hashed_access, moved, 0, 0, 0},
    {"an instruction moved", is_own, moved, 0, 0, 0},
    {"an instruction left out", is_own, left_out, 0, 0, 0},
    {"an instruction twice", is_own, twice, 0, 0, 0},
    {"a number of an instruction", is_own, other_constant, 0, 0, 0},
    {"another alignment", is_shared, other_alignment, 0, 0, 0},
    {"another size", is_shared, other_size, 0, 0, 0},
    {"another function", is_call, other_function, 0, 0, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Trying ---- */

/* The text with a fault; false without memory. */
static bool seed(const subject *s, const fault *made, bf_text *text) {
  for (unsigned i = 0; i < s->lines; i++) {
    if (i == made->first)
      bf_text_puts(text, made->text);
    if (i < made->first || i >= made->first + made->count)
      bf_text_addf(text, "%s\n", s->line[i]);
  }
  return !text->failed;
}

static unsigned tried, shown; /* rejected faults that were run, and those that did harm */

/* Tries one text: rejected, or harmless, or missed. */
static void judge(subject *s, kind *k, const fault *made, const char *text) {
  if (!is_accepted(s, text)) {
    if (k->rejected++ % 8 == 0) {
      tried++;
      shown += !stores_the_same(s, text);
    }
  } else if (stores_the_same(s, text)) {
    k->harmless++;
  } else if (k->missed++ < 3) {
    printf("missed in %s, line %u: %s\n%s", s->name, made->first, k->name, made->text);
  }
}

/* Seeds faults of a kind; places and changes are random. */
static void try_kind(subject *s, kind *k, test_random *random, unsigned faults) {
  for (unsigned i = 0, tries = 0; i < faults && tries < 20 * faults; tries++) {
    fault made = {.count = 1};
    bf_text text = {0};
    made.first = pick(s, random, k->fits);
    if (made.first == s->lines)
      return;
    if (!k->change(s, random, &made))
      continue;
    if (seed(s, &made, &text) && strcmp(text.data, s->rewritten.data) != 0) {
      judge(s, k, &made, text.data);
      i++;
    }
    bf_text_free(&text);
  }
}

/* Prints the table; faults in all. */
static unsigned print_table(unsigned least) {
  unsigned rejected = 0, harmless = 0, missed = 0;
  printf("%-32s %8s %8s %8s\n", "fault", "rejected", "harmless", "missed");
  for (unsigned i = 0; i < KINDS; i++) {
    const kind *k = &kinds[i];
    printf("%-32s %8u %8u %8u\n", k->name, k->rejected, k->harmless, k->missed);
    rejected += k->rejected;
    harmless += k->harmless;
    missed += k->missed;
    if (k->missed)
      complain(k->name, "missed");
    if (k->rejected < least)
      complain(k->name, "hardly ever rejected");
  }
  printf("%-32s %8u %8u %8u\n", "all", rejected, harmless, missed);
  printf("%d modules; of %u rejected faults that were run, %u do harm with these inputs\n", MODULES,
         tried, shown);
  return rejected + harmless + missed;
}

int main(int count, char **argument) {
  unsigned faults = count > 1 ? (unsigned)strtoul(argument[1], NULL, 0) : 4;
  uint64_t first = count > 2 ? strtoull(argument[2], NULL, 0) : 0;
  static subject s;
  for (uint64_t i = first; i < first + MODULES && !complaints; i++) {
    test_random random = {i * 2 + 77};
    if (make(&s, i))
      for (unsigned k = 0; k < KINDS; k++)
        try_kind(&s, &kinds[k], &random, faults);
    drop(&s);
  }
  unsigned all = print_table(faults);
  if (all < LEAST_FAULTS && faults >= 4)
    complain("faults", "too few");
  if (shown * 4 < tried)
    complain("faults", "hardly one does harm");
  printf("%u complaints\n", complaints);
  return complaints ? 1 : 0;
}
