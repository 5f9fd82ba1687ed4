/* What all commands share: options, help, diagnostics, output, Ctrl-C. */
#include "cli/cli.h"

#include "base/guess.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- Old names ---- */

/* Options that are called otherwise now; value: of one that was a flag. Commands that have an
 * option of the old name have another thing. */
static const struct {
  const char *old, *name, *value;
} renamed[] = {
    {"workers", "threads", NULL}, {"parameter", "param", NULL},  {"timeout", "time-limit", NULL},
    {"check", "detect", NULL},    {"trace", "save-trace", NULL}, {"gpu", "device", "gpu"},
};

/* The old name of an option, or NULL. */
static const char *old_name(const cli_command *command, const char *name) {
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (strcmp(renamed[i].name, name) == 0 && !renamed[i].value &&
        !cli_find_option(command, renamed[i].old, strlen(renamed[i].old)))
      return renamed[i].old;
  return NULL;
}

/* ---- Help ---- */

static void write_indented(bf_text *text, const char *lines) {
  while (*lines) {
    size_t length = strcspn(lines, "\n");
    bf_text_puts(text, "  ");
    bf_text_add(text, lines, length);
    bf_text_puts(text, "\n");
    lines += length + (lines[length] == '\n');
  }
}

void cli_write_help(const cli_command *command, bf_text *text) {
  bf_text_addf(text, "bankfold %s - %s\n\nUsage: bankfold %s ", command->name, command->summary,
               command->name);
  if (command->passes_rest)
    bf_text_addf(text, "[options] %s\n\n", command->arguments);
  else
    bf_text_addf(text, "%s%s[options]\n\n", command->arguments, *command->arguments ? " " : "");
  if (command->details)
    bf_text_addf(text, "%s\n\n", command->details);
  bf_text_puts(text, "Options:\n");
  for (size_t i = 0; i < command->option_count; i++) {
    const cli_option *option = &command->options[i];
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    bf_text_addf(text, "  %-24s %s", left, option->help);
    if (option->choices)
      bf_text_addf(text, " [%s]", option->choices);
    const char *old = old_name(command, option->name);
    if (old)
      bf_text_addf(text, " (old name: --%s)", old);
    bf_text_puts(text, "\n");
  }
  bf_text_addf(text, "  %-24s %s\n", "--help", "print this help");
  if (command->examples) {
    bf_text_puts(text, "\nExamples:\n");
    write_indented(text, command->examples);
  }
}

/* ---- Diagnostics ---- */

static bool errors_are_json; /* --json was given: errors are on standard output too, as an object */

/* Prints an error as JSON, where that was asked for. */
static void complain_json(const bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  if (!errors_are_json)
    return;
  bf_json_begin(&json, NULL, '{', false);
  bf_json_begin(&json, "error", '{', false);
  bf_json_string(&json, "message", diagnostic->message);
  bf_json_string(&json, "file", diagnostic->file[0] ? diagnostic->file : NULL);
  bf_json_number(&json, "line", diagnostic->line);
  bf_json_number(&json, "column", diagnostic->line ? diagnostic->column : 0);
  bf_json_number(&json, "status", CLI_BAD_INPUT);
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
  cli_print(&text);
}

static bool stderr_has_color(void) { return isatty(2) && !getenv("NO_COLOR"); }

static void complain_prefix(void) {
  fputs(stderr_has_color() ? "\033[1;31merror:\033[0m " : "error: ", stderr);
}

int cli_complain(const bf_diagnostic *diagnostic) {
  if (diagnostic->file[0]) {
    fputs(diagnostic->file, stderr);
    if (diagnostic->line)
      fprintf(stderr, ":%llu", (unsigned long long)diagnostic->line);
    if (diagnostic->line && diagnostic->column)
      fprintf(stderr, ":%u", diagnostic->column);
    fputs(": ", stderr);
  } else {
    fputs("bankfold: ", stderr);
  }
  complain_prefix();
  fprintf(stderr, "%s\n", diagnostic->message);
  if (diagnostic->caret >= 0 && diagnostic->excerpt[0])
    fprintf(stderr, "  %s\n  %*s^\n", diagnostic->excerpt, (int)diagnostic->caret, "");
  complain_json(diagnostic);
  return CLI_BAD_INPUT;
}

