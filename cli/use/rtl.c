/* rtl: hash units as Verilog with test benches, and what they cost. */
#include "cli/cli.h"
#include "report/chart.h"
#include "rtl/cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  const char *family, *hash, *locks, *config, *name, *output, *liberty, *timing;
  uint64_t vectors, copies;
  double clock_ghz; /* 0: no target */
} settings;

static const cli_option options[] = {
    {"family", CLI_TEXT, offsetof(settings, family), "NAME",
     "bit-vector-perm bit-vector-xor bitwise-perm bitwise-xor",
     "a unit that can be configured for every hash of this family"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL, "a unit for this hash alone"},
    {"locks", CLI_TEXT, offsetof(settings, locks), "HOW", "xor add",
     "a unit for the bank and the lock of an atomic operation"},
    {"config", CLI_TEXT, offsetof(settings, config), "HOW", "encoded one-hot",
     "family: choices as numbers (default), or as a wire for each"},
    {"copies", CLI_NUMBER, offsetof(settings, copies), "N", NULL,
     "family: registers that hold the word, each for some bank bits (default 1)"},
    {"banks", CLI_NUMBER, offsetof(settings, common.banks), "N", NULL, "banks (default 32)"},
    {"address-bits", CLI_NUMBER, offsetof(settings, common.address_bits), "N", NULL,
     "the memory has 2^N words (default 14)"},
    {"word-bytes", CLI_NUMBER, offsetof(settings, common.word_bytes), "N", NULL,
     "bytes per word (default 4)"},
    {"vectors", CLI_NUMBER, offsetof(settings, vectors), "N", NULL,
     "random vectors of the test bench (default 100000); fixed units of up to 2^20 words are\n"
     "                           tested on every word"},
    {"name", CLI_TEXT, offsetof(settings, name), "NAME", NULL,
     "what names of modules and files start with"},
    {"output", CLI_TEXT, offsetof(settings, output), "DIR", NULL,
     "the folder to write to; -o for short. cost: charts, where it is given"},
    {"liberty", CLI_TEXT, offsetof(settings, liberty), "FILE", NULL,
     "cost: a library of standard cells (default OSU018 as Debian has it)"},
    {"timing", CLI_TEXT, offsetof(settings, timing), "WHOSE", "own opensta",
     "cost: delays by the program itself, or by OpenSTA (default where it is present)"},
    {"clock", CLI_REAL, offsetof(settings, clock_ghz), "GHZ", NULL,
     "cost: the smallest unit that reaches this clock: at 40 nm, or with --liberty as it is\n"
     "                           (default 0: no target)"},
    {"json", CLI_FLAG, offsetof(settings, common.json), NULL, NULL, "print one JSON object"},
};

/* ---- The unit that is asked for ---- */

/* 5 for 32 banks; false where it is no power of two. */
static bool bits_of_banks(uint64_t banks, unsigned *bits) {
  *bits = (unsigned)__builtin_ctzll(banks);
  return (banks & (banks - 1)) == 0;
}

static int read_geometry(const settings *s, bf_geometry *geometry, bf_diagnostic *diagnostic) {
  uint64_t banks = s->common.banks ? s->common.banks : 32;
  uint64_t bits = s->common.address_bits ? s->common.address_bits : 14;
  uint64_t bytes = s->common.word_bytes ? s->common.word_bytes : 4;
  if (!bits_of_banks(banks, &geometry->bank_bits))
    return bf_fail(diagnostic, BF_BAD_INPUT, "--banks takes a power of two, not %llu",
                   (unsigned long long)banks);
  if (bits > BF_HASH_MAX_ADDRESS_BITS || bytes > 1024)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--%s is too large: at most %d",
                   bytes > 1024 ? "word-bytes" : "address-bits",
                   bytes > 1024 ? 1024 : BF_HASH_MAX_ADDRESS_BITS);
  geometry->address_bits = (unsigned)bits;
  geometry->word_bytes = (unsigned)bytes;
  return bf_hash_check_geometry(geometry, diagnostic);
}

