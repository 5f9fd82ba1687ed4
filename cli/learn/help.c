/* help: what commands there are and what each takes, for people, as JSON, as man pages and as shell
 * completion. Everything comes from the command tables. */
#include "cli/cli.h"

#include <string.h>

typedef struct help_settings {
  cli_common common;
  const char *man;
  const char *completion;
} help_settings;

static const cli_option options[] = {
    {"man", CLI_TEXT, offsetof(help_settings, man), "PAGE", NULL,
     "print a man page: of a command, or of bankfold"},
    {"completion", CLI_TEXT, offsetof(help_settings, completion), "SHELL", "bash zsh fish",
     "print a completion script"},
    CLI_COMMON(help_settings),
};

static void write_overview(bf_text *text) {
  bf_text_addf(text,
               "bankfold %s - find, explain and remove bank conflicts in GPU shared memory\n\n"
               "Usage: bankfold COMMAND [arguments] [options]\n",
               bf_version());
  for (const cli_group *group = cli_groups; group->title; group++) {
    bf_text_addf(text, "\n%s:\n", group->title);
    for (size_t i = 0; group->commands[i]; i++)
      bf_text_addf(text, "  %-10s %s\n", group->commands[i]->name, group->commands[i]->summary);
  }
  bf_text_puts(
      text,
      "\nA first look:\n"
      "  bankfold draw --access 'ld 4 ffffffff stride:32'   # a warp reads a column of a tile\n"
      "  bankfold check FILE                                # conflicts of every access of a "
      "trace\n"
      "  bankfold solve FILE                                # ways to remove them, best one named\n"
      "\nbankfold COMMAND --help says what a command takes and shows examples.\n");
}

/* Words separated by spaces as a list; null where there are none to choose from. */
static void write_choices_json(bf_json *json, const char *choices) {
  if (!choices) {
    bf_json_string(json, "choices", NULL);
    return;
  }
  bf_json_begin(json, "choices", '[', true);
  while (*choices) {
    char word[64];
    size_t length = strcspn(choices, " ");
    snprintf(word, sizeof word, "%.*s", (int)length, choices);
    bf_json_string(json, NULL, word);
    choices += length + (choices[length] == ' ');
  }
  bf_json_end(json, ']');
}

static void write_command_json(bf_json *json, const cli_command *command, const char *group) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", command->name);
  bf_json_string(json, "group", group);
  bf_json_string(json, "summary", command->summary);
  bf_json_string(json, "arguments", command->arguments);
  bf_json_begin(json, "options", '[', false);
  for (size_t i = 0; i < command->option_count; i++) {
    const cli_option *option = &command->options[i];
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "name", option->name);
    bf_json_string(json, "value", option->value);
    write_choices_json(json, option->choices);
    bf_json_string(json, "help", option->help);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

/* All commands, or only the one given. */
static void write_json(const cli_command *only, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "version", bf_version());
  bf_json_begin(&json, "commands", '[', false);
  for (const cli_group *group = cli_groups; group->title; group++)
    for (size_t i = 0; group->commands[i]; i++)
      if (!only || only == group->commands[i])
        write_command_json(&json, group->commands[i], group->title);
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}

static int unknown_command(const char *name) {
  return cli_usage_error(&cli_help, "unknown command '%s'", name);
}

static int run(const void *settings, int count, char **arguments) {
  const help_settings *given = settings;
  const cli_command *command = count ? cli_find(arguments[0]) : NULL;
  bf_text text = {0};
  if (count && !command)
    return unknown_command(arguments[0]);
  if (given->man) {
    const cli_command *page = cli_find(given->man);
    if (!page && strcmp(given->man, "bankfold") != 0)
      return unknown_command(given->man);
    cli_write_man(page, &text);
  } else if (given->completion) {
    cli_write_completion(given->completion, &text);
  } else if (given->common.json) {
    write_json(command, &text);
  } else if (command) {
    cli_write_help(command, &text);
  } else {
    write_overview(&text);
  }
  return cli_print(&text);
}

const cli_command cli_help = {
    .name = "help",
    .summary = "explain the commands, print man pages and shell completions",
    .arguments = "[COMMAND]",
    .details = "Without a command, lists all of them. With --man or --completion, prints what the\n"
               "installation puts in place, for setting it up by hand.",
    .examples = "bankfold help solve                     # options and examples of solve\n"
                "bankfold help --man check | man -l -    # the manual of check\n"
                "source <(bankfold help --completion bash)   # completion in this shell",
    CLI_OPTIONS(options, help_settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = run,
};