int cli_usage_error(const cli_command *command, const char *format, ...) {
  bf_diagnostic diagnostic = {.caret = -1};
  fputs("bankfold: ", stderr);
  complain_prefix();
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(diagnostic.message, sizeof diagnostic.message, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s (see bankfold %s%s--help)\n", diagnostic.message,
          command ? command->name : "", command ? " " : "");
  complain_json(&diagnostic);
  return CLI_BAD_INPUT;
}

/* ---- Options ---- */

const cli_option *cli_find_option(const cli_command *command, const char *name, size_t length) {
  for (size_t i = 0; i < command->option_count; i++) {
    const char *own = command->options[i].name;
    if (strlen(own) == length && strncmp(own, name, length) == 0)
      return &command->options[i];
  }
  return NULL;
}

/* The option that name is, or was: then *value is what it has, where it was a flag. */
static const cli_option *find_option(const cli_command *command, const char *name, size_t length,
                                     const char **value) {
  const cli_option *option = cli_find_option(command, name, length);
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed && !option; i++)
    if (strlen(renamed[i].old) == length && strncmp(renamed[i].old, name, length) == 0) {
      option = cli_find_option(command, renamed[i].name, strlen(renamed[i].name));
      *value = renamed[i].value;
    }
  return option;
}

/* Says that there is no such option, and which one may be meant. */
static int unknown_option(const cli_command *command, const char *name) {
  char word[64], likely[BF_GUESS_BYTES];
  snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
  bf_guess guess = bf_guess_begin(word + strspn(word, "-"));
  for (size_t i = 0; i < command->option_count; i++)
    bf_guess_offer(&guess, command->options[i].name, strlen(command->options[i].name));
  bf_guess_offer(&guess, "help", 4);
  bf_guess_text(&guess, likely);
  if (*likely)
    snprintf(likely, sizeof likely, " (did you mean '--%.*s'?)", (int)guess.best_length,
             guess.best);
  return cli_usage_error(command, "unknown option '%s'%s", word, likely);
}

static bool is_choice(const char *choices, const char *value) {
  size_t length = strlen(value);
  for (const char *at = choices; *at;) {
    size_t word = strcspn(at, " ");
    if (word == length && strncmp(at, value, length) == 0)
      return true;
    at += word + (at[word] == ' ');
  }
  return false;
}

static int add_text(const cli_command *command, const cli_option *option, const char *value,
                    cli_texts *texts) {
  if (texts->count == CLI_MOST_TEXTS)
    return cli_usage_error(command, "--%s can be given %d times", option->name, CLI_MOST_TEXTS);
  texts->text[texts->count++] = value;
  return -1;
}

static int set_option(const cli_command *command, const cli_option *option, const char *value,
                      void *settings) {
  char *target = (char *)settings + option->offset;
  const char *cursor = value;
  char *end;
  switch (option->kind) {
  case CLI_FLAG:
    *(bool *)target = true;
    errors_are_json |= strcmp(option->name, "json") == 0;
    return -1;
  case CLI_TEXT:
    if (option->choices && strcmp(value, "plain") == 0 && !is_choice(option->choices, value))
      value = "none"; /* as lock hashes were called */
    if (option->choices && !is_choice(option->choices, value)) {
      char likely[BF_GUESS_BYTES];
      bf_guess guess = bf_guess_begin(value);
      bf_guess_offer_words(&guess, option->choices);
      return cli_usage_error(command, "--%s takes one of: %s; not '%s'%s", option->name,
                             option->choices, value, bf_guess_text(&guess, likely));
    }
    *(const char **)target = value;
    return -1;
  case CLI_TEXTS:
    return add_text(command, option, value, (cli_texts *)target);
  case CLI_NUMBER:
    if (!bf_parse_number(&cursor, (uint64_t *)target) || *cursor || *(uint64_t *)target == 0)
      return cli_usage_error(command, "--%s takes a whole number of at least 1, not '%s'",
                             option->name, value);
    return -1;
  case CLI_REAL:
    errno = 0;
    *(double *)target = strtod(value, &end);
    if (end == value || *end || errno || !(*(double *)target >= 0) || *(double *)target > 1e15)
      return cli_usage_error(command, "--%s takes a number of at least 0, not '%s'", option->name,
                             value);
    return -1;
  }
  return -1;
}

/* "-" alone is a file. */
static bool is_option(const char *argument) { return argument[0] == '-' && argument[1] != 0; }

