/* What is predicted of the corpus from its PTX against what was measured on an H200: for every
 * kernel and hash that gpu/measure timed, the time with the hash as a share of that without it, of
 * the largest launch. No hash that is predicted to be worth it may have been slower by more than
 * 2%, and shares may be off by 15% on average. Then, what the rule takes among all candidates of a
 * kernel that are worth it, longer rows included (bf_judge_choose), and how much slower that was
 * than the best of them: 1% on average at most, and 2% for every kernel.
 *
 *   check_predict [TIMES.csv]
 *
 * The constants of the model were chosen with the benchmarks of half A, every second one in the
 * order of the corpus, before half B was looked at; the larger error of launches that wait was set
 * after a launch of one block in half B (mri-gridding-1), that of few warps after a kernel that is
 * not of the corpus, and time for memory was added after the error of half B had been seen. The
 * rule among candidates was made with half A, before it was tried on half B. */
#include "emu/emu.h"
#include "kernels/devices.h"
#include "tune/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 8, MOST_ROWS = 4096 };

/* ---- Measured ---- */

typedef struct row {
  char benchmark[48], kernel[96], hash[300];
  bool is_plain, is_longer_rows;
  uint64_t blocks, shared_bytes;
  unsigned registers;
  double ns;
} row;

typedef struct table {
  row *row;
  size_t rows;
} table;

/* Longer rows that give what was padded by hand, which was measured as BENCHMARK-padded. */
static const struct {
  const char *benchmark, *hash;
} longer_rows[] = {
    {"softmax", "pad:64+1"},
    {"gemm-mma", "_ZZ8multiplyILi0EEvPK6__halfS2_PfiiE9left_tile=pad:16+4 "
                 "_ZZ8multiplyILi0EEvPK6__halfS2_PfiiE10right_tile=pad:32+4"},
    {"lavamd", "_ZZ10box_forcesILi4EEvPK3BoxPKjPKfS6_fPfE4mine=pad:4+1 "
               "_ZZ10box_forcesILi4EEvPK3BoxPKjPKfS6_fPfE5other=pad:4+1"},
    {"lud-diagonal", "pad:16+1"},
    {"lud-perimeter", "pad:16+1"},
    {"dct8x8", "pad:32+1@32"},
    {"idct8x8", "pad:32+1@32"},
    {"dct8x8-short", "pad:16+1@32"},
    {"idct8x8-short", "pad:16+1@32"},
    {"transpose16", "pad:16+1@16x16"},
    {"transpose32", "pad:32+1@32x8"},
};

/* Cuts a suffix off a name; false where it has another one. */
static bool cut_suffix(char *name, const char *suffix) {
  size_t length = strlen(name), own = strlen(suffix);
  if (length < own || strcmp(name + length - own, suffix) != 0)
    return false;
  name[length - own] = 0;
  return true;
}

/* Makes of a row that was padded by hand one of longer rows of the original. */
static void take_longer_rows(row *own) {
  row padded = *own;
  if (!cut_suffix(padded.benchmark, "-padded") || !cut_suffix(padded.kernel, "_padded"))
    return;
  for (size_t i = 0; i < sizeof longer_rows / sizeof *longer_rows; i++)
    if (strcmp(padded.benchmark, longer_rows[i].benchmark) == 0) {
      snprintf(padded.hash, sizeof padded.hash, "%s", longer_rows[i].hash);
      padded.is_plain = false;
      padded.is_longer_rows = true;
      *own = padded;
    }
}

/* Cuts the next field, which may be quoted, off a line of CSV. */
static char *next_field(char **line) {
  char *start = *line, *end;
  if (*start == '"') {
    start++;
    end = strchr(start, '"');
    *line = end ? end + 2 : start + strlen(start);
  } else {
    end = start + strcspn(start, ",\r\n");
    *line = *end == ',' ? end + 1 : end;
  }
  if (end)
    *end = 0;
  return start;
}

/* Keeps the launch with the most blocks of each benchmark, kernel and hash. */
static void keep(table *t, const row *own) {
  for (size_t i = 0; i < t->rows; i++) {
    row *known = &t->row[i];
    if (strcmp(known->benchmark, own->benchmark) == 0 && strcmp(known->kernel, own->kernel) == 0 &&
        strcmp(known->hash, own->hash) == 0) {
      if (own->blocks > known->blocks)
        *known = *own;
      return;
    }
  }
  if (t->rows < MOST_ROWS)
    t->row[t->rows++] = *own;
}

