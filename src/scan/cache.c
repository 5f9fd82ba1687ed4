/* What was found before. A file holds the kernels of a module of PTX under a key of its text, and
 * one more what a source compiled to, with all files that the compiler read. A file that is not as
 * this version writes it, or is of somebody else, is passed over and written again. */
#include "base/rows.h"
#include "scan/inner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const bf_rows_form kernels_form = {"scan", 2}, compiled_form = {"compiled", 1};

typedef struct kernel_row {
  const char *name, *readable, *block, *block_from, *rests_on, *change, *reason;
  uint64_t lines;
  double share;
  bf_scan_reasons because;
} kernel_row;

static const bf_field kernel_fields[] = {
    BF_FIELD(kernel_row, name),           BF_FIELD(kernel_row, readable),
    BF_FIELD(kernel_row, block),          BF_FIELD(kernel_row, block_from),
    BF_FIELD(kernel_row, rests_on),       BF_FIELD_OR_NULL(kernel_row, change),
    BF_FIELD(kernel_row, reason),         BF_FIELD(kernel_row, lines),
    BF_FIELD(kernel_row, share),          BF_FIELD(kernel_row, because.address),
    BF_FIELD(kernel_row, because.data),   BF_FIELD(kernel_row, because.lanes),
    BF_FIELD(kernel_row, because.offset), BF_FIELD(kernel_row, because.count)};
static const bf_row kernel_form = BF_ROW("kernel", kernel_fields);

static const bf_field line_fields[] = {
    BF_FIELD_OR_NULL(bf_scan_line, file), BF_FIELD(bf_scan_line, line),
    BF_FIELD_OR_NULL(bf_scan_line, what), BF_FIELD(bf_scan_line, accesses),
    BF_FIELD(bf_scan_line, wavefronts),   BF_FIELD(bf_scan_line, ideal),
    BF_FIELD(bf_scan_line, conflicts),    BF_FIELD(bf_scan_line, sites),
    BF_FIELD(bf_scan_line, exact),        BF_FIELD(bf_scan_line, each),
    BF_FIELD(bf_scan_line, assumed),      BF_FIELD(bf_scan_line, unknown)};
static const bf_row line_form = BF_ROW("line", line_fields);

typedef struct ptx_row {
  const char *key;
} ptx_row;
static const bf_field ptx_fields[] = {BF_FIELD(ptx_row, key)};
static const bf_row ptx_form = BF_ROW("ptx", ptx_fields);

/* A file that the compiler read, and what it was then. */
typedef struct input_row {
  const char *path;
  uint64_t bytes, seconds, nanoseconds;
} input_row;
static const bf_field input_fields[] = {BF_FIELD(input_row, path), BF_FIELD(input_row, bytes),
                                        BF_FIELD(input_row, seconds),
                                        BF_FIELD(input_row, nanoseconds)};
static const bf_row input_form = BF_ROW("input", input_fields);

/* ---- Keys ---- */

/* FNV-1a of 64 bits from a seed. */
static uint64_t mix(uint64_t seed, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    seed = (seed ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
  return seed;
}

scan_key scan_key_of(const bf_scan_options *options, const bf_source_launches *launches,
                     const void *bytes, size_t size) {
  const char *machine = bf_machine_name(options->machine);
  uint64_t launched = bf_source_launches_key(launches);
  uint64_t half[2] = {0xcbf29ce484222325ull, 0x9e3779b97f4a7c15ull};
  for (unsigned i = 0; i < 2; i++) {
    half[i] = mix(half[i], BF_VERSION, sizeof BF_VERSION);
    half[i] = mix(half[i], machine, strlen(machine) + 1);
    half[i] = mix(half[i], options->block, sizeof options->block);
    half[i] = mix(half[i], &launched, sizeof launched);
    half[i] = mix(half[i], bytes, size);
  }
  scan_key key;
  snprintf(key.text, sizeof key.text, "%016llx%016llx", (unsigned long long)half[0],
           (unsigned long long)half[1]);
  return key;
}

/* ---- Files ---- */

/* The path of a file of the cache. */
static bool path_of(const bf_scan_options *options, const scan_key *key, const char *end,
                    char path[PATH_MAX]) {
  return options->cache &&
         snprintf(path, PATH_MAX, "%s/%s%s", options->cache, key->text, end) < PATH_MAX;
}

/* Whether a file is the user's own, and nobody else may write to it. */
static bool is_own(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && status.st_uid == geteuid() && !(status.st_mode & 022);
}

/* Makes a folder and those above it. */
static void make_folder(const char *folder) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", folder);
  for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
}

