/* What a reproduction adds to its run, and running it. */
#include "reproduce/frame/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Finding ---- */

const bf_reproduction *bf_reproduce_get(unsigned index) {
  for (const bf_reproduce_file *file = bf_reproduce_files; file->name; file++)
    for (const bf_reproduction *at = file->reproductions; at->name; at++)
      if (index-- == 0)
        return at;
  return NULL;
}

const bf_reproduction *bf_reproduce_find(const char *name) {
  const bf_reproduction *at;
  for (unsigned i = 0; (at = bf_reproduce_get(i)); i++)
    if (strcmp(at->name, name) == 0)
      return at;
  return NULL;
}

/* The text of an embedded file, or NULL. */
static const char *find_text(const bf_reproduce_kernel *at, const char *name) {
  for (; at->name; at++)
    if (strcmp(at->name, name) == 0)
      return at->text;
  return NULL;
}

const char *bf_reproduce_ptx(const char *name) { return find_text(bf_reproduce_kernels, name); }

const char *bf_reproduce_data(const char *name) { return find_text(bf_reproduce_measured, name); }

const char *bf_reproduce_graph(const char *name) { return find_text(bf_reproduce_graphs, name); }

/* ---- What a reproduction asks ---- */

bool bf_reproduce_is_quick(const bf_reproduce_run *run) { return run->settings.quick; }

bool bf_reproduce_is_full(const bf_reproduce_run *run) { return run->settings.full; }

unsigned bf_reproduce_workers(const bf_reproduce_run *run) { return run->settings.workers; }

bf_arena *bf_reproduce_arena(bf_reproduce_run *run) { return &run->arena; }

int bf_reproduce_step(bf_reproduce_run *run, unsigned done, unsigned total, const char *next,
                      bf_diagnostic *diagnostic) {
  if (run->failed)
    return bf_no_memory(diagnostic);
  const bf_reproduce_settings *settings = &run->settings;
  if (settings->progress && !settings->progress(settings->context, done, total, next))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s: stopped", run->reproduction->name);
  return BF_OK;
}

/* ---- Collecting ---- */

/* Zeroed memory of the run, or NULL with the failure noted. */
static void *take(bf_reproduce_run *run, size_t size) {
  void *memory = bf_arena_alloc(&run->arena, size);
  run->failed = run->failed || !memory;
  return memory;
}

/* A copy of text that lives as long as the run; NULL stays NULL. */
static const char *keep(bf_reproduce_run *run, const char *text) {
  if (!text)
    return NULL;
  const char *copy = bf_arena_copy(&run->arena, text);
  run->failed = run->failed || !copy;
  return copy ? copy : "";
}

static const char *keep_formatted(bf_reproduce_run *run, const char *format, va_list arguments) {
  char buffer[2000];
  vsnprintf(buffer, sizeof buffer, format, arguments);
  return keep(run, buffer);
}

/* The names between '|'. */
static void split_columns(bf_reproduce_run *run, const char *columns, bf_reproduce_table *table) {
  size_t count = 1;
  for (const char *at = columns; *at; at++)
    count += *at == '|';
  table->column = take(run, count * sizeof *table->column);
  char *copy = bf_arena_copy(&run->arena, columns);
  if (!table->column || !copy) {
    run->failed = true;
    return;
  }
  char *rest = copy;
  while (table->columns < count)
    table->column[table->columns++] = strsep(&rest, "|");
}

bf_reproduce_table *bf_reproduce_table_add(bf_reproduce_run *run, const char *name,
                                           const char *title, const char *columns) {
  bf_reproduce_table *table = take(run, sizeof *table);
  if (!table)
    return &run->spare;
  table->run = run;
  table->name = keep(run, name);
  table->title = keep(run, title);
  table->last_cell = &table->cell;
  split_columns(run, columns, table);
  *run->last_table = table;
  run->last_table = &table->next;
  return table;
}

