/* One line of a text trace: `op width mask address...`, see docs/traces.md.
 *
 * The parser walks the line once. Each field is checked where it stands, so that a diagnostic can
 * point at it; addresses are collected first, because only their number tells whether they are one
 * per lane or one per active lane. */
#include "access/trace.h"

#include <string.h>

typedef struct parser {
  const bf_line *line;
  const char *at; /* what is left */
  const char *end;
  const bf_trace_limits *limits;
  bf_diagnostic *diagnostic;
  bf_access *access;
  const char *count_at; /* where a field stands; NULL: not given */
  const char *site_at;
  size_t site_length;
  const char *generator_at;
  int64_t width_x, stride_x, stride_y, offset; /* of the generator, in lanes and elements */
  const char *addresses_end;
  unsigned addresses;
  uint64_t address[BF_MAX_LANES];
  const char *address_at[BF_MAX_LANES];
} parser;

#define FAIL_AT(place, ...)                                                                        \
  bf_fail_at(p->diagnostic, p->line->file, p->line->number, p->line->text, place, __VA_ARGS__)

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool ends_token(char c) { return c == 0 || is_space(c); }

static const char *token_end(const char *at) {
  while (!ends_token(*at))
    at++;
  return at;
}

/* Moves to the next token; false at the end of the line or at a comment. */
static bool find_token(parser *p) {
  while (is_space(*p->at))
    p->at++;
  return *p->at && *p->at != '#';
}

/* The token at `at` as a message can show it: at most 24 bytes, printable ones only. */
typedef struct shown {
  char text[28];
} shown;

static shown show(const char *at) {
  shown result = {0};
  size_t length = 0;
  for (; !ends_token(at[length]) && length < 24; length++) {
    unsigned char c = (unsigned char)at[length];
    result.text[length] = c < 32 || c > 126 ? '?' : (char)c;
  }
  if (!ends_token(at[length]))
    strcpy(result.text + length, "...");
  return result;
}

/* Puts a diagnostic made without a place at `at`. */
static int place(parser *p, const char *at, int error, const bf_diagnostic *found) {
  return !error ? BF_OK : FAIL_AT(at, "%s", found->message);
}

/* Unsigned number, decimal or 0x, at *cursor; false (and *cursor stays) if it is none or needs
 * more than 64 bits. The loop is the fast way for the decimal numbers that traces are full of. */
static bool scan_number(const char **cursor, uint64_t *value) {
  const char *at = *cursor;
  uint64_t result = 0;
  for (unsigned digit; (digit = (unsigned)*at - '0') <= 9; at++)
    result = result * 10 + digit;
  if (at == *cursor || at - *cursor > 18 || (at[0] | 32) == 'x')
    return bf_parse_number(cursor, value);
  *value = result;
  *cursor = at;
  return true;
}

/* ---- The first three fields ---- */

static int unknown_op(parser *p) {
  char known[256];
  size_t used = 0;
  for (int op = 0; op < BF_OP_COUNT && used < sizeof known; op++)
    used += (size_t)snprintf(known + used, sizeof known - used, " %s", bf_op_name((bf_op)op));
  return FAIL_AT(p->at, "unknown operation '%s'; known:%s", show(p->at).text, known);
}

static int parse_op(parser *p) {
  size_t length = (size_t)(token_end(p->at) - p->at);
  for (int op = 0; op < BF_OP_COUNT; op++) {
    const char *name = bf_op_name((bf_op)op);
    if (strncmp(name, p->at, length) == 0 && name[length] == 0) {
      const char *start = p->at;
      bf_diagnostic found;
      p->access->op = (bf_op)op;
      p->at += length;
      return place(p, start, bf_access_check_op((bf_op)op, p->limits, &found), &found);
    }
  }
  return unknown_op(p);
}

static int parse_width(parser *p) {
  if (!find_token(p))
    return FAIL_AT(p->at, "expected the width in bytes");
  const char *start = p->at;
  uint64_t width;
  if (!scan_number(&p->at, &width) || !ends_token(*p->at) || width > UINT32_MAX)
    return FAIL_AT(start, "expected the width in bytes, not '%s'", show(start).text);
  p->access->width_bytes = (unsigned)width;
  bf_diagnostic found;
  int error = bf_access_check_width(p->access->op, (unsigned)width, &found);
  return place(p, start, error, &found);
}

