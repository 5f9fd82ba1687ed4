/* A run as CSV, Markdown and JSON. */
#include "reproduce/frame/frame.h"

#include <ctype.h>
#include <string.h>

/* ---- CSV ---- */

/* A field, in quotes where it has to be. */
static void write_field(const char *field, bf_text *text) {
  if (!strpbrk(field, ",\"\n\r")) {
    bf_text_puts(text, field);
    return;
  }
  bf_text_puts(text, "\"");
  for (const char *at = field; *at; at++)
    bf_text_add(text, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
  bf_text_puts(text, "\"");
}

void bf_reproduce_csv(const bf_reproduce_table *table, bf_text *text) {
  for (size_t i = 0; i < table->columns; i++) {
    bf_text_puts(text, i ? "," : "");
    write_field(table->column[i], text);
  }
  size_t column = 0;
  for (const frame_cell *cell = table->cell; cell; cell = cell->next) {
    bf_text_puts(text, column ? "," : "\n");
    write_field(cell->text, text);
    column = (column + 1) % table->columns;
  }
  bf_text_puts(text, "\n");
}

void bf_reproduce_claims_csv(const bf_reproduce_run *run, bf_text *text) {
  bf_text_puts(text, "document,verdict,reproduction,claim,published,ours,difference,reason\n");
  for (const frame_claim *at = run->claim; at; at = at->next) {
    bf_text column[3] = {0};
    bf_reproduce_claim_text(&at->claim, &column[0], &column[1], &column[2]);
    const char *reason = bf_reproduce_reason(&at->claim);
    const char *field[] = {at->claim.document,      bf_reproduce_verdict_name(at->claim.verdict),
                           run->reproduction->name, at->claim.name,
                           column[0].data,          column[1].data,
                           column[2].data,          reason};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
      bf_text_puts(text, i ? "," : "");
      write_field(field[i] ? field[i] : "", text);
    }
    bf_text_puts(text, "\n");
    for (unsigned i = 0; i < 3; i++) {
      text->failed = text->failed || column[i].failed;
      bf_text_free(&column[i]);
    }
  }
}

/* ---- Markdown ---- */

/* A cell of a table: what would end it is escaped. */
static void write_cell(const char *cell, bf_text *text) {
  for (const char *at = cell; *at; at++)
    bf_text_add(text, *at == '|' ? "\\|" : *at == '\n' ? " " : at, *at == '|' ? 2 : 1);
}

static void write_claim(const bf_reproduce_claim *claim, bf_text *text) {
  bf_text column[3] = {0};
  bf_reproduce_claim_text(claim, &column[0], &column[1], &column[2]);
  bf_text_puts(text, "| ");
  write_cell(claim->name, text);
  for (unsigned i = 0; i < 3; i++) {
    bf_text_puts(text, " | ");
    write_cell(column[i].failed ? "" : column[i].data, text);
    text->failed = text->failed || column[i].failed;
    bf_text_free(&column[i]);
  }
  const char *mark = claim->verdict == BF_DIFFERS ? "**" : "";
  bf_text_addf(text, " | %s%s%s |\n", mark, bf_reproduce_verdict_name(claim->verdict), mark);
}

/* Whether two claims have one verdict for one reason. */
static bool is_same_reason(const bf_reproduce_claim *one, const bf_reproduce_claim *other) {
  const char *reason = bf_reproduce_reason(one), *second = bf_reproduce_reason(other);
  return one->verdict == other->verdict && reason && second && strcmp(reason, second) == 0;
}

void bf_reproduce_reasons(const bf_reproduce_run *run, const char *before, bf_text *text) {
  static const char *const words[] = {
      [BF_DIFFERS] = "Why not", [BF_FITTED] = "Fitted", [BF_DERIVED] = "Derived"};
  for (const frame_claim *at = run->claim; at; at = at->next) {
    const char *reason = bf_reproduce_reason(&at->claim);
    const frame_claim *first = run->claim;
    while (first != at && !is_same_reason(&first->claim, &at->claim))
      first = first->next;
    if (!reason || first != at)
      continue;
    bf_text_addf(text, "%s%s \"%s\"", before, words[at->claim.verdict], at->claim.name);
    for (const frame_claim *other = at->next; other; other = other->next)
      if (is_same_reason(&at->claim, &other->claim))
        bf_text_addf(text, ", \"%s\"", other->claim.name);
    bf_text_puts(text, ": ");
    bf_text_puts(text, reason);
    bf_text_puts(text, "\n");
  }
}

