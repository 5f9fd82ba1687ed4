/* Tables and pictures of what gpu/measure and gpu/wavefronts.py found:
 *
 *   results TIMES.csv WAVEFRONTS.csv PICTURES-FOLDER > tables.md
 *
 * Speed-ups are over the plain benchmark. Conflicts are wavefronts beyond the fewest that the
 * accesses need, which the emulator counts. */
#include "kernels/measure.h"
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 24, MOST_ROWS = 200, MOST_LINE = 4096 };

/* Ways, and the padded version of the benchmark as one of them. */
typedef enum way_kind { PLAIN, PADDED, XOR, EXACT, AUTO, TUNED, WAYS } way_kind;
static const char *const way_names[WAYS] = {"plain", "padded", "bit-vector XOR",
                                            "exact", "auto",   "tuned"};

/* What was measured of a benchmark in one way; all launches together. */
typedef struct measured {
  bool has_times, has_wavefronts, is_wrong;
  double ns;
  unsigned registers;           /* most of any kernel */
  uint64_t shared_bytes;        /* most of any launch */
  uint64_t load, store, atomic; /* wavefronts at scale 1 */
} measured;

typedef struct row {
  const bf_corpus_benchmark *benchmark;
  unsigned scale;
  measured way[WAYS];
  uint64_t fewest, conflicts; /* of the plain benchmark, by the emulator */
} row;

typedef struct results {
  row row[MOST_ROWS];
  unsigned rows;
} results;

/* ---- Reading ---- */

/* Splits a line of CSV in place; returns the number of fields. */
static unsigned split(char *line, char **field) {
  unsigned count = 0;
  for (char *at = line; at && count < MOST_FIELDS;) {
    bool quoted = *at == '"';
    field[count++] = at + quoted;
    char *end = quoted ? strchr(at + 1, '"') : at;
    if (end && quoted)
      *end++ = 0;
    at = end ? strpbrk(end, ",\n") : NULL;
    if (at) {
      bool last = *at == '\n';
      *at = 0;
      at = last ? NULL : at + 1;
    }
  }
  return count;
}

/* The number of a column in the header, or MOST_FIELDS. */
static unsigned find_column(char **header, unsigned count, const char *name) {
  for (unsigned i = 0; i < count; i++)
    if (strcmp(header[i], name) == 0)
      return i;
  return MOST_FIELDS;
}

/* Where a line belongs: the row of the benchmark, or of the one it is the padded version of. */
static measured *find_place(results *all, const char *name, const char *way, row **found) {
  static const char *const short_names[WAYS] = {"plain", "padded", "xor", "exact", "auto", "tuned"};
  static const char ending[] = "-padded";
  const bf_corpus_benchmark *benchmark = bf_corpus_find(name);
  size_t length = strlen(name);
  unsigned number = 0;
  if (!benchmark)
    return NULL;
  if (benchmark->is_padded && length > strlen(ending))
    length -= strlen(ending);
  while (number < WAYS && strcmp(short_names[number], way) != 0)
    number++;
  for (unsigned i = 0; i < all->rows && number < WAYS; i++) {
    row *own = &all->row[i];
    if (strncmp(own->benchmark->name, name, length) != 0 || own->benchmark->name[length])
      continue;
    *found = own;
    return &own->way[benchmark->is_padded ? PADDED : number];
  }
  return NULL;
}

typedef void (*take_line)(char **value, row *own, measured *place);

/* Hands every line of a file to `take`, with the values of the columns that are asked for. */
static bool read_lines(const char *path, const char *const *columns, unsigned count, take_line take,
                       results *all) {
  char line[MOST_LINE], header_line[MOST_LINE], *header[MOST_FIELDS], *field[MOST_FIELDS];
  char *value[MOST_FIELDS];
  FILE *file = fopen(path, "r");
  if (!file || !fgets(header_line, sizeof header_line, file))
    return fprintf(stderr, "results: cannot read %s\n", path), false;
  unsigned headers = split(header_line, header);
  bool fine = true;
  while (fine && fgets(line, sizeof line, file)) {
    unsigned fields = split(line, field);
    for (unsigned i = 0; i < count && fine; i++) {
      unsigned at = find_column(header, headers, columns[i]);
      fine = at < fields;
      value[i] = fine ? field[at] : NULL;
    }
    if (fine && strncmp(value[1], "try-", 4) == 0)
      continue; /* candidates, from which the tuned way was taken */
    row *own = NULL;
    measured *place = fine ? find_place(all, value[0], value[1], &own) : NULL;
    if (place)
      take(value, own, place);
    else
      fine = false;
  }
  fclose(file);
  return fine || (fprintf(stderr, "results: %s: not what gpu/ writes\n", path), false);
}

