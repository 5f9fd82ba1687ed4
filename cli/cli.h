/* cli: the command line. bankfold.c holds the command table; each cmd_*.c one command. A command
 * describes its options in a table, from which parsing, --help, man pages and shell completion all
 * come. Commands hold no logic of their own: they read, call the library, and print. */
#ifndef BF_CLI_H
#define BF_CLI_H

#include "access/access.h"
#include "base/base.h"
#include "hash/hash.h"
#include "memory/memory.h"

/* Exit statuses. */
enum { CLI_OK = 0, CLI_FINDINGS = 1, CLI_BAD_INPUT = 2 };

/* Numbers are whole and at least 1: 0 in settings means not given. */
typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_TEXTS, CLI_NUMBER, CLI_REAL } cli_kind;

/* The values of an option that can be given several times, in order. */
enum { CLI_MOST_TEXTS = 64 };
typedef struct cli_texts {
  unsigned count;
  const char *text[CLI_MOST_TEXTS];
} cli_texts;

/* One option. Its value goes to settings + offset: bool, const char *, cli_texts, uint64_t or
 * double. */
typedef struct cli_option {
  const char *name; /* without "--" */
  cli_kind kind;
  size_t offset;
  const char *value;   /* how the value is called in help, NULL for flags; in brackets, as "[FILE]":
                          without it, at the end or before another option, it is "-" */
  const char *choices; /* the values allowed, separated by spaces, or NULL */
  const char *help;
} cli_option;

/* Options every command has; the first member of each command's settings. */
typedef struct cli_common {
  const char *machine;
  const char *color; /* auto, always, never */
  uint64_t banks, word_bytes, lanes, address_bits;
  bool json;
} cli_common;

#define CLI_COMMON(type)                                                                           \
  {"machine", CLI_TEXT, offsetof(type, common.machine),                                            \
   "NAME",    NULL,     "memory model: a built-in name or a machine file (default hopper)"},       \
      {"banks", CLI_NUMBER, offsetof(type, common.banks), "N", NULL, "override the banks"},        \
      {"word-bytes", CLI_NUMBER, offsetof(type, common.word_bytes),                                \
       "N",          NULL,       "override the bytes per word"},                                   \
      {"lanes", CLI_NUMBER, offsetof(type, common.lanes), "N", NULL, "override the lanes"},        \
      {"address-bits",                                                                             \
       CLI_NUMBER,                                                                                 \
       offsetof(type, common.address_bits),                                                        \
       "N",                                                                                        \
       NULL,                                                                                       \
       "override the allocation: 2^N words"},                                                      \
      CLI_OUTPUT(type)

/* Those of them for commands whose machine is not chosen by them. */
#define CLI_OUTPUT(type)                                                                           \
  {"json", CLI_FLAG, offsetof(type, common.json), NULL, NULL, "print one JSON object"}, {          \
    "color", CLI_TEXT, offsetof(type, common.color), "WHEN", "auto always never",                  \
        "colour the output (default auto: only in a terminal)"                                     \
  }

/* --from, for commands that read traces; settings have a `const char *from`. */
#define CLI_FROM(type)                                                                             \
  {                                                                                                \
    "from", CLI_TEXT, offsetof(type, from), "TOOL", "bankfold nvbit accelsim",                     \
        "who wrote the trace: bankfold (default), NVBit's mem_trace, or Accel-Sim's tracer"        \
  }
bf_trace_form cli_trace_form(const char *from);

typedef struct cli_command {
  const char *name;
  const char *summary;   /* one line */
  const char *arguments; /* as in the usage line, e.g. "FILE" */
  const char *details;   /* a paragraph or more */
  const char *examples;  /* lines "command # what it shows" */
  const cli_option *options;
  size_t option_count;
  size_t settings_size;
  int least_arguments, most_arguments;
  bool passes_rest;    /* what follows the first argument is not for this program */
  bool passes_unknown; /* an option it does not know is such an argument */
  /* Returns the exit status. */
  int (*run)(const void *settings, int count, char **arguments);
} cli_command;

/* The table of a command's options, and the struct that they fill. */
#define CLI_OPTIONS(table, type)                                                                   \
  .options = (table), .option_count = sizeof(table) / sizeof *(table), .settings_size = sizeof(type)

