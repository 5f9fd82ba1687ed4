/* What was found in a project, as text, as JSON, and for limits. */
#include "scan/show.h"

#include "ptx/demangle.h"

#include <stdlib.h>
#include <string.h>

/* ---- Order ---- */

/* The share of the time that a change is predicted to save. */
static double worth(const bf_scan_kernel *kernel) { return kernel->change ? 1 - kernel->share : 0; }

static int compare_conflicts(const void *a, const void *b) {
  const bf_scan_kernel *one = *(bf_scan_kernel *const *)a, *other = *(bf_scan_kernel *const *)b;
  if (one->conflicts != other->conflicts)
    return one->conflicts < other->conflicts ? 1 : -1;
  return one < other ? -1 : one > other;
}

static int compare_worth(const void *a, const void *b) {
  const bf_scan_kernel *one = *(bf_scan_kernel *const *)a, *other = *(bf_scan_kernel *const *)b;
  if (worth(one) != worth(other))
    return worth(one) < worth(other) ? 1 : -1;
  return compare_conflicts(a, b);
}

int bf_scan_rank(const bf_scan *scan, bf_scan_order order, const bf_scan_kernel ***ranked,
                 bf_diagnostic *diagnostic) {
  *ranked = calloc(scan->kernels + 1, sizeof **ranked);
  if (!*ranked)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < scan->kernels; i++)
    (*ranked)[i] = &scan->kernel[i];
  qsort(*ranked, scan->kernels, sizeof **ranked,
        order == BF_SCAN_BY_WORTH ? compare_worth : compare_conflicts);
  return BF_OK;
}

/* ---- Text ---- */

static unsigned percent(uint64_t part, uint64_t whole) {
  return whole ? (unsigned)((200 * part / whole + 1) / 2) : 0;
}

/* A text on one line: breaks become commas. */
static void add_flat(const char *string, bf_text *text) {
  for (const char *at = string; *at;) {
    size_t length = strcspn(at, "\n");
    bf_text_add(text, at, length);
    at += length + (at[length] == '\n');
    bf_text_puts(text, *at ? ", " : "");
  }
}

/* An entry of a list of hashes for people: "tile pad:32+1" for KERNEL[ARRAY] HASH, and nothing for
 * the kernel's other arrays, which stay as they are. */
static void add_entry(const char *entry, size_t size, bf_text *text) {
  char line[1024];
  snprintf(line, sizeof line, "%.*s", (int)size, entry);
  char *hash = strrchr(line, ' '), *array = strchr(line, '[');
  if (!hash || strcmp(hash, " none") == 0)
    return;
  bf_text_puts(text, text->size && text->data[text->size - 1] != ' ' ? ", " : "");
  *hash = 0;
  if (array) {
    bf_text readable = {0};
    array[strcspn(array, "]")] = 0;
    bf_ptx_readable_name(array + 1, &readable);
    bf_text_addf(text, "%s ", readable.data ? readable.data : array + 1);
    bf_text_free(&readable);
  }
  bf_text_puts(text, hash + 1);
}

static void add_change(const char *change, bf_text *text) {
  for (const char *at = change; *at;) {
    size_t length = strcspn(at, "\n");
    add_entry(at, length, text);
    at += length + (at[length] == '\n');
  }
}

enum { MOST_LINES_SHOWN = 3 };

static void show_lines(const bf_scan_kernel *kernel, bf_text *text) {
  unsigned shown = 0;
  for (uint64_t i = 0; i < kernel->lines && shown < MOST_LINES_SHOWN; i++) {
    const bf_scan_line *line = &kernel->line[i];
    if (!line->conflicts)
      break;
    bf_text_addf(text, "%24s%s%s%llu: %llu conflict%s%s%s\n", "", line->file ? line->file : "PTX",
                 line->file ? ":" : " line ", (unsigned long long)line->line,
                 (unsigned long long)line->conflicts, line->conflicts == 1 ? "" : "s",
                 line->what ? ": " : "", line->what ? line->what : "");
    shown++;
  }
}