static int parse_option(const cli_command *command, void *settings, int argc, char **argv,
                        int *index) {
  const char *text = argv[*index] + 2;
  size_t length = strcspn(text, "=");
  const char *value = NULL;
  const cli_option *option = find_option(command, text, length, &value);
  if (!option)
    return unknown_option(command, argv[*index]);
  if (value)
    return set_option(command, option, value, settings);
  if (option->kind == CLI_FLAG && text[length] == '=')
    return cli_usage_error(command, "--%s takes no value", option->name);
  if (option->kind != CLI_FLAG) {
    bool has_next = *index + 1 < argc;
    if (text[length] == '=')
      value = text + length + 1;
    else if (option->value[0] == '[' && (!has_next || is_option(argv[*index + 1])))
      value = "-";
    else if (has_next)
      value = argv[++*index];
    else
      return cli_usage_error(command, "--%s needs a value (%s)", option->name, option->value);
  }
  return set_option(command, option, value, settings);
}

/* Whether an argument is an option that the command does not know and passes on. */
static bool is_passed(const cli_command *command, const char *argument) {
  return command->passes_unknown && argument[0] == '-' &&
         (argument[1] != '-' ||
          !find_option(command, argument + 2, strcspn(argument + 2, "="), &(const char *){NULL}));
}

/* -h, where it is not an option of a program that is wrapped. */
static bool is_short_help(const cli_command *command, const char *argument) {
  return !command->passes_unknown && strcmp(argument, "-h") == 0;
}

int cli_parse(const cli_command *command, void *settings, int argc, char **argv, int *count) {
  static char output_option[] = "--output"; /* what -o stands for */
  bool options_end = false;
  *count = 0;
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0 && !command->passes_rest; i++)
    errors_are_json |= strcmp(argv[i], "--json") == 0;
  for (int i = 0; i < argc; i++) {
    if (!options_end && (strcmp(argv[i], "--help") == 0 || is_short_help(command, argv[i]))) {
      bf_text text = {0};
      cli_write_help(command, &text);
      return cli_print(&text);
    }
    if (!options_end && strcmp(argv[i], "--") == 0) {
      options_end = true;
    } else if (!options_end && is_passed(command, argv[i])) {
      argv[(*count)++] = argv[i];
      options_end = true;
    } else if (!options_end && strncmp(argv[i], "--", 2) == 0) {
      int status = parse_option(command, settings, argc, argv, &i);
      if (status >= 0)
        return status;
    } else if (!options_end && strcmp(argv[i], "-o") == 0 &&
               cli_find_option(command, "output", 6)) {
      argv[i] = output_option;
      int status = parse_option(command, settings, argc, argv, &i);
      if (status >= 0)
        return status;
    } else if (!options_end && argv[i][0] == '-' && argv[i][1] != 0) {
      return unknown_option(command, argv[i]);
    } else {
      argv[(*count)++] = argv[i];
      options_end |= command->passes_rest;
    }
  }
  if (*count < command->least_arguments)
    return cli_usage_error(command, "missing argument: %s", command->arguments);
  if (*count > command->most_arguments && !command->passes_rest)
    return cli_usage_error(command, "unexpected argument '%s'", argv[command->most_arguments]);
  return -1;
}

/* ---- Loading ---- */

int cli_parse_size(const char *option, const char *text, uint32_t least, uint32_t size[3],
                   bf_diagnostic *diagnostic) {
  const char *at = text;
  for (unsigned i = 0; text && i < 3; i++) {
    uint64_t number;
    if (!bf_parse_number(&at, &number) || number < least || number > INT32_MAX)
      break;
    size[i] = (uint32_t)number;
    if (*at == '\0')
      return BF_OK;
    if (*at++ != 'x')
      break;
  }
  return text ? bf_fail(diagnostic, BF_BAD_INPUT, "--%s takes numbers like 16x16, not '%s'", option,
                        text)
              : BF_OK;
}

int cli_overrides(const cli_common *common, bf_overrides *overrides, bf_diagnostic *diagnostic) {
  const uint64_t values[] = {common->banks, common->word_bytes, common->lanes,
                             common->address_bits};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (values[i] > UINT32_MAX)
      return bf_fail(diagnostic, BF_BAD_INPUT, "override %llu is too large",
                     (unsigned long long)values[i]);
  *overrides =
      (bf_overrides){sizeof *overrides, (unsigned)common->banks, (unsigned)common->word_bytes,
                     (unsigned)common->lanes, (unsigned)common->address_bits};
  return BF_OK;
}