static int parse_mask(parser *p) {
  if (!find_token(p))
    return FAIL_AT(p->at, "expected the mask of active lanes");
  const char *start = p->at;
  if (!bf_parse_hex(&p->at, &p->access->mask) || !ends_token(*p->at))
    return FAIL_AT(start, "expected the mask of active lanes, hexadecimal, not '%s'",
                   show(start).text);
  bf_diagnostic found;
  int error = bf_access_check_mask(p->access->mask, p->limits, &found);
  return place(p, start, error, &found);
}

/* ---- Addresses, generators, count and site ---- */

static int parse_count(parser *p) {
  const char *start = p->at++;
  if (p->count_at)
    return FAIL_AT(start, "a second count");
  p->count_at = start;
  const char *digits = p->at;
  if (!scan_number(&p->at, &p->access->count)) {
    while (*p->at >= '0' && *p->at <= '9')
      p->at++;
    p->access->count = UINT64_MAX;
  }
  if (p->at == digits || !ends_token(*p->at))
    return FAIL_AT(start, "a count is x and a whole number, not '%s'", show(start).text);
  if (p->access->count == 0)
    return FAIL_AT(start, "the count is 0");
  if (p->access->count > BF_EXECUTIONS_MAX)
    return FAIL_AT(start, "the count is more than %llu", (unsigned long long)BF_EXECUTIONS_MAX);
  return BF_OK;
}

static int parse_site(parser *p) {
  const char *start = p->at;
  if (p->site_at)
    return FAIL_AT(start, "a second site");
  p->site_at = start + 1;
  p->at = token_end(start);
  p->site_length = (size_t)(p->at - p->site_at);
  size_t offset;
  const char *fault = bf_site_fault(p->site_at, p->site_length, &offset);
  return fault ? FAIL_AT(p->site_at + offset, "%s", fault) : BF_OK;
}

/* The token is no number that fits 64 bits. */
static int wrong_address(parser *p, const char *at) {
  bool hex = at[0] == '0' && (at[1] | 32) == 'x';
  const char *digits = hex ? at + 2 : at;
  size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
  if (length && ends_token(digits[length]))
    return FAIL_AT(at, "address %s is past the allocation of %llu bytes", show(at).text,
                   (unsigned long long)p->limits->allocation_bytes);
  return FAIL_AT(at, "expected a byte address, not '%s'", show(at).text);
}

/* The next token starts with a digit, or a sign and a digit. */
static int parse_address(parser *p) {
  const char *start = p->at;
  if (p->generator_at)
    return FAIL_AT(start, "addresses after a generator");
  if (p->addresses == p->limits->lanes)
    return FAIL_AT(start, "address number %u, but there are %u lanes", p->addresses + 1,
                   p->limits->lanes);
  if (*start == '-')
    return FAIL_AT(start, "address %s is negative", show(start).text);
  if (!scan_number(&p->at, &p->address[p->addresses]) || !ends_token(*p->at))
    return wrong_address(p, start);
  p->address_at[p->addresses++] = start;
  p->addresses_end = p->at;
  return BF_OK;
}

/* The number of digits, 1 to 7, at the beginning of eight bytes, and their value; 0 where none or
 * all of them are digits. Bytes that are no digit get their top bit set: the first of them ends the
 * number. The digits are then moved to the end, behind zeros, and neighbours added up: two by two,
 * and the four pairs by one multiplication for each half. */
