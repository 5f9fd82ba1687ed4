/* How to use a hash: what to write in a kernel. */
#include "report/page.h"

#include <string.h>

/* One term of the map: (word >> shift) & mask, without what does nothing. */
static void write_term(const bf_hash_term *term, uint64_t all, bf_text *text) {
  bool masked = (term->mask & all) != all;
  if (masked)
    bf_text_puts(text, "(");
  if (term->shift > 0)
    bf_text_addf(text, masked ? "(word >> %d)" : "word >> %d", term->shift);
  else if (term->shift < 0)
    bf_text_addf(text, masked ? "(word << %d)" : "word << %d", -term->shift);
  else
    bf_text_puts(text, "word");
  if (masked)
    bf_text_addf(text, " & 0x%llx)", (unsigned long long)term->mask);
}

/* The XOR hash as one C expression. */
static void write_expression(const bf_hash *hash, bf_text *text) {
  bf_hash_term terms[2 * BF_GF2_MAX];
  unsigned count = bf_hash_terms(&hash->forward, terms);
  uint64_t all = bf_gf2_low_bits(hash->forward.columns);
  bf_text expression = {0};
  for (unsigned i = 0; i < count; i++) {
    bf_text_puts(&expression, i == 0 ? "" : count <= 3 ? " ^ " : "\n      ^ ");
    write_term(&terms[i], all, &expression);
  }
  bf_text_puts(text, "<pre><code>place = ");
  if (expression.data)
    bf_markup_escape(expression.data, text);
  bf_text_puts(text, ";</code></pre>\n");
  text->failed = text->failed || expression.failed;
  bf_text_free(&expression);
}

static void use_linear(const bf_hash *hash, bf_text *text) {
  unsigned bits, base;
  int shift;
  bf_text_addf(text,
               "<p>Wherever the kernel reads or writes the array, use word number <code>place"
               "</code> instead of word number <code>word</code> (a word is %u bytes):</p>\n",
               hash->geometry.word_bytes);
  write_expression(hash, text);
  if (bf_hash_is_row_preserving(hash))
    bf_text_puts(text, "<p>Every word stays in its row of banks and the map is its own inverse, so "
                       "the array keeps its size.</p>\n");
  if (bf_hash_find_swizzle(hash, &bits, &base, &shift))
    bf_text_addf(text,
                 "<p>In CuTe this is <code>Swizzle&lt;%u, %u, %d&gt;</code> on byte offsets.</p>\n",
                 bits, base, shift);
}

static void use_padding(const bf_hash *hash, bf_text *text) {
  unsigned long long row = (unsigned long long)hash->row_words;
  unsigned long long pad = (unsigned long long)hash->pad_words;
  bf_text_addf(text,
               "<p>Leave %llu word%s unused after every %llu: an array with rows of %llu words is "
               "declared with rows of %llu.</p>\n"
               "<pre><code>__shared__ float tile[ROWS][%llu]; // not [%llu]</code></pre>\n",
               pad, pad == 1 ? "" : "s", row, row, row + pad, row + pad, row);
}

void bf_page_usage(const bf_hash *hash, bf_text *text) {
  if (strcmp(bf_hash_text(hash), "none") == 0) {
    bf_text_puts(text, "<p>Leave the kernel as it is.</p>\n");
    return;
  }
  if (hash->kind == BF_HASH_PAD) {
    use_padding(hash, text);
    return;
  }
  if (hash->kind == BF_HASH_LINEAR)
    use_linear(hash, text);
  bf_text_puts(text, "<p>A header to include:</p>\n<pre><code>bankfold emit --hash ");
  bf_markup_escape(bf_hash_text(hash), text);
  bf_text_puts(text, " --as cuda</code></pre>\n");
}