/* The family's number, by its name. */
static bf_rtl_kind family_kind(const char *name) {
  unsigned kind = 0;
  while (strcmp(bf_rtl_families[kind], name) != 0)
    kind++;
  return (bf_rtl_kind)kind;
}

/* "bit_vector_perm": names of modules have no '-'. */
static void default_name(const settings *s, char name[BF_RTL_NAME_MAX + 1]) {
  snprintf(name, BF_RTL_NAME_MAX + 1, "%s",
           s->family ? s->family
           : s->hash ? "hash"
                     : (strcmp(s->locks, "xor") == 0 ? "locks_xor" : "locks_add"));
  for (char *at = name; (at = strchr(at, '-'));)
    *at = '_';
}

/* Fills unit; *hash is to be freed, and name is where the unit's name is kept. */
static int choose_unit(const settings *s, bf_rtl_unit *unit, bf_hash **hash,
                       char name[BF_RTL_NAME_MAX + 1], bf_diagnostic *diagnostic) {
  *hash = NULL;
  default_name(s, name);
  *unit = (bf_rtl_unit){.kind = s->family ? family_kind(s->family)
                                : s->hash ? BF_RTL_FIXED
                                          : BF_RTL_LOCKS,
                        .one_hot = s->config && strcmp(s->config, "one-hot") == 0,
                        .word_copies = (unsigned)s->copies,
                        .name = s->name ? s->name : name};
  BF_TRY(read_geometry(s, &unit->geometry, diagnostic));
  if (s->locks)
    unit->lock_hash = strcmp(s->locks, "add") == 0 ? BF_LOCK_ADD : BF_LOCK_XOR;
  if (s->hash)
    BF_TRY(bf_hash_parse(s->hash, &unit->geometry, hash, diagnostic));
  unit->hash = *hash;
  return bf_rtl_check(unit, diagnostic);
}

/* "family bit-vector-perm, one-hot" and the like. */
static void describe(const bf_rtl_unit *unit, char text[128]) {
  if (bf_rtl_is_family(unit))
    snprintf(text, 128, "%s, %s", bf_rtl_families[unit->kind],
             unit->one_hot ? "one-hot" : "encoded");
  else if (unit->kind == BF_RTL_FIXED)
    snprintf(text, 128, "%.120s", bf_hash_text(unit->hash));
  else
    snprintf(text, 128, "banks and locks, %s", unit->lock_hash == BF_LOCK_ADD ? "ADD" : "XOR");
}

/* ---- Files ---- */

enum { MOST_FILES = 6 };

/* What is to be written, so that nothing is where something cannot be made. */
typedef struct bundle {
  unsigned count;
  char name[MOST_FILES][BF_RTL_NAME_MAX + 24];
  bf_text text[MOST_FILES];
} bundle;

static bf_text *add_file(bundle *files, const char *start, const char *end) {
  snprintf(files->name[files->count], sizeof files->name[0], "%s%s", start, end);
  return &files->text[files->count++];
}

static void free_bundle(bundle *files) {
  for (unsigned i = 0; i < files->count; i++)
    bf_text_free(&files->text[i]);
}