static unsigned read_digits(const char *at, uint32_t *value) {
  uint64_t bytes;
  memcpy(&bytes, at, sizeof bytes);
  bytes ^= UINT64_C(0x3030303030303030);
  uint64_t others = (bytes | (bytes + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
  if (others == 0 || others & 0x80)
    return 0;
  unsigned bits = (unsigned)__builtin_ctzll(others) & ~7U;
  bytes <<= 64 - bits;
  bytes = bytes * 10 + (bytes >> 8);
  const uint64_t pairs = UINT64_C(0x000000FF000000FF);
  bytes = (bytes & pairs) * (100 + (UINT64_C(1000000) << 32)) +
          (bytes >> 16 & pairs) * (1 + (UINT64_C(10000) << 32));
  *value = (uint32_t)(bytes >> 32);
  return bits / 8;
}

/* Takes decimal addresses of up to seven digits, each with one space behind it, as long as there
 * are any; all else is left to parse_item. Whether it took one. */
static bool take_addresses(parser *p) {
  unsigned before = p->addresses, lanes = p->generator_at ? 0 : p->limits->lanes, digits;
  uint32_t value;
  if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
    return false;
  while (p->end - p->at >= 8 && p->addresses < lanes && (digits = read_digits(p->at, &value)) &&
         p->at[digits] == ' ') {
    p->address[p->addresses] = value;
    p->address_at[p->addresses++] = p->at;
    p->addresses_end = p->at + digits;
    p->at += digits + 1;
  }
  return p->addresses != before;
}

/* A number of a generator: at most 32 bits and a sign. */
static int parse_element(parser *p, const char *what, int64_t least, int64_t *value) {
  const char *start = p->at;
  bool negative = *p->at == '-';
  p->at += negative;
  uint64_t magnitude;
  if (!scan_number(&p->at, &magnitude) || magnitude > UINT32_MAX)
    return FAIL_AT(start, "expected %s: a whole number below 2^32", what);
  *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
  if (*value < least)
    return FAIL_AT(start, "%s is at least %lld", what, (long long)least);
  return BF_OK;
}

static int expect_comma(parser *p) {
  if (*p->at != ',')
    return FAIL_AT(p->at, "expected ',' as in block:TX,SX,SY");
  p->at++;
  return BF_OK;
}

/* stride:S - lane i accesses element S*i. */
static int parse_stride(parser *p) {
  p->width_x = BF_MAX_LANES;
  p->stride_y = 0;
  return parse_element(p, "the stride S", INT64_MIN, &p->stride_x);
}

/* block:TX,SX,SY - lane i accesses element SX*(i % TX) + SY*(i / TX). */
static int parse_block(parser *p) {
  BF_TRY(parse_element(p, "the width TX", 1, &p->width_x));
  BF_TRY(expect_comma(p));
  BF_TRY(parse_element(p, "the stride SX", INT64_MIN, &p->stride_x));
  BF_TRY(expect_comma(p));
  return parse_element(p, "the stride SY", INT64_MIN, &p->stride_y);
}

static int parse_generator(parser *p) {
  const char *start = p->at;
  if (p->generator_at || p->addresses)
    return FAIL_AT(start, "a generator after %s", p->addresses ? "addresses" : "a generator");
  p->generator_at = start;
  p->at += strcspn(start, ":") + 1;
  if (strncmp(start, "stride:", 7) == 0)
    BF_TRY(parse_stride(p));
  else if (strncmp(start, "block:", 6) == 0)
    BF_TRY(parse_block(p));
  else
    return FAIL_AT(start, "unknown generator '%s'; known: stride:S and block:TX,SX,SY",
                   show(start).text);
  p->offset = 0;
  if (*p->at == '+') {
    p->at++;
    BF_TRY(parse_element(p, "the offset", INT64_MIN, &p->offset));
  }
  if (!ends_token(*p->at))
    return FAIL_AT(p->at, "unexpected text in a generator");
  return BF_OK;
}

/* One token after the mask. */
static int parse_item(parser *p) {
  char c = *p->at;
  if ((c >= '0' && c <= '9') || (c == '-' && p->at[1] >= '0' && p->at[1] <= '9'))
    return parse_address(p);
  if (c == '@')
    return parse_site(p);
  if (memchr(p->at, ':', (size_t)(token_end(p->at) - p->at)))
    return parse_generator(p);
  if (c == 'x')
    return parse_count(p);
  return FAIL_AT(p->at, "expected an address, a generator, xCOUNT or @SITE, not '%s'",
                 show(p->at).text);
}

/* ---- From what was parsed to the access ---- */

static int generate_addresses(parser *p) {
  bf_access *access = p->access;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    int64_t element = lane % p->width_x * p->stride_x + lane / p->width_x * p->stride_y + p->offset;
    if (element < 0)
      return FAIL_AT(p->generator_at, "element %lld of lane %d is negative", (long long)element,
                     lane);
    uint64_t address = (uint64_t)element * access->width_bytes;
    bf_diagnostic found;
    if (bf_access_check_address(address, access->width_bytes, p->limits, &found) != BF_OK)
      return FAIL_AT(p->generator_at, "lane %d: %s", lane, found.message);
    access->address[lane] = (uint32_t)address;
  }
  return BF_OK;
}

static int wrong_number(parser *p, unsigned active) {
  unsigned lanes = p->limits->lanes;
  if (p->addresses == 0)
    return FAIL_AT(p->at, "expected addresses or a generator");
  const char *plural = p->addresses == 1 ? "" : "es";
  if (active == lanes)
    return FAIL_AT(p->addresses_end, "%u address%s, but %u lanes are active", p->addresses, plural,
                   active);
  return FAIL_AT(p->addresses_end,
                 "%u address%s, but there are %u active lanes of %u: give %u or %u", p->addresses,
                 plural, active, lanes, active, lanes);
}

/* Gives the lanes their addresses: all lanes, or only the active ones in lane order. */
static int assign_addresses(parser *p) {
  bf_access *access = p->access;
  unsigned active = (unsigned)__builtin_popcountll(access->mask);
  bool per_lane = p->addresses == p->limits->lanes;
  if (!per_lane && p->addresses != active)
    return wrong_number(p, active);
  unsigned next = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    unsigned index = per_lane ? lane : next++;
    uint64_t address = p->address[index];
    bf_diagnostic found;
    if (!bf_address_fits(address, access->width_bytes, p->limits))
      return place(p, p->address_at[index],
                   bf_access_check_address(address, access->width_bytes, p->limits, &found),
                   &found);
    access->address[lane] = (uint32_t)address;
  }
  return BF_OK;
}

