/* corpus: lists the benchmarks, runs them on the emulator or a GPU, and compares methods on them.
 */
#include "cli/cli.h"
#include "kernels/devices.h"
#include "kernels/measure.h"

#include <string.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  bool all, table, as_written, launches;
  uint64_t scale, seed, threads;
  const char *time_limit, *hash, *trace, *device;
} settings;

static const cli_option options[] = {
    CLI_COMMON(settings),
    {"all", CLI_FLAG, offsetof(settings, all), NULL, NULL, "run all benchmarks"},
    {"table", CLI_FLAG, offsetof(settings, table), NULL, NULL,
     "find hashes by every method and print the conflicts they remove"},
    {"device", CLI_TEXT, offsetof(settings, device), "WHERE", "emu gpu",
     "emu (default): the emulator; gpu: the first CUDA GPU, without counting"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL, "count under this hash"},
    {"save-trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "write the shared accesses of one benchmark to FILE instead"},
    {"as-written", CLI_FLAG, offsetof(settings, as_written), NULL, NULL,
     "count accesses as the PTX has them, not as ptxas merges them"},
    {"launches", CLI_FLAG, offsetof(settings, launches), NULL, NULL, "show every launch"},
    {"scale", CLI_NUMBER, offsetof(settings, scale), "N", NULL, "larger inputs (default 1)"},
    {"seed", CLI_NUMBER, offsetof(settings, seed), "N", NULL, "other data (default the usual)"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "--table: for each exact search (default 10)"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
};

static bool is_on_gpu(const settings *own) {
  return own->device && strcmp(own->device, "gpu") == 0;
}

/* ---- Listing ---- */

static const char *kind_of(const bf_corpus_benchmark *benchmark) {
  return benchmark->is_control          ? "control"
         : benchmark->is_padded         ? "padded"
         : benchmark->is_data_dependent ? "data"
                                        : "pattern";
}

static int list_all(const settings *own) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  if (own->common.json) {
    bf_json_begin(&json, NULL, '{', false);
    bf_json_begin(&json, "benchmarks", '[', false);
  } else {
    bf_text_addf(&text, "%-24s %-8s %-12s %s\n", "benchmark", "kind", "published", "what it is");
  }
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)); i++) {
    if (!own->common.json) {
      bf_text_addf(&text, "%-24s %-8s %-12s %s\n", at->name, kind_of(at),
                   at->published_name ? at->published_name : "-", at->summary);
      continue;
    }
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "name", at->name);
    bf_json_string(&json, "folder", at->folder);
    bf_json_string(&json, "kind", kind_of(at));
    bf_json_string(&json, "published", at->published_name);
    bf_json_string(&json, "summary", at->summary);
    bf_json_string(&json, "difference", at->difference);
    bf_json_end(&json, '}');
  }
  if (own->common.json) {
    bf_json_end(&json, ']');
    bf_json_end(&json, '}');
  }
  return cli_print(&text);
}

/* ---- Running ---- */

/* What is being done, on a terminal only. */
static void say(const char *name) {
  if (isatty(2)) {
    fprintf(stderr, "\r\033[K%s%s", name, *name ? " ..." : "");
    fflush(stderr);
  }
}

static void write_counts(bf_json *json, const bf_corpus_launched *at) {
  bf_json_number(json, "thread_instructions", at->thread_instructions);
  bf_json_number(json, "accesses", at->accesses);
  bf_json_number(json, "wavefronts_load", at->wavefronts_load);
  bf_json_number(json, "wavefronts_store", at->wavefronts_store);
  bf_json_number(json, "wavefronts_atomic", at->wavefronts_atomic);
  bf_json_number(json, "ideal", at->ideal);
  bf_json_number(json, "conflicts", at->conflicts);
  bf_json_bool(json, "estimated", at->estimated);
}