static int make_folder(const char *folder, bf_diagnostic *diagnostic) {
  struct stat status;
  if (mkdir(folder, 0777) == 0)
    return BF_OK;
  int error = errno;
  if (error == EEXIST && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
    return BF_OK;
  return bf_fail_file(diagnostic, BF_IO, folder, "cannot make the folder: %s",
                      strerror(error == EEXIST ? ENOTDIR : error));
}

/* Writes all files, or takes back those it wrote. */
static int write_bundle(const char *folder, const bundle *files, bf_diagnostic *diagnostic) {
  char path[4096];
  BF_TRY(make_folder(folder, diagnostic));
  for (unsigned i = 0; i < files->count; i++) {
    const bf_text *text = &files->text[i];
    snprintf(path, sizeof path, "%s/%s", folder, files->name[i]);
    int error = text->failed
                    ? bf_no_memory(diagnostic)
                    : bf_write_file(path, text->data ? text->data : "", text->size, diagnostic);
    while (error && i-- > 0) {
      snprintf(path, sizeof path, "%s/%s", folder, files->name[i]);
      unlink(path);
    }
    BF_TRY(error);
  }
  return BF_OK;
}

/* ---- Writing a unit ---- */

static int fill_bundle(const bf_rtl_unit *unit, uint64_t vectors, bundle *files, uint64_t *written,
                       bf_diagnostic *diagnostic) {
  char module[BF_RTL_NAME_MAX + 16];
  bf_rtl_module_name(unit, module);
  BF_TRY(bf_rtl_write_module(unit, add_file(files, module, ".v"), diagnostic));
  if (bf_rtl_is_family(unit))
    bf_rtl_write_clocked(unit, add_file(files, unit->name, "_clocked.v"));
  BF_TRY(bf_rtl_write_vectors(unit, vectors, add_file(files, unit->name, "_vectors.hex"), written,
                              diagnostic));
  bf_rtl_write_bench(unit, *written, add_file(files, unit->name, "_test.v"));
  bf_text picture = {0};
  int error = bf_rtl_draw(unit, &picture, diagnostic);
  if (!error)
    *add_file(files, unit->name, "_gates.svg") = picture;
  else
    bf_text_free(&picture);
  return error == BF_UNSUPPORTED ? BF_OK : error;
}

static void print_written(const settings *s, const bf_rtl_unit *unit, const bundle *files,
                          uint64_t vectors, bf_text *text) {
  char what[128];
  describe(unit, what);
  if (s->common.json) {
    bf_json json = {.text = text};
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "unit", what);
    bf_json_number(&json, "vectors", vectors);
    bf_json_begin(&json, "files", '[', true);
    for (unsigned i = 0; i < files->count; i++)
      bf_json_string(&json, NULL, files->name[i]);
    bf_json_end(&json, ']');
    bf_json_end(&json, '}');
    return;
  }
  bf_text_addf(text, "%s: %u banks, 2^%u words\n", what, 1u << unit->geometry.bank_bits,
               unit->geometry.address_bits);
  for (unsigned i = 0; i < files->count; i++)
    bf_text_addf(text, "  %s/%s\n", s->output, files->name[i]);
  bf_text_addf(text, "%llu vectors. To test: cd %s && iverilog -g2001 -o test",
               (unsigned long long)vectors, s->output);
  for (unsigned i = 0; i < files->count; i++)
    if (strstr(files->name[i], ".v") && !strstr(files->name[i], ".hex"))
      bf_text_addf(text, " %s", files->name[i]);
  bf_text_puts(text, " && vvp test\n");
}

static int write_unit(const settings *s, const bf_rtl_unit *unit, bf_text *text,
                      bf_diagnostic *diagnostic) {
  bundle files = {0};
  uint64_t vectors = s->vectors ? s->vectors : BF_RTL_DEFAULT_VECTORS;
  int error = fill_bundle(unit, vectors, &files, &vectors, diagnostic);
  if (!error)
    error = write_bundle(s->output, &files, diagnostic);
  if (!error)
    print_written(s, unit, &files, vectors, text);
  free_bundle(&files);
  return error;
}

/* ---- Costs as text and JSON ---- */

typedef struct row {
  bf_rtl_unit unit;
  bf_rtl_effort effort; /* with a target: the way that was chosen */
  bf_rtl_cost cost;
} row;

enum { MOST_ROWS = 2 * BF_RTL_FAMILIES };

/* "value (low-high)", with so many digits. */
static void print_range(bf_text *text, int digits, bf_rtl_range range) {
  char cell[64] = "-";
  if (range.value > 0)
    snprintf(cell, sizeof cell, "%.*f (%.*f-%.*f)", digits, range.value, digits, range.low, digits,
             range.high);
  bf_text_addf(text, " %17s", cell);
}