void bf_reproduce_cell(bf_reproduce_table *table, const char *format, ...) {
  frame_cell *cell = take(table->run, sizeof *cell);
  if (!cell)
    return;
  va_list arguments;
  va_start(arguments, format);
  cell->text = keep_formatted(table->run, format, arguments);
  va_end(arguments);
  *table->last_cell = cell;
  table->last_cell = &cell->next;
}

void bf_reproduce_table_csv_only(bf_reproduce_table *table) { table->is_csv_only = true; }

/* A copy of count numbers that lives as long as the run, or NULL. */
static const double *keep_list(bf_reproduce_run *run, const double *list, unsigned count) {
  double *copy = count ? take(run, count * sizeof *copy) : NULL;
  if (copy)
    memcpy(copy, list, count * sizeof *copy);
  return copy;
}

/* The first word of what a reproduction reproduces: "braak16" of "braak16, Figs. 1-2". */
static const char *first_document(bf_reproduce_run *run) {
  const char *document = run->reproduction->document;
  char name[40];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(document, ",; "), document);
  return keep(run, name);
}

void bf_reproduce_claim_add(bf_reproduce_run *run, const bf_reproduce_claim *claim) {
  frame_claim *own = take(run, sizeof *own);
  if (!own)
    return;
  bf_reproduce_claim *copy = &own->claim;
  *copy = *claim;
  copy->name = keep(run, claim->name);
  copy->document = claim->document ? keep(run, claim->document) : first_document(run);
  copy->published_text = keep(run, claim->published_text);
  copy->ours_text = keep(run, claim->ours_text);
  copy->published_list = keep_list(run, claim->published_list, claim->count);
  copy->ours_list = keep_list(run, claim->ours_list, claim->count);
  copy->unit = keep(run, claim->unit);
  copy->why = keep(run, claim->why);
  copy->fitted = keep(run, claim->fitted);
  copy->derived = keep(run, claim->derived);
  copy->verdict = bf_reproduce_judge(claim);
  if (copy->verdict == BF_DIFFERS && !claim->why && run->settings.quick)
    copy->why = "the inputs of a quick run are too small for it.";
  if (!copy->published_list || !copy->ours_list)
    copy->count = 0;
  *run->last_claim = own;
  run->last_claim = &own->next;
}

void bf_reproduce_claim_addf(bf_reproduce_run *run, const bf_reproduce_claim *claim,
                             const char *ours, ...) {
  bf_reproduce_claim with = *claim;
  va_list arguments;
  va_start(arguments, ours);
  with.ours_text = keep_formatted(run, ours, arguments);
  va_end(arguments);
  bf_reproduce_claim_add(run, &with);
}

void bf_reproduce_fact(bf_reproduce_run *run, const char *name, const char *published, bool is_so,
                       bool must_hold, const char *why, const char *ours, ...) {
  va_list arguments;
  va_start(arguments, ours);
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = name,
                                               .rule = BF_CLAIM_WORDS,
                                               .published_text = published,
                                               .ours_text = keep_formatted(run, ours, arguments),
                                               .is_so = is_so,
                                               .must_hold = must_hold,
                                               .why = why});
  va_end(arguments);
}

/* A paragraph at the end of those of a list; *last is the place for the next one. */
static void add_note(bf_reproduce_run *run, frame_note ***last, const char *format,
                     va_list arguments) {
  frame_note *note = take(run, sizeof *note);
  if (!note)
    return;
  note->text = keep_formatted(run, format, arguments);
  **last = note;
  *last = &note->next;
}

void bf_reproduce_note(bf_reproduce_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_note(run, &run->last_note, format, arguments);
  va_end(arguments);
}

void bf_reproduce_missing(bf_reproduce_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_note(run, &run->last_missing, format, arguments);
  va_end(arguments);
}

/* ---- Files ---- */

