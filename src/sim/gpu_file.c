/* GPU files (docs/machines.md): one line for each parameter of gpu.def, with its basis and source,
 * and lines that name the GPU, its shared memory (a machine) and the GPU file that it starts from.
 */
#include "memory/lines.h"
#include "sim/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BASES = 8 };

typedef struct reader {
  bf_lines lines;
  bf_sim_gpu *gpu;
  const struct reader *outer; /* reads the file that has this one as its base */
  bool has_machine;           /* this file names one */
  bool is_late;               /* for base: a line that must follow it was read */
  bool *given;                /* parameters that this file gives */
} reader;

static int read_gpu(const char *file, const char *text, const reader *outer, bf_sim_gpu **gpu,
                    bf_diagnostic *diagnostic);

/* ---- name, title, machine ---- */

static int parse_name(reader *r) {
  if (r->gpu->name)
    return BF_LINES_FAIL(&r->lines, 0, "name is given twice");
  return bf_lines_take_name(&r->lines, "a name", &r->gpu->name);
}

static int parse_title(reader *r) {
  if (r->gpu->title)
    return BF_LINES_FAIL(&r->lines, 0, "title is given twice");
  return bf_lines_take_rest(&r->lines, "a title", &r->gpu->title);
}

/* Other names, which bf_lines_find_file reads. */
static int parse_also(reader *r) {
  char *names;
  return bf_lines_take_rest(&r->lines, "other names", &names);
}
static int parse_source(reader *r) {
  r->is_late = true;
  return bf_lines_take_source(&r->lines);
}

static bool is_path(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".gpu") == 0);
}

/* A path that a file names starts at the folder of that file. */
static char *beside(reader *r, const char *path) {
  const char *slash = strrchr(r->lines.file, '/');
  size_t folder = slash && *path != '/' ? (size_t)(slash - r->lines.file) + 1 : 0;
  char *whole = bf_arena_alloc(&r->gpu->arena, folder + strlen(path) + 1);
  if (whole) {
    memcpy(whole, r->lines.file, folder);
    strcpy(whole + folder, path);
  }
  return whole;
}

static int parse_machine(reader *r) {
  const char *name = bf_lines_peek(&r->lines);
  if (!*name)
    return BF_LINES_FAIL(&r->lines, r->lines.next, "expected the name of a machine");
  if (r->has_machine)
    return BF_LINES_FAIL(&r->lines, 0, "machine is given twice");
  char *path = strpbrk(name, "/.") ? beside(r, name) : bf_arena_copy(&r->gpu->arena, name);
  if (!path)
    return bf_lines_no_memory(&r->lines);
  bf_machine *machine;
  bf_diagnostic problem;
  int error = bf_machine_load(path, NULL, &machine, &problem);
  if (error == BF_NO_MEMORY)
    return bf_lines_no_memory(&r->lines);
  if (error)
    return BF_LINES_FAIL(&r->lines, r->lines.next, "%s%s%s", problem.file,
                         *problem.file ? ": " : "", problem.message);
  bf_machine_free(r->gpu->machine);
  r->gpu->machine = machine;
  r->has_machine = r->is_late = true;
  r->lines.next++;
  return BF_OK;
}

/* ---- base ---- */

static int check_circle(reader *r, const char *path) {
  unsigned depth = 1;
  for (const reader *at = r; at; at = at->outer, depth++)
    if (strcmp(at->lines.file, path) == 0)
      return BF_LINES_FAIL(&r->lines, r->lines.next, "'%.80s' has itself as its base", path);
  if (depth > MOST_BASES)
    return BF_LINES_FAIL(&r->lines, r->lines.next, "more than %d bases below each other",
                         MOST_BASES);
  return BF_OK;
}

static int load_gpu(const char *name, const reader *outer, bf_sim_gpu **gpu,
                    bf_diagnostic *diagnostic) {
  if (!is_path(name)) {
    const bf_embedded_machine *file = bf_lines_find_file(bf_embedded_gpus, name);
    return file ? read_gpu(file->name, file->text, outer, gpu, diagnostic)
                : bf_lines_no_file(bf_embedded_gpus, "GPU", name, diagnostic);
  }
  bf_text text = {0};
  int error = bf_lines_read_file(name, "GPU", &text, diagnostic);
  if (!error)
    error = read_gpu(name, text.data, outer, gpu, diagnostic);
  bf_text_free(&text);
  return error;
}

/* Takes over all that base says, but its name and title. What was measured there is assumed here.
 */
static int inherit(reader *r, bf_sim_gpu *base) {
  char assumed[] = "assumed";
  bf_sim_gpu_copy_values(r->gpu, base);
  for (size_t i = 0; i < base->fact_count; i++) {
    bf_machine_fact fact = base->facts[i];
    if (strcmp(fact.basis, "measured") == 0)
      fact.basis = assumed;
    BF_TRY(bf_sim_gpu_keep_fact(r->gpu, &fact, r->lines.diagnostic));
  }
  BF_TRY(bf_lines_inherit_sources(&r->lines, base->source_name, base->source_text,
                                  base->source_count));
  bf_machine_free(r->gpu->machine);
  r->gpu->machine = base->machine;
  base->machine = NULL;
  return BF_OK;
}

