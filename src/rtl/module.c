/* The Verilog of units. A family's unit has its configuration as ports: numbers in binary, or a
 * wire per choice (one-hot), which saves the decoders and costs wires and registers. Address bits
 * past the top of the word read 0, as in the text forms of hashes. */
#include "rtl/rtl.h"

#include "emit/emit.h"

#include <ctype.h>
#include <string.h>

const char *const bf_rtl_families[] = {"bit-vector-perm", "bit-vector-xor", "bitwise-perm",
                                       "bitwise-xor", NULL};

/* ---- What there is ---- */

bool bf_rtl_is_family(const bf_rtl_unit *unit) { return unit->kind <= BF_RTL_BITWISE_XOR; }

static int check_bits(const bf_rtl_unit *unit, unsigned least, unsigned most,
                      bf_diagnostic *diagnostic) {
  unsigned m = unit->geometry.bank_bits, n = unit->geometry.address_bits;
  if (m < 1 || m > BF_RTL_MOST_BANK_BITS)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "a unit has 2 to %d banks, not %u",
                   1 << BF_RTL_MOST_BANK_BITS, 1u << m);
  if (n < least || n > most)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "with %u banks such a unit has %u to %u address bits, not %u", 1u << m, least,
                   most, n);
  return BF_OK;
}

/* Names are built by adding to this one, so it may be a keyword of Verilog. */
static int check_name(const char *name, bf_diagnostic *diagnostic) {
  bool good = isalpha((unsigned char)name[0]);
  for (const char *at = name; *at; at++)
    good &= isalnum((unsigned char)*at) || *at == '_';
  if (!good)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a name is letters, digits and '_', and starts with a letter; not '%.60s'",
                   name);
  if (strlen(name) > BF_RTL_NAME_MAX)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a name has at most %d characters", BF_RTL_NAME_MAX);
  return BF_OK;
}

int bf_rtl_check(const bf_rtl_unit *unit, bf_diagnostic *diagnostic) {
  unsigned m = unit->geometry.bank_bits;
  BF_TRY(bf_hash_check_geometry(&unit->geometry, diagnostic));
  BF_TRY(check_name(unit->name, diagnostic));
  if (unit->word_copies > (bf_rtl_is_family(unit) ? m : 0))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%u registers for the word are too many: one for each of %u bank bits is enough",
                   unit->word_copies, m);
  if (bf_rtl_is_family(unit))
    return check_bits(unit, m + 1, BF_RTL_MOST_ADDRESS_BITS, diagnostic);
  if (unit->kind == BF_RTL_LOCKS)
    return check_bits(unit, 2 * m + 1, 3 * m, diagnostic);
  if (unit->geometry.address_bits == 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "an allocation of one word needs no unit");
  return BF_OK;
}

unsigned bf_rtl_code_bits(unsigned choices) {
  unsigned bits = 1;
  while ((1u << bits) < choices)
    bits++;
  return bits;
}

void bf_rtl_module_name(const bf_rtl_unit *unit, char name[BF_RTL_NAME_MAX + 16]) {
  snprintf(name, BF_RTL_NAME_MAX + 16, "%s_%s", unit->name,
           unit->kind == BF_RTL_FIXED ? "place" : "unit");
}

/* ---- Ports ---- */

static void add_port(bf_rtl_port *port, unsigned *count, const char *name, unsigned bits,
                     bf_rtl_role role, const char *meaning) {
  if (bits)
    port[(*count)++] = (bf_rtl_port){name, bits, role, meaning};
}

/* Bits of a port that chooses among choices. */
static unsigned choice_bits(const bf_rtl_unit *unit, unsigned choices) {
  return unit->one_hot ? choices : bf_rtl_code_bits(choices);
}

