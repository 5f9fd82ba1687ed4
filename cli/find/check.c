/* check: counts wavefronts and conflicts of every access of a trace. */
#include "cli/cli.h"
#include "cli/find/site_table.h"
#include "cli/find/spool.h"
#include "cli/gate.h"
#include "cli/progress.h"

#include <string.h>

static bf_lock_hash lock_hash_of(const char *name) {
  if (!name || strcmp(name, "none") == 0)
    return BF_LOCK_PLAIN;
  return strcmp(name, "xor") == 0 ? BF_LOCK_XOR : BF_LOCK_ADD;
}

typedef struct settings {
  cli_common common;
  const char *from, *hash, *lock_hash;
  uint64_t threads;
  bool accesses, json_lines;
  cli_gate gate;
} settings;

static const cli_option options[] = {
    CLI_COMMON(settings),
    CLI_FROM(settings),
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL,
     "hash to check under (default none)"},
    {"lock-hash", CLI_TEXT, offsetof(settings, lock_hash), "KIND", "none xor add",
     "hash of the lock table on machines that have one (default none)"},
    CLI_GATE(settings),
    {"accesses", CLI_FLAG, offsetof(settings, accesses), NULL, NULL,
     "list every access, not only sites"},
    {"json-lines", CLI_FLAG, offsetof(settings, json_lines), NULL, NULL,
     "write each access as a line of JSON as soon as it is read"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use where accesses are not listed (default one per core)"},
};

/* Everything one run of check needs. */
typedef struct run {
  const settings *own;
  bf_machine *machine;
  bf_hash *hash;
  bf_site_sums *sums;
  cli_spool spool; /* the list of accesses, kept until the whole trace is known to be good */
  uint64_t listed;
} run;

static void write_json_access(const run *r, const bf_access *access, const bf_count *count,
                              bf_text *text) {
  bool in_list = !r->own->json_lines;
  bf_json json = {.text = text, .depth = in_list ? 2 : 0, .flat = {[0] = !in_list, [2] = true}};
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(r->machine), 1);
  if (in_list)
    bf_text_puts(text, r->listed ? ",\n    " : "\n    ");
  bf_json_begin(&json, NULL, '{', true);
  bf_json_number(&json, "line", access->line);
  bf_json_string(&json, "site", access->site);
  bf_json_string(&json, "op", bf_op_name(access->op));
  bf_json_number(&json, "width", access->width_bytes);
  bf_json_number(&json, "count", access->count);
  bf_json_number(&json, "wavefronts_load", count->wavefronts_load);
  bf_json_number(&json, "wavefronts_store", count->wavefronts_store);
  bf_json_number(&json, "wavefronts_atomic", count->wavefronts_atomic);
  bf_json_number(&json, "lock_iterations", count->lock_iterations);
  bf_json_number(&json, "ideal", count->ideal);
  bf_json_number(&json, "conflicts", count->conflicts);
  bf_json_string(&json, "class", bf_pattern_class_name(pattern.class_));
  if (count->latency_cycles)
    bf_json_number(&json, "latency_cycles", count->latency_cycles);
  if (count->estimated)
    bf_json_bool(&json, "estimated", true);
  bf_json_end(&json, '}');
}

static void write_text_access(const run *r, const bf_access *access, const bf_count *count,
                              bf_text *text) {
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(r->machine), 1);
  bf_text_addf(text, "line %llu: %s %u x%llu: %llu wavefronts, %u ideal, %u conflicts, %s%s%s",
               (unsigned long long)access->line, bf_op_name(access->op), access->width_bytes,
               (unsigned long long)access->count, (unsigned long long)bf_count_wavefronts(count),
               count->ideal, count->conflicts, bf_pattern_class_name(pattern.class_),
               access->site ? " @" : "", access->site ? access->site : "");
  if (count->lock_iterations > 1)
    bf_text_addf(text, ", %u lock iterations", count->lock_iterations);
  if (count->latency_cycles)
    bf_text_addf(text, ", about %u cycles", count->latency_cycles);
  bf_text_puts(text, "\n");
}

/* Lists an access: at once as a line of JSON, and else into the spool. */
static int list_access(run *r, const bf_access *access, const bf_count *count,
                       bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (r->own->json_lines || r->own->common.json)
    write_json_access(r, access, count, &text);
  else
    write_text_access(r, access, count, &text);
  r->listed++;
  if (!r->own->json_lines)
    return cli_spool_add(&r->spool, &text, diagnostic);
  return cli_print(&text) == CLI_OK ? BF_OK : bf_fail(diagnostic, BF_IO, "cannot write the output");
}

/* Reads the trace access by access, and lists each. */
static int list_all(run *r, bf_trace *trace, const char *path, bf_diagnostic *diagnostic) {
  const bf_access *access;
  int status;
  while ((status = bf_trace_step(trace, &access, diagnostic)) == 1) {
    bf_count count;
    status = bf_site_sums_add(r->sums, access, &count, diagnostic);
    if (status && !diagnostic->file[0]) {
      snprintf(diagnostic->file, sizeof diagnostic->file, "%s", path);
      diagnostic->line = access->line;
    }
    if (!status)
      status = list_access(r, access, &count, diagnostic);
    if (status)
      return status;
  }
  return status;
}

