/* How many claims of each document hold, differ, are fitted or derived. */
#include "reproduce/frame/frame.h"

#include <string.h>

/* Counts of a document, which is added where it is new; NULL where there are too many. */
static bf_reproduce_tally *find(bf_reproduce_summary *summary, const char *name, size_t length) {
  for (unsigned i = 0; i < summary->count; i++)
    if (strlen(summary->at[i].name) == length && memcmp(summary->at[i].name, name, length) == 0)
      return &summary->at[i];
  if (summary->count == BF_REPRODUCE_DOCUMENTS || length >= sizeof summary->at->name)
    return NULL;
  bf_reproduce_tally *tally = &summary->at[summary->count++];
  memcpy(tally->name, name, length);
  return tally;
}

void bf_reproduce_summary_begin(bf_reproduce_summary *summary) {
  static const char *const order[] = {"braak16",  "braak13", "braak15",
                                      "nootaert", "gou13",   BF_REPRODUCE_OWN};
  *summary = (bf_reproduce_summary){0};
  for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
    find(summary, order[i], strlen(order[i]));
}

void bf_reproduce_summary_add(bf_reproduce_summary *summary, const bf_reproduce_run *run) {
  for (const frame_claim *at = run->claim; at; at = at->next) {
    bf_reproduce_tally *tally = find(summary, at->claim.document, strlen(at->claim.document));
    if (tally)
      tally->now[at->claim.verdict]++;
  }
}

/* The verdict that a text begins with, which a comma ends; -1: none. */
static int read_verdict(const char *text) {
  for (int i = 0; i < BF_REPRODUCE_VERDICTS; i++) {
    const char *name = bf_reproduce_verdict_name((bf_reproduce_verdict)i);
    if (strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == ',')
      return i;
  }
  return -1;
}

/* Counts the claims of recorded results: lines that begin with DOCUMENT,VERDICT. */
static void count_recorded(bf_reproduce_summary *summary, const char *text, bool is_now) {
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    size_t length = strcspn(line, ",\n");
    int verdict = line[length] == ',' ? read_verdict(line + length + 1) : -1;
    bf_reproduce_tally *tally = verdict >= 0 ? find(summary, line, length) : NULL;
    if (tally && is_now)
      tally->now[verdict]++;
    else if (tally)
      tally->before[verdict]++;
  }
}

void bf_reproduce_summary_recorded(bf_reproduce_summary *summary) {
  bf_reproduce_summary_begin(summary);
  count_recorded(summary, bf_reproduce_data("verdicts_before"), false);
  count_recorded(summary, bf_reproduce_data("verdicts"), true);
  summary->has_before = true;
}

/* The sum over the documents; what is compared with measurements of our own is not one. */
static bf_reproduce_tally add_up(const bf_reproduce_summary *summary) {
  bf_reproduce_tally all = {.name = "documents"};
  for (unsigned i = 0; i < summary->count; i++)
    for (unsigned j = 0; j < BF_REPRODUCE_VERDICTS; j++)
      if (strcmp(summary->at[i].name, BF_REPRODUCE_OWN) != 0) {
        all.before[j] += summary->at[i].before[j];
        all.now[j] += summary->at[i].now[j];
      }
  return all;
}

/* ---- As text and JSON ---- */

static void write_counts(bf_text *text, const unsigned count[BF_REPRODUCE_VERDICTS]) {
  for (unsigned i = 0; i < BF_REPRODUCE_VERDICTS; i++)
    bf_text_addf(text, " %7u", count[i]);
}

static void write_row(bf_text *text, const bf_reproduce_summary *summary,
                      const bf_reproduce_tally *tally) {
  bf_text_addf(text, "%-10s", tally->name);
  if (summary->has_before) {
    write_counts(text, tally->before);
    bf_text_puts(text, "   ");
  }
  write_counts(text, tally->now);
  bf_text_puts(text, "\n");
}

void bf_reproduce_summary_text(const bf_reproduce_summary *summary, bf_text *text) {
  if (summary->has_before)
    bf_text_addf(text, "%-10s %-31s    %s\n", "", "before", "now");
  bf_text_addf(text, "%-10s", "document");
  for (unsigned part = 0; part < (summary->has_before ? 2 : 1); part++) {
    bf_text_puts(text, part ? "   " : "");
    for (unsigned i = 0; i < BF_REPRODUCE_VERDICTS; i++)
      bf_text_addf(text, " %7s", bf_reproduce_verdict_name((bf_reproduce_verdict)i));
  }
  bf_text_puts(text, "\n");
  bf_reproduce_tally all = add_up(summary);
  const bf_reproduce_tally *own = NULL;
  for (unsigned i = 0; i < summary->count; i++)
    if (strcmp(summary->at[i].name, BF_REPRODUCE_OWN) == 0)
      own = &summary->at[i];
    else
      write_row(text, summary, &summary->at[i]);
  write_row(text, summary, &all);
  if (own)
    write_row(text, summary, own);
}

static void write_counts_json(bf_json *json, const char *key,
                              const unsigned count[BF_REPRODUCE_VERDICTS]) {
  bf_json_begin(json, key, '{', true);
  for (unsigned i = 0; i < BF_REPRODUCE_VERDICTS; i++)
    bf_json_number(json, bf_reproduce_verdict_name((bf_reproduce_verdict)i), count[i]);
  bf_json_end(json, '}');
}

static void write_tally_json(bf_json *json, const bf_reproduce_summary *summary,
                             const bf_reproduce_tally *tally) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "document", tally->name);
  if (summary->has_before)
    write_counts_json(json, "before", tally->before);
  write_counts_json(json, "now", tally->now);
  bf_json_end(json, '}');
}

void bf_reproduce_summary_json(const bf_reproduce_summary *summary, bf_json *json) {
  bf_reproduce_tally all = add_up(summary);
  bf_json_bool(json, "recorded", summary->has_before);
  bf_json_begin(json, "summary", '[', false);
  for (unsigned i = 0; i < summary->count; i++)
    write_tally_json(json, summary, &summary->at[i]);
  write_tally_json(json, summary, &all);
  bf_json_end(json, ']');
}