static void print_rows(const row *rows, unsigned count, const bf_liberty *library, bf_text *text) {
  bf_text_addf(text, "library %s, %.3g V; timing by %s\n%-26s %19s  %s\n", library->name,
               library->voltage, rows[0].cost.timing, "", "gates alone", "with registers");
  bf_text_addf(text, "%-25s %5s %7s %6s %6s %6s %9s %7s %6s %8s %8s\n", "unit", "cells", "um2",
               "levels", "ns", "cells", "registers", "um2", "ns", "logic pJ", "clock pJ");
  for (unsigned i = 0; i < count; i++) {
    const bf_rtl_cost *cost = &rows[i].cost;
    char what[128];
    describe(&rows[i].unit, what);
    bf_text_addf(text, "%-25s %5u %7.0f %6u %6.3f %6u %9u %7.0f %6.3f %8.2f %8.2f\n", what,
                 cost->gates, cost->gates_area_um2, cost->levels, cost->delay_ns, cost->cells,
                 cost->flip_flops, cost->area_um2, cost->period_ns, cost->logic_pj, cost->clock_pj);
  }
}

/* Whether each unit reaches its target, and what it took. */
static void print_target(const row *rows, unsigned count, double ghz, double target_ns,
                         bf_text *text) {
  bf_text_addf(text, "\ntarget %.3g GHz: %.3f ns in this library\n%-25s %6s %-7s %-7s %s\n", ghz,
               target_ns, "unit", "ns", "reached", "mapping", "registers for the word");
  for (unsigned i = 0; i < count; i++) {
    double ns = bf_rtl_latency_ns(&rows[i].cost);
    char what[128];
    describe(&rows[i].unit, what);
    bf_text_addf(text, "%-25s %6.3f %-7s %-7s %u\n", what, ns, ns <= target_ns ? "yes" : "no",
                 rows[i].effort.mapping, rows[i].effort.word_copies);
  }
}

static void print_published(const bf_rtl_unit *unit, const double *published, bf_text *text) {
  if (bf_rtl_is_family(unit))
    bf_text_addf(text, " %9.1f", published[unit->kind]);
  else
    bf_text_addf(text, " %9s", "-");
}

/* What the units of a whole GPU come to at 40 nm, beside what was published. */
static void print_scaled(const row *rows, unsigned count, bf_text *text) {
  bf_text_addf(text,
               "\nscaled from 0.18 um to 40 nm (low-high); mm2 and W: %d units, a new word in each "
               "every %.1f ns\n%-25s %17s %17s %17s %9s %17s %9s\n",
               BF_RTL_UNITS_PER_GPU, BF_RTL_PERIOD_NS, "unit", "gates ps", "registers ps", "mm2",
               "published", "W", "published");
  for (unsigned i = 0; i < count; i++) {
    const row *r = &rows[i];
    char what[128];
    describe(&r->unit, what);
    bf_text_addf(text, "%-25s", what);
    print_range(text, 0, bf_rtl_times(bf_rtl_scale_delay(r->cost.delay_ns), 1000));
    print_range(text, 0, bf_rtl_times(bf_rtl_scale_delay(r->cost.period_ns), 1000));
    print_range(text, 2, bf_rtl_gpu_area(&r->cost));
    print_published(&r->unit, bf_rtl_published_mm2, text);
    print_range(text, 2, bf_rtl_gpu_power(&r->cost));
    print_published(&r->unit, bf_rtl_published_watt, text);
    bf_text_puts(text, "\n");
  }
}

static void json_range(bf_json *json, const char *key, bf_rtl_range range) {
  bf_json_begin(json, key, '{', true);
  bf_json_real(json, "low", range.low);
  bf_json_real(json, "value", range.value);
  bf_json_real(json, "high", range.high);
  bf_json_end(json, '}');
}

static void json_target(bf_json *json, const row *r, double target_ns) {
  bf_json_string(json, "mapping", r->effort.mapping);
  bf_json_number(json, "word_copies", r->effort.word_copies);
  bf_json_bool(json, "reached", bf_rtl_latency_ns(&r->cost) <= target_ns);
}

