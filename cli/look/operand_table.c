/* Matrices and copies. */
#include "cli/look/operand_table.h"

/* Rows that a table shows of a kernel. */
enum { MOST_SHOWN = 8 };

static bool is_matrix(unsigned kind) { return kind == BF_OPERAND_A || kind == BF_OPERAND_B; }

void cli_write_operands(const bf_costs_kernel *kernel,
                        void (*place)(const bf_costs_line *line, bf_text *text), bf_text *text) {
  size_t count = 0;
  for (size_t i = 0; i < kernel->lines; i++)
    for (unsigned j = 0; j < BF_OPERANDS; j++) {
      const bf_operand_sum *sum = &kernel->line[i].operand[j];
      if (!sum->times || count++ >= MOST_SHOWN)
        continue;
      bf_text_addf(text, "%12s  ",
                   is_matrix(j)                 ? "matrix"
                   : j >= BF_OPERAND_FAR_LOADED ? "other block"
                                                : "copy");
      place(&kernel->line[i], text);
      bf_text_puts(text, ": ");
      bf_operand_describe((bf_operand_kind)j, sum, text);
      bf_text_addf(text, ": %llu times, %llu bytes, ", (unsigned long long)sum->times,
                   (unsigned long long)sum->bytes);
      if (sum->least_bytes != sum->most_bytes)
        bf_text_addf(text, "a GPU counts %llu to %llu, ", (unsigned long long)sum->least_bytes,
                     (unsigned long long)sum->most_bytes);
      if (is_matrix(j))
        bf_text_addf(text, "%llu wavefronts, ", (unsigned long long)sum->wavefronts);
      bf_text_puts(text, "no conflicts\n");
    }
  if (count > MOST_SHOWN)
    bf_text_addf(text, "%12s  and %zu more (--json has all)\n", "", count - MOST_SHOWN);
}

void cli_write_operands_json(const bf_costs_line *line, bf_json *json) {
  bf_json_begin(json, "operands", '[', false);
  for (unsigned i = 0; i < BF_OPERANDS; i++) {
    const bf_operand_sum *sum = &line->operand[i];
    if (!sum->times)
      continue;
    bf_json_begin(json, NULL, '{', false);
    bf_json_string(json, "operand", bf_operand_name((bf_operand_kind)i));
    bf_json_number(json, "rows", sum->what.rows);
    bf_json_number(json, "columns", sum->what.columns);
    bf_json_string(json, "type", sum->what.type[0] ? sum->what.type : NULL);
    bf_json_number(json, "swizzle_bytes", sum->what.swizzle_bytes);
    bf_json_bool(json, "mn_major", sum->what.is_turned);
    bf_json_bool(json, "varies", sum->varies);
    bf_json_number(json, "times", sum->times);
    bf_json_number(json, "bytes", sum->bytes);
    bf_json_number(json, "bytes_least", sum->least_bytes);
    bf_json_number(json, "bytes_most", sum->most_bytes);
    bf_json_number(json, "wavefronts", sum->wavefronts);
    bf_json_number(json, "conflicts", 0);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}