static int read_all(run *r, const char *path, bf_diagnostic *diagnostic) {
  bf_trace_limits limits = bf_machine_limits(r->machine);
  bf_trace *trace;
  BF_TRY(bf_site_sums_create(r->machine, r->hash, lock_hash_of(r->own->lock_hash), &r->sums,
                             diagnostic));
  BF_TRY(bf_trace_open_form(path, cli_trace_form(r->own->from), &limits, &trace, diagnostic));
  const char *name = bf_input_name(path);
  cli_block_bar bar = cli_block_bar_begin(name);
  bar.unit = "bytes";
  bf_site_sums_reading reading = {
      .threads = (unsigned)r->own->threads, .progress = cli_block_bar_step, .context = &bar};
  int error = r->own->accesses || r->own->json_lines
                  ? list_all(r, trace, name, diagnostic)
                  : bf_site_sums_read(r->sums, trace, name, &reading, diagnostic);
  cli_block_bar_end(&bar);
  bf_trace_close(trace);
  return error;
}

static void write_sum(bf_json *json, const bf_sum *sum) {
  bf_json_number(json, "wavefronts", sum->wavefronts);
  bf_json_number(json, "ideal", sum->ideal);
  bf_json_number(json, "conflicts", sum->conflicts);
}

static void write_json_sites(run *r, bf_json *json) {
  size_t count;
  const bf_site_sum *row = bf_site_sums_rows(r->sums, &count);
  bf_json_begin(json, "sites", '[', false);
  for (size_t i = 0; i < count; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "site", row[i].key);
    bf_json_number(json, "accesses", row[i].sum.accesses);
    write_sum(json, &row[i].sum);
    if (row[i].worst_conflicts) {
      bf_json_number(json, "worst_line", row[i].worst_line);
      bf_json_number(json, "worst_conflicts", row[i].worst_conflicts);
      bf_json_string(json, "worst", row[i].worst);
    }
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

/* The document of --json up to the list of accesses, which is left open where there is one. */
static void write_json_head(run *r, bf_text *text) {
  bf_json json = {.text = text};
  bf_sum total = bf_site_sums_total(r->sums);
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "machine", bf_machine_name(r->machine));
  bf_json_string(&json, "hash", bf_hash_text(r->hash));
  bf_json_begin(&json, "total", '{', true);
  write_sum(&json, &total);
  bf_json_end(&json, '}');
  write_json_sites(r, &json);
  if (r->own->accesses)
    bf_text_puts(text, ",\n  \"accesses\": [");
  else
    bf_json_end(&json, '}');
}

static int print_result(run *r) {
  bf_text head = {0}, tail = {0};
  bf_sum total = bf_site_sums_total(r->sums);
  if (r->own->json_lines)
    return CLI_OK;
  if (r->own->common.json) {
    write_json_head(r, &head);
    if (r->own->accesses)
      bf_text_puts(&tail, r->listed ? "\n  ]\n}\n" : "]\n}\n");
  } else {
    cli_site_table_write(r->sums, cli_wants_color(&r->own->common), &tail);
    bf_text_addf(&tail, "%s, hash %s: %llu accesses, %llu wavefronts, %llu ideal, %llu conflicts\n",
                 bf_machine_name(r->machine), bf_hash_text(r->hash),
                 (unsigned long long)total.accesses, (unsigned long long)total.wavefronts,
                 (unsigned long long)total.ideal, (unsigned long long)total.conflicts);
  }
  int status = cli_print(&head);
  if (status == CLI_OK)
    status = cli_spool_print(&r->spool);
  if (status == CLI_OK)
    status = cli_print(&tail);
  else
    bf_text_free(&tail);
  return status;
}

/* Sites against limits. */
static int keep_out(const run *r, const char *file, int status) {
  bf_gate found = {.findings = 0};
  bf_diagnostic diagnostic = {.caret = -1};
  size_t count = 0;
  const bf_site_sum *row = r->sums ? bf_site_sums_rows(r->sums, &count) : NULL;
  for (size_t i = 0; i < count && status == CLI_OK; i++) {
    bf_finding own = {.file = file,
                      .line = row[i].worst_line,
                      .name = row[i].key,
                      .what = row[i].worst,
                      .wavefronts = row[i].sum.wavefronts,
                      .conflicts = row[i].sum.conflicts};
    if (bf_gate_add(&found, &own, &diagnostic) != BF_OK)
      status = cli_complain(&diagnostic);
  }
  return cli_gate_finish(&r->own->gate, &found, status);
}

static int check(const void *given, int count, char **arguments) {
  const settings *own = given;
  (void)count;
  run r = {.own = own};
  bf_diagnostic diagnostic = {.caret = -1};
  int status = cli_gate_check(&cli_check, &own->gate);
  if (status >= 0)
    return status;
  int error = cli_load_machine(&own->common, &r.machine, &diagnostic);
  if (!error)
    error = cli_load_banks(own->hash, r.machine, &r.hash, &diagnostic);
  if (!error)
    error = read_all(&r, arguments[0], &diagnostic);
  status = !error ? print_result(&r) : cli_complain(&diagnostic);
  status = keep_out(&r, arguments[0], status);
  bf_site_sums_free(r.sums);
  cli_spool_free(&r.spool);
  bf_hash_free(r.hash);
  bf_machine_free(r.machine);
  return status;
}

const cli_command cli_check = {
    .name = "check",
    .summary = "count wavefronts and bank conflicts of a trace",
    .arguments = "FILE",
    .details = "Reads a trace (text or packed, - for standard input) in bounded memory and counts "
               "for every access\nthe wavefronts the machine needs, the fewest any placement "
               "could need, and the difference:\nthe conflicts. With --max-conflicts it is a gate "
               "for continuous integration.",
    .examples = "bankfold check kernel.trace\n"
                "bankfold check kernel.trace --machine ampere --hash xor:0,5,31\n"
                "bankfold check kernel.trace --json              # sums by site\n"
                "bankfold check kernel.trace --json-lines | jq .conflicts         # each access\n"
                "bankfold check kernel.trace --max-conflicts 0   # exit status 1 on any conflict",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = check,
};
