/* Shell completion, written from the command tables. What a value completes to follows from its
 * placeholder in the tables: NAME is a machine and GPU a GPU (a built-in one or a file), FILE and
 * DIR are paths, COMMAND and PAGE are commands; a list of choices, also one like "list|show" at the
 * start of a placeholder, completes to those; HASH to the forms of hashes; BENCHMARK is a benchmark
 * of the corpus, GRAPH one of R-GPU. */
#include "cli/cli.h"
#include "kernels/corpus.h"
#include "reproduce/rgpu/bench.h"
#include "sim/sim.h"

#include <string.h>

static bool mentions(const char *placeholder, const char *word) {
  return placeholder && strstr(placeholder, word);
}

static bool takes_files(const char *placeholder) {
  return mentions(placeholder, "FILE") || mentions(placeholder, "DIR") ||
         mentions(placeholder, "NAME") || mentions(placeholder, "GPU") ||
         mentions(placeholder, "PROGRAM");
}

/* Whether an option can be given without its value, which is a file. */
static bool can_be_alone(const cli_option *option) {
  return option->value && option->value[0] == '[';
}

/* The commands' names, each followed by a space. */
static void write_commands(bf_text *text) {
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      bf_text_addf(text, "%s ", group->commands[i]->name);
}

/* The words of "one|other FILE", each followed by a space. */
static void write_alternatives(const char *placeholder, bf_text *text) {
  size_t size = strcspn(placeholder, " ");
  if (!memchr(placeholder, '|', size) || *placeholder < 'a' || *placeholder > 'z')
    return;
  for (size_t i = 0; i < size; i++)
    bf_text_addf(text, "%c", placeholder[i] == '|' ? ' ' : placeholder[i]);
  bf_text_puts(text, " ");
}

static void write_graphs(const rgpu_benchmark *const *list, bf_text *text) {
  for (; *list; list++)
    bf_text_addf(text, "%s ", (*list)->name);
}

/* The words that a value can be, separated by spaces. */
static void write_words(const char *placeholder, const char *choices, bf_text *text) {
  if (choices)
    bf_text_puts(text, choices);
  else if (placeholder)
    write_alternatives(placeholder, text);
  if (mentions(placeholder, "NAME"))
    for (unsigned i = 0; bf_machine_builtin(i); i++)
      bf_text_addf(text, "%s ", bf_machine_builtin(i));
  if (mentions(placeholder, "GPU"))
    for (const bf_embedded_machine *at = bf_embedded_gpus; at->name; at++)
      bf_text_addf(text, "%s ", at->name);
  if (placeholder && strcmp(placeholder, "HASH") == 0 && !choices)
    bf_text_puts(text, "none fixed add xor:0,5,31 cute:3,4,3 cute:5,2,5 tma:128 pad:32+1 mod:31 ");
  if (mentions(placeholder, "COMMAND") || mentions(placeholder, "PAGE"))
    write_commands(text);
  if (mentions(placeholder, "PAGE"))
    bf_text_puts(text, "bankfold");
  if (mentions(placeholder, "BENCHMARK"))
    for (unsigned i = 0; bf_corpus_get(i); i++)
      bf_text_addf(text, "%s ", bf_corpus_get(i)->name);
  if (mentions(placeholder, "GRAPH")) {
    write_graphs(rgpu_benchmarks, text);
    write_graphs(rgpu_path_variants, text);
  }
}

/* ---- bash ---- */

static void write_bash_command(const cli_command *command, bf_text *text) {
  bf_text_addf(text, "  %s)\n    case $previous in\n", command->name);
  for (size_t i = 0; i < command->option_count; i++) {
    const cli_option *option = &command->options[i];
    if (option->kind == CLI_FLAG)
      continue;
    bf_text_addf(text, "    --%s) words='", option->name);
    write_words(option->value, option->choices, text);
    bf_text_addf(text, "' files=%s ;;\n", takes_files(option->value) ? "yes" : "");
  }
  bf_text_puts(text, "    *)\n      if [[ $current == -* ]]; then\n        words='");
  for (size_t i = 0; i < command->option_count; i++)
    bf_text_addf(text, "--%s ", command->options[i].name);
  bf_text_puts(text, "--help'\n      else\n        words='");
  write_words(command->arguments, NULL, text);
  bf_text_addf(text, "' files=%s\n      fi ;;\n    esac ;;\n",
               takes_files(command->arguments) ? "yes" : "");
}

static void write_bash(bf_text *text) {
  bf_text_addf(text, "# bash completion for bankfold %s\n", bf_version());
  bf_text_puts(text,
               "_bankfold() {\n"
               "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
               "  local words='' files=''\n"
               "  # bash splits --option=value at the equals sign.\n"
               "  if [[ $current == = ]]; then\n"
               "    current=''\n"
               "  elif [[ $previous == = ]]; then\n"
               "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
               "  fi\n"
               "  if ((COMP_CWORD == 1)); then\n    words='");
  write_commands(text);
  bf_text_puts(text, "--help --version'\n  else\n  case ${COMP_WORDS[1]} in\n");
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      write_bash_command(group->commands[i], text);
  bf_text_puts(text,
               "  esac\n  fi\n"
               "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
               "  if [[ $files ]]; then\n"
               "    compopt -o filenames 2>/dev/null\n"
               "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")\n"
               "  fi\n"
               "}\n"
               "complete -F _bankfold bankfold ./bankfold\n");
}