static void write_outcome(bf_json *json, const bf_corpus_benchmark *benchmark,
                          const bf_corpus_outcome *outcome, double seconds) {
  bf_json_string(json, "name", benchmark->name);
  bf_json_bool(json, "right", outcome->wrong == 0);
  bf_json_number(json, "elements", outcome->elements);
  bf_json_number(json, "wrong", outcome->wrong);
  bf_json_real(json, "worst_error", outcome->worst_error);
  bf_json_real(json, "allowed_error", outcome->allowed_error);
  bf_json_string(json, "first_wrong", outcome->first_wrong[0] ? outcome->first_wrong : NULL);
  bf_json_real(json, "seconds", seconds);
}

static void write_measured_json(bf_json *json, const bf_corpus_benchmark *benchmark,
                                const bf_corpus_measured *measured) {
  bf_json_begin(json, NULL, '{', false);
  write_outcome(json, benchmark, &measured->outcome, measured->seconds);
  write_counts(json, &measured->total);
  bf_json_begin(json, "launches", '[', false);
  for (unsigned i = 0; i < measured->launches; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "kernel", measured->launch[i].kernel);
    write_counts(json, &measured->launch[i]);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

static void write_line(bf_text *text, const char *name, const char *result,
                       const bf_corpus_launched *at) {
  bf_text_addf(
      text, "%-28s %-6s %12llu %12llu %12llu %12llu%s\n", name, result,
      (unsigned long long)at->accesses,
      (unsigned long long)(at->wavefronts_load + at->wavefronts_store + at->wavefronts_atomic),
      (unsigned long long)at->ideal, (unsigned long long)at->conflicts,
      at->estimated ? "  (estimated)" : "");
}

static void write_measured_text(const settings *own, bf_text *text,
                                const bf_corpus_benchmark *benchmark,
                                const bf_corpus_measured *measured) {
  write_line(text, benchmark->name, measured->outcome.wrong ? "WRONG" : "right", &measured->total);
  if (measured->outcome.wrong)
    bf_text_addf(text, "  %s\n", measured->outcome.first_wrong);
  for (unsigned i = 0; own->launches && i < measured->launches; i++) {
    char name[80];
    snprintf(name, sizeof name, "  %s", measured->launch[i].kernel);
    write_line(text, name, "", &measured->launch[i]);
  }
}

static bf_corpus_settings corpus_settings(const settings *own, const bf_machine *machine,
                                          const bf_hash *hash) {
  return (bf_corpus_settings){.machine = machine,
                              .hash = hash,
                              .as_written = own->as_written,
                              .scale = own->scale ? (unsigned)own->scale : 1,
                              .seed = (unsigned)own->seed,
                              .workers = (unsigned)own->threads};
}

/* Runs a benchmark on a GPU. */
static int run_gpu(const settings *own, const bf_corpus_benchmark *benchmark,
                   bf_corpus_measured *measured, bf_diagnostic *diagnostic) {
  bf_device device;
  *measured = (bf_corpus_measured){0};
  BF_TRY(bf_cuda_device_create(bf_corpus_ptx(benchmark->folder), NULL, &device, diagnostic));
  double start = bf_seconds();
  int error = bf_corpus_execute(benchmark, &device, own->scale ? (unsigned)own->scale : 1,
                                (unsigned)own->seed, &measured->outcome, diagnostic);
  measured->seconds = bf_seconds() - start;
  bf_cuda_device_free(&device);
  return error;
}

/* One benchmark: its output is added to text; *wrong counts those whose results are. */
static int run_one(const settings *own, const bf_machine *machine, const bf_hash *hash,
                   const bf_corpus_benchmark *benchmark, bf_text *text, bf_json *json,
                   unsigned *wrong, bf_diagnostic *diagnostic) {
  bf_corpus_settings with = corpus_settings(own, machine, hash);
  bf_corpus_measured measured;
  say(benchmark->name);
  if (is_on_gpu(own))
    BF_TRY(run_gpu(own, benchmark, &measured, diagnostic));
  else
    BF_TRY(bf_corpus_measure(benchmark, &with, &measured, diagnostic));
  say("");
  *wrong += measured.outcome.wrong != 0;
  if (own->common.json)
    write_measured_json(json, benchmark, &measured);
  else if (is_on_gpu(own))
    bf_text_addf(text, "%-28s %-6s %12.3f s%s%s\n", benchmark->name,
                 measured.outcome.wrong ? "WRONG" : "right", measured.seconds,
                 measured.outcome.wrong ? "  " : "", measured.outcome.first_wrong);
  else
    write_measured_text(own, text, benchmark, &measured);
  bf_arena_free(&measured.arena);
  return BF_OK;
}

/* ---- The table ---- */

static void write_row_json(bf_json *json, const bf_corpus_row *row) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", row->benchmark->name);
  bf_json_string(json, "kind", kind_of(row->benchmark));
  bf_json_string(json, "published", row->benchmark->published_name);
  bf_json_number(json, "accesses", row->accesses);
  bf_json_number(json, "conflicts", row->conflicts);
  bf_json_begin(json, "methods", '[', false);
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++) {
    const bf_corpus_cell *cell = &row->cell[i];
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "name", bf_corpus_column_names[i]);
    bf_json_string(json, "hash", cell->has ? cell->hash : NULL);
    bf_json_number(json, "conflicts", cell->has ? cell->conflicts : row->conflicts);
    bf_json_real(json, "removed", cell->has ? bf_corpus_removed(row, cell->conflicts) : 0);
    bf_json_bool(json, "proven", cell->proven);
    bf_json_string(json, "published_hash", cell->published);
    if (cell->judged)
      bf_json_real(json, "published_removed", bf_corpus_removed(row, cell->published_conflicts));
    else
      bf_json_string(json, "published_removed", NULL);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

