/* A combinational Verilog-2001 module: word address in, bank and row out; {row, bank} is the place.
 * An XOR hash is a tree of XOR gates per bank bit and wires for the row. */
#include "emit/forms.h"

/* Bits that hold values below limit. */
static unsigned bits_for(uint64_t limit) {
  unsigned bits = 0;
  while (bits < 64 && (limit - 1) >> bits)
    bits++;
  return bits;
}

typedef struct module {
  bf_text *text;
  const bf_hash *hash;
  const char *name;
  unsigned word_bits, bank_bits, place_bits;
} module;

static void put_range(bf_text *text, unsigned bits) { bf_text_addf(text, "[%u:0]", bits - 1); }

/* ---- The module ---- */

static void write_header(const module *m) {
  const bf_geometry *g = &m->hash->geometry;
  bf_text_addf(m->text,
               "// %s: hash %s\n"
               "// for %u banks of %u-byte words. Combinational.\n"
               "//   word  %2u bits  word address: byte address / %u\n",
               m->name, m->hash->text, 1u << g->bank_bits, g->word_bytes, m->word_bits,
               g->word_bytes);
  if (m->bank_bits)
    bf_text_addf(m->text, "//   bank  %2u bits  the bank that holds the word\n", m->bank_bits);
  if (m->place_bits > m->bank_bits)
    bf_text_addf(m->text, "//   row   %2u bits  the word's row in its bank\n",
                 m->place_bits - m->bank_bits);
  bf_text_addf(m->text, "module %s_place (\n  input  wire ", m->name);
  put_range(m->text, m->word_bits);
  bf_text_puts(m->text, " word");
  if (m->bank_bits) {
    bf_text_puts(m->text, ",\n  output wire ");
    put_range(m->text, m->bank_bits);
    bf_text_puts(m->text, " bank");
  }
  if (m->place_bits > m->bank_bits) {
    bf_text_puts(m->text, ",\n  output wire ");
    put_range(m->text, m->place_bits - m->bank_bits);
    bf_text_puts(m->text, " row");
  }
  bf_text_puts(m->text, "\n);\n");
}

/* word[a] ^ word[b] ^ ... */
static void put_bits(bf_text *text, uint64_t row) {
  for (const char *separator = ""; row; row &= row - 1, separator = " ^ ")
    bf_text_addf(text, "%sword[%d]", separator, __builtin_ctzll(row));
}

static void write_linear(const module *m) {
  for (unsigned i = 0; i < m->place_bits; i++) {
    bool is_bank = i < m->bank_bits;
    bf_text_addf(m->text, "  assign %s[%u] = ", is_bank ? "bank" : "row",
                 is_bank ? i : i - m->bank_bits);
    put_bits(m->text, m->hash->forward.row[i]);
    bf_text_puts(m->text, ";\n");
  }
}

/* "{3'd0, word[9:5]}": bits from..from+have-1 of the word with zeros up to `want` bits. */
static void put_extended(bf_text *text, unsigned from, unsigned have, unsigned want) {
  if (want > have)
    bf_text_addf(text, "{%u'd0, ", want - have);
  bf_text_addf(text, "word[%u:%u]%s", from + have - 1, from, want > have ? "}" : "");
}

/* The bank is the sum of the low bits and those above them; the row stays. */
static void write_sum(const module *m) {
  unsigned above = m->word_bits - m->bank_bits;
  if (m->bank_bits) {
    bf_text_puts(m->text, "  assign bank = ");
    put_extended(m->text, 0, m->bank_bits, m->bank_bits);
    if (above) {
      bf_text_puts(m->text, " + ");
      put_extended(m->text, m->bank_bits, above < m->bank_bits ? above : m->bank_bits,
                   m->bank_bits);
    }
    bf_text_puts(m->text, ";\n");
  }
  if (above)
    bf_text_addf(m->text, "  assign row = word[%u:%u];\n", m->word_bits - 1, m->bank_bits);
}