extern const cli_command cli_align, cli_analyze, cli_check, cli_classify, cli_convert, cli_corpus,
    cli_draw, cli_emit, cli_exec, cli_explain, cli_explore, cli_help, cli_hist, cli_hough,
    cli_layout, cli_machines, cli_ncu, cli_nvcc, cli_profile, cli_ptx, cli_ptxas, cli_report,
    cli_reproduce, cli_rewrite, cli_rgpu, cli_rtl, cli_run, cli_scan, cli_sim, cli_solve,
    cli_suggest, cli_trace, cli_tune;
/* Commands that belong together. */
typedef struct cli_group {
  const char *title;
  const cli_command *commands[12]; /* ending with NULL */
} cli_group;
/* All commands, ending with a NULL title. */
extern const cli_group cli_groups[];
const cli_command *cli_find(const char *name);
/* Says that there is no such command, and which one may be meant. The exit status. */
int cli_unknown_command(const char *name);

/* Runs a command with its arguments; all_pass: none of them is an option of its own. The exit
 * status. */
int cli_run_command(const cli_command *command, int argc, char **argv, bool all_pass);
/* Fills settings from argv and moves the arguments that are not options to the front of argv;
 * *count is their number. Returns -1 to go on or an exit status (after --help or an error). */
int cli_parse(const cli_command *command, void *settings, int argc, char **argv, int *count);
/* The option of that name, or NULL. */
const cli_option *cli_find_option(const cli_command *command, const char *name, size_t length);
/* Help of one command, as --help prints it. */
void cli_write_help(const cli_command *command, bf_text *text);
/* The man page of a command, or of the program for NULL, as roff. */
void cli_write_man(const cli_command *command, bf_text *text);
/* The completion script of "bash", "zsh" or "fish". */
void cli_write_completion(const char *shell, bf_text *text);

/* Prints a diagnostic to stderr (file:line:column: error: message, excerpt, caret) and returns the
 * exit status that goes with it. */
int cli_complain(const bf_diagnostic *diagnostic);
/* The same for a message about the command line itself. */
int cli_usage_error(const cli_command *command, const char *format, ...) BF_PRINTF(2, 3);

/* Reads seconds from the value of an option (NULL: leaves *seconds). Returns -1 to go on or an exit
 * status. */
int cli_seconds(const cli_command *command, const char *option, const char *value, double *seconds);

/* Reads sizes 16, 16x16 or 16x16x1, each at least that, from the value of an option (NULL: none);
 * what is not given stays. */
int cli_parse_size(const char *option, const char *text, uint32_t least, uint32_t size[3],
                   bf_diagnostic *diagnostic);

/* Reads LOW:HIGH, LOW below HIGH, from the value of an option. Returns -1 to go on or an exit
 * status. */
int cli_range(const cli_command *command, const char *option, const char *value, double *low,
              double *high);

/* What the common options change of machines. */
int cli_overrides(const cli_common *common, bf_overrides *overrides, bf_diagnostic *diagnostic);
/* Loads the machine that the common options name. */
int cli_load_machine(const cli_common *common, bf_machine **machine, bf_diagnostic *diagnostic);
/* Parses hash text (NULL: none) for machine. */
int cli_load_hash(const char *text, const bf_machine *machine, bf_hash **hash,
                  bf_diagnostic *diagnostic);
/* The same for those who only count: takes hashes whose bank bits depend on each other, with a
 * warning. */
int cli_load_banks(const char *text, const bf_machine *machine, bf_hash **hash,
                   bf_diagnostic *diagnostic);
bool cli_wants_color(const cli_common *common);
/* Characters in a line of standard output: as asked for (0: not), or as wide as the terminal. */
unsigned cli_columns(uint64_t asked);
/* Writes text to standard output and frees it. Returns the exit status (a closed pipe is fine). */
int cli_print(bf_text *text);
/* Writes text to path ("-" or NULL: standard output) by temporary file and rename, and frees it. */
int cli_write(const char *path, bf_text *text);
/* Set once the user pressed Ctrl-C; long work looks at it. cli_watch_interrupt installs that. */
bool cli_interrupted(void);
void cli_watch_interrupt(void);

#endif