int cli_load_machine(const cli_common *common, bf_machine **machine, bf_diagnostic *diagnostic) {
  bf_overrides overrides;
  BF_TRY(cli_overrides(common, &overrides, diagnostic));
  return bf_machine_load(common->machine ? common->machine : "hopper", &overrides, machine,
                         diagnostic);
}

int cli_load_hash(const char *text, const bf_machine *machine, bf_hash **hash,
                  bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  return bf_hash_parse(text ? text : "none", &geometry, hash, diagnostic);
}

int cli_load_banks(const char *text, const bf_machine *machine, bf_hash **hash,
                   bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash_sharing sharing;
  BF_TRY(bf_hash_parse_banks(text ? text : "none", &geometry, hash, diagnostic));
  if (bf_hash_find_sharing(*hash, &sharing))
    fprintf(stderr,
            "bankfold: warning: %s: bank bits depend on each other (rank %u of %u): %llu of %u "
            "banks are used, and words share places, as %llu and %llu; this can be counted, not "
            "used\n",
            bf_hash_text(*hash), sharing.rank, geometry.bank_bits,
            (unsigned long long)sharing.banks_used, 1u << geometry.bank_bits,
            (unsigned long long)sharing.word[0], (unsigned long long)sharing.word[1]);
  return BF_OK;
}

bf_trace_form cli_trace_form(const char *from) {
  if (!from || strcmp(from, "bankfold") == 0)
    return BF_TRACE_OWN;
  return strcmp(from, "nvbit") == 0 ? BF_TRACE_NVBIT : BF_TRACE_ACCELSIM;
}

/* ---- Output ---- */

bool cli_wants_color(const cli_common *common) {
  const char *when = common->color ? common->color : "auto";
  if (strcmp(when, "auto") == 0)
    return isatty(1) && !getenv("NO_COLOR");
  return strcmp(when, "always") == 0;
}

unsigned cli_columns(uint64_t asked) {
  enum { PIPE_COLUMNS = 120, MOST_COLUMNS = 10000 };
  struct winsize size;
  if (asked)
    return asked < MOST_COLUMNS ? (unsigned)asked : MOST_COLUMNS;
  if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col)
    return size.ws_col;
  return PIPE_COLUMNS;
}

int cli_print(bf_text *text) {
  int status = CLI_OK;
  if (text->failed) {
    fputs("bankfold: error: out of memory\n", stderr);
    status = CLI_BAD_INPUT;
  } else if ((text->size && fwrite(text->data, 1, text->size, stdout) != text->size) ||
             fflush(stdout) != 0) {
    if (errno != EPIPE) {
      fprintf(stderr, "bankfold: error: cannot write to standard output: %s\n", strerror(errno));
      status = CLI_BAD_INPUT;
    }
  }
  bf_text_free(text);
  return status;
}

int cli_write(const char *path, bf_text *text) {
  if (!path || strcmp(path, "-") == 0)
    return cli_print(text);
  bf_diagnostic diagnostic;
  int error = text->failed
                  ? bf_no_memory(&diagnostic)
                  : bf_write_file(path, text->data ? text->data : "", text->size, &diagnostic);
  bf_text_free(text);
  return !error ? CLI_OK : cli_complain(&diagnostic);
}

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

void cli_watch_interrupt(void) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

bool cli_interrupted(void) { return interrupted != 0; }

int cli_seconds(const cli_command *command, const char *option, const char *value,
                double *seconds) {
  if (!value)
    return -1;
  char *end;
  double given = strtod(value, &end);
  if (end == value || *end || !(given >= 0) || given > 1e9)
    return cli_usage_error(command, "--%s takes seconds, not '%s'", option, value);
  *seconds = given;
  return -1;
}

int cli_range(const cli_command *command, const char *option, const char *value, double *low,
              double *high) {
  char *colon, *end;
  *low = strtod(value, &colon);
  *high = *colon == ':' ? strtod(colon + 1, &end) : 0;
  if (colon == value || *colon != ':' || end == colon + 1 || *end || !(*low < *high) ||
      !(*low > -1e15) || !(*high < 1e15))
    return cli_usage_error(command, "--%s takes LOW:HIGH, LOW below HIGH, not '%s'", option, value);
  return -1;
}
