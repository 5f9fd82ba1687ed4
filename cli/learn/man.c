/* Man pages: the command tables as roff. */
#include "cli/cli.h"

#include <string.h>

/* Text that roff must print as it is: no escape, no request at the start of a line. */
static void write_literal(bf_text *text, const char *string) {
  bool line_start = true;
  for (const char *at = string; *at; at++) {
    if (line_start && (*at == '.' || *at == '\''))
      bf_text_puts(text, "\\&");
    if (*at == '\\')
      bf_text_puts(text, "\\e");
    else if (*at == '-')
      bf_text_puts(text, "\\-");
    else
      bf_text_add(text, at, 1);
    line_start = *at == '\n';
  }
}

/* Paragraphs, which are separated by empty lines. */
static void write_paragraphs(bf_text *text, const char *string) {
  for (const char *rest = string; *rest;) {
    size_t length = strcspn(rest, "\n");
    if (length == 0) {
      bf_text_puts(text, ".PP\n");
    } else {
      char line[1024];
      snprintf(line, sizeof line, "%.*s", (int)length, rest);
      write_literal(text, line);
      /* Indented lines are lists and tables: keep their line breaks. A leading blank is a break
       * of its own. */
      bool ends = rest[0] == ' ' && rest[length] == '\n' && rest[length + 1] != ' ';
      bf_text_puts(text, ends ? "\n.br\n" : "\n");
    }
    rest += length + (rest[length] == '\n');
  }
}

static void write_title(bf_text *text, const char *page) {
  bf_text_puts(text, ".TH ");
  for (const char *at = page; *at; at++)
    bf_text_addf(text, "%c", *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
  bf_text_addf(text, " 1 \"\" \"bankfold %s\" \"Bankfold\"\n.SH NAME\n", bf_version());
}

static void write_options(bf_text *text, const cli_command *command) {
  bf_text_puts(text, ".SH OPTIONS\n");
  for (size_t i = 0; i < command->option_count; i++) {
    const cli_option *option = &command->options[i];
    bf_text_puts(text, ".TP\n.B \\-\\-");
    write_literal(text, option->name);
    if (option->value)
      bf_text_addf(text, " \\fI%s\\fR", option->value);
    bf_text_puts(text, "\n");
    write_literal(text, option->help);
    if (option->choices) {
      bf_text_puts(text, " [");
      write_literal(text, option->choices);
      bf_text_puts(text, "]");
    }
    bf_text_puts(text, "\n");
  }
  bf_text_puts(text, ".TP\n.B \\-\\-help\nprint a summary of this page\n");
}

static void write_exit_status(const cli_command *command, bf_text *text) {
  if (command && command->passes_rest) {
    bf_text_puts(text, ".SH EXIT STATUS\nThat of the program; 128 and the number of the signal "
                       "that ended it; 2 where it was not run.\n");
    return;
  }
  bf_text_puts(text, ".SH EXIT STATUS\n"
                     ".TP\n.B 0\nfine\n"
                     ".TP\n.B 1\nfindings above the threshold that was asked for\n"
                     ".TP\n.B 2\nbad input or usage; the message says what and where\n");
}

static void write_command_page(const cli_command *command, bf_text *text) {
  char page[64];
  snprintf(page, sizeof page, "bankfold-%s", command->name);
  write_title(text, page);
  write_literal(text, page);
  bf_text_puts(text, " \\- ");
  write_literal(text, command->summary);
  bf_text_addf(text, "\n.SH SYNOPSIS\n.B bankfold %s\n", command->name);
  bf_text_puts(text, command->passes_rest ? "[options] " : "");
  write_literal(text, command->arguments);
  bf_text_puts(text, command->passes_rest ? "" : " [options]");
  bf_text_puts(text, "\n.SH DESCRIPTION\n");
  write_paragraphs(text, command->details ? command->details : command->summary);
  write_options(text, command);
  write_exit_status(command, text);
  if (command->examples) {
    bf_text_puts(text, ".SH EXAMPLES\n.nf\n");
    write_literal(text, command->examples);
    bf_text_puts(text, "\n.fi\n");
  }
  bf_text_puts(text, ".SH SEE ALSO\n.BR bankfold (1)\n");
}

static void write_program_page(bf_text *text) {
  write_title(text, "bankfold");
  bf_text_puts(text,
               "bankfold \\- find, explain and remove bank conflicts in GPU shared memory\n"
               ".SH SYNOPSIS\n.B bankfold\n.I COMMAND\n[arguments] [options]\n"
               ".SH DESCRIPTION\n"
               "Shared memory is split into banks that each serve one word at a time. When lanes\n"
               "of a warp need different words of one bank, the memory serves them one after\n"
               "another: a bank conflict. Bankfold counts these conflicts for a trace of warp\n"
               "accesses, says where they come from, and finds an XOR of address bits, a padding\n"
               "or an alignment that removes them.\n");
  for (const cli_group *group = cli_groups; group->title; group++) {
    bf_text_addf(text, ".SS %s\n", group->title);
    for (size_t i = 0; group->commands[i]; i++) {
      bf_text_addf(text, ".TP\n.BR bankfold\\-%s (1)\n", group->commands[i]->name);
      write_literal(text, group->commands[i]->summary);
      bf_text_puts(text, "\n");
    }
  }
  write_exit_status(NULL, text);
  bf_text_puts(text, ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nwhen set, output is not coloured unless "
                     "asked for with \\-\\-color always\n");
}

void cli_write_man(const cli_command *command, bf_text *text) {
  if (command)
    write_command_page(command, text);
  else
    write_program_page(text);
}
