/* Writing the results of tune. */
#include "cli/use/tune_table.h"

#include "hash/hash.h"
#include "ptx/ptx.h"
/* A time in a unit that suits it. */
static void write_time(double ns, bf_text *text) {
  char time[32];
  if (ns < 1e3)
    snprintf(time, sizeof time, "%.0f ns", ns);
  else if (ns < 1e6)
    snprintf(time, sizeof time, "%.2f us", ns / 1e3);
  else if (ns < 1e9)
    snprintf(time, sizeof time, "%.3f ms", ns / 1e6);
  else
    snprintf(time, sizeof time, "%.3f s", ns / 1e9);
  bf_text_puts(text, time);
}

/* The time of one launch on average, at the right of so many columns. */
static void write_launch(const bf_measured_kernel *kernel, double ns, bool is_there,
                         bf_text *text) {
  bf_text own = {0};
  if (is_there)
    write_time(ns / (double)(kernel->launches ? kernel->launches : 1), &own);
  bf_text_addf(text, " %12s", own.data ? own.data : "-");
  bf_text_free(&own);
}

/* ---- Table ---- */

static void write_row(const bf_measured_kernel *kernel, bool color, bf_text *text) {
  char speed_up[32] = "-";
  if (kernel->hash)
    snprintf(speed_up, sizeof speed_up, "%.2fx", kernel->times.before.ns / kernel->times.after.ns);
  bf_text_addf(text, "%10llu", (unsigned long long)kernel->launches);
  write_launch(kernel, kernel->times.before.ns, kernel->times.before.ns > 0, text);
  write_launch(kernel, kernel->times.after.ns, kernel->hash != NULL, text);
  bf_text_addf(text, " %9s %6u  %s", speed_up, kernel->tried,
               color && kernel->hash ? "\033[1;32m" : "");
  bf_ptx_readable_name(kernel->name, text);
  if (kernel->hash)
    bf_text_addf(text, ": %s%s\n", kernel->hash, color ? "\033[0m" : "");
  else
    bf_text_addf(text, ": left alone: %s\n", kernel->reason);
}

void cli_tune_table_write_text(const cli_tune_table *tuned, bool color, bf_text *text) {
  bf_text_addf(text, "%10s %12s %12s %9s %6s  %s\n", "launches", "before", "after", "speed-up",
               "tried", "kernel");
  for (size_t i = 0; i < tuned->measured->kernels; i++)
    write_row(&tuned->measured->kernel[i], color, text);
  bf_text_addf(text, "%u runs; times are those of a launch\n", tuned->measured->runs_done);
}

/* ---- JSON ---- */

static void write_candidates(bf_json *json, const cli_tune_table *tuned) {
  bf_json_begin(json, "candidates", '[', false);
  for (unsigned i = 1; i < tuned->measured->candidates; i++) {
    const bf_measured_candidate *candidate = &tuned->measured->candidate[i];
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "hash", candidate->kind == BF_MEASURED_HASH ? candidate->text : NULL);
    bf_json_string(json, "file", candidate->kind == BF_MEASURED_FILE ? candidate->text : NULL);
    bf_json_number(json, "runs", candidate->runs);
    bf_json_string(json, "dropped", *candidate->dropped ? candidate->dropped : NULL);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_kernel(bf_json *json, const bf_measured_kernel *kernel) {
  bf_text name = {0};
  bf_ptx_readable_name(kernel->name, &name);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", name.data);
  bf_json_string(json, "mangled", kernel->name);
  bf_json_number(json, "launches", kernel->launches);
  bf_json_real(json, "ns_before", kernel->times.before.ns);
  bf_json_real(json, "noise", kernel->times.before.noise);
  bf_json_string(json, "hash", kernel->hash);
  if (kernel->hash)
    bf_json_real(json, "ns_after", kernel->times.after.ns);
  else
    bf_json_string(json, "ns_after", NULL);
  bf_json_string(json, "reason", *kernel->reason ? kernel->reason : NULL);
  bf_json_begin(json, "tried", '[', kernel->tried == 0);
  for (unsigned i = 0; i < kernel->tried; i++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "hash", kernel->list[i].hash);
    bf_json_real(json, "ns_before", kernel->list[i].times.before.ns);
    bf_json_real(json, "ns_after", kernel->list[i].times.after.ns);
    bf_json_real(json, "noise", kernel->list[i].times.after.noise);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
  bf_text_free(&name);
}

void cli_tune_table_write_json(const cli_tune_table *tuned, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "program", tuned->argument[0]);
  bf_json_string(&json, "output", tuned->output);
  bf_json_number(&json, "runs", tuned->measured->runs_done);
  write_candidates(&json, tuned);
  bf_json_begin(&json, "kernels", '[', false);
  for (size_t i = 0; i < tuned->measured->kernels; i++)
    write_kernel(&json, &tuned->measured->kernel[i]);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

/* ---- Files of hashes ---- */

/* Text as part of a comment: what ends a line does not. */
static void write_comment(const char *from, bf_text *text) {
  for (; *from; from++)
    bf_text_addf(text, "%c", *from == '\n' || *from == '\r' ? ' ' : *from);
}

static void write_hash(const bf_measured_kernel *kernel, bf_text *text) {
  bf_text_puts(text, "# ");
  bf_ptx_readable_name(kernel->name, text);
  bf_text_addf(text, ": %llu launches, ", (unsigned long long)kernel->launches);
  write_time(kernel->times.before.ns, text);
  if (kernel->hash) {
    bf_text_puts(text, " -> ");
    write_time(kernel->times.after.ns, text);
    bf_text_addf(text, ", %.2fx\n", kernel->times.before.ns / kernel->times.after.ns);
  } else {
    bf_text_addf(text, ", left alone: %s\n", kernel->reason);
  }
  bf_hash_list_write(kernel->name, kernel->hash, text);
}

void cli_tune_table_write_hashes(const cli_tune_table *tuned, bf_text *text) {
  bf_text_puts(text, "# measured by bankfold tune");
  for (int i = 0; i < tuned->arguments; i++) {
    bf_text_puts(text, " ");
    write_comment(tuned->argument[i], text);
  }
  bf_text_puts(text, "\n");
  for (size_t i = 0; i < tuned->measured->kernels; i++)
    write_hash(&tuned->measured->kernel[i], text);
}