static void json_row(bf_json *json, const row *r, bool scaled, double target_ns) {
  char what[128];
  describe(&r->unit, what);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "unit", what);
  bf_json_number(json, "gates", r->cost.gates);
  bf_json_real(json, "gates_area_um2", r->cost.gates_area_um2);
  bf_json_number(json, "levels", r->cost.levels);
  bf_json_real(json, "delay_ns", r->cost.delay_ns);
  bf_json_real(json, "own_delay_ns", r->cost.own_delay_ns);
  bf_json_number(json, "cells", r->cost.cells);
  bf_json_number(json, "flip_flops", r->cost.flip_flops);
  bf_json_real(json, "area_um2", r->cost.area_um2);
  bf_json_real(json, "period_ns", r->cost.period_ns);
  bf_json_real(json, "own_period_ns", r->cost.own_period_ns);
  bf_json_real(json, "logic_pj", r->cost.logic_pj);
  bf_json_real(json, "clock_pj", r->cost.clock_pj);
  bf_json_real(json, "configuration_clock_pj", r->cost.configuration_pj);
  bf_json_real(json, "leakage_nw", r->cost.leakage_nw);
  if (target_ns > 0)
    json_target(json, r, target_ns);
  if (scaled) {
    json_range(json, "delay_ns_40nm", bf_rtl_scale_delay(r->cost.delay_ns));
    json_range(json, "period_ns_40nm", bf_rtl_scale_delay(r->cost.period_ns));
    json_range(json, "area_mm2_gpu", bf_rtl_gpu_area(&r->cost));
    json_range(json, "power_w_gpu", bf_rtl_gpu_power(&r->cost));
    if (bf_rtl_is_family(&r->unit)) {
      bf_json_real(json, "published_mm2", bf_rtl_published_mm2[r->unit.kind]);
      bf_json_real(json, "published_w", bf_rtl_published_watt[r->unit.kind]);
    }
  }
  bf_json_end(json, '}');
}

static void json_rows(const row *rows, unsigned count, const bf_liberty *library, bool scaled,
                      double target_ns, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "library", library->name);
  bf_json_real(&json, "voltage", library->voltage);
  bf_json_string(&json, "timing", rows[0].cost.timing);
  if (target_ns > 0)
    bf_json_real(&json, "target_ns", target_ns);
  bf_json_begin(&json, "units", '[', false);
  for (unsigned i = 0; i < count; i++)
    json_row(&json, &rows[i], scaled, target_ns);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

/* ---- Charts ---- */

/* Published bars beside those of both configurations. */
static int draw_bars(const row *rows, bool is_power, bf_text *text, bf_diagnostic *diagnostic) {
  double y[2][BF_RTL_FAMILIES];
  for (unsigned i = 0; i < MOST_ROWS; i++)
    y[rows[i].unit.one_hot][rows[i].unit.kind] =
        is_power ? bf_rtl_gpu_power(&rows[i].cost).value : bf_rtl_gpu_area(&rows[i].cost).value;
  const bf_chart_series series[] = {
      {.name = "published",
       .y = is_power ? bf_rtl_published_watt : bf_rtl_published_mm2,
       .count = BF_RTL_FAMILIES,
       .colour = BF_CHART_GREY},
      {.name = "encoded", .y = y[0], .count = BF_RTL_FAMILIES, .colour = BF_CHART_BLUE},
      {.name = "one-hot", .y = y[1], .count = BF_RTL_FAMILIES, .colour = BF_CHART_RED}};
  const bf_chart chart = {.kind = BF_CHART_BARS,
                          .title = is_power ? "Hash units of a GPU: power at 40 nm"
                                            : "Hash units of a GPU: area at 40 nm",
                          .y_label = is_power ? "W" : "mm2",
                          .category = bf_rtl_families,
                          .categories = BF_RTL_FAMILIES,
                          .series = series,
                          .series_count = 3};
  return bf_chart_svg(&chart, text, diagnostic);
}