static unsigned add_configuration(const bf_rtl_unit *unit, bf_rtl_port *port) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits, count = 0;
  const bf_rtl_role role = BF_RTL_CONFIGURATION;
  /* One-hot, no wire set chooses no bit; in binary, the number behind the last bit does. */
  unsigned second = unit->one_hot ? n : bf_rtl_code_bits(n + 1);
  switch (unit->kind) {
  case BF_RTL_BIT_VECTOR_PERM:
    add_port(port, &count, "offset", choice_bits(unit, n - m + 1), role, "lowest bank bit");
    break;
  case BF_RTL_BIT_VECTOR_XOR:
    add_port(port, &count, "offset", choice_bits(unit, n - m + 1), role,
             "lowest bit of the first field");
    add_port(port, &count, "second", choice_bits(unit, n), role, "lowest bit of the second field");
    add_port(port, &count, "mask", m, role, "the bits of the second field that count");
    break;
  case BF_RTL_BITWISE_PERM:
    add_port(port, &count, "first", m * choice_bits(unit, n), role,
             "the address bit of each bank bit");
    break;
  case BF_RTL_BITWISE_XOR:
    add_port(port, &count, "first", m * choice_bits(unit, n), role,
             "the address bit of each bank bit");
    add_port(port, &count, "second", m * second, role,
             unit->one_hot ? "another one, or no bit set: none"
                           : "another one, or one behind the top: none");
    break;
  case BF_RTL_FIXED:
  case BF_RTL_LOCKS:
    break;
  }
  return count;
}

/* Bits that hold values below limit. */
static unsigned bits_below(uint64_t limit) {
  unsigned bits = 0;
  while (bits < 64 && (limit - 1) >> bits)
    bits++;
  return bits;
}

unsigned bf_rtl_ports(const bf_rtl_unit *unit, bf_rtl_port port[BF_RTL_PORTS]) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  unsigned count = add_configuration(unit, port);
  add_port(port, &count, "word", n, BF_RTL_WORD, "word address");
  if (unit->kind == BF_RTL_LOCKS)
    add_port(port, &count, "lock", m, BF_RTL_RESULT, "which lock of its bank the word has");
  if (unit->kind == BF_RTL_FIXED) {
    unsigned place = bits_below(bf_hash_capacity_words(unit->hash, (uint64_t)1 << n));
    add_port(port, &count, "row", place > m ? place - m : 0, BF_RTL_RESULT,
             "the word's row in its bank");
  }
  add_port(port, &count, "bank", m, BF_RTL_RESULT, "the bank that holds the word");
  return count;
}

/* ---- Text that modules share ---- */

/* "input  wire [13:0] word": a port or, with another first word, a wire. */
static void put_signal(bf_text *text, const char *what, const char *prefix,
                       const bf_rtl_port *port) {
  bf_text_addf(text, "%s [%3u:0] %s%s", what, port->bits - 1, prefix, port->name);
}

static void put_ports(const bf_rtl_port *port, unsigned count, const char *result,
                      const char *separator, bf_text *text) {
  for (unsigned i = 0; i < count; i++) {
    put_signal(text, port[i].role == BF_RTL_RESULT ? result : "  input  wire", "", &port[i]);
    bf_text_addf(text, "%s // %s\n", i + 1 < count ? separator : "", port[i].meaning);
  }
}

/* ".word(PREFIXword), ..." of all ports with the role, or of all but the results. */
static void put_connections(const bf_rtl_port *port, unsigned count, const char *input_prefix,
                            const char *result_prefix, bf_text *text) {
  for (unsigned i = 0; i < count; i++)
    bf_text_addf(text, "%s.%s(%s%s)", i ? ", " : "", port[i].name,
                 port[i].role == BF_RTL_RESULT ? result_prefix : input_prefix, port[i].name);
}

static void put_header(const bf_rtl_unit *unit, bf_text *text) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned count = bf_rtl_ports(unit, port);
  bf_text_addf(text, "module %s_unit (\n", unit->name);
  put_ports(port, count, "  output wire", ",", text);
  bf_text_puts(text, ");\n");
}

/* ---- Families ---- */

/* The word with zeros above it, as wide as any number of `bits` bits reads. */
static void put_wide(unsigned have, unsigned want, bf_text *text) {
  if (want > have)
    bf_text_addf(text, "  wire [%u:0] wide = {%u'd0, word};\n", want - 1, want - have);
  else
    bf_text_addf(text, "  wire [%u:0] wide = word;\n", want - 1);
}

/* Bits that a field can read: from any number that the wider port can hold. More than that port has
 * numbers, so that an index takes at least one bit more. */