static int parse_access(parser *p) {
  BF_TRY(parse_op(p));
  BF_TRY(parse_width(p));
  BF_TRY(parse_mask(p));
  while (find_token(p))
    if (!take_addresses(p))
      BF_TRY(parse_item(p));
  return p->generator_at ? generate_addresses(p) : assign_addresses(p);
}

int bf_line_parse(const bf_line *line, const bf_trace_limits *limits, bf_access *access,
                  const char **site, size_t *site_length, bf_diagnostic *diagnostic) {
  parser p; /* its arrays are written before they are read; clearing them would cost time */
  memset(&p, 0, offsetof(parser, address));
  p.line = line;
  p.at = line->text;
  p.end = line->text + strlen(line->text);
  p.limits = limits;
  p.diagnostic = diagnostic;
  p.access = access;
  if (!find_token(&p))
    return 0;
  memset(access, 0, sizeof *access);
  access->count = 1;
  access->line = line->number;
  int error = parse_access(&p);
  *site = p.site_at;
  *site_length = p.site_length;
  return !error ? 1 : error;
}

/* Eight digits of a number below 10^8, the first one in the lowest byte: halves of four digits,
 * halves of these and halves of these are divided beside each other. */
static uint64_t eight_digits(uint32_t value) {
  uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
  uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x7F0000007F);
  uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  uint64_t tens = twos * 103 >> 10 & UINT64_C(0xF000F000F000F);
  return tens | (twos - tens * 10) << 8;
}

/* Puts a space and a number at `at`; traces are full of them, so this is not left to printf, and
 * does not depend on how many digits the number has. Eight bytes more are overwritten. */
static char *put_number(char *at, uint32_t value) {
  *at++ = ' ';
  if (value >= 100000000 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
    return at + snprintf(at, 12, "%u", value);
  uint64_t digits = eight_digits(value);
  unsigned zeros = value ? (unsigned)__builtin_ctzll(digits) / 8 : 7;
  digits = (digits | UINT64_C(0x3030303030303030)) >> 8 * zeros;
  memcpy(at, &digits, sizeof digits);
  return at + 8 - zeros;
}

/* A space and the mask in at least eight digits. */
static char *put_mask(char *at, uint64_t mask) {
  *at++ = ' ';
  for (int shift = mask >> 32 ? 60 : 28; shift >= 0; shift -= 4)
    if (shift < 32 || mask >> shift)
      *at++ = "0123456789abcdef"[mask >> shift & 15];
  return at;
}

void bf_trace_print_line(const bf_access *access, bf_text *text) {
  bf_text_puts(text, bf_op_name(access->op));
  char *at = bf_text_room(text, 64 + BF_MAX_LANES * 11);
  if (!at)
    return;
  at = put_mask(put_number(at, access->width_bytes), access->mask);
  for (uint64_t left = access->mask; left; left &= left - 1)
    at = put_number(at, access->address[__builtin_ctzll(left)]);
  bf_text_took(text, at);
  if (access->count != 1)
    bf_text_addf(text, " x%llu", (unsigned long long)access->count);
  if (access->site) {
    bf_text_puts(text, " @");
    bf_text_puts(text, access->site);
  }
  bf_text_puts(text, "\n");
}