static int parse_base(reader *r) {
  const char *name = bf_lines_peek(&r->lines);
  if (!*name)
    return BF_LINES_FAIL(&r->lines, r->lines.next, "expected the name of a GPU");
  if (r->is_late)
    return BF_LINES_FAIL(&r->lines, 0, "base comes once, before all but name and title");
  char *path = is_path(name) ? beside(r, name) : bf_arena_copy(&r->gpu->arena, name);
  if (!path)
    return bf_lines_no_memory(&r->lines);
  BF_TRY(check_circle(r, path));
  if (!is_path(path) && !bf_lines_find_file(bf_embedded_gpus, path)) {
    bf_diagnostic problem;
    bf_lines_no_file(bf_embedded_gpus, "GPU", path, &problem);
    return BF_LINES_FAIL(&r->lines, r->lines.next, "%s", problem.message);
  }
  bf_sim_gpu *base;
  BF_TRY(load_gpu(path, r, &base, r->lines.diagnostic));
  int error = inherit(r, base);
  bf_sim_gpu_free(base);
  r->is_late = true;
  r->lines.next++;
  return error;
}

/* ---- Parameters ---- */

static int parse_parameter(reader *r, const bf_sim_parameter *parameter) {
  bf_lines *lines = &r->lines;
  bool *given = &r->given[parameter - bf_sim_parameters];
  if (*given)
    return BF_LINES_FAIL(lines, 0, "%s is given twice", parameter->name);
  *given = r->is_late = true;
  BF_TRY(bf_lines_take_basis(lines));
  char problem[BF_SIM_GPU_PROBLEM];
  if (!bf_sim_gpu_assign(r->gpu, parameter, bf_lines_peek(lines), problem))
    return BF_LINES_FAIL(lines, lines->next, "%s", problem);
  lines->next++;
  bf_machine_fact fact;
  BF_TRY(bf_lines_fact(lines, 1, &fact));
  return bf_sim_gpu_keep_fact(r->gpu, &fact, lines->diagnostic);
}

static int parse_key(reader *r) {
  static const struct {
    const char *name;
    int (*parse)(reader *r);
  } keys[] = {{"name", parse_name},     {"title", parse_title},     {"also", parse_also},
              {"source", parse_source}, {"machine", parse_machine}, {"base", parse_base}};
  const char *key = r->lines.word[0];
  r->lines.next = 1;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(key, keys[i].name) == 0)
      return keys[i].parse(r);
  char problem[BF_SIM_GPU_PROBLEM];
  const bf_sim_parameter *parameter = bf_sim_gpu_find(key, problem);
  if (!parameter)
    return BF_LINES_FAIL(&r->lines, 0, "%s", problem);
  return parse_parameter(r, parameter);
}

/* ---- The whole file ---- */

static int check_complete(reader *r) {
  const bf_sim_gpu *gpu = r->gpu;
  const char *missing = !gpu->name      ? "name"
                        : !gpu->title   ? "title"
                        : !gpu->machine ? "machine"
                                        : NULL;
  if (missing)
    return BF_LINES_FAIL(&r->lines, 0, "the file ends without '%s'", missing);
  bf_diagnostic problem;
  if (bf_sim_gpu_check(gpu, &problem) != BF_OK)
    return bf_fail_file(r->lines.diagnostic, BF_BAD_INPUT, r->lines.file, "%s", problem.message);
  return BF_OK;
}

static int parse_text(reader *r, const char *text) {
  BF_TRY(bf_lines_begin(&r->lines, text));
  while (*text) {
    BF_TRY(bf_lines_next(&r->lines, &text));
    if (!r->lines.words)
      continue;
    BF_TRY(parse_key(r));
    BF_TRY(bf_lines_expect_end(&r->lines));
  }
  r->gpu->source_name = r->lines.source_name;
  r->gpu->source_text = r->lines.source_text;
  r->gpu->source_count = r->lines.source_count;
  return check_complete(r);
}

static size_t count_parameters(void) {
  size_t count = 0;
  while (bf_sim_parameters[count].name)
    count++;
  return count;
}

static int read_gpu(const char *file, const char *text, const reader *outer, bf_sim_gpu **gpu,
                    bf_diagnostic *diagnostic) {
  *gpu = NULL;
  reader r = {.lines = {.file = file, .diagnostic = diagnostic},
              .gpu = calloc(1, sizeof(bf_sim_gpu)),
              .outer = outer};
  if (!r.gpu)
    return bf_lines_no_memory(&r.lines);
  r.lines.arena = &r.gpu->arena;
  r.given = bf_arena_alloc(&r.gpu->arena, count_parameters() * sizeof *r.given);
  bf_sim_gpu_reset(r.gpu);
  int error = r.given ? parse_text(&r, text) : bf_lines_no_memory(&r.lines);
  if (error)
    bf_sim_gpu_free(r.gpu);
  else
    *gpu = r.gpu;
  return error;
}

int bf_sim_gpu_parse(const char *file, const char *text, bf_sim_gpu **gpu,
                     bf_diagnostic *diagnostic) {
  return read_gpu(file, text, NULL, gpu, diagnostic);
}

int bf_sim_gpu_load(const char *name, bf_sim_gpu **gpu, bf_diagnostic *diagnostic) {
  *gpu = NULL;
  return load_gpu(name, NULL, gpu, diagnostic);
}