static void write_row_text(bf_text *text, const bf_corpus_row *row) {
  bf_text_addf(text, "%-24s %10llu", row->benchmark->name, (unsigned long long)row->conflicts);
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++) {
    if (row->conflicts == 0)
      bf_text_addf(text, " %10s", row->cell[i].conflicts ? "worse" : "-");
    else if (!row->cell[i].has)
      bf_text_addf(text, " %10s", "none");
    else
      bf_text_addf(text, " %9.1f%s", 100 * bf_corpus_removed(row, row->cell[i].conflicts),
                   i == BF_CORPUS_EXACT && row->cell[i].proven ? "*" : "%");
  }
  bf_text_puts(text, "\n");
}

/* Hashes found beside the document's, and what these remove here. */
static void write_hashes(bf_text *text, const bf_corpus_row *row) {
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++) {
    const bf_corpus_cell *cell = &row->cell[i];
    if (!cell->published)
      continue;
    bf_text_addf(text, "%-24s %-10s %-32s", row->benchmark->name, bf_corpus_column_names[i],
                 cell->has ? cell->hash : "-");
    if (cell->judged)
      bf_text_addf(text, " %-26s %9.1f%%\n", cell->published,
                   100 * bf_corpus_removed(row, cell->published_conflicts));
    else
      bf_text_addf(text, " %-26s %10s\n", cell->published, "no hash");
  }
}

/* Sums for the last lines of the table. */
typedef struct averages {
  unsigned rows;
  double sum[BF_CORPUS_COLUMNS];
} averages;

/* Rows that stand for one of the document, and have conflicts, count. */
static void add_average(averages *to, const bf_corpus_row *row) {
  if (!row->benchmark->published_name || row->conflicts == 0)
    return;
  to->rows++;
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++)
    to->sum[i] += row->cell[i].has ? bf_corpus_removed(row, row->cell[i].conflicts) : 0;
}