static void read_row(char *line, table *t) {
  char *field[16];
  for (unsigned i = 0; i < 16; i++)
    field[i] = next_field(&line);
  row own = {.blocks = strtoull(field[7], NULL, 10),
             .registers = (unsigned)atoi(field[8]),
             .shared_bytes = strtoull(field[10], NULL, 10) + strtoull(field[11], NULL, 10),
             .ns = atof(field[12])};
  own.is_plain = strcmp(field[6], "none") == 0;
  snprintf(own.benchmark, sizeof own.benchmark, "%s", field[0]);
  snprintf(own.kernel, sizeof own.kernel, "%s", field[5]);
  snprintf(own.hash, sizeof own.hash, "%s", field[6]);
  take_longer_rows(&own);
  if (own.ns > 0)
    keep(t, &own);
}

static int read_table(const char *path, table *t) {
  char line[2048];
  FILE *file = fopen(path, "r");
  t->row = calloc(MOST_ROWS, sizeof *t->row);
  if (!file || !t->row || !fgets(line, sizeof line, file))
    return -1;
  while (fgets(line, sizeof line, file))
    read_row(line, t);
  fclose(file);
  return 0;
}

/* ---- Launches ---- */

/* What the first launch of each kernel of a benchmark is like. */
typedef struct launched {
  char kernel[96];
  bf_predict_launch launch;
} launched;

typedef struct launches {
  launched item[MOST_KERNELS];
  unsigned count;
} launches;

static int note_launch(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  launches *all = context;
  const char *name = bf_emu_kernel_name(launch->kernel);
  (void)diagnostic;
  for (unsigned i = 0; i < all->count; i++)
    if (strcmp(all->item[i].kernel, name) == 0)
      return BF_OK;
  if (all->count == MOST_KERNELS)
    return BF_OK;
  launched *own = &all->item[all->count++];
  snprintf(own->kernel, sizeof own->kernel, "%s", name);
  memcpy(own->launch.block, launch->block, sizeof own->launch.block);
  own->launch.dynamic_shared_bytes = launch->dynamic_shared_bytes;
  return BF_OK;
}

static int find_launches(const bf_corpus_benchmark *benchmark, launches *all,
                         bf_diagnostic *diagnostic) {
  bf_emu_device_options options = {.workers = 2, .before = note_launch, .context = all};
  bf_device device;
  bf_corpus_outcome outcome = {0};
  BF_TRY(bf_emu_device_create(benchmark->folder, bf_corpus_ptx(benchmark->folder), &options,
                              &device, diagnostic));
  int error = bf_corpus_execute(benchmark, &device, 1, 0, &outcome, diagnostic);
  bf_emu_device_free(&device);
  return error;
}

/* ---- Predicted ---- */

/* A hash of a table, or those of arrays, "tile=fixed other=none", as lines of a list. */
static void write_lines(const char *kernel, const char *hash, bf_text *lines) {
  bool is_by_array = strchr(hash, '=');
  bf_text_addf(lines, "%s %s\n", kernel, is_by_array ? "none" : hash);
  while (is_by_array && *hash) {
    int name = (int)strcspn(hash, "="), length = (int)strcspn(hash, " ");
    bf_text_addf(lines, "%s[%.*s] %.*s\n", kernel, name, hash, length - name - 1, hash + name + 1);
    hash += length + (hash[length] == ' ');
  }
}

/* A kernel with a hash, and what is predicted of it. */
typedef struct subject {
  const row *plain, *hashed;
  const bf_machine *machine;
  bf_ptx_module *module;
  bf_plans plans;
  bf_rewrite_result result;
  bf_prediction prediction;
} subject;

/* Rewrites the kernel with the hash that was measured. */
static int rewrite(subject *s, bf_diagnostic *diagnostic) {
  const char *folder = bf_corpus_find(s->plain->benchmark)->folder, *text = bf_corpus_ptx(folder);
  bf_geometry geometry = bf_machine_geometry(s->machine);
  bf_text lines = {0};
  BF_TRY(bf_ptx_parse(folder, text, strlen(text), &s->module, diagnostic));
  BF_TRY(bf_plans_make(s->module, folder, s->plain->kernel, &s->plans, diagnostic));
  s->plans.padding_has_room = s->plans.blocks_are_checked = true;
  write_lines(s->plain->kernel, s->hashed->hash, &lines);
  int error = bf_plans_set_text(&s->plans, "hashes", lines.data, &geometry, diagnostic);
  bf_text_free(&lines);
  return error ? error : bf_plans_rewrite(&s->plans, false, &s->result, diagnostic);
}