static void show_kernel(const bf_scan_kernel *kernel, bool has_colour, bf_text *text) {
  char left[16] = "-";
  if (kernel->change)
    snprintf(left, sizeof left, "%.0f%%", 100 * kernel->share);
  bf_text_addf(text, "%10llu  %4u%%  %4s  %s", (unsigned long long)kernel->conflicts,
               percent(kernel->conflicts, kernel->wavefronts), left, has_colour ? "\033[1m" : "");
  bf_text_addf(text, "%s%s\n", kernel->readable, has_colour ? "\033[0m" : "");
  bf_text_addf(text, "%24s%s, blocks of %s (%s)", "", kernel->unit, kernel->block,
               kernel->block_from);
  if (kernel->places)
    bf_text_addf(text, ", and in %llu more", (unsigned long long)kernel->places);
  bf_text_puts(text, "\n");
  if (kernel->rests_on && *kernel->rests_on)
    bf_text_addf(text, "%24s%s\n", "", kernel->rests_on);
  show_lines(kernel, text);
  bf_text_addf(text, "%24s", "");
  if (kernel->change) {
    bf_text_puts(text, has_colour ? "\033[32mchange: " : "change: ");
    add_change(kernel->change, text);
    bf_text_puts(text, has_colour ? "\033[0m: " : ": ");
  } else {
    bf_text_puts(text, "no change: ");
  }
  add_flat(kernel->reason && *kernel->reason ? kernel->reason : "few of its wavefronts conflict",
           text);
  bf_text_puts(text, "\n");
}

/* What keeps instructions from being known exactly, in a line. */
static void show_reasons(const bf_scan *scan, bf_text *text) {
  bf_scan_reasons all = {0};
  for (size_t i = 0; i < scan->kernels; i++) {
    const bf_scan_reasons *own = &scan->kernel[i].because;
    all.address += own->address;
    all.data += own->data;
    all.lanes += own->lanes;
    all.offset += own->offset;
    all.count += own->count;
  }
  if (all.address + all.data + all.lanes + all.offset + all.count)
    bf_text_addf(
        text,
        "not exactly, because these are unknown: addresses of lanes %llu, data %llu, which "
        "lanes take part %llu, an offset %llu, how often and how %llu\n",
        (unsigned long long)all.address, (unsigned long long)all.data,
        (unsigned long long)all.lanes, (unsigned long long)all.offset,
        (unsigned long long)all.count);
}

/* How much is known, in a line. */
static void show_sums(const bf_scan *scan, size_t with_conflicts, bf_text *text) {
  uint64_t sites = 0, exact = 0, each = 0, assumed = 0, unknown = 0, guessed = 0;
  size_t changed = 0;
  for (size_t i = 0; i < scan->kernels; i++) {
    sites += scan->kernel[i].sites;
    exact += scan->kernel[i].exact;
    each += scan->kernel[i].each;
    guessed += strcmp(scan->kernel[i].block_from, "assumed") == 0 ? scan->kernel[i].sites : 0;
    assumed += scan->kernel[i].assumed;
    unknown += scan->kernel[i].unknown;
    changed += scan->kernel[i].change != NULL;
  }
  bf_text_addf(text,
               "%zu file%s, %zu kernel%s with shared memory, %zu with conflicts, %zu with a change "
               "that is predicted to win\n",
               scan->units, scan->units == 1 ? "" : "s", scan->kernels,
               scan->kernels == 1 ? "" : "s", with_conflicts, changed);
  if (sites)
    bf_text_addf(
        text,
        "%llu instructions on shared memory: %u%% known exactly (%u%% but for how many accesses), "
        "%u%% on assumptions, %u%% with addresses; %u%% in blocks of an assumed shape\n",
        (unsigned long long)sites, percent(exact, sites), percent(each, sites),
        percent(assumed, sites), percent(sites - unknown, sites), percent(guessed, sites));
  show_reasons(scan, text);
}

void bf_scan_show(const bf_scan *scan, const bf_scan_kernel *const *ranked, size_t most,
                  bool has_colour, bf_text *text) {
  size_t with_conflicts = 0, shown = 0;
  for (size_t i = 0; i < scan->kernels; i++)
    with_conflicts += ranked[i]->conflicts > 0;
  show_sums(scan, with_conflicts, text);
  for (size_t i = 0; i < scan->kernels && shown < most; i++) {
    if (!ranked[i]->conflicts)
      continue;
    if (shown++ == 0)
      bf_text_puts(text, "\n conflicts  share  left  kernel; numbers are of one block\n");
    show_kernel(ranked[i], has_colour, text);
  }
  if (shown < with_conflicts)
    bf_text_addf(text, "%24s... and %zu more; --top shows more, --json all\n", "",
                 with_conflicts - shown);
  if (scan->faults)
    bf_text_puts(text, "\nNot looked at:\n");
  for (size_t i = 0; i < scan->faults; i++)
    bf_text_addf(text, "  %s: %s\n", scan->fault[i].unit, scan->fault[i].why);
}