static unsigned wide_bits(const bf_rtl_unit *unit) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  unsigned choices = unit->kind == BF_RTL_BIT_VECTOR_XOR ? n : n - m + 1;
  unsigned bits = (1u << bf_rtl_code_bits(choices)) + m - 1;
  return m == 1 ? bits + 1 : bits;
}

/* A field of m bits from a bit that `port` chooses among `choices`, as wire or output `field`. */
static void put_field(const bf_rtl_unit *unit, const char *field, const char *port,
                      unsigned choices, bf_text *text) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  if (!unit->one_hot) {
    unsigned bits = bf_rtl_code_bits(choices), index = bf_rtl_code_bits(wide_bits(unit));
    bf_text_addf(text, "  assign %s = wide[{%u'd0, %s} +: %u];\n", field, index - bits, port, m);
    return;
  }
  for (unsigned j = 0; j < m; j++) {
    unsigned last = choices - 1 + j < n ? choices - 1 : n - 1 - j;
    bf_text_addf(text, "  assign %s[%u] = |(%s[%u:0] & word[%u:%u]);\n", field, j, port, last,
                 last + j, j);
  }
}

static void put_bit_vector(const bf_rtl_unit *unit, bf_text *text) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  bool has_xor = unit->kind == BF_RTL_BIT_VECTOR_XOR;
  if (!unit->one_hot)
    put_wide(n, wide_bits(unit), text);
  if (!has_xor) {
    put_field(unit, "bank", "offset", n - m + 1, text);
    return;
  }
  bf_text_addf(text, "  wire [%u:0] low, high;\n", m - 1);
  put_field(unit, "low", "offset", n - m + 1, text);
  put_field(unit, "high", "second", n, text);
  bf_text_puts(text, "  assign bank = low ^ (high & mask);\n");
}

/* The address bit that part `index` of a port chooses. */
static void put_choice(const bf_rtl_unit *unit, const char *port, unsigned index, unsigned choices,
                       bf_text *text) {
  unsigned bits = choice_bits(unit, choices), low = index * bits;
  if (unit->one_hot)
    bf_text_addf(text, "|(%s[%u:%u] & word)", port, low + bits - 1, low);
  else
    bf_text_addf(text, "%s[%s[%u:%u]]", strcmp(port, "second") ? "wide" : "wider", port,
                 low + bits - 1, low);
}

static void put_bitwise(const bf_rtl_unit *unit, bf_text *text) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  bool has_xor = unit->kind == BF_RTL_BITWISE_XOR;
  unsigned bits = bf_rtl_code_bits(n), more = bf_rtl_code_bits(n + 1);
  if (!unit->one_hot)
    put_wide(n, 1u << bits, text);
  if (!unit->one_hot && has_xor)
    bf_text_addf(text, "  wire [%u:0] wider = {%u'd0, word};\n", (1u << more) - 1,
                 (1u << more) - n);
  for (unsigned j = 0; j < m; j++) {
    bf_text_addf(text, "  assign bank[%u] = ", j);
    put_choice(unit, "first", j, n, text);
    if (has_xor) {
      bf_text_puts(text, " ^ ");
      put_choice(unit, "second", j, unit->one_hot ? n : n + 1, text);
    }
    bf_text_puts(text, ";\n");
  }
}

static void put_family_comment(const bf_rtl_unit *unit, bf_text *text) {
  static const char *const meaning[] = {
      "bank = word >> offset",
      "bank = (word >> offset) ^ ((word >> second) & mask)",
      "bank bit j = the address bit that part j of `first` chooses",
      "bank bit j = XOR of the address bits that part j of `first` and of `second` choose",
  };
  bf_text_addf(text,
               "// %s_unit: %s, %s configuration.\n"
               "// %s.\n"
               "// %u banks, 2^%u words. Combinational.\n",
               unit->name, bf_rtl_families[unit->kind], unit->one_hot ? "one-hot" : "encoded",
               meaning[unit->kind], 1u << unit->geometry.bank_bits, unit->geometry.address_bits);
}

static void write_family(const bf_rtl_unit *unit, bf_text *text) {
  put_family_comment(unit, text);
  put_header(unit, text);
  if (unit->kind == BF_RTL_BIT_VECTOR_PERM || unit->kind == BF_RTL_BIT_VECTOR_XOR)
    put_bit_vector(unit, text);
  else
    put_bitwise(unit, text);
  bf_text_puts(text, "endmodule\n");
}

