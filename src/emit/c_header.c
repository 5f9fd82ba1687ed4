/* A header for C, C++ and CUDA: place and recover words and bytes, and tell a word's bank. XOR
 * hashes become one XOR of shifted and masked copies of the index, terms under one mask together;
 * padding and add become the arithmetic they are. */
#include "emit/forms.h"

#include <string.h>

/* What one function is written for. */
typedef struct writer {
  bf_text *text;
  const bf_hash *hash;
  const char *name;
  char upper[BF_EMIT_NAME_MAX + 1];
  unsigned type_bits;   /* 32 or 64 */
  const char *variable; /* the index that comes in */
  unsigned unit_bits;   /* log2 of units per word: 0 for words, log2(word_bytes) for bytes */
} writer;

static void put_literal(const writer *w, uint64_t value) {
  value &= bf_gf2_low_bits(w->type_bits);
  bf_text_addf(w->text, w->type_bits == 32 ? "0x%llxu" : "0x%llxull", (unsigned long long)value);
}

static void put_decimal(const writer *w, uint64_t value) {
  bf_text_addf(w->text, w->type_bits == 32 ? "%lluu" : "%lluull", (unsigned long long)value);
}

/* ---- Expressions ---- */

static void put_shifted(const writer *w, int shift) {
  if (shift == 0)
    bf_text_puts(w->text, w->variable);
  else
    bf_text_addf(w->text, "(%s %s %d)", w->variable, shift > 0 ? ">>" : "<<",
                 shift > 0 ? shift : -shift);
}

/* XOR of count copies of the index, under mask unless that keeps everything. */
static void put_group(const writer *w, const bf_hash_term *terms, unsigned count, uint64_t mask) {
  bool masks = mask != bf_gf2_low_bits(w->type_bits);
  bf_text_puts(w->text, masks && count > 1 ? "((" : masks ? "(" : "");
  for (unsigned i = 0; i < count; i++) {
    bf_text_puts(w->text, i ? " ^ " : "");
    put_shifted(w, terms[i].shift);
  }
  if (!masks)
    return;
  bf_text_puts(w->text, count > 1 ? ") & " : " & ");
  put_literal(w, mask);
  bf_text_puts(w->text, ")");
}

/* matrix times the index. `kept` are index bits that stay as they are: what is not word address. */
static void put_linear(const writer *w, const bf_gf2_matrix *matrix, uint64_t kept) {
  bf_hash_term all_terms[2 * BF_GF2_MAX + 1] = {{0, 0}}, *terms = all_terms;
  unsigned count = bf_hash_terms(matrix, terms + 1), group;
  if (count == 0 || terms[1].shift != 0)
    count++;
  else
    terms++;
  for (unsigned i = 0; i < count; i++)
    terms[i].mask = terms[i].mask << w->unit_bits | (terms[i].shift == 0 ? kept : 0);
  if (terms[0].mask == 0 && count > 1) {
    terms++;
    count--;
  }
  for (unsigned i = 0; i < count; i += group) {
    for (group = 1; i + group < count && terms[i + group].mask == terms[i].mask; group++)
      ;
    bf_text_puts(w->text, i == 0 ? "" : count > 3 ? " ^\n         " : " ^ ");
    put_group(w, terms + i, group, terms[i].mask);
  }
}

/* index + index / row * padding, or back: index - index / (row + padding) * padding. */
static void put_padding(const writer *w, bool inverse) {
  uint64_t row = w->hash->row_words << w->unit_bits, padding = w->hash->pad_words << w->unit_bits;
  bf_text_puts(w->text, w->variable);
  if (padding == 0)
    return;
  bf_text_addf(w->text, " %c %s / ", inverse ? '-' : '+', w->variable);
  put_decimal(w, inverse ? row + padding : row);
  if (padding != 1) {
    bf_text_puts(w->text, " * ");
    put_decimal(w, padding);
  }
}

/* The bank bits plus or minus the row number, the other bits as they are. */
static void put_add(const writer *w, bool inverse) {
  unsigned m = w->hash->geometry.bank_bits;
  uint64_t mask = bf_gf2_low_bits(m) << w->unit_bits;
  bf_text_addf(w->text, "(%s & ", w->variable);
  put_literal(w, ~mask);
  bf_text_addf(w->text, ") | ((%s %c ", w->variable, inverse ? '-' : '+');
  if (w->unit_bits == 0) {
    bf_text_addf(w->text, "(%s >> %u)", w->variable, m);
  } else {
    bf_text_addf(w->text, "((%s >> %u) & ", w->variable, m);
    put_literal(w, mask);
    bf_text_puts(w->text, ")");
  }
  bf_text_puts(w->text, ") & ");
  put_literal(w, mask);
  bf_text_puts(w->text, ")");
}

