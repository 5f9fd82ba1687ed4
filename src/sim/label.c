/* Labels of instructions. */
#include "sim/label.h"

#include <string.h>

/* The instruction as PTX has it, with blanks for tabs and without the semicolon. */
static char *instruction_text(bf_arena *arena, const bf_ptx_instruction *instruction) {
  bf_text text = {0};
  bf_ptx_print_instruction(instruction, &text);
  if (!text.failed)
    text.data[text.size - 1] = 0;
  size_t kept = 0;
  for (size_t i = 0; !text.failed && text.data[i]; i++)
    if (text.data[i] != '\t')
      text.data[kept++] = text.data[i];
  if (!text.failed)
    text.data[kept] = 0;
  char *copy = text.failed ? NULL : bf_arena_copy(arena, text.data);
  bf_text_free(&text);
  return copy;
}

/* Opcode and modifiers of an instruction text: its first word behind the guard. */
static char *instruction_name(bf_arena *arena, const char *text) {
  if (*text == '@')
    text += strcspn(text, " ") + 1;
  char *name = bf_arena_copy(arena, text);
  if (name)
    name[strcspn(name, " ")] = 0;
  return name;
}

/* "tile.cu:19" without folders; NULL where memory is exhausted. */
static char *source_text(bf_arena *arena, const char *file, uint64_t line) {
  const char *slash = strrchr(file, '/');
  bf_text text = {0};
  bf_text_addf(&text, "%s:%llu", slash ? slash + 1 : file, (unsigned long long)line);
  char *copy = text.failed ? NULL : bf_arena_copy(arena, text.data);
  bf_text_free(&text);
  return copy;
}

static bool make_label(bf_arena *arena, const bf_emu_instruction *from, bf_sim_label *label) {
  label->text = instruction_text(arena, from->instruction);
  label->name = label->text ? instruction_name(arena, label->text) : NULL;
  label->line = from->instruction->line;
  label->is_memory = from->site != UINT32_MAX && from->instruction->space != BF_PTX_SPACE_PARAM;
  if (from->source_file)
    label->source = source_text(arena, from->source_file, from->source_line);
  return label->name && (label->source || !from->source_file);
}

const bf_sim_label *bf_sim_labels(bf_arena *arena, const bf_emu_kernel *kernel) {
  uint32_t count = bf_emu_kernel_instructions(kernel);
  bf_sim_label *label = bf_arena_alloc(arena, (count + 1) * sizeof *label);
  for (uint32_t i = 0; label && i < count; i++) {
    bf_emu_instruction from = bf_emu_kernel_instruction(kernel, i);
    if (!make_label(arena, &from, &label[i]))
      return NULL;
  }
  return label;
}