static double published_percent(unsigned column) {
  if (column == BF_CORPUS_FIXED)
    return BF_PUBLISHED_FIXED_PERCENT;
  if (column >= BF_CORPUS_BIT_VECTOR && column <= BF_CORPUS_XOR_IMBALANCE)
    return bf_published_percent[column - BF_CORPUS_BIT_VECTOR];
  return -1;
}

static void write_averages(bf_text *text, const averages *of) {
  char title[40];
  if (of->rows == 0)
    return;
  snprintf(title, sizeof title, "average of %u published", of->rows);
  bf_text_addf(text, "%-24s %10s", title, "");
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++)
    bf_text_addf(text, " %9.1f%%", 100 * of->sum[i] / of->rows);
  bf_text_addf(text, "\n%-24s %10s", "the document's average", "");
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++)
    if (published_percent(i) < 0)
      bf_text_addf(text, " %10s", "-");
    else
      bf_text_addf(text, " %9.1f%%", published_percent(i));
  bf_text_puts(text,
               "\n\n* proven: no hash leaves fewer conflicts of the accesses it was made for. "
               "Kernels whose\naddresses depend on data are judged on ten other inputs.\n");
}

static void write_averages_json(bf_json *json, const averages *of) {
  bf_json_begin(json, "averages", '{', false);
  bf_json_number(json, "benchmarks", of->rows);
  bf_json_begin(json, "methods", '[', false);
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "name", bf_corpus_column_names[i]);
    bf_json_real(json, "removed", of->rows ? of->sum[i] / of->rows : 0);
    if (published_percent(i) < 0)
      bf_json_string(json, "published", NULL);
    else
      bf_json_real(json, "published", published_percent(i) / 100);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

/* ---- Traces ---- */

static int write_trace(const settings *own, const bf_machine *machine,
                       const bf_corpus_benchmark *benchmark, bf_diagnostic *diagnostic) {
  bf_corpus_settings with = corpus_settings(own, machine, NULL);
  bf_workload *workload;
  BF_TRY(bf_corpus_record(benchmark, &with, &workload, diagnostic));
  int error = bf_workload_write(workload, own->trace, diagnostic);
  bf_workload_free(workload);
  return error;
}

/* ---- Choosing ---- */

/* Benchmark number index of those asked for; NULL behind the last. */
static const bf_corpus_benchmark *chosen(const settings *own, int count, char **names,
                                         unsigned index) {
  if (own->all || count == 0)
    return bf_corpus_get(index);
  return index < (unsigned)count ? bf_corpus_find(names[index]) : NULL;
}

static int run_chosen(const settings *own, const bf_machine *machine, const bf_hash *hash,
                      double time_limit_seconds, int count, char **names, bf_text *text,
                      unsigned *wrong, bf_diagnostic *diagnostic) {
  bf_json json = {.text = text};
  bf_text hashes = {0};
  averages average = {0};
  if (own->common.json) {
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "machine", bf_machine_name(machine));
    bf_json_begin(&json, "benchmarks", '[', false);
  } else if (own->table) {
    bf_text_addf(text, "%-24s %10s", "benchmark", "conflicts");
    for (unsigned i = 0; i < BF_CORPUS_COLUMNS; i++)
      bf_text_addf(text, " %10s", bf_corpus_column_names[i]);
    bf_text_puts(text, "\n");
  } else if (!is_on_gpu(own)) {
    bf_text_addf(text, "%-28s %-6s %12s %12s %12s %12s\n", "benchmark", "result", "accesses",
                 "wavefronts", "ideal", "conflicts");
  }
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = chosen(own, count, names, i)); i++) {
    if (!own->table) {
      BF_TRY(run_one(own, machine, hash, at, text, &json, wrong, diagnostic));
      continue;
    }
    bf_corpus_row row;
    bf_corpus_settings with = corpus_settings(own, machine, NULL);
    with.as_written = true;
    say(at->name);
    int error = bf_corpus_tabulate(at, &with, time_limit_seconds, &row, diagnostic);
    if (error) {
      bf_text_free(&hashes);
      return error;
    }
    say("");
    add_average(&average, &row);
    write_hashes(&hashes, &row);
    if (own->common.json)
      write_row_json(&json, &row);
    else
      write_row_text(text, &row);
  }
  if (own->common.json)
    bf_json_end(&json, ']');
  if (own->table && own->common.json)
    write_averages_json(&json, &average);
  else if (own->table)
    write_averages(text, &average);
  if (own->table && !own->common.json && hashes.size)
    bf_text_addf(text, "\n%-24s %-10s %-32s %-26s %10s\n%s", "benchmark", "method", "hash found",
                 "the document's hash", "removes", hashes.data);
  text->failed |= hashes.failed;
  bf_text_free(&hashes);
  if (own->common.json)
    bf_json_end(&json, '}');
  return BF_OK;
}

