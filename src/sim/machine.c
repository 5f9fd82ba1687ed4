/* Machine code as text, which is how it is kept where no ptxas is. */
#include "sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bf_machine_code_write(const bf_machine_code *code, bf_text *text) {
  for (unsigned k = 0; k < code->kernels; k++) {
    const bf_machine_kernel *kernel = &code->kernel[k];
    bf_text_addf(text, "kernel %s %u\n", kernel->name, kernel->registers);
    for (uint32_t i = 0; i < kernel->count; i++) {
      const bf_machine_op *op = &kernel->op[i];
      bf_text_addf(text, "%u %x %u", op->line, op->opcode, op->stall);
      if (op->target != BF_MACHINE_NO_TARGET)
        bf_text_addf(text, " %u", op->target);
      bf_text_puts(text, "\n");
    }
  }
}

/* Lines of a text until one begins with a word; *end is behind them. */
static uint32_t lines_before(const char *text, const char *word, const char **end) {
  uint32_t lines = 0;
  for (; *text && strncmp(text, word, strlen(word)) != 0; lines++) {
    const char *next = strchr(text, '\n');
    text = next ? next + 1 : text + strlen(text);
  }
  *end = text;
  return lines;
}

/* Reads the line of an instruction. */
static bool parse_op(const char *line, uint32_t count, bf_machine_op *op) {
  unsigned number, opcode, stall, target = BF_MACHINE_NO_TARGET;
  const char *end = strchr(line, '\n');
  int read = sscanf(line, "%u %x %u %u", &number, &opcode, &stall, &target);
  bool has_target = read == 4 && end && memchr(line, ' ', (size_t)(end - line)) &&
                    strcspn(line, "\n") > 0 && target < count;
  if (read < 3 || opcode > 0xfff || stall > 15)
    return false;
  unsigned words = 1;
  for (const char *at = line; at < end; at++)
    words += *at == ' ';
  if (words < 3 || words > 4 || (words == 4 && !has_target))
    return false;
  *op = (bf_machine_op){number, words == 4 ? target : BF_MACHINE_NO_TARGET, (uint16_t)opcode,
                        (uint8_t)stall};
  return true;
}

/* Reads a kernel: its head line at text, and the lines of its instructions, which are in the file
 * from line `line` on. */
static int parse_kernel(const char *name, const char *text, uint32_t line, bf_machine_code *code,
                        bf_machine_kernel *kernel, bf_diagnostic *diagnostic) {
  char own[256];
  const char *end, *at = strchr(text, '\n');
  if (!at || sscanf(text, "kernel %255s %u", own, &kernel->registers) != 2)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s:%u: expected 'kernel NAME REGISTERS'", name, line);
  kernel->count = lines_before(++at, "kernel ", &end);
  bf_machine_op *op = bf_arena_alloc(&code->arena, (kernel->count + 1) * sizeof *op);
  kernel->name = bf_arena_copy(&code->arena, own);
  kernel->op = op;
  if (!op || !kernel->name)
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < kernel->count; i++, at = strchr(at, '\n') + 1)
    if (!strchr(at, '\n') || !parse_op(at, kernel->count, &op[i]))
      return bf_fail(diagnostic, BF_BAD_INPUT, "%s:%u: expected 'LINE OPCODE STALL [TARGET]'", name,
                     line + 1 + i);
  return BF_OK;
}

int bf_machine_code_parse(const char *name, const char *text, bf_machine_code *code,
                          bf_diagnostic *diagnostic) {
  *code = (bf_machine_code){0};
  unsigned kernels = 0;
  for (const char *at = text; *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : "")
    kernels += strncmp(at, "kernel ", 7) == 0;
  code->kernel = bf_arena_alloc(&code->arena, (kernels + 1) * sizeof *code->kernel);
  if (!code->kernel)
    return bf_no_memory(diagnostic);
  uint32_t line = 1;
  for (const char *at = text; *at;) {
    bf_machine_kernel *kernel = &code->kernel[code->kernels];
    if (code->kernels == kernels)
      return bf_fail(diagnostic, BF_BAD_INPUT, "%s:%u: expected 'kernel NAME REGISTERS'", name,
                     line);
    BF_TRY(parse_kernel(name, at, line, code, kernel, diagnostic));
    code->kernels++;
    line += 1 + kernel->count;
    const char *end;
    lines_before(strchr(at, '\n') + 1, "kernel ", &end);
    at = end;
  }
  return BF_OK;
}

const bf_machine_kernel *bf_machine_code_find(const bf_machine_code *code, const char *kernel) {
  for (unsigned i = 0; i < code->kernels; i++)
    if (strcmp(code->kernel[i].name, kernel) == 0)
      return &code->kernel[i];
  return NULL;
}

void bf_machine_code_free(bf_machine_code *code) { bf_arena_free(&code->arena); }