static void put_map(const writer *w, bool inverse) {
  const bf_hash *hash = w->hash;
  uint64_t used = bf_gf2_low_bits(hash->geometry.address_bits) << w->unit_bits;
  if (hash->kind == BF_HASH_LINEAR)
    put_linear(w, inverse ? &hash->inverse : &hash->forward, bf_gf2_low_bits(w->type_bits) & ~used);
  else if (hash->kind == BF_HASH_ADD)
    put_add(w, inverse);
  else
    put_padding(w, inverse);
}

static void put_bank(const writer *w) {
  const bf_geometry *g = &w->hash->geometry;
  if (w->hash->kind == BF_HASH_LINEAR) {
    bf_gf2_matrix banks = w->hash->forward;
    banks.rows = g->bank_bits;
    put_linear(w, &banks, 0);
    return;
  }
  bf_text_puts(w->text, "(");
  if (w->hash->kind == BF_HASH_ADD)
    bf_text_addf(w->text, "%s + (%s >> %u)", w->variable, w->variable, g->bank_bits);
  else
    put_padding(w, false);
  bf_text_puts(w->text, ") & ");
  put_literal(w, bf_gf2_low_bits(g->bank_bits));
}

/* ---- Functions ---- */

static void begin_function(const writer *w, const char *comment, const char *suffix) {
  bf_text_addf(w->text, "/* %s */\n%s_FUNCTION uint%u_t %s_%s(uint%u_t %s) {\n  return ", comment,
               w->upper, w->type_bits, w->name, suffix, w->type_bits, w->variable);
}

static void end_function(const writer *w) { bf_text_puts(w->text, ";\n}\n\n"); }

/* The map and its inverse on words or on bytes. A map that is its own inverse is written once. */
static void write_maps(const writer *w, const char *unit, const char *comment,
                       const char *inverse_comment) {
  const bf_hash *hash = w->hash;
  char suffix[32];
  begin_function(w, comment, unit);
  put_map(w, false);
  end_function(w);
  snprintf(suffix, sizeof suffix, "%s_inverse", unit);
  begin_function(w, inverse_comment, suffix);
  if (hash->kind == BF_HASH_LINEAR &&
      memcmp(hash->forward.row, hash->inverse.row, sizeof hash->forward.row) == 0)
    bf_text_addf(w->text, "%s_%s(%s)", w->name, unit, w->variable);
  else
    put_map(w, true);
  end_function(w);
}

static void write_functions(writer *w) {
  unsigned word_bits = (unsigned)__builtin_ctz(w->hash->geometry.word_bytes);
  bool pads = bf_hash_block_words(w->hash) == 0;
  w->variable = "word";
  write_maps(w, "word", "Where word number `word` is put: the index to use instead of it.",
             pads ? "The word that is put at index `word`, which must hold one (see _holds)."
                  : "The word that is put at index `word`.");
  w->variable = "offset";
  w->unit_bits = word_bits;
  write_maps(w, "byte", "The same for byte offsets.", "The same for byte offsets.");
  w->variable = "word";
  w->unit_bits = 0;
  begin_function(w, "The bank of word number `word`.", "bank");
  put_bank(w);
  end_function(w);
  if (!pads)
    return;
  begin_function(w, "1 if index `word` holds a word, 0 if it is padding.", "holds");
  bf_text_puts(w->text, "word % ");
  put_decimal(w, w->hash->row_words + w->hash->pad_words);
  bf_text_puts(w->text, " < ");
  put_decimal(w, w->hash->row_words);
  end_function(w);
}

/* ---- The rest of the header ---- */

static void write_properties(const writer *w) {
  const bf_hash *hash = w->hash;
  const bf_geometry *g = &hash->geometry;
  uint64_t words = (uint64_t)1 << g->address_bits, block = bf_hash_block_words(hash);
  bf_text_addf(w->text,
               "/* %s: hash %s\n * for %u banks of %u-byte words and up to %llu words.\n *\n",
               w->name, hash->text, 1u << g->bank_bits, g->word_bytes, (unsigned long long)words);
  if (block)
    bf_text_addf(w->text,
                 " * A bijection on every aligned block of %llu words, so no memory is wasted but\n"
                 " * what rounds an array up to whole blocks.\n",
                 (unsigned long long)block);
  else
    bf_text_addf(w->text,
                 " * No two words share a place. %llu words need %llu words of memory; use\n"
                 " * %s_ALLOCATION_WORDS for fewer.\n",
                 (unsigned long long)words, (unsigned long long)bf_hash_capacity_words(hash, words),
                 w->upper);
  bf_text_addf(
      w->text,
      " * Aligned elements of up to %s_GRANULE_BYTES bytes stay whole.\n"
      " * The array may start at any word (wider elements: aligned to them); %s_bank() is\n"
      " * the physical bank where it starts at a multiple of %u bytes.\n *\n",
      w->upper, w->name, g->word_bytes << g->bank_bits);
}