static const char *const time_columns[] = {"benchmark", "way",          "scale",
                                           "registers", "static_bytes", "dynamic_bytes",
                                           "median_ns", "result"};
static void take_times(char **value, row *own, measured *place) {
  unsigned registers = (unsigned)strtoul(value[3], NULL, 10);
  uint64_t bytes = strtoull(value[4], NULL, 10) + strtoull(value[5], NULL, 10);
  own->scale = (unsigned)strtoul(value[2], NULL, 10);
  place->has_times = true;
  place->ns += strtod(value[6], NULL);
  place->registers = registers > place->registers ? registers : place->registers;
  place->shared_bytes = bytes > place->shared_bytes ? bytes : place->shared_bytes;
  place->is_wrong |= strcmp(value[7], "wrong") == 0;
}

static const char *const wavefront_columns[] = {"benchmark", "way", "ld", "st", "atom", "result"};
static void take_wavefronts(char **value, row *own, measured *place) {
  (void)own;
  place->has_wavefronts = true;
  place->load += strtoull(value[2], NULL, 10);
  place->store += strtoull(value[3], NULL, 10);
  place->atomic += strtoull(value[4], NULL, 10);
  place->is_wrong |= strcmp(value[5], "right") != 0;
}

/* A row for each benchmark that is no padded version, with what the emulator counts. */
static int make_rows(results *all, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  BF_TRY(bf_machine_load("hopper", NULL, &machine, diagnostic));
  int error = BF_OK;
  for (unsigned i = 0; bf_corpus_get(i) && all->rows < MOST_ROWS && !error; i++) {
    const bf_corpus_benchmark *benchmark = bf_corpus_get(i);
    bf_corpus_settings settings = {.machine = machine, .scale = 1};
    bf_corpus_measured found;
    if (benchmark->is_padded)
      continue;
    error = bf_corpus_measure(benchmark, &settings, &found, diagnostic);
    if (error)
      break;
    all->row[all->rows++] = (row){
        .benchmark = benchmark, .fewest = found.total.ideal, .conflicts = found.total.conflicts};
    bf_arena_free(&found.arena);
  }
  bf_machine_free(machine);
  return error;
}

/* Leaves out benchmarks that were not measured: some are for the simulator, or came later. */
static void drop_unmeasured(results *all) {
  unsigned kept = 0;
  for (unsigned i = 0; i < all->rows; i++)
    if (all->row[i].way[PLAIN].has_times)
      all->row[kept++] = all->row[i];
  all->rows = kept;
}

/* ---- Figures ---- */

/* The way that was measured: what has no hash is the plain one. */
static const measured *get(const row *own, way_kind way) {
  bool is_hashed = way >= XOR;
  return is_hashed && !own->way[way].has_times ? &own->way[PLAIN] : &own->way[way];
}

/* How many times as fast as the plain one; NaN where it was not measured. */
static double speed_up(const row *own, way_kind way) {
  const measured *plain = &own->way[PLAIN], *other = get(own, way);
  return plain->has_times && other->has_times ? plain->ns / other->ns : NAN;
}

static uint64_t wavefronts(const measured *m) { return m->load + m->store + m->atomic; }

/* The share of the conflicts that are gone; NaN where there were none or it was not measured. */
static double removed(const row *own, way_kind way) {
  const measured *plain = &own->way[PLAIN], *other = get(own, way);
  if (!own->conflicts || !plain->has_wavefronts || !other->has_wavefronts ||
      wavefronts(plain) <= own->fewest)
    return NAN;
  return ((double)wavefronts(plain) - (double)wavefronts(other)) /
         ((double)wavefronts(plain) - (double)own->fewest);
}

/* Whether the benchmark counts as one with conflicts: more than one wavefront in a hundred. */
static bool has_conflicts(const row *own) {
  return own->conflicts * 100 > own->fewest + own->conflicts;
}