/* ---- Banks and locks ---- */

/* One bit of the sum of two fields, with the carry to the next bit where there is one. Bit i of the
 * second field is word[other]; none: other is 0. */
static void put_adder(const char *name, unsigned i, unsigned own, unsigned other, bool last,
                      bf_text *text) {
  char partial[32] = "", both[32] = "";
  if (other) {
    snprintf(partial, sizeof partial, "word[%u] ^ word[%u]", own, other);
    snprintf(both, sizeof both, "word[%u] & word[%u]", own, other);
  } else {
    snprintf(partial, sizeof partial, "word[%u]", own);
  }
  if (i == 0) {
    bf_text_addf(text, "  assign %s[0] = %s;\n  wire %s_carry1 = %s;\n", name, partial, name, both);
    return;
  }
  bf_text_addf(text, "  wire %s_half%u = %s;\n  assign %s[%u] = %s_half%u ^ %s_carry%u;\n", name, i,
               partial, name, i, name, i, name, i);
  if (!last && other)
    bf_text_addf(text, "  wire %s_carry%u = (%s) | (%s_half%u & %s_carry%u);\n", name, i + 1, both,
                 name, i, name, i);
  else if (!last)
    bf_text_addf(text, "  wire %s_carry%u = %s_half%u & %s_carry%u;\n", name, i + 1, name, i, name,
                 i);
}

/* A field of m bits from bit `own`, folded with the field of `others` bits from bit `other`. */
static void put_fold(const bf_rtl_unit *unit, const char *name, unsigned own, unsigned other,
                     unsigned others, bf_text *text) {
  unsigned m = unit->geometry.bank_bits;
  bf_text_addf(text, "  // %s: %s of bits %u to %u and %u to %u\n", name,
               unit->lock_hash == BF_LOCK_ADD ? "sum" : "XOR", own, own + m - 1, other,
               other + others - 1);
  for (unsigned i = 0; i < m; i++) {
    unsigned partner = i < others ? other + i : 0;
    if (unit->lock_hash == BF_LOCK_ADD && m > 1)
      put_adder(name, i, own + i, partner, i + 1 == m, text);
    else if (partner)
      bf_text_addf(text, "  assign %s[%u] = word[%u] ^ word[%u];\n", name, i, own + i, partner);
    else
      bf_text_addf(text, "  assign %s[%u] = word[%u];\n", name, i, own + i);
  }
}

static void write_locks(const bf_rtl_unit *unit, bf_text *text) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  bf_text_addf(text,
               "// %s_unit: bank and lock of an atomic operation, %s hash.\n"
               "// {lock, bank} is the number of the lock, of %u. %u banks, 2^%u words.\n"
               "// Combinational%s.\n",
               unit->name, unit->lock_hash == BF_LOCK_ADD ? "ADD" : "XOR", 1u << (2 * m), 1u << m,
               n, unit->lock_hash == BF_LOCK_ADD ? "; adders with rippling carry" : "");
  put_header(unit, text);
  put_fold(unit, "bank", 0, m, m, text);
  put_fold(unit, "lock", m, 2 * m, n - 2 * m, text);
  bf_text_puts(text, "endmodule\n");
}

/* ---- All of them ---- */