/* The place is formed as wide as it and the constants need, so that no bit is lost. */
static void write_padding(const module *m) {
  const bf_hash *hash = m->hash;
  unsigned width = m->place_bits;
  while (width < 64 && (hash->row_words | hash->pad_words) >> width)
    width++;
  bf_text_addf(m->text, "  wire [%u:0] wide = ", width - 1);
  put_extended(m->text, 0, m->word_bits, width);
  bf_text_addf(m->text, ";\n  wire [%u:0] place = wide + (wide / %u'd%llu) * %u'd%llu;\n",
               width - 1, width, (unsigned long long)hash->row_words, width,
               (unsigned long long)hash->pad_words);
  if (m->bank_bits)
    bf_text_addf(m->text, "  assign bank = place[%u:0];\n", m->bank_bits - 1);
  if (m->place_bits > m->bank_bits)
    bf_text_addf(m->text, "  assign row = place[%u:%u];\n", m->place_bits - 1, m->bank_bits);
}

/* ---- The test bench ---- */

enum { EVERY_WORD_BITS = 10, SAMPLED_WORDS = 1024 };

static void write_check(const module *m, uint64_t word) {
  bf_text_addf(m->text, "    check(%u'd%llu, %u'd%llu);\n", m->word_bits, (unsigned long long)word,
               m->place_bits, (unsigned long long)bf_hash_place(m->hash, word));
}

/* Every word of a small allocation; of a large one each address bit alone, the last word, and words
 * a large odd step apart. */
static void write_checks(const module *m) {
  uint64_t words = (uint64_t)1 << m->word_bits;
  if (m->word_bits <= EVERY_WORD_BITS) {
    for (uint64_t word = 0; word < words; word++)
      write_check(m, word);
    return;
  }
  write_check(m, words - 1);
  for (unsigned i = 0; i < m->word_bits; i++)
    write_check(m, (uint64_t)1 << i);
  for (uint64_t i = 0; i < SAMPLED_WORDS; i++)
    write_check(m, i * 0x9e3779b97f4a7c15ull & (words - 1));
}

static void write_testbench(const module *m) {
  unsigned row_bits = m->place_bits - m->bank_bits;
  bf_text_addf(m->text,
               "\n// Prints PASS, or FAIL and the first words that are placed wrongly.\n"
               "module %s_place_test;\n  reg  [%u:0] word;\n",
               m->name, m->word_bits - 1);
  if (m->bank_bits)
    bf_text_addf(m->text, "  wire [%u:0] bank;\n", m->bank_bits - 1);
  if (row_bits)
    bf_text_addf(m->text, "  wire [%u:0] row;\n", row_bits - 1);
  bf_text_addf(m->text, "  integer failures;\n  %s_place unit (.word(word)%s%s);\n", m->name,
               m->bank_bits ? ", .bank(bank)" : "", row_bits ? ", .row(row)" : "");
  bf_text_addf(m->text,
               "  task check(input [%u:0] tried, input [%u:0] place);\n"
               "    begin\n"
               "      word = tried;\n"
               "      #1;\n"
               "      if ({%s%s%s} !== place) begin\n"
               "        failures = failures + 1;\n"
               "        if (failures <= 10)\n"
               "          $display(\"FAIL word %%0d: place %%0d, expected %%0d\", tried, "
               "{%s%s%s}, place);\n"
               "      end\n"
               "    end\n"
               "  endtask\n"
               "  initial begin\n    failures = 0;\n",
               m->word_bits - 1, m->place_bits - 1, row_bits ? "row" : "",
               row_bits && m->bank_bits ? ", " : "", m->bank_bits ? "bank" : "",
               row_bits ? "row" : "", row_bits && m->bank_bits ? ", " : "",
               m->bank_bits ? "bank" : "");
  write_checks(m);
  bf_text_puts(m->text, "    if (failures == 0)\n      $display(\"PASS\");\n    $finish;\n  end\n"
                        "endmodule\n");
}

int bf_emit_verilog(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                    bf_diagnostic *diagnostic) {
  const bf_geometry *g = &hash->geometry;
  if (g->address_bits == 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "no such form: an allocation of one word has no address bits");
  uint64_t words = (uint64_t)1 << g->address_bits;
  unsigned place_bits = bits_for(bf_hash_capacity_words(hash, words));
  module m = {.text = text,
              .hash = hash,
              .name = options->name,
              .word_bits = g->address_bits,
              .bank_bits = g->bank_bits,
              .place_bits = place_bits < g->bank_bits ? g->bank_bits : place_bits};
  write_header(&m);
  if (hash->kind == BF_HASH_LINEAR)
    write_linear(&m);
  else if (hash->kind == BF_HASH_ADD)
    write_sum(&m);
  else
    write_padding(&m);
  bf_text_puts(text, "endmodule\n");
  if (options->testbench)
    write_testbench(&m);
  return BF_OK;
}