static void write_usage(const writer *w, bool cuda) {
  unsigned bytes = w->hash->geometry.word_bytes;
  const char *type = bytes == 4 ? "float" : bytes == 8 ? "double" : "word_type";
  bf_text_addf(w->text,
               " * Use it for every access to the array, for example a 32 x 32 tile:\n"
               " *   %s%s tile[%s_ALLOCATION_WORDS(32 * 32)];\n"
               " *   tile[%s_word(row * 32 + column)] = value;\n"
               " *   value = tile[%s_word(row * 32 + column)];\n"
               " * and with elements of another size, by byte offset:\n"
               " *   *(element_type *)((char *)tile + %s_byte(index * sizeof(element_type)))\n"
               " */\n",
               cuda ? "__shared__ " : "", type, w->upper, w->name, w->name, w->name);
}

static void write_qualifiers(const writer *w, bool cuda) {
  if (cuda)
    bf_text_addf(w->text,
                 "#ifdef __CUDACC__\n"
                 "#define %s_FUNCTION static __host__ __device__ __forceinline__\n"
                 "#else\n"
                 "#define %s_FUNCTION static inline\n"
                 "#endif\n\n",
                 w->upper, w->upper);
  else
    bf_text_addf(w->text, "#define %s_FUNCTION static inline\n\n", w->upper);
}

static void define(const writer *w, const char *suffix, uint64_t value) {
  bf_text_addf(w->text, "#define %s_%s ", w->upper, suffix);
  put_decimal(w, value);
  bf_text_puts(w->text, "\n");
}

/* Aligned elements wider than 16 bytes do not exist. */
static uint64_t granule_bytes(const bf_hash *hash) {
  uint64_t bytes = bf_hash_granule_words(hash) * hash->geometry.word_bytes;
  return bytes > 16 ? 16 : bytes;
}

static void write_macros(const writer *w) {
  const bf_hash *hash = w->hash;
  uint64_t block = bf_hash_block_words(hash);
  define(w, "BANKS", (uint64_t)1 << hash->geometry.bank_bits);
  define(w, "WORD_BYTES", hash->geometry.word_bytes);
  define(w, "GRANULE_BYTES", granule_bytes(hash));
  define(w, "MAX_WORDS", (uint64_t)1 << hash->geometry.address_bits);
  bf_text_puts(w->text,
               "/* Words and bytes of memory that hold an array of `words` words, at least "
               "1. */\n");
  bf_text_addf(w->text, "#define %s_ALLOCATION_WORDS(words) ", w->upper);
  if (block == 1) {
    bf_text_puts(w->text, "(words)\n");
  } else if (block) {
    bf_text_puts(w->text, "(((words) + ");
    put_decimal(w, block - 1);
    bf_text_puts(w->text, ") / ");
    put_decimal(w, block);
    bf_text_puts(w->text, " * ");
    put_decimal(w, block);
    bf_text_puts(w->text, ")\n");
  } else {
    bf_text_puts(w->text, "((words) + ((words) - 1) / ");
    put_decimal(w, hash->row_words);
    bf_text_puts(w->text, " * ");
    put_decimal(w, hash->pad_words);
    bf_text_puts(w->text, ")\n");
  }
  bf_text_addf(w->text,
               "#define %s_ALLOCATION_BYTES(words) (%s_ALLOCATION_WORDS(words) * "
               "%s_WORD_BYTES)\n\n",
               w->upper, w->upper, w->upper);
}

/* 32-bit arithmetic wherever every byte offset and every constant fits it. */
static unsigned type_bits(const bf_hash *hash) {
  uint64_t words = bf_hash_capacity_words(hash, (uint64_t)1 << hash->geometry.address_bits);
  uint64_t pitch = hash->row_words + hash->pad_words;
  uint64_t limit = ((uint64_t)1 << 32) / hash->geometry.word_bytes;
  return words < limit && pitch < limit ? 32 : 64;
}

static int emit_header(const bf_hash *hash, const bf_emit_options *options, bool cuda,
                       bf_text *text) {
  writer w = {.text = text, .hash = hash, .name = options->name, .type_bits = type_bits(hash)};
  bf_emit_upper(options->name, w.upper);
  write_properties(&w);
  write_usage(&w, cuda);
  bf_text_addf(text, "#ifndef %s_HASH_H\n#define %s_HASH_H\n\n#include <stdint.h>\n\n", w.upper,
               w.upper);
  write_qualifiers(&w, cuda);
  write_macros(&w);
  write_functions(&w);
  bf_text_puts(text, "#endif\n");
  return BF_OK;
}

int bf_emit_c(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
              bf_diagnostic *diagnostic) {
  (void)diagnostic;
  return emit_header(hash, options, false, text);
}

int bf_emit_cuda(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                 bf_diagnostic *diagnostic) {
  (void)diagnostic;
  return emit_header(hash, options, true, text);
}