static int corpus(const void *given, int count, char **arguments) {
  const settings *own = given;
  bf_diagnostic diagnostic = {.caret = -1};
  double time_limit_seconds = 10;
  if (count == 0 && !own->all && !own->table)
    return list_all(own);
  for (int i = 0; i < count; i++)
    if (!bf_corpus_find(arguments[i]))
      return cli_usage_error(&cli_corpus, "no benchmark '%s'; bankfold corpus lists them",
                             arguments[i]);
  if (own->trace && (count != 1 || is_on_gpu(own) || own->table || own->common.json))
    return cli_usage_error(&cli_corpus, "--trace takes one benchmark, and neither --gpu, --table "
                                        "nor --json");
  int status = cli_seconds(&cli_corpus, "time-limit", own->time_limit, &time_limit_seconds);
  if (status >= 0)
    return status;
  if (own->threads > 1024 || own->scale > 1024 || own->seed > UINT32_MAX)
    return cli_usage_error(&cli_corpus, "--threads and --scale take at most 1024");
  bf_machine *machine = NULL;
  bf_hash *hash = NULL;
  bf_text text = {0};
  unsigned wrong = 0;
  int error = cli_load_machine(&own->common, &machine, &diagnostic);
  if (!error && bf_machine_lanes(machine) != BF_EMU_LANES)
    error = bf_fail(&diagnostic, BF_UNSUPPORTED,
                    "CUDA kernels have warps of 32 threads; machine '%s' has %u",
                    bf_machine_name(machine), bf_machine_lanes(machine));
  if (!error)
    error = cli_load_banks(own->hash, machine, &hash, &diagnostic);
  if (!error && own->trace)
    error = write_trace(own, machine, bf_corpus_find(arguments[0]), &diagnostic);
  else if (!error)
    error = run_chosen(own, machine, own->hash ? hash : NULL, time_limit_seconds, count, arguments,
                       &text, &wrong, &diagnostic);
  bf_hash_free(hash);
  bf_machine_free(machine);
  if (error) {
    say("");
    bf_text_free(&text);
    return cli_complain(&diagnostic);
  }
  status = cli_print(&text);
  return status == CLI_OK && wrong ? CLI_FINDINGS : status;
}

const cli_command cli_corpus = {
    .name = "corpus",
    .summary = "list and run the benchmark kernels, and compare methods on them",
    .arguments = "[NAME...]",
    .details =
        "Without names, lists the benchmarks. With names or --all, runs them on the emulator, "
        "compares\ntheir results with references on the CPU and counts wavefronts; --gpu runs them "
        "on a real GPU\ninstead. --table finds a hash by every method for each and prints the "
        "percentage of conflicts it\nremoves, beside what was published. Exit status 1 where a "
        "result is wrong.",
    .examples = "bankfold corpus\n"
                "bankfold corpus transpose16 fft512 --launches\n"
                "bankfold corpus --all --json\n"
                "bankfold corpus --table --time-limit 5\n"
                "bankfold corpus fft512 --trace fft.trace && bankfold solve fft.trace",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1000,
    .run = corpus,
};