/* ---- JSON ---- */

static void write_counts(bf_json *json, uint64_t accesses, uint64_t wavefronts, uint64_t ideal,
                         uint64_t conflicts) {
  bf_json_number(json, "accesses", accesses);
  bf_json_number(json, "wavefronts", wavefronts);
  bf_json_number(json, "ideal", ideal);
  bf_json_number(json, "conflicts", conflicts);
}

static void write_line(bf_json *json, const bf_scan_line *line) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_number(json, "line", line->file ? 0 : line->line);
  bf_json_string(json, "source_file", line->file);
  bf_json_number(json, "source_line", line->file ? line->line : 0);
  bf_json_string(json, "explanation", line->what);
  bf_json_number(json, "instructions", line->sites);
  bf_json_number(json, "exact", line->exact);
  bf_json_number(json, "each", line->each);
  bf_json_number(json, "assumed", line->assumed);
  bf_json_number(json, "unknown", line->unknown);
  write_counts(json, line->accesses, line->wavefronts, line->ideal, line->conflicts);
  bf_json_end(json, '}');
}

static void write_kernel(bf_json *json, const bf_scan_kernel *kernel) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", kernel->readable);
  bf_json_string(json, "symbol", kernel->name);
  bf_json_string(json, "file", kernel->unit);
  bf_json_number(json, "other_files", kernel->places);
  bf_json_string(json, "block", kernel->block);
  bf_json_string(json, "block_from", kernel->block_from);
  bf_json_string(json, "rests_on", kernel->rests_on);
  bf_json_number(json, "instructions", kernel->sites);
  bf_json_number(json, "exact", kernel->exact);
  bf_json_number(json, "each", kernel->each);
  bf_json_number(json, "assumed", kernel->assumed);
  bf_json_number(json, "unknown", kernel->unknown);
  bf_json_begin(json, "because", '{', true);
  bf_json_number(json, "address", kernel->because.address);
  bf_json_number(json, "data", kernel->because.data);
  bf_json_number(json, "lanes", kernel->because.lanes);
  bf_json_number(json, "offset", kernel->because.offset);
  bf_json_number(json, "count", kernel->because.count);
  bf_json_end(json, '}');
  write_counts(json, kernel->accesses, kernel->wavefronts, kernel->ideal, kernel->conflicts);
  bf_json_string(json, "change", kernel->change);
  bf_json_real(json, "share", kernel->share);
  bf_json_string(json, "reason", kernel->reason);
  bf_json_begin(json, "sites", '[', false);
  for (uint64_t i = 0; i < kernel->lines; i++)
    write_line(json, &kernel->line[i]);
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

void bf_scan_write_json(const bf_scan *scan, const bf_scan_kernel *const *ranked,
                        const char *machine, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "machine", machine);
  bf_json_number(&json, "files", scan->units);
  bf_json_begin(&json, "kernels", '[', false);
  for (size_t i = 0; i < scan->kernels; i++)
    write_kernel(&json, ranked[i]);
  bf_json_end(&json, ']');
  bf_json_begin(&json, "faults", '[', false);
  for (size_t i = 0; i < scan->faults; i++) {
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "file", scan->fault[i].unit);
    bf_json_string(&json, "why", scan->fault[i].why);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

/* ---- Limits ---- */

int bf_scan_find_limits(const bf_scan *scan, bf_gate *gate, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < scan->kernels; i++)
    for (uint64_t k = 0; k < scan->kernel[i].lines; k++) {
      const bf_scan_line *line = &scan->kernel[i].line[k];
      const bf_finding found = {.file = line->file ? line->file : scan->kernel[i].unit,
                                .line = line->line,
                                .name = scan->kernel[i].readable,
                                .what = line->what,
                                .wavefronts = line->wavefronts,
                                .conflicts = line->conflicts};
      BF_TRY(bf_gate_add(gate, &found, diagnostic));
    }
  return BF_OK;
}
