/* bankfold scan: every kernel of a project, without running anything. */
#include "cli/explorer.h"
#include "cli/gate.h"
#include "cli/progress.h"
#include "scan/show.h"

#include <limits.h>
#include <stdlib.h>

enum { SHOWN = 20 };

typedef struct settings {
  cli_common common;
  cli_gate gate;
  const char *block, *cache, *html, *sort;
  cli_texts flags;
  uint64_t threads, top;
  bool no_cache, still;
} settings;

static const cli_option options[] = {
    {"block", CLI_TEXT, offsetof(settings, block), "XxYxZ", NULL,
     "threads of a block of all kernels that require none (default: as launches in the sources "
     "say, or what is likely)"},
    {"sort", CLI_TEXT, offsetof(settings, sort), "HOW", "worth conflicts",
     "worth (default): what a change is predicted to save; or conflicts"},
    {"top", CLI_NUMBER, offsetof(settings, top), "N", NULL, "kernels to show (default 20)"},
    {"html", CLI_TEXT, offsetof(settings, html), "FILE", NULL,
     "write a page on which kernels and lines can be sorted and searched (docs/explorer.md)"},
    {"still", CLI_FLAG, offsetof(settings, still), NULL, NULL,
     "--html: a page without scripts, also where the explorer was built"},
    {"nvcc-flag", CLI_TEXTS, offsetof(settings, flags), "FLAG", NULL,
     "a flag for nvcc, for sources that no compile_commands.json names; may be repeated"},
    {"threads", CLI_NUMBER, offsetof(settings, threads), "N", NULL,
     "threads to use (default one per core)"},
    {"cache", CLI_TEXT, offsetof(settings, cache), "FOLDER", NULL,
     "where results are kept (default ~/.cache/bankfold/scan)"},
    {"no-cache", CLI_FLAG, offsetof(settings, no_cache), NULL, NULL, "look at everything anew"},
    CLI_GATE(settings),
    CLI_COMMON(settings),
};

/* Writes the page: the explorer on the document where that was built, else one without scripts. */
static int write_page(const settings *own, const bf_scan *scan, const bf_scan_kernel **ranked,
                      const bf_machine *machine, const char *name, const bf_text *document,
                      bf_diagnostic *diagnostic) {
  bf_text page = {0};
  if (!own->still && cli_explorer_is_there())
    return cli_explorer_write_report(own->html, name, document->data, diagnostic);
  bf_scan_write_page(scan, ranked, name, bf_machine_name(machine), &page);
  int error = page.failed ? bf_no_memory(diagnostic)
                          : bf_write_file(own->html, page.data, page.size, diagnostic);
  bf_text_free(&page);
  return error;
}

/* Prints, writes the page, and compares with limits. */
static int show(const settings *own, const bf_scan *scan, const bf_machine *machine,
                const char *name) {
  const bf_scan_kernel **ranked = NULL;
  bf_text text = {0}, document = {0};
  bf_gate found = {0};
  bf_diagnostic diagnostic;
  bf_scan_order order = own->sort && *own->sort == 'c' ? BF_SCAN_BY_CONFLICTS : BF_SCAN_BY_WORTH;
  int error = bf_scan_rank(scan, order, &ranked, &diagnostic);
  if (!error)
    bf_scan_write_json(scan, ranked, bf_machine_name(machine), &document);
  if (!error && own->html)
    error = write_page(own, scan, ranked, machine, name, &document, &diagnostic);
  if (!error)
    error = bf_scan_find_limits(scan, &found, &diagnostic);
  if (!error && !own->common.json)
    bf_scan_show(scan, ranked, own->top ? own->top : SHOWN, cli_wants_color(&own->common), &text);
  int status = error ? cli_complain(&diagnostic) : cli_print(own->common.json ? &document : &text);
  bf_text_free(&document);
  free(ranked);
  return cli_gate_finish(&own->gate, &found, status);
}

static int run(const void *given, int count, char **arguments) {
  const settings *own = given;
  char cache[PATH_MAX];
  const char *flags[CLI_MOST_TEXTS + 1] = {NULL};
  bf_machine *machine = NULL;
  bf_diagnostic diagnostic;
  bf_scan scan = {0};
  cli_block_bar bar = cli_block_bar_begin(arguments[0]);
  bf_scan_options with = {.threads = (unsigned)own->threads,
                          .flags = flags,
                          .cache = own->cache,
                          .progress = cli_block_bar_step,
                          .context = &bar};
  int status = cli_gate_check(&cli_scan, &own->gate);
  if (status < 0 && own->still && !own->html)
    status = cli_usage_error(&cli_scan, "--still is for --html");
  if (status >= 0)
    return status;
  for (unsigned i = 0; i < own->flags.count; i++)
    flags[i] = own->flags.text[i];
  if (!with.cache && !own->no_cache && bf_scan_cache_folder(cache, sizeof cache))
    with.cache = cache;
  bar.unit = "files";
  cli_watch_interrupt();
  with.block[1] = with.block[2] = 1;
  int error = cli_parse_size("block", own->block, 1, with.block, &diagnostic);
  if (!error)
    error = cli_load_machine(&own->common, &machine, &diagnostic);
  with.machine = machine;
  if (!error)
    error = bf_scan_run((const char *const *)arguments, (unsigned)count, &with, &scan, &diagnostic);
  cli_block_bar_end(&bar);
  status = error ? cli_complain(&diagnostic) : show(own, &scan, machine, arguments[0]);
  bf_scan_free(&scan);
  bf_machine_free(machine);
  return status;
}

const cli_command cli_scan = {
    .name = "scan",
    .summary = "rank the kernels of a project by conflicts and by what a change would save",
    .arguments = "PATH...",
    .details =
        "PATH is a folder, a compile_commands.json, or a file: CUDA source (compiled by nvcc or, "
        "as\n"
        "compile_commands.json says, clang), PTX, a fat binary, a program, a library, a wheel. "
        "All\n"
        "kernels are looked at without running them, on all cores, and what was found is kept "
        "until\n"
        "files change. Blocks are those that kernels require, that launches in the sources have, "
        "or\n"
        "that are likely; each kernel says which. Conflicts are of one block, by line; a change "
        "is\n"
        "named where it is predicted to win, and 'bankfold nvcc', 'run' or 'suggest' make it.",
    .examples = "bankfold scan src/                              # every source of a folder\n"
                "bankfold scan build/compile_commands.json       # as the build compiles them\n"
                "bankfold scan libkernels.so --top 50 --html kernels.html\n"
                "bankfold scan . --sarif conflicts.sarif --baseline conflicts.baseline  # in CI",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 64,
    .run = run,
};