static int write_charts(const settings *s, const row *rows, bf_diagnostic *diagnostic) {
  bundle files = {0};
  int error = draw_bars(rows, false, add_file(&files, "area", ".svg"), diagnostic);
  if (!error)
    error = draw_bars(rows, true, add_file(&files, "power", ".svg"), diagnostic);
  if (!error)
    error = write_bundle(s->output, &files, diagnostic);
  free_bundle(&files);
  return error;
}

/* ---- Costs ---- */

static int measure_rows(row *rows, unsigned count, const bf_rtl_flow *flow, double target_ns,
                        bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < count; i++) {
    row *r = &rows[i];
    BF_TRY(bf_rtl_check(&r->unit, diagnostic));
    BF_TRY(target_ns > 0
               ? bf_rtl_measure_for(&r->unit, flow, target_ns, &r->effort, &r->cost, diagnostic)
               : bf_rtl_measure(&r->unit, flow, &r->cost, diagnostic));
    if (cli_interrupted())
      return bf_fail(diagnostic, BF_IO, "stopped");
  }
  return BF_OK;
}

/* All families, both ways to configure each. */
static int list_families(const settings *s, row *rows, bf_diagnostic *diagnostic) {
  bf_geometry geometry;
  BF_TRY(read_geometry(s, &geometry, diagnostic));
  for (unsigned i = 0; i < MOST_ROWS; i++)
    rows[i].unit = (bf_rtl_unit){.kind = (bf_rtl_kind)(i % BF_RTL_FAMILIES),
                                 .one_hot = i >= BF_RTL_FAMILIES,
                                 .geometry = geometry,
                                 .name = "hash"};
  return BF_OK;
}

static bf_rtl_timing timing_asked(const settings *s) {
  if (!s->timing)
    return BF_RTL_TIMING_BEST;
  return strcmp(s->timing, "own") == 0 ? BF_RTL_TIMING_OWN : BF_RTL_TIMING_OPENSTA;
}

/* The period that is asked for, in the library's technology; 0: none. */
static double target_asked(const settings *s) {
  if (s->clock_ghz == 0)
    return 0;
  return s->liberty ? 1 / s->clock_ghz : bf_rtl_unscale_delay(1 / s->clock_ghz);
}

static int cost_units(const settings *s, row *rows, unsigned count, bf_text *text,
                      bf_diagnostic *diagnostic) {
  const char *path = s->liberty ? s->liberty : BF_RTL_OSU018;
  if (!s->liberty && access(path, R_OK) != 0)
    return bf_fail(
        diagnostic, BF_UNSUPPORTED,
        "no library of standard cells at %s; install Debian's qflow-tech-osu018, or name "
        "one with --liberty",
        path);
  bf_liberty *library;
  BF_TRY(bf_liberty_read(path, &library, diagnostic));
  cli_watch_interrupt();
  bool scaled = !s->liberty;
  double target_ns = target_asked(s);
  const bf_rtl_flow flow = {.library = library, .liberty_path = path, .timing = timing_asked(s)};
  int error = measure_rows(rows, count, &flow, target_ns, diagnostic);
  if (!error && s->output)
    error = write_charts(s, rows, diagnostic);
  if (!error && s->common.json) {
    json_rows(rows, count, library, scaled, target_ns, text);
  } else if (!error) {
    print_rows(rows, count, library, text);
    if (target_ns > 0)
      print_target(rows, count, s->clock_ghz, target_ns, text);
    if (scaled)
      print_scaled(rows, count, text);
  }
  bf_liberty_free(library);
  return error;
}

/* ---- Running ---- */

