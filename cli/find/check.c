/* check: counts wavefronts and conflicts of every access of a trace. */
#include "cli/cli.h"
#include "cli/find/site_table.h"
#include "cli/find/spool.h"
#include "cli/gate.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *from, *hash, *lock_hash;
  bool accesses;
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
};

typedef struct totals {
  uint64_t accesses, wavefronts, ideal, conflicts, latency;
} totals;

/* Everything one run of check needs. */
typedef struct run {
  const settings *own;
  bf_machine *machine;
  bf_hash *hash;
  bf_lock_hash lock_hash;
  cli_site_table summary;
  cli_spool spool; /* the list of accesses, kept until the whole trace is known to be good */
  totals total;
  uint64_t listed;
} run;

static void write_json_access(const run *r, const bf_access *access, const bf_count *count,
                              bf_text *text) {
  bf_json json = {.text = text, .depth = 2, .flat = {[2] = true}};
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(r->machine), 1);
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

static int add_access(run *r, const bf_access *access, bf_diagnostic *diagnostic) {
  bf_count count;
  int error = bf_memory_count_locked(r->machine, r->hash, r->lock_hash, access, &count, diagnostic);
  if (error)
    return error;
  r->total.accesses += access->count;
  r->total.wavefronts += access->count * bf_count_wavefronts(&count);
  r->total.ideal += access->count * count.ideal;
  r->total.conflicts += access->count * count.conflicts;
  r->total.latency += access->count * count.latency_cycles;
  error = cli_site_table_add(&r->summary, r->machine, access, &count, diagnostic);
  if (!error && (r->own->common.json || r->own->accesses)) {
    bf_text text = {0};
    if (r->own->common.json)
      write_json_access(r, access, &count, &text);
    else
      write_text_access(r, access, &count, &text);
    error = cli_spool_add(&r->spool, &text, diagnostic);
    r->listed++;
  }
  return error;
}

static int read_all(run *r, const char *path, bf_diagnostic *diagnostic) {
  bf_trace_limits limits = bf_machine_limits(r->machine);
  bf_trace *trace;
  int status = bf_trace_open_form(path, cli_trace_form(r->own->from), &limits, &trace, diagnostic);
  if (status != BF_OK)
    return status;
  bf_access access;
  while ((status = bf_trace_next(trace, &access, diagnostic)) == 1) {
    status = add_access(r, &access, diagnostic);
    if (status != BF_OK) {
      if (!diagnostic->file[0]) {
        snprintf(diagnostic->file, sizeof diagnostic->file, "%s", path);
        diagnostic->line = access.line;
      }
      break;
    }
  }
  if (status == 0)
    cli_site_table_sort(&r->summary);
  bf_trace_close(trace);
  return status;
}

static void write_json_head(const run *r, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "machine", bf_machine_name(r->machine));
  bf_json_string(&json, "hash", bf_hash_text(r->hash));
  bf_json_begin(&json, "total", '{', true);
  bf_json_number(&json, "wavefronts", r->total.wavefronts);
  bf_json_number(&json, "ideal", r->total.ideal);
  bf_json_number(&json, "conflicts", r->total.conflicts);
  bf_json_end(&json, '}');
  bf_text_puts(text, ",\n  \"accesses\": [");
}

static int print_result(run *r) {
  bf_text head = {0}, tail = {0};
  if (r->own->common.json) {
    write_json_head(r, &head);
    bf_text_puts(&tail, r->listed ? "\n  ]\n}\n" : "]\n}\n");
  } else {
    cli_site_table_write(&r->summary, cli_wants_color(&r->own->common), &tail);
    bf_text_addf(&tail, "%s, hash %s: %llu accesses, %llu wavefronts, %llu ideal, %llu conflicts\n",
                 bf_machine_name(r->machine), bf_hash_text(r->hash),
                 (unsigned long long)r->total.accesses, (unsigned long long)r->total.wavefronts,
                 (unsigned long long)r->total.ideal, (unsigned long long)r->total.conflicts);
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

static bf_lock_hash lock_hash_of(const char *name) {
  if (!name || strcmp(name, "none") == 0)
    return BF_LOCK_PLAIN;
  return strcmp(name, "xor") == 0 ? BF_LOCK_XOR : BF_LOCK_ADD;
}

/* Sites against limits. */
static int keep_out(const run *r, const char *file, int status) {
  bf_gate found = {.findings = 0};
  bf_diagnostic diagnostic = {.caret = -1};
  for (size_t i = 0; i < r->summary.count && status == CLI_OK; i++) {
    const cli_site_table_row *row = &r->summary.row[i];
    bf_finding own = {.file = file,
                      .line = row->worst_line,
                      .name = row->key,
                      .what = row->worst,
                      .wavefronts = row->wavefronts,
                      .conflicts = row->conflicts};
    if (bf_gate_add(&found, &own, &diagnostic) != BF_OK)
      status = cli_complain(&diagnostic);
  }
  return cli_gate_finish(&r->own->gate, &found, status);
}

static int check(const void *given, int count, char **arguments) {
  const settings *own = given;
  (void)count;
  run r = {.own = own, .lock_hash = lock_hash_of(own->lock_hash)};
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
  cli_site_table_free(&r.summary);
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
                "bankfold check kernel.trace --json\n"
                "bankfold check kernel.trace --max-conflicts 0   # exit status 1 on any conflict",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = check,
};