/* Writes text to FOLDER/NAME and frees it. */
static int write_text(const bf_reproduce_run *run, const char *name, const char *extension,
                      bf_text *text, bf_diagnostic *diagnostic) {
  bf_text path = {0};
  bf_text_addf(&path, "%s/%s%s", run->settings.folder, name, extension);
  int error = path.failed || text->failed
                  ? bf_no_memory(diagnostic)
                  : bf_write_file(path.data, text->data, text->size, diagnostic);
  bf_text_free(&path);
  bf_text_free(text);
  return error;
}

int bf_reproduce_chart(bf_reproduce_run *run, const char *name, const bf_chart *chart,
                       bf_diagnostic *diagnostic) {
  bf_text text = {0};
  frame_chart *own = take(run, sizeof *own);
  if (!own)
    return bf_no_memory(diagnostic);
  *own = (frame_chart){.name = keep(run, name), .title = keep(run, chart->title)};
  int error = bf_chart_svg(chart, &text, diagnostic);
  if (error) {
    bf_text_free(&text);
    return error;
  }
  *run->last_chart = own;
  run->last_chart = &own->next;
  return write_text(run, name, ".svg", &text, diagnostic);
}

/* Makes the folder at path and those above it. */
static int make_folders(const char *path, bf_diagnostic *diagnostic) {
  char *copy = strdup(path);
  if (!copy)
    return bf_no_memory(diagnostic);
  int failed = 0;
  for (char *at = copy + 1; !failed; at++) {
    if (*at != '/' && *at)
      continue;
    char old = *at;
    *at = 0;
    failed = mkdir(copy, 0777) && errno != EEXIST;
    *at = old;
    if (!old)
      break;
  }
  free(copy);
  struct stat status;
  if (!failed && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
    return BF_OK;
  return bf_fail_file(diagnostic, BF_IO, path, "cannot make the folder: %s",
                      strerror(failed ? errno : ENOTDIR));
}

static int write_files(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  for (const bf_reproduce_table *table = run->table; table; table = table->next) {
    bf_text text = {0};
    bf_reproduce_csv(table, &text);
    BF_TRY(write_text(run, table->name, ".csv", &text, diagnostic));
  }
  bf_text text = {0};
  bf_reproduce_claims_csv(run, &text);
  BF_TRY(write_text(run, "claims", ".csv", &text, diagnostic));
  text = (bf_text){0};
  bf_reproduce_markdown(run, &text);
  return write_text(run, "index", ".md", &text, diagnostic);
}

/* ---- Running ---- */

int bf_reproduce_execute(const bf_reproduction *reproduction, const bf_reproduce_settings *settings,
                         bf_reproduce_run **result, bf_diagnostic *diagnostic) {
  bf_reproduce_run *run = *result = calloc(1, sizeof *run);
  if (!run)
    return bf_no_memory(diagnostic);
  run->reproduction = reproduction;
  run->settings = *settings;
  if (run->settings.workers == 0)
    run->settings.workers = bf_cores();
  run->last_claim = &run->claim;
  run->last_note = &run->note;
  run->last_missing = &run->missing;
  run->last_chart = &run->chart;
  run->last_table = &run->table;
  run->spare = (bf_reproduce_table){.run = run, .last_cell = &run->spare.cell};
  double start = bf_seconds();
  BF_TRY(make_folders(settings->folder, diagnostic));
  BF_TRY(reproduction->run(run, diagnostic));
  run->seconds = bf_seconds() - start;
  if (run->failed)
    return bf_no_memory(diagnostic);
  return write_files(run, diagnostic);
}

void bf_reproduce_free(bf_reproduce_run *run) {
  if (run)
    bf_arena_free(&run->arena);
  free(run);
}

unsigned bf_reproduce_failures(const bf_reproduce_run *run) {
  unsigned failures = 0;
  for (const frame_claim *at = run->claim; at; at = at->next)
    failures += at->claim.must_hold && at->claim.verdict == BF_DIFFERS;
  return failures;
}