int bf_rtl_write_module(const bf_rtl_unit *unit, bf_text *text, bf_diagnostic *diagnostic) {
  if (unit->kind == BF_RTL_FIXED)
    return bf_emit(unit->hash, "verilog", &(bf_emit_options){.name = unit->name}, text, diagnostic);
  if (unit->kind == BF_RTL_LOCKS)
    write_locks(unit, text);
  else
    write_family(unit, text);
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* Registers of the word in parts of their own, each with a unit that makes every Nth bank bit. */
static void put_parts(const bf_rtl_unit *unit, const bf_rtl_port *port, unsigned count,
                      bf_text *text) {
  unsigned parts = unit->word_copies, bits = unit->geometry.bank_bits;
  bf_text_addf(
      text,
      "  // %u registers hold the word, so that each drives fewer gates. Synthesis must not\n"
      "  // merge them.\n"
      "  genvar part, place;\n"
      "  generate\n"
      "    for (part = 0; part < %u; part = part + 1) begin : parts\n"
      "      reg  [%3u:0] held_word;\n"
      "      // verilator lint_off UNUSED\n"
      "      wire [%3u:0] every_bank;\n"
      "      // verilator lint_on UNUSED\n"
      "      %s_unit unit (",
      parts, parts, unit->geometry.address_bits - 1, bits - 1, unit->name);
  put_connections(port, count, "held_", "every_", text);
  bf_text_addf(text,
               ");\n"
               "      always @(posedge clk)\n"
               "        held_word <= word;\n"
               "      for (place = part; place < %u; place = place + %u) begin : bits\n"
               "        assign found_bank[place] = every_bank[place];\n"
               "      end\n"
               "    end\n"
               "  endgenerate\n",
               bits, parts);
}

/* One register of the word, and one unit. */
static void put_whole(const bf_rtl_unit *unit, const bf_rtl_port *port, unsigned count,
                      bf_text *text) {
  bf_text_addf(text, "  %s_unit unit (", unit->name);
  put_connections(port, count, "held_", "found_", text);
  bf_text_puts(text, ");\n");
}

void bf_rtl_write_clocked(const bf_rtl_unit *unit, bf_text *text) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned count = bf_rtl_ports(unit, port);
  bool whole = unit->word_copies <= 1;
  bf_text_addf(
      text,
      "// %s_clocked: %s_unit between registers. `load` takes the configuration. The bank of a\n"
      "// word comes out at the second rising edge of the clock behind it.\n"
      "module %s_clocked (\n  input  wire         clk,\n  input  wire         load,\n",
      unit->name, unit->name, unit->name);
  put_ports(port, count, "  output reg ", ",", text);
  bf_text_puts(text, ");\n");
  for (unsigned i = 0; i < count; i++) {
    bool result = port[i].role == BF_RTL_RESULT;
    if (port[i].role == BF_RTL_WORD && !whole)
      continue;
    put_signal(text, result ? "  wire" : "  reg ", result ? "found_" : "held_", &port[i]);
    bf_text_puts(text, ";\n");
  }
  (whole ? put_whole : put_parts)(unit, port, count, text);
  bf_text_puts(text, "  always @(posedge clk) begin\n    if (load) begin\n");
  for (unsigned i = 0; i < count; i++)
    if (port[i].role == BF_RTL_CONFIGURATION)
      bf_text_addf(text, "      held_%s <= %s;\n", port[i].name, port[i].name);
  bf_text_addf(text, "    end\n%s    bank <= found_bank;\n  end\nendmodule\n",
               whole ? "    held_word <= word;\n" : "");
}

/* ---- The test bench ---- */

static const char *const bench_task =
    "  task check(input clocked, input [RESULT:0] found);\n"
    "    begin\n"
    "      if (found !== expected) begin\n"
    "        failures = failures + 1;\n"
    "        if (failures <= 10)\n"
    "          $display(\"FAIL vector %0d%s: found %h, expected %h\", i,\n"
    "                   clocked ? \" (clocked)\" : \"\", found, expected);\n"
    "      end\n"
    "    end\n"
    "  endtask\n";

/* Adds template with every RESULT replaced by the number. */
static void put_template(const char *template, unsigned number, bf_text *text) {
  const char *mark;
  while ((mark = strstr(template, "RESULT"))) {
    bf_text_add(text, template, (size_t)(mark - template));
    bf_text_addf(text, "%u", number);
    template = mark + strlen("RESULT");
  }
  bf_text_puts(text, template);
}

/* "A, B" of the ports with one of two roles. */
static void put_list(const bf_rtl_port *port, unsigned count, bf_rtl_role role, bf_rtl_role other,
                     bf_text *text) {
  const char *separator = "";
  for (unsigned i = 0; i < count; i++) {
    if (port[i].role != role && port[i].role != other)
      continue;
    bf_text_addf(text, "%s%s", separator, port[i].name);
    separator = ", ";
  }
}

/* Loads the configuration and the word at one edge, then offers another configuration without
 * loading it: the bank of the second edge must stay at the third. */
