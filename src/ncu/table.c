/* Kernels as tables: for people and as JSON. */
#include "ncu/ncu.h"

#include <string.h>

static void write_number(const bf_ncu_number *number, bf_text *text) {
  if (number->is_there)
    bf_text_addf(text, "%13llu", (unsigned long long)number->value);
  else
    bf_text_addf(text, "%13s", "-");
}

static void write_line(const bf_ncu_line *line, bf_text *text) {
  const char *slash = line->file ? strrchr(line->file, '/') : NULL;
  uint64_t conflicts = line->wavefronts > line->ideal ? line->wavefronts - line->ideal : 0;
  bf_text_addf(text, "%13llu%13llu%13llu", (unsigned long long)conflicts,
               (unsigned long long)line->wavefronts, (unsigned long long)line->ideal);
  write_number(&line->predicted, text);
  bf_text_puts(text, "  ");
  if (line->line)
    bf_text_addf(text, "%s:%llu: ",
                 slash        ? slash + 1
                 : line->file ? line->file
                              : "line",
                 (unsigned long long)line->line);
  else if (line->address)
    bf_text_addf(text, "%s: ", line->address);
  bf_text_addf(text, "%.60s\n", line->instruction);
}

/* What was predicted, or why not. */
static void write_predicted(const bf_ncu_kernel *kernel, bf_text *text) {
  const char *why = kernel->not_predicted;
  if (kernel->predicted.is_there)
    bf_text_addf(text, "  predicted from %s: %llu wavefronts, %llu would do%s%s\n",
                 kernel->is_run ? "a run" : "the PTX", (unsigned long long)kernel->predicted.value,
                 (unsigned long long)kernel->predicted_ideal.value, why ? "; " : "",
                 why ? why : "");
  else if (why)
    bf_text_addf(text, "  not predicted: %s\n", why);
}

void bf_ncu_write(const bf_ncu_kernel *kernel, bf_text *text) {
  bf_text judged = {0};
  bf_text_puts(text, kernel->short_name);
  if (kernel->block[0])
    bf_text_addf(text, ", grid %u x %u x %u, block %u x %u x %u", kernel->grid[0], kernel->grid[1],
                 kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2]);
  bf_text_puts(text, "\n");
  bf_ncu_judge(kernel, &judged);
  const char *at = judged.data ? judged.data : "nothing of shared memory was measured\n";
  for (size_t length; *at; at += length) {
    length = strcspn(at, "\n") + 1;
    bf_text_puts(text, "  ");
    bf_text_add(text, at, length);
  }
  write_predicted(kernel, text);
  if (kernel->lines)
    bf_text_addf(text, "%13s%13s%13s%13s  %s\n", "conflicts", "wavefronts", "ideal", "predicted",
                 "where");
  for (size_t i = 0; i < kernel->lines; i++)
    write_line(&kernel->line[i], text);
  bf_text_free(&judged);
}

static void json_number(bf_json *json, const char *key, const bf_ncu_number *number) {
  if (number->is_there)
    bf_json_number(json, key, number->value);
  else
    bf_json_string(json, key, NULL);
}

void bf_ncu_write_json(const bf_ncu_kernel *kernel, bf_json *json) {
  static const char *const names[BF_NCU_METRICS] = {"wavefronts",         "ideal",
                                                    "instructions",       "counted_conflicts",
                                                    "counted_wavefronts", "mixed_conflicts"};
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "kernel", kernel->short_name);
  for (unsigned i = 0; i < BF_NCU_METRICS; i++)
    json_number(json, names[i], &kernel->metric[i]);
  json_number(json, "predicted", &kernel->predicted);
  json_number(json, "predicted_ideal", &kernel->predicted_ideal);
  bf_json_begin(json, "lines", '[', false);
  for (size_t i = 0; i < kernel->lines; i++) {
    const bf_ncu_line *line = &kernel->line[i];
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "file", line->file);
    bf_json_number(json, "line", line->line);
    bf_json_string(json, "address", line->address);
    bf_json_number(json, "wavefronts", line->wavefronts);
    bf_json_number(json, "ideal", line->ideal);
    json_number(json, "predicted", &line->predicted);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}
