/* What to write in the place of elements that conflict, as code. */
#include "source/subscript.h"

/* The declaration with rows that are so much longer. */
static void write_declaration(const bf_subscript_question *q, int extra, bf_text *out) {
  const bf_subscript_array *array = &q->array;
  bf_text_addf(out, "__shared__ %s ", array->type);
  bf_subscript_name(q->texts[0], out);
  for (unsigned i = 0; i < array->dimensions; i++)
    if (array->size[i])
      bf_text_addf(out, "[%llu]",
                   (unsigned long long)array->size[i] +
                       (i == array->dimensions - 1 ? (unsigned long long)extra : 0));
    else
      bf_text_puts(out, "[]");
  bf_text_puts(out, ";");
}

static bool can_swizzle(const bf_subscript_array *array) {
  uint64_t columns = array->size[array->dimensions - 1];
  return array->dimensions > 1 && (columns & (columns - 1)) == 0;
}

int bf_subscript_fix(const bf_subscript_question *q, bf_subscript_fixes *f,
                     bf_diagnostic *diagnostic) {
  *f = (bf_subscript_fixes){.extra = 0};
  BF_TRY(bf_subscript_count(q->texts, q->count, &q->array, &q->place, q->machine, q->op, 0,
                            &f->before, diagnostic));
  BF_TRY(bf_subscript_pad(q->texts, q->count, &q->array, &q->place, q->machine, q->op, &f->extra,
                          &f->padded, diagnostic));
  if (!can_swizzle(&q->array))
    return BF_OK;
  BF_TRY(bf_subscript_count(q->texts, q->count, &q->array, &q->place, q->machine, q->op, -1,
                            &f->swizzled, diagnostic));
  f->has_swizzle = f->swizzled.wavefronts < f->before.wavefronts;
  return BF_OK;
}

void bf_subscript_write(const bf_subscript_question *q, const bf_subscript_fixes *f, bf_text *out) {
  uint64_t columns = q->array.size[q->array.dimensions - 1];
  bf_text_addf(out, "a block: %llu wavefronts, %llu would do\n",
               (unsigned long long)f->before.wavefronts, (unsigned long long)f->before.ideal);
  if (f->before.wavefronts == f->before.ideal)
    bf_text_puts(out, "no conflicts\n");
  else if (!f->extra && !f->has_swizzle)
    bf_text_puts(out, "neither longer rows nor an XOR of the last two subscripts helps; "
                      "'bankfold suggest' looks at the whole kernel\n");
  if (f->extra) {
    bf_text_puts(out, "fix: ");
    write_declaration(q, f->extra, out);
    bf_text_addf(out, "   // %llu wavefronts\n", (unsigned long long)f->padded.wavefronts);
  }
  for (unsigned i = 0; i < q->count && f->has_swizzle; i++) {
    bf_text_addf(out, "%s", i == 0 && f->extra ? " or: " : i == 0 ? "fix: " : "     ");
    bf_subscript_swizzled(q->texts[i], columns, out);
    bf_text_addf(out,
                 i == 0 ? "   // %llu wavefronts; every access to the array is changed so\n" : "\n",
                 (unsigned long long)f->swizzled.wavefronts);
  }
}

void bf_subscript_write_json(const bf_subscript_question *q, const bf_subscript_fixes *f,
                             bf_text *out) {
  bf_json json = {.text = out};
  bf_text code = {0};
  write_declaration(q, f->extra, &code);
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "machine", bf_machine_name(q->machine));
  bf_json_number(&json, "accesses", f->before.accesses);
  bf_json_number(&json, "wavefronts", f->before.wavefronts);
  bf_json_number(&json, "ideal", f->before.ideal);
  bf_json_number(&json, "conflicts", f->before.wavefronts - f->before.ideal);
  bf_json_string(&json, "padding", f->extra ? code.data : NULL);
  bf_json_number(&json, "padded_wavefronts", f->padded.wavefronts);
  bf_json_begin(&json, "swizzle", '[', false);
  for (unsigned i = 0; i < q->count && f->has_swizzle; i++) {
    bf_text changed = {0};
    bf_subscript_swizzled(q->texts[i], q->array.size[q->array.dimensions - 1], &changed);
    bf_json_string(&json, NULL, changed.data);
    bf_text_free(&changed);
  }
  bf_json_end(&json, ']');
  bf_json_number(&json, "swizzled_wavefronts", f->swizzled.wavefronts);
  bf_json_end(&json, '}');
  bf_text_free(&code);
}