static void write_claims(const bf_reproduce_run *run, bf_text *text) {
  if (!run->claim)
    return;
  bf_text_puts(text,
               "| claim | published | ours | difference | verdict |\n|---|---|---|---|---|\n");
  for (const frame_claim *at = run->claim; at; at = at->next)
    write_claim(&at->claim, text);
  bf_text_puts(text, "\n");
  bf_reproduce_reasons(run, "- ", text);
  bf_text_puts(text, "\n");
}

static void write_table(const bf_reproduce_table *table, bf_text *text) {
  bf_text_addf(text, "%s ([%s.csv](%s.csv))\n\n", table->title, table->name, table->name);
  if (table->is_csv_only)
    return;
  bf_text_puts(text, "|");
  for (size_t i = 0; i < table->columns; i++) {
    bf_text_puts(text, " ");
    write_cell(table->column[i], text);
    bf_text_puts(text, " |");
  }
  bf_text_puts(text, "\n|");
  for (size_t i = 0; i < table->columns; i++)
    bf_text_puts(text, "---|");
  size_t column = 0;
  for (const frame_cell *cell = table->cell; cell; cell = cell->next) {
    bf_text_puts(text, column ? " " : "\n| ");
    write_cell(cell->text, text);
    bf_text_puts(text, " |");
    column = (column + 1) % table->columns;
  }
  bf_text_puts(text, "\n\n");
}

void bf_reproduce_markdown(const bf_reproduce_run *run, bf_text *text) {
  const bf_reproduction *reproduction = run->reproduction;
  bf_text_addf(text, "# %c%s\n\n%s (", toupper((unsigned char)reproduction->title[0]),
               reproduction->title + 1, reproduction->summary);
  bf_text_puts(text, reproduction->document);
  bf_text_puts(text, ")\n\n");
  if (run->settings.quick)
    bf_text_puts(text, "A quick run: smaller inputs and fewer points than the full one.\n\n");
  write_claims(run, text);
  for (const frame_note *note = run->note; note; note = note->next)
    bf_text_addf(text, "%s\n\n", note->text);
  for (const frame_chart *chart = run->chart; chart; chart = chart->next)
    bf_text_addf(text, "![%s](%s.svg)\n\n", chart->title, chart->name);
  for (const bf_reproduce_table *table = run->table; table; table = table->next)
    write_table(table, text);
}

/* ---- JSON ---- */

static void write_claim_json(const bf_reproduce_claim *claim, bf_json *json) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", claim->name);
  bf_json_string(json, "document", claim->document);
  if (claim->published_text || claim->count || claim->rule > BF_CLAIM_ALL) {
    bf_text column[3] = {0};
    bf_reproduce_claim_text(claim, &column[0], &column[1], &column[2]);
    bf_json_string(json, "published", column[0].data);
    bf_json_string(json, "ours", column[1].data);
    for (unsigned i = 0; i < 3; i++) {
      json->text->failed = json->text->failed || column[i].failed;
      bf_text_free(&column[i]);
    }
  } else {
    bf_json_real(json, "published", claim->published);
    bf_json_real(json, "ours", claim->ours);
    bf_json_string(json, "unit", claim->unit);
  }
  bf_json_string(json, "verdict", bf_reproduce_verdict_name(claim->verdict));
  bf_json_string(json, "reason", bf_reproduce_reason(claim));
  bf_json_bool(json, "must_hold", claim->must_hold);
  bf_json_end(json, '}');
}

/* NAME with its extension, as a member of a list. */
static void write_file_json(const char *name, const char *extension, bf_json *json) {
  bf_text file = {0};
  bf_text_addf(&file, "%s%s", name, extension);
  bf_json_string(json, NULL, file.failed ? NULL : file.data);
  json->text->failed = json->text->failed || file.failed;
  bf_text_free(&file);
}

void bf_reproduce_json(const bf_reproduce_run *run, bf_json *json) {
  bf_json_string(json, "name", run->reproduction->name);
  bf_json_string(json, "title", run->reproduction->title);
  bf_json_string(json, "document", run->reproduction->document);
  bf_json_bool(json, "quick", run->settings.quick);
  bf_json_string(json, "folder", run->settings.folder);
  bf_json_real(json, "seconds", run->seconds);
  bf_json_begin(json, "claims", '[', false);
  for (const frame_claim *at = run->claim; at; at = at->next)
    write_claim_json(&at->claim, json);
  bf_json_end(json, ']');
  bf_json_begin(json, "files", '[', true);
  for (const bf_reproduce_table *table = run->table; table; table = table->next)
    write_file_json(table->name, ".csv", json);
  for (const frame_chart *chart = run->chart; chart; chart = chart->next)
    write_file_json(chart->name, ".svg", json);
  write_file_json("claims", ".csv", json);
  write_file_json("index", ".md", json);
  bf_json_end(json, ']');
}
