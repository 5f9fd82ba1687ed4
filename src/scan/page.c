/* What was found in a project as a page without scripts. */
#include "report/report.h"
#include "scan/show.h"

static void add_cell(const char *string, bf_text *text) {
  bf_text_puts(text, "<td>");
  bf_markup_escape(string, text);
  bf_text_puts(text, "</td>");
}

/* The lines with conflicts, one below the other, and what is to be done. */
static void add_lines(const bf_scan_kernel *kernel, bf_text *text) {
  bf_text_puts(text, "<td>");
  for (uint64_t i = 0; i < kernel->lines && kernel->line[i].conflicts; i++) {
    const bf_scan_line *line = &kernel->line[i];
    bf_markup_escape(line->file ? line->file : "PTX", text);
    bf_text_addf(text, ":%llu: %llu conflicts", (unsigned long long)line->line,
                 (unsigned long long)line->conflicts);
    if (line->what) {
      bf_text_puts(text, ": ");
      bf_markup_escape(line->what, text);
    }
    bf_text_puts(text, "<br>");
  }
  if (kernel->rests_on && *kernel->rests_on) {
    bf_markup_escape(kernel->rests_on, text);
    bf_text_puts(text, "<br>");
  }
  bf_text_puts(text, kernel->change ? "change: " : "no change: ");
  bf_markup_escape(
      kernel->reason && *kernel->reason ? kernel->reason : "few of its wavefronts conflict", text);
  bf_text_puts(text, "</td>");
}

static void add_kernel(const bf_scan_kernel *kernel, bf_text *text) {
  bf_text_addf(text, "<tr><td>%llu</td><td>%llu</td><td>", (unsigned long long)kernel->conflicts,
               (unsigned long long)kernel->wavefronts);
  if (kernel->change)
    bf_text_addf(text, "%.0f%%", 100 * kernel->share);
  bf_text_puts(text, "</td>");
  add_cell(kernel->readable, text);
  add_cell(kernel->unit, text);
  bf_text_puts(text, "<td>");
  bf_markup_escape(kernel->block, text);
  bf_text_puts(text, " (");
  bf_markup_escape(kernel->block_from, text);
  bf_text_puts(text, ")</td>");
  add_lines(kernel, text);
  bf_text_puts(text, "</tr>\n");
}

void bf_scan_write_page(const bf_scan *scan, const bf_scan_kernel *const *ranked, const char *name,
                        const char *machine, bf_text *text) {
  bf_text_puts(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>Kernels of ");
  bf_markup_escape(name, text);
  bf_text_puts(text, "</title>\n<style>\n");
  bf_text_puts(text, bf_page_style);
  bf_text_puts(text, "body{max-width:none}td{overflow-wrap:anywhere}"
                     "td:nth-child(-n+3){white-space:nowrap}td:last-child{min-width:28rem}\n");
  bf_text_puts(text, "</style>\n</head>\n<body>\n<h1>Kernels of ");
  bf_markup_escape(name, text);
  bf_text_addf(text, "</h1>\n<p class=\"dim\">%zu kernels with shared memory in %zu files, on ",
               scan->kernels, scan->units);
  bf_markup_escape(machine, text);
  bf_text_puts(text, ". Numbers are of one block; \"left\" is the share of the time that is "
                     "predicted with the change.</p>\n<table>\n<tr><th>conflicts</th>"
                     "<th>wavefronts</th><th>left</th><th>kernel</th><th>file</th><th>block</th>"
                     "<th>lines</th></tr>\n");
  for (size_t i = 0; i < scan->kernels; i++)
    add_kernel(ranked[i], text);
  bf_text_puts(text, "</table>\n");
  for (size_t i = 0; i < scan->faults; i++) {
    bf_text_puts(text, "<p>not looked at: ");
    bf_markup_escape(scan->fault[i].unit, text);
    bf_text_puts(text, ": ");
    bf_markup_escape(scan->fault[i].why, text);
    bf_text_puts(text, "</p>\n");
  }
  bf_text_puts(text, "</body>\n</html>\n");
}