/* Predicts the launch. */
static int predict(subject *s, const bf_predict_launch *launch, bf_diagnostic *diagnostic) {
  bf_predict_options options = {.machine = s->machine, .launch = launch};
  const bf_plan *plan = NULL;
  bf_predict_pair *pair;
  for (unsigned i = 0; i < s->plans.count && s->result.module; i++)
    if (strcmp(s->plans.plan[i].name, s->plain->kernel) == 0)
      plan = &s->plans.plan[i];
  if (!plan)
    return BF_OK;
  int error =
      bf_predict_prepare(&s->plans, plan, s->result.module,
                         bf_ptx_find(s->result.module, s->plain->kernel), &pair, diagnostic);
  if (!error)
    error = bf_predict(pair, &options, &s->prediction, diagnostic);
  bf_predict_pair_free(pair);
  return error;
}

static void free_subject(subject *s) {
  bf_rewrite_free(&s->result);
  bf_plans_free(&s->plans);
  bf_ptx_free(s->module);
}

/* ---- Judged ---- */

/* Candidates of a kernel, and how long each took. */
enum { MOST_TRIED = 32 };
typedef struct choice {
  bf_comparison tried[MOST_TRIED];
  bool was_tried[MOST_TRIED];
  const row *measured[MOST_TRIED];
  unsigned count;
} choice;

/* What came out for one half of the benchmarks. */
typedef struct half {
  unsigned known, worth, wrong; /* wrong: worth it, and slower by more than the judge allows */
  double error;                 /* sum of |log(predicted / measured)| */
  unsigned chosen;              /* kernels with several candidates that are worth it */
  double loss, most_loss; /* sum and largest of log(taken / best), as measured, of these kernels */
} half;

static const double slowest = 1.02, most_error = 0.15, most_mean_loss = 0.01, most_loss = 0.02;

static void judge(const subject *s, char name, half *h) {
  const bf_prediction *p = &s->prediction;
  double measured = s->hashed->ns / s->plain->ns;
  printf("%c %-19s %-22s %-40.40s %7llu %9.0f %8.3f", name, s->plain->benchmark, s->plain->kernel,
         s->hashed->hash, (unsigned long long)s->plain->blocks, s->plain->ns, measured);
  if (!p->is_known) {
    printf("  %s\n", p->reason);
    return;
  }
  bool is_wrong = p->is_worth && measured > slowest;
  printf(" %8.3f %6.3f%s%s\n", p->share, p->error, p->is_worth ? "  worth it" : "",
         is_wrong ? ", and slower" : "");
  h->known++;
  h->worth += p->is_worth;
  h->wrong += is_wrong;
  h->error += fabs(log(p->share / measured));
}

/* Adds a candidate that is predicted to be worth it. */
static void add_candidate(const subject *s, choice *c) {
  if (c->count == MOST_TRIED || !s->prediction.is_known || !s->prediction.is_worth)
    return;
  c->tried[c->count] = s->prediction.comparison;
  c->was_tried[c->count] = true;
  c->measured[c->count++] = s->hashed;
}

/* What the rule takes of the candidates of a kernel against the best that was measured. */
static void judge_choice(const choice *c, char name, half *h) {
  bool is_worth;
  int taken = bf_judge_choose(c->tried, c->was_tried, c->count, &is_worth), best = 0;
  for (unsigned i = 1; i < c->count; i++)
    if (c->measured[i]->ns < c->measured[best]->ns)
      best = (int)i;
  if (taken < 0 || c->count < 2)
    return;
  double loss = log(c->measured[taken]->ns / c->measured[best]->ns);
  printf("%c %-19s %-22s %u candidates, takes %.40s, %.1f%% slower than the best\n", name,
         c->measured[0]->benchmark, c->measured[0]->kernel, c->count, c->measured[taken]->hash,
         100 * (exp(loss) - 1));
  h->chosen++;
  h->loss += loss;
  h->most_loss = loss > h->most_loss ? loss : h->most_loss;
}

/* Whether predictions of a half hold. */
static bool holds(char name, const half *h) {
  double error = h->known ? h->error / h->known : 0;
  double loss = h->chosen ? h->loss / h->chosen : 0;
  printf("half %c: %u predicted, %u worth it, %u of them slower; mean error %.3f\n", name, h->known,
         h->worth, h->wrong, error);
  printf("half %c: of %u kernels with several candidates, what is taken is %.1f%% slower than the "
         "best "
         "on average, %.1f%% at most\n",
         name, h->chosen, 100 * loss, 100 * h->most_loss);
  return h->known && !h->wrong && error < most_error && h->chosen && loss < most_mean_loss &&
         h->most_loss < most_loss;
}