/* ---- Tables ---- */

static void print_number(double value, const char *format) {
  if (isnan(value))
    printf(" |");
  else {
    printf(" ");
    printf(format, value);
    printf(" |");
  }
}

static void print_times(const results *all) {
  printf("| benchmark | scale | plain, us |");
  for (unsigned w = PADDED; w < WAYS; w++)
    printf(" %s |", way_names[w]);
  printf(" registers: plain, padded, exact, auto | shared bytes: plain, padded, auto |\n|---|");
  for (unsigned i = 0; i < WAYS + 3; i++)
    printf("---:|");
  printf("\n");
  for (unsigned i = 0; i < all->rows; i++) {
    const row *own = &all->row[i];
    printf("| %s | %u | %.1f |", own->benchmark->name, own->scale, own->way[PLAIN].ns / 1e3);
    for (unsigned w = PADDED; w < WAYS; w++)
      print_number(w == PADDED || own->way[w].has_times ? speed_up(own, w) : NAN, "%.2f");
    printf(" %u, ", own->way[PLAIN].registers);
    printf(own->way[PADDED].has_times ? "%u, " : "-, ", own->way[PADDED].registers);
    printf("%u, %u |", get(own, EXACT)->registers, get(own, AUTO)->registers);
    printf(" %llu, ", (unsigned long long)own->way[PLAIN].shared_bytes);
    printf(own->way[PADDED].has_times ? "%llu, " : "-, ",
           (unsigned long long)own->way[PADDED].shared_bytes);
    printf("%llu |\n", (unsigned long long)get(own, AUTO)->shared_bytes);
  }
}

static void print_wavefronts(const results *all) {
  printf("| benchmark | fewest | plain: load, store, atomic |");
  for (unsigned w = PADDED; w < TUNED; w++)
    printf(" %s: load, store, atomic | gone |", way_names[w]);
  printf("\n|---|");
  for (unsigned i = 0; i < 2 + 2 * (TUNED - 1); i++)
    printf("---:|");
  printf("\n");
  for (unsigned i = 0; i < all->rows; i++) {
    const row *own = &all->row[i];
    printf("| %s | %llu |", own->benchmark->name, (unsigned long long)own->fewest);
    for (unsigned w = PLAIN; w < TUNED; w++) {
      const measured *m = &own->way[w];
      if (m->has_wavefronts)
        printf(" %llu, %llu, %llu |", (unsigned long long)m->load, (unsigned long long)m->store,
               (unsigned long long)m->atomic);
      else
        printf(" |");
      if (w != PLAIN)
        print_number(m->has_wavefronts ? 100 * removed(own, w) : NAN, "%.1f%%");
    }
    printf("\n");
  }
}

/* ---- Sums ---- */

/* Geometric mean and least of the speed-ups in a way. */
typedef struct mean {
  unsigned count;
  double logarithms, least;
  const char *slowest;
} mean;

static void add(mean *to, const row *own, double value) {
  if (isnan(value))
    return;
  if (!to->count || value < to->least) {
    to->least = value;
    to->slowest = own->benchmark->name;
  }
  to->count++;
  to->logarithms += log(value);
}

static void print_mean(const char *title, const mean *m) {
  if (m->count)
    printf("| %s | %u | %.3f | %.3f (%s) |\n", title, m->count, exp(m->logarithms / m->count),
           m->least, m->slowest);
}

static void print_means(const results *all) {
  printf("| over plain | benchmarks | geometric mean | least |\n|---|---:|---:|---|\n");
  for (unsigned w = XOR; w < WAYS; w++) {
    mean conflicting = {0}, fixed = {0}, published = {0};
    for (unsigned i = 0; i < all->rows; i++) {
      const row *own = &all->row[i];
      if (has_conflicts(own))
        add(&conflicting, own, speed_up(own, w));
      if (has_conflicts(own) && !own->benchmark->is_data_dependent)
        add(&fixed, own, speed_up(own, w));
      if (own->benchmark->published_name)
        add(&published, own, speed_up(own, w));
    }
    char title[100];
    snprintf(title, sizeof title, "%s, all with conflicts", way_names[w]);
    print_mean(title, &conflicting);
    snprintf(title, sizeof title, "%s, those of them whose addresses do not depend on data",
             way_names[w]);
    print_mean(title, &fixed);
    snprintf(title, sizeof title, "%s, those of braak16", way_names[w]);
    print_mean(title, &published);
  }
  mean padded = {0}, beside = {0}, tuned = {0}, every = {0};
  for (unsigned i = 0; i < all->rows; i++) {
    const row *own = &all->row[i];
    double by_padding = speed_up(own, PADDED);
    add(&every, own, speed_up(own, AUTO));
    add(&padded, own, by_padding);
    add(&beside, own, isnan(by_padding) ? NAN : speed_up(own, AUTO));
    add(&tuned, own, isnan(by_padding) ? NAN : speed_up(own, TUNED));
  }
  print_mean("padded by hand, where people pad", &padded);
  print_mean("auto, the same benchmarks", &beside);
  print_mean("tuned, the same benchmarks", &tuned);
  print_mean("auto, all benchmarks", &every);
}