static int check_options(const settings *s, bool costs) {
  unsigned kinds = (s->family != NULL) + (s->hash != NULL) + (s->locks != NULL);
  if (kinds > 1)
    return cli_usage_error(&cli_rtl, "only one of --family, --hash and --locks can be given");
  if (kinds == 0 && !costs)
    return cli_usage_error(&cli_rtl, "--family, --hash or --locks is missing");
  if (s->config && !s->family)
    return cli_usage_error(&cli_rtl, "--config goes with --family");
  if (!costs && !s->output)
    return cli_usage_error(&cli_rtl, "--output is missing: the folder to write to");
  if (!costs && s->liberty)
    return cli_usage_error(&cli_rtl, "--liberty goes with cost");
  if (!costs && s->timing)
    return cli_usage_error(&cli_rtl, "--timing goes with cost");
  if (!costs && s->clock_ghz != 0)
    return cli_usage_error(&cli_rtl, "--clock goes with cost");
  if (s->clock_ghz != 0 && !(s->clock_ghz >= 0.001 && s->clock_ghz <= 1000))
    return cli_usage_error(&cli_rtl, "--clock takes 0.001 to 1000 GHz");
  if (s->copies && !s->family)
    return cli_usage_error(&cli_rtl, "--copies goes with --family");
  if (s->copies && s->clock_ghz != 0)
    return cli_usage_error(&cli_rtl, "--clock chooses the copies: not with --copies");
  if (s->copies > BF_RTL_MOST_BANK_BITS)
    return cli_usage_error(&cli_rtl, "--copies takes at most %d", BF_RTL_MOST_BANK_BITS);
  if (costs && kinds && s->output)
    return cli_usage_error(&cli_rtl, "--output goes with the cost of all families");
  if (costs && s->output && s->liberty)
    return cli_usage_error(&cli_rtl, "charts are scaled from 0.18 um: not with --liberty");
  if (s->vectors > BF_RTL_MOST_VECTORS)
    return cli_usage_error(&cli_rtl, "--vectors takes at most %d", BF_RTL_MOST_VECTORS);
  return -1;
}

static int run(const void *given, int count, char **arguments) {
  const settings *s = given;
  bool costs = count == 1 && strcmp(arguments[0], "cost") == 0;
  if (count == 1 && !costs)
    return cli_usage_error(&cli_rtl, "unknown word '%s'; known: cost", arguments[0]);
  int status = check_options(s, costs);
  if (status >= 0)
    return status;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_text text = {0};
  row rows[MOST_ROWS] = {0};
  bf_hash *hash = NULL;
  char name[BF_RTL_NAME_MAX + 1];
  bool all = !s->family && !s->hash && !s->locks;
  int error = all ? list_families(s, rows, &diagnostic)
                  : choose_unit(s, &rows[0].unit, &hash, name, &diagnostic);
  if (!error)
    error = costs ? cost_units(s, rows, all ? MOST_ROWS : 1, &text, &diagnostic)
                  : write_unit(s, &rows[0].unit, &text, &diagnostic);
  bf_hash_free(hash);
  if (!error)
    return cli_print(&text);
  bf_text_free(&text);
  return cli_complain(&diagnostic);
}

const cli_command cli_rtl = {
    .name = "rtl",
    .summary = "hash units in hardware: Verilog, test benches, costs",
    .arguments = "[cost]",
    .details =
        "Writes Verilog-2001 of a hash unit to a folder: one that can be configured for all "
        "hashes\n"
        "of a family, one for a fixed hash, or one for the bank and lock of atomic operations; "
        "with\n"
        "a test bench whose vectors come from the library's own hashes, and a picture of the "
        "gates\n"
        "of fixed units.\n"
        "cost synthesizes the unit with yosys, or all families without one, and says what they "
        "cost\n"
        "in standard cells: area, cells, levels, delay, energy; scaled to 40 nm where the library\n"
        "is the default one. With --clock it tries several ways to synthesize each.",
    .examples =
        "bankfold rtl --family bit-vector-xor --config one-hot -o units # a unit to configure\n"
        "bankfold rtl --hash fixed -o units                             # a fixed one\n"
        "bankfold rtl --locks add -o units                              # banks and locks\n"
        "bankfold rtl cost                          # all families, beside what was published\n"
        "bankfold rtl cost --family bitwise-xor --clock 3.5         # the smallest that is fast "
        "enough\n"
        "bankfold rtl cost --hash xor:0,5,31 --liberty my.lib\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = run,
};
