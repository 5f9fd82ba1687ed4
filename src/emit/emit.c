/* The forms and what they share: which form, and whether the name will do. */
#include "emit/forms.h"

#include <string.h>

const char *const bf_emit_forms[] = {"cuda", "c", "cute", "triton", "verilog", NULL};

/* In the order of bf_emit_forms. */
static int (*const emitters[])(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                               bf_diagnostic *diagnostic) = {bf_emit_cuda, bf_emit_c, bf_emit_cute,
                                                             bf_emit_triton, bf_emit_verilog};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool is_name_character(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

/* Names are built by adding to this one, so it may be a keyword; a leading underscore would make
 * them reserved. */
static int check_name(const char *name, bf_diagnostic *diagnostic) {
  size_t length = 0;
  while (is_name_character(name[length]))
    length++;
  if (!is_letter(name[0]) || name[length] != 0)
    return bf_fail_at(diagnostic, "name", 1, name, name + (is_letter(name[0]) ? length : 0),
                      "a name is letters, digits and '_', and starts with a letter");
  if (length > BF_EMIT_NAME_MAX)
    return bf_fail_at(diagnostic, "name", 1, name, name + BF_EMIT_NAME_MAX,
                      "a name has at most %d characters", BF_EMIT_NAME_MAX);
  return BF_OK;
}

void bf_emit_upper(const char *name, char *upper) {
  do
    *upper++ = *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name;
  while (*name++);
}

int bf_emit(const bf_hash *hash, const char *form, const bf_emit_options *options, bf_text *text,
            bf_diagnostic *diagnostic) {
  bf_emit_options filled = *options;
  unsigned index = 0;
  while (bf_emit_forms[index] && strcmp(form, bf_emit_forms[index]) != 0)
    index++;
  if (!bf_emit_forms[index])
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "unknown form '%.40s'; known: cuda, c, cute, triton, verilog", form);
  if (bf_hash_find_sharing(hash, NULL))
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "bank bits of %.200s depend on each other: words would share places",
                   bf_hash_text(hash));
  if (!filled.name)
    filled.name = "bankfold";
  int error = check_name(filled.name, diagnostic);
  if (!error)
    error = emitters[index](hash, &filled, text, diagnostic);
  if (!error && text->failed)
    return bf_no_memory(diagnostic);
  return error;
}