/* ---- zsh ---- */

/* A string inside single quotes, with `special` characters behind a backslash. */
static void write_quoted(const char *string, const char *special, bf_text *text) {
  for (const char *at = string; *at; at++) {
    if (*at == '\'')
      bf_text_puts(text, "'\\''");
    else
      bf_text_addf(text, strchr(special, *at) ? "\\%c" : "%c", *at);
  }
}

/* ":NAME:action" of _arguments. */
static void write_zsh_action(const char *placeholder, const char *choices, bf_text *text) {
  bf_text words = {0};
  write_words(placeholder, choices, &words);
  bool files = takes_files(placeholder);
  bf_text_puts(text, ":");
  write_quoted(placeholder, ":", text);
  if (words.size && files)
    bf_text_addf(text, ": _alternative \"word\\:word\\:(%s)\" \"file\\:file\\:_files\"",
                 words.data);
  else if (words.size)
    bf_text_addf(text, ":(%s)", words.data);
  else
    bf_text_puts(text, files ? ":_files" : ": ");
  text->failed |= words.failed;
  bf_text_free(&words);
}

static void write_zsh_command(const cli_command *command, bf_text *text) {
  bf_text_addf(text, "  %s)\n    _arguments \\\n", command->name);
  for (size_t i = 0; i < command->option_count; i++) {
    const cli_option *option = &command->options[i];
    bf_text_addf(text, "      '--%s%s[", option->name, option->value ? "=" : "");
    write_quoted(option->help, "[]:", text);
    bf_text_puts(text, "]");
    bf_text_puts(text, can_be_alone(option) ? ":" : "");
    if (option->value)
      write_zsh_action(option->value, option->choices, text);
    bf_text_puts(text, "' \\\n");
  }
  bf_text_puts(text, "      '--help[print this help]'");
  if (command->most_arguments > 0) {
    bf_text_puts(text, " \\\n      '*");
    write_zsh_action(command->arguments, NULL, text);
    bf_text_puts(text, "'");
  }
  bf_text_puts(text, " ;;\n");
}

static void write_zsh(bf_text *text) {
  bf_text_addf(text, "#compdef bankfold\n# zsh completion for bankfold %s\n", bf_version());
  bf_text_puts(text, "_bankfold() {\n"
                     "  local -a commands\n"
                     "  commands=(\n");
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++) {
      bf_text_addf(text, "    '%s:", group->commands[i]->name);
      write_quoted(group->commands[i]->summary, ":", text);
      bf_text_puts(text, "'\n");
    }
  bf_text_puts(text, "  )\n"
                     "  if ((CURRENT == 2)); then\n"
                     "    _describe command commands\n"
                     "    return\n"
                     "  fi\n"
                     "  shift words\n"
                     "  ((CURRENT--))\n"
                     "  case $words[1] in\n");
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      write_zsh_command(group->commands[i], text);
  bf_text_puts(text, "  esac\n"
                     "}\n"
                     "if [[ $funcstack[1] == _bankfold ]]; then\n"
                     "  _bankfold \"$@\"\n"
                     "else\n"
                     "  compdef _bankfold bankfold\n"
                     "fi\n");
}

/* ---- fish ---- */

static void write_fish_option(const char *command, const cli_option *option, bf_text *text) {
  bf_text_addf(text, "complete -c bankfold -n '__fish_seen_subcommand_from %s' -l %s", command,
               option->name);
  if (option->value) {
    bf_text_addf(text, " %s -a '",
                 can_be_alone(option)         ? "-F"
                 : takes_files(option->value) ? "-r -F"
                                              : "-x");
    write_words(option->value, option->choices, text);
    bf_text_puts(text, "'");
  }
  bf_text_puts(text, " -d '");
  write_quoted(option->help, "", text);
  bf_text_puts(text, "'\n");
}

static void write_fish_command(const cli_command *command, bf_text *text) {
  bf_text_addf(text, "complete -c bankfold -n __fish_use_subcommand -a %s -d '", command->name);
  write_quoted(command->summary, "", text);
  bf_text_puts(text, "'\n");
  for (size_t i = 0; i < command->option_count; i++)
    write_fish_option(command->name, &command->options[i], text);
  bf_text_addf(text,
               "complete -c bankfold -n '__fish_seen_subcommand_from %s' -l help "
               "-d 'print this help'\n"
               "complete -c bankfold -n '__fish_seen_subcommand_from %s' %s -a '",
               command->name, command->name, takes_files(command->arguments) ? "-F" : "-f");
  write_words(command->arguments, NULL, text);
  bf_text_puts(text, "'\n");
}

static void write_fish(bf_text *text) {
  bf_text_addf(text, "# fish completion for bankfold %s\ncomplete -c bankfold -f\n", bf_version());
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      write_fish_command(group->commands[i], text);
}

void cli_write_completion(const char *shell, bf_text *text) {
  if (strcmp(shell, "bash") == 0)
    write_bash(text);
  else if (strcmp(shell, "zsh") == 0)
    write_zsh(text);
  else
    write_fish(text);
}