/* ---- The program ---- */

/* Blocks that a multiprocessor held at once when that row was measured. */
static unsigned resident(const row *own, const bf_predict_launch *launch) {
  return bf_predict_resident(&bf_predict_h200,
                             launch->block[0] * launch->block[1] * launch->block[2],
                             own->shared_bytes, own->registers);
}

static int predict_row(const row *plain, const row *hashed, const launched *shown,
                       const bf_machine *machine, char name, half *h, choice *c,
                       bf_diagnostic *diagnostic) {
  subject s = {.plain = plain, .hashed = hashed, .machine = machine};
  bf_predict_launch launch = shown->launch;
  launch.grid[0] = (uint32_t)plain->blocks;
  launch.grid[1] = launch.grid[2] = 1;
  launch.resident[0] = resident(plain, &launch);
  launch.resident[1] = resident(hashed, &launch);
  int error = rewrite(&s, diagnostic);
  if (!error)
    error = predict(&s, &launch, diagnostic);
  if (!error && !hashed->is_longer_rows)
    judge(&s, name, h);
  launch.resident[0] = launch.resident[1] = 0; /* not known where candidates are chosen */
  if (!error)
    error = predict(&s, &launch, diagnostic);
  if (!error)
    add_candidate(&s, c);
  free_subject(&s);
  return error;
}

/* Whether two rows are of the same launch, without a hash and with one. */
static bool are_pair(const row *plain, const row *hashed) {
  return plain->is_plain && !hashed->is_plain && plain->blocks == hashed->blocks &&
         strcmp(hashed->benchmark, plain->benchmark) == 0 &&
         strcmp(hashed->kernel, plain->kernel) == 0;
}

static int predict_benchmark(const table *t, const bf_corpus_benchmark *benchmark,
                             const bf_machine *machine, char name, half *h,
                             bf_diagnostic *diagnostic) {
  launches *all = calloc(1, sizeof *all);
  int error = all ? find_launches(benchmark, all, diagnostic) : bf_no_memory(diagnostic);
  for (size_t i = 0; i < t->rows && !error; i++) {
    choice c = {.count = 0};
    for (size_t k = 0; strcmp(t->row[i].benchmark, benchmark->name) == 0 && k < t->rows; k++)
      for (unsigned n = 0; are_pair(&t->row[i], &t->row[k]) && n < all->count && !error; n++)
        if (strcmp(all->item[n].kernel, t->row[i].kernel) == 0)
          error =
              predict_row(&t->row[i], &t->row[k], &all->item[n], machine, name, h, &c, diagnostic);
    judge_choice(&c, name, h);
  }
  free(all);
  return error;
}

/* Whether anything with a hash was measured of a benchmark. */
static bool was_measured(const table *t, const char *benchmark) {
  for (size_t i = 0; i < t->rows; i++)
    if (!t->row[i].is_plain && strcmp(t->row[i].benchmark, benchmark) == 0)
      return true;
  return false;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "bench/results/2026-11-15-h200-hashed-times.csv";
  bf_diagnostic diagnostic = {.caret = -1};
  bf_machine *machine = NULL;
  table t = {0};
  half halves[2] = {0};
  if (read_table(path, &t) != 0) {
    fprintf(stderr, "check_predict: %s cannot be read\n", path);
    return 1;
  }
  int error = bf_machine_load("hopper", NULL, &machine, &diagnostic);
  const bf_corpus_benchmark *benchmark;
  unsigned half_of = 0;
  for (unsigned i = 0; !error && (benchmark = bf_corpus_get(i)); i++) {
    if (strcmp(benchmark->folder, "described") == 0)
      continue; /* they came after the halves were made */
    if (was_measured(&t, benchmark->name))
      error =
          predict_benchmark(&t, benchmark, machine, "AB"[half_of], &halves[half_of], &diagnostic);
    half_of = !half_of;
  }
  if (error)
    fprintf(stderr, "check_predict: %s\n", diagnostic.message);
  bool fine = !error;
  fine &= holds('A', &halves[0]);
  fine &= holds('B', &halves[1]);
  bf_machine_free(machine);
  free(t.row);
  return fine ? 0 : 1;
}