/* ---- Pictures ---- */

static bool write_chart(const char *folder, const char *name, const bf_chart *chart) {
  char path[MOST_LINE];
  bf_text text = {0};
  bf_diagnostic diagnostic = {0};
  snprintf(path, sizeof path, "%s/%s.svg", folder, name);
  bf_writer *writer;
  int error = bf_chart_svg(chart, &text, &diagnostic);
  if (!error)
    error = bf_writer_open(path, false, &writer, &diagnostic);
  if (!error) {
    error = bf_writer_write(writer, text.data, text.size, &diagnostic);
    error = error ? error : bf_writer_commit(writer, &diagnostic);
    bf_writer_close(writer);
  }
  bf_text_free(&text);
  if (error)
    fprintf(stderr, "results: %s: %s\n", path, diagnostic.message);
  return !error;
}

/* A group of bars for each benchmark with conflicts, of the ways before end. */
static bool draw(const results *all, const char *folder, const char *name, const char *title,
                 const char *label, double (*value)(const row *, way_kind), way_kind end,
                 double reference) {
  static double y[WAYS][MOST_ROWS];
  static const char *category[MOST_ROWS];
  bf_chart_series series[WAYS - 1];
  size_t count = 0;
  for (unsigned i = 0; i < all->rows; i++) {
    if (!has_conflicts(&all->row[i]))
      continue;
    for (unsigned w = PADDED; w < end; w++)
      y[w][count] = value(&all->row[i], w);
    category[count++] = all->row[i].benchmark->name;
  }
  for (unsigned w = PADDED; w < end; w++)
    series[w - PADDED] = (bf_chart_series){.name = way_names[w], .y = y[w], .count = count};
  bf_chart chart = {.kind = BF_CHART_BARS,
                    .title = title,
                    .y_label = label,
                    .category = category,
                    .categories = count,
                    .series = series,
                    .series_count = end - PADDED,
                    .reference = reference};
  return write_chart(folder, name, &chart);
}

int main(int argc, char **argv) {
  static results all;
  bf_diagnostic diagnostic;
  if (argc != 4)
    return fprintf(stderr, "usage: results TIMES.csv WAVEFRONTS.csv PICTURES-FOLDER\n"), 2;
  if (make_rows(&all, &diagnostic) != BF_OK)
    return fprintf(stderr, "results: %s\n", diagnostic.message), 2;
  if (!read_lines(argv[1], time_columns, sizeof time_columns / sizeof *time_columns, take_times,
                  &all) ||
      !read_lines(argv[2], wavefront_columns, sizeof wavefront_columns / sizeof *wavefront_columns,
                  take_wavefronts, &all))
    return 2;
  drop_unmeasured(&all);
  for (unsigned i = 0; i < all.rows; i++)
    for (unsigned w = 0; w < WAYS; w++)
      if (all.row[i].way[w].is_wrong)
        printf("%s, %s: wrong result\n\n", all.row[i].benchmark->name, way_names[w]);
  print_means(&all);
  printf("\n");
  print_times(&all);
  printf("\n");
  print_wavefronts(&all);
  return draw(&all, argv[3], "speedup", "Speed-up on an H200", "times as fast as plain", speed_up,
              WAYS, 1) &&
                 draw(&all, argv[3], "conflicts", "Bank conflicts removed on an H200",
                      "share of the conflicts", removed, TUNED, 1)
             ? 0
             : 2;
}
