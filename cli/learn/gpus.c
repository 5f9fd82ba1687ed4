/* GPU files as tables: each parameter with its value, what the value rests on, and its meaning. */
#include "cli/learn/gpus.h"

#include <string.h>

bool cli_is_gpu(const char *name) {
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, ".gpu") == 0)
    return true;
  for (const bf_embedded_machine *at = bf_embedded_gpus; at->name; at++)
    if (strcmp(at->name, name) == 0)
      return true;
  return false;
}

/* Where the value of a parameter comes from. Values without a line in the file are defaults. */
static const bf_machine_fact *find_fact(const bf_sim_gpu *gpu, const char *key) {
  for (size_t i = 0; i < gpu->fact_count; i++)
    if (strcmp(gpu->facts[i].key, key) == 0)
      return &gpu->facts[i];
  return NULL;
}

static const char *basis_of(const bf_sim_gpu *gpu, const bf_sim_parameter *parameter) {
  const bf_machine_fact *fact = find_fact(gpu, parameter->name);
  return fact ? fact->basis : "default";
}

static unsigned count_basis(const bf_sim_gpu *gpu, const char *basis) {
  unsigned count = 0;
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    count += strcmp(basis_of(gpu, p), basis) == 0;
  return count;
}

/* A file may start from another one and give other values: the sources of those are not its own. */
static bool is_used(const bf_sim_gpu *gpu, const char *source) {
  for (size_t i = 0; i < gpu->fact_count; i++)
    if (strcmp(gpu->facts[i].source, source) == 0)
      return true;
  return false;
}

/* ---- All GPUs ---- */

static void write_row(const bf_sim_gpu *gpu, bf_text *text) {
  bf_text_addf(text, "%-10s %5u %5.0f %-10s %8u %9u %7u %7u  %s\n", gpu->name, (unsigned)gpu->sms,
               gpu->clock_mhz, bf_machine_name(gpu->machine), count_basis(gpu, "measured"),
               count_basis(gpu, "published"), count_basis(gpu, "assumed"),
               count_basis(gpu, "default"), gpu->title);
}

static void write_json_summary(const bf_sim_gpu *gpu, bf_json *json) {
  bf_json_string(json, "name", gpu->name);
  bf_json_string(json, "title", gpu->title);
  bf_json_string(json, "machine", bf_machine_name(gpu->machine));
  bf_json_number(json, "sms", gpu->sms);
  bf_json_real(json, "clock_mhz", gpu->clock_mhz);
  bf_json_number(json, "measured", count_basis(gpu, "measured"));
  bf_json_number(json, "published", count_basis(gpu, "published"));
  bf_json_number(json, "assumed", count_basis(gpu, "assumed"));
  bf_json_number(json, "defaults", count_basis(gpu, "default"));
}

static int add_to_list(const char *name, bf_json *json, bool wants_json,
                       bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load(name, &gpu, diagnostic));
  if (wants_json) {
    bf_json_begin(json, NULL, '{', true);
    write_json_summary(gpu, json);
    bf_json_end(json, '}');
  } else {
    write_row(gpu, json->text);
  }
  bf_sim_gpu_free(gpu);
  return BF_OK;
}

int cli_list_gpus(bf_json *json, bool wants_json, bf_diagnostic *diagnostic) {
  if (wants_json)
    bf_json_begin(json, "gpus", '[', false);
  else
    bf_text_addf(json->text, "%-10s %5s %5s %-10s %8s %9s %7s %7s  %s\n", "name", "SMs", "MHz",
                 "memory", "measured", "published", "assumed", "default", "title");
  for (const bf_embedded_machine *at = bf_embedded_gpus; at->name; at++) {
    BF_TRY(add_to_list(at->name, json, wants_json, diagnostic));
  }
  if (wants_json)
    bf_json_end(json, ']');
  return BF_OK;
}

/* ---- One GPU ---- */

static void write_parameter(const bf_sim_gpu *gpu, const bf_sim_parameter *p, bf_text *text) {
  const bf_machine_fact *fact = find_fact(gpu, p->name);
  bf_text value = {0};
  bf_sim_gpu_get(gpu, p, &value);
  bf_text_addf(text, "  %-23s %-14s %-9s %-12s %s\n", p->name, value.data ? value.data : "",
               basis_of(gpu, p), fact ? fact->source : "-", p->meaning);
  bf_text_free(&value);
}

void cli_write_gpu(const bf_sim_gpu *gpu, bf_text *text) {
  bf_text_addf(text, "%s: %s\n", gpu->name, gpu->title);
  bf_text_addf(text, "%u multiprocessor%s at %g MHz; shared memory: machine %s\n\n",
               (unsigned)gpu->sms, gpu->sms == 1 ? "" : "s", gpu->clock_mhz,
               bf_machine_name(gpu->machine));
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    write_parameter(gpu, p, text);
  bf_text_puts(text, "\nSources:\n");
  for (size_t i = 0; i < gpu->source_count; i++)
    if (is_used(gpu, gpu->source_name[i]))
      bf_text_addf(text, "  %s: %s\n", gpu->source_name[i], gpu->source_text[i]);
}

static void write_parameter_json(const bf_sim_gpu *gpu, const bf_sim_parameter *p, bf_json *json) {
  const bf_machine_fact *fact = find_fact(gpu, p->name);
  bf_text value = {0};
  bf_sim_gpu_get(gpu, p, &value);
  bf_json_begin(json, NULL, '{', true);
  bf_json_string(json, "key", p->name);
  bf_json_string(json, "value", value.data);
  bf_json_string(json, "basis", basis_of(gpu, p));
  bf_json_string(json, "source", fact ? fact->source : NULL);
  bf_json_string(json, "meaning", p->meaning);
  bf_json_end(json, '}');
  bf_text_free(&value);
}

void cli_write_gpu_json(const bf_sim_gpu *gpu, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  write_json_summary(gpu, &json);
  bf_json_begin(&json, "facts", '[', false);
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    write_parameter_json(gpu, p, &json);
  bf_json_end(&json, ']');
  bf_json_begin(&json, "sources", '{', false);
  for (size_t i = 0; i < gpu->source_count; i++)
    if (is_used(gpu, gpu->source_name[i]))
      bf_json_string(&json, gpu->source_name[i], gpu->source_text[i]);
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
}