static void put_clocked_check(const bf_rtl_port *port, unsigned count, bf_text *text) {
  const bf_rtl_role role = BF_RTL_CONFIGURATION;
  bf_text_puts(text, "      load = 1;\n      tick;\n      load = 0;\n      {");
  put_list(port, count, role, role, text);
  bf_text_puts(text, "} = ~{");
  put_list(port, count, role, role, text);
  bf_text_puts(text, "};\n      repeat (2) begin\n        tick;\n"
                     "        check(1'b1, later_bank);\n      end\n");
}

static void put_bench_signals(const bf_rtl_unit *unit, const bf_rtl_port *port, unsigned count,
                              uint64_t vectors, unsigned total, unsigned results, bf_text *text) {
  bf_text_addf(text,
               "  reg [%u:0] vectors [0:%llu];\n  integer i, failures;\n"
               "  reg [%u:0] expected;\n",
               total - 1, (unsigned long long)(vectors - 1), results - 1);
  for (unsigned i = 0; i < count; i++) {
    bool result = port[i].role == BF_RTL_RESULT;
    put_signal(text, result ? "  wire" : "  reg ", "", &port[i]);
    bf_text_puts(text, ";\n");
  }
  char module[BF_RTL_NAME_MAX + 16];
  bf_rtl_module_name(unit, module);
  bf_text_addf(text, "  %s unit (", module);
  put_connections(port, count, "", "", text);
  bf_text_puts(text, ");\n");
  if (!bf_rtl_is_family(unit))
    return;
  bf_text_addf(text,
               "  reg clk, load;\n  wire [%u:0] later_bank;\n"
               "  %s_clocked clocked_unit (.clk(clk), .load(load), ",
               results - 1, unit->name);
  put_connections(port, count, "", "later_", text);
  bf_text_puts(text, ");\n  task tick;\n    begin\n      clk = 0;\n      #1 clk = 1;\n      #1;\n"
                     "    end\n  endtask\n");
}

/* Reads the vectors and compares one after the other. */
static void put_bench_loop(const bf_rtl_unit *unit, const bf_rtl_port *port, unsigned count,
                           uint64_t vectors, bf_text *text) {
  bf_text_addf(text,
               "  initial begin\n    failures = 0;\n"
               "    $readmemh(\"%s_vectors.hex\", vectors);\n"
               "    for (i = 0; i < %llu; i = i + 1) begin\n"
               "      if (^vectors[i] === 1'bx) begin\n"
               "        $display(\"FAIL vector %%0d is missing\", i);\n        $finish;\n"
               "      end\n      {",
               unit->name, (unsigned long long)vectors);
  put_list(port, count, BF_RTL_CONFIGURATION, BF_RTL_WORD, text);
  bf_text_puts(text, ", expected} = vectors[i];\n      #1 check(1'b0, {");
  put_list(port, count, BF_RTL_RESULT, BF_RTL_RESULT, text);
  bf_text_puts(text, "});\n");
  if (bf_rtl_is_family(unit))
    put_clocked_check(port, count, text);
  bf_text_addf(text,
               "    end\n    if (failures == 0)\n      $display(\"PASS %llu vectors\");\n"
               "    else\n      $display(\"FAIL %%0d times\", failures);\n"
               "    $finish;\n  end\n",
               (unsigned long long)vectors);
}

void bf_rtl_write_bench(const bf_rtl_unit *unit, uint64_t vectors, bf_text *text) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned count = bf_rtl_ports(unit, port), total = 0, results = 0;
  for (unsigned i = 0; i < count; i++) {
    total += port[i].bits;
    results += port[i].role == BF_RTL_RESULT ? port[i].bits : 0;
  }
  bf_text_addf(text,
               "// Tests %s%s with the vectors of %s_vectors.hex, which must\n"
               "// be in the working folder. Prints PASS, or FAIL and the first vectors that are\n"
               "// wrong.\nmodule %s_test;\n",
               unit->name, bf_rtl_is_family(unit) ? " and its clocked form" : "", unit->name,
               unit->name);
  put_bench_signals(unit, port, count, vectors, total, results, text);
  put_template(bench_task, results - 1, text);
  put_bench_loop(unit, port, count, vectors, text);
  bf_text_puts(text, "endmodule\n");
}