/* Writes a file, and frees its text; what cannot be written is not kept. */
static void write_file(const bf_scan_options *options, const char *path, bf_text *text) {
  bf_diagnostic unused;
  bf_rows_end(text);
  make_folder(options->cache);
  if (!text->failed && is_own(options->cache) &&
      bf_write_file(path, text->data, text->size, &unused) == BF_OK)
    chmod(path, 0600);
  bf_text_free(text);
}

bool bf_scan_cache_folder(char *folder, size_t bytes) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache == '/')
    return snprintf(folder, bytes, "%s/bankfold/scan", cache) < (int)bytes;
  return home && *home == '/' &&
         snprintf(folder, bytes, "%s/.cache/bankfold/scan", home) < (int)bytes;
}

/* ---- Kernels ---- */

void scan_cache_write(const bf_scan_options *options, const scan_key *key,
                      const scan_kernels *kernels) {
  char path[PATH_MAX];
  bf_text text = {0};
  if (!path_of(options, key, "", path))
    return;
  bf_rows_begin(&kernels_form, &text);
  for (size_t i = 0; i < kernels->count; i++) {
    const bf_scan_kernel *own = &kernels->kernel[i];
    const kernel_row row = {own->name,   own->readable, own->block, own->block_from, own->rests_on,
                            own->change, own->reason,   own->lines, own->share,      own->because};
    bf_row_write(&kernel_form, &row, &text);
    for (uint64_t k = 0; k < own->lines; k++)
      bf_row_write(&line_form, &own->line[k], &text);
  }
  write_file(options, path, &text);
}

/* Kernels while they are read. */
typedef struct reading {
  scan_kernels *kernels;
  const char *unit;
  uint64_t left; /* lines of the last one */
} reading;

/* A copy that may be NULL. */
static bool keep(reading *r, const char **text) {
  if (*text)
    *text = bf_arena_copy(&r->kernels->arena, *text);
  return *text != NULL;
}

static int take_line(reading *r, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_scan_line line;
  BF_TRY(bf_rows_get(rows, &line_form, &line, diagnostic));
  if (!r->left)
    return bf_rows_fail(rows, diagnostic, "a line too many");
  keep(r, &line.file);
  keep(r, &line.what);
  bf_scan_kernel *own = &r->kernels->kernel[r->kernels->count - 1];
  own->line[own->lines - r->left--] = line;
  own->accesses += line.accesses;
  own->wavefronts += line.wavefronts;
  own->ideal += line.ideal;
  own->conflicts += line.conflicts;
  own->sites += line.sites;
  own->exact += line.exact;
  own->each += line.each;
  own->assumed += line.assumed;
  own->unknown += line.unknown;
  return BF_OK;
}

static int take_row(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  enum { MOST_LINES = 1 << 20 };
  reading *r = context;
  kernel_row row;
  if (bf_rows_is(rows, &line_form))
    return take_line(r, rows, diagnostic);
  BF_TRY(bf_rows_get(rows, &kernel_form, &row, diagnostic));
  if (r->left || row.lines > MOST_LINES)
    return bf_rows_fail(rows, diagnostic, "lines are missing");
  bool has_change = row.change != NULL;
  bf_scan_kernel *own = scan_add_kernel(r->kernels);
  if (!own || !keep(r, &row.name) || !keep(r, &row.readable) || !keep(r, &row.block) ||
      !keep(r, &row.block_from) || !keep(r, &row.rests_on) || !keep(r, &row.reason) ||
      (has_change && !keep(r, &row.change)))
    return bf_no_memory(diagnostic);
  *own = (bf_scan_kernel){.unit = r->unit,
                          .name = row.name,
                          .readable = row.readable,
                          .block = row.block,
                          .block_from = row.block_from,
                          .rests_on = row.rests_on,
                          .change = row.change,
                          .reason = row.reason,
                          .share = row.share,
                          .lines = row.lines,
                          .because = row.because};
  own->line = bf_arena_alloc(&r->kernels->arena, (row.lines + 1) * sizeof *own->line);
  r->left = row.lines;
  return own->line ? BF_OK : bf_no_memory(diagnostic);
}

bool scan_cache_read(const bf_scan_options *options, const scan_key *key, const char *unit,
                     scan_kernels *kernels) {
  char path[PATH_MAX];
  bf_diagnostic unused;
  reading r = {.kernels = kernels, .unit = unit};
  if (path_of(options, key, "", path) && is_own(path) &&
      bf_rows_read(path, &kernels_form, take_row, &r, &unused) == BF_OK && !r.left)
    return true;
  scan_kernels_free(kernels);
  return false;
}

/* ---- What sources compiled to ---- */

/* Fills what a file is now; false where there is none. */
static bool look_at(const char *path, input_row *row) {
  struct stat status;
  if (stat(path, &status) != 0)
    return false;
  *row = (input_row){path, (uint64_t)status.st_size, (uint64_t)status.st_mtim.tv_sec,
                     (uint64_t)status.st_mtim.tv_nsec};
  return true;
}

void scan_cache_keep_compiled(const bf_scan_options *options, const scan_key *command,
                              const scan_key *ptx, const bf_text *inputs) {
  char path[PATH_MAX];
  bf_text text = {0};
  if (!inputs->size || !path_of(options, command, ".compiled", path))
    return;
  bf_rows_begin(&compiled_form, &text);
  bf_row_write(&ptx_form, &(ptx_row){ptx->text}, &text);
  bool is_good = true;
  for (const char *at = inputs->data; is_good && *at; at += strcspn(at, "\n") + 1) {
    char name[PATH_MAX];
    input_row row;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
    is_good = look_at(name, &row);
    if (is_good)
      bf_row_write(&input_form, &row, &text);
  }
  if (is_good)
    write_file(options, path, &text);
  else
    bf_text_free(&text);
}

/* Compares a file that the compiler read with what it is now. */
static int take_input(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  scan_key *ptx = context;
  ptx_row made;
  input_row then, now;
  if (bf_rows_is(rows, &ptx_form)) {
    BF_TRY(bf_rows_get(rows, &ptx_form, &made, diagnostic));
    snprintf(ptx->text, sizeof ptx->text, "%.32s", made.key);
    return BF_OK;
  }
  BF_TRY(bf_rows_get(rows, &input_form, &then, diagnostic));
  bool is_same = look_at(then.path, &now) && now.bytes == then.bytes &&
                 now.seconds == then.seconds && now.nanoseconds == then.nanoseconds;
  return is_same ? BF_OK : bf_rows_fail(rows, diagnostic, "it has changed");
}

bool scan_cache_compiled(const bf_scan_options *options, const scan_key *command, scan_key *ptx) {
  char path[PATH_MAX];
  bf_diagnostic unused;
  *ptx = (scan_key){{0}};
  return path_of(options, command, ".compiled", path) && is_own(path) &&
         bf_rows_read(path, &compiled_form, take_input, ptx, &unused) == BF_OK &&
         strlen(ptx->text) == 32;
}
