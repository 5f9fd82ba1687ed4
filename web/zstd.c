/* zstd's functions (base/zstd.h) in a browser, where there is no library to open: data is unpacked
 * as RFC 8878 says it; nothing is packed. */
#include "base/zstd.h"
#include "web/zstd_codes.h"
#include "web/zstd_sum.h"

#include <stdlib.h>
#include <string.h>

/* ---- Errors: numbers and names as zstd has them ---- */

enum {
  UNKNOWN = 10,
  UNSUPPORTED = 14,
  TOO_LARGE = 16,
  DAMAGED = 20,
  BAD_SUM = 22,
  DICTIONARY = 32,
  NO_PACKING = 40,
  NO_MEMORY = 64,
  NO_ROOM = 70,
  CUT_OFF = 72,
  MOST_ERROR = 120,
};

static size_t fail(unsigned number) { return (size_t)0 - number; }

unsigned ZSTD_isError(size_t result) { return result > (size_t)0 - MOST_ERROR; }

const char *ZSTD_getErrorName(size_t result) {
  switch ((unsigned)((size_t)0 - result)) {
  case UNKNOWN:
    return "Unknown frame descriptor";
  case UNSUPPORTED:
    return "Unsupported frame parameter";
  case TOO_LARGE:
    return "Frame requires too much memory for decoding";
  case BAD_SUM:
    return "Restored data doesn't match checksum";
  case DICTIONARY:
    return "Dictionary mismatch";
  case NO_PACKING:
    return "nothing is compressed in a browser";
  case NO_MEMORY:
    return "Allocation error : not enough memory";
  case NO_ROOM:
    return "Destination buffer is too small";
  case CUT_OFF:
    return "Src size is incorrect";
  default:
    return "Data corruption detected";
  }
}

bool bf_zstd_is_there(void) { return true; }

/* ---- A stream ---- */

enum { MOST_BLOCK = 128 << 10, MOST_WINDOW = (128 << 20) + 1 };

typedef enum phase { BEGIN, HEADER, SKIPPED, BLOCK_HEADER, BLOCK, SUM } phase;

struct ZSTD_DCtx_s {
  phase phase;
  uint8_t *in;          /* bytes of the piece that is next, with ZSTD_PAST_END more */
  size_t has, needs;    /* how many of them are here, and how many it has */
  uint64_t skip;        /* bytes of a frame that is skipped */
  size_t window, block; /* the most bytes that are looked back to, and that a block makes */
  bool has_sum, is_last;
  unsigned block_kind;
  size_t made_by_block; /* bytes that a block of one byte makes */
  uint8_t *out;         /* what was made, of which done bytes were handed out */
  size_t made, done, room;
  uint8_t *literals;
  uint32_t offsets[3];
  zstd_huffman huffman;
  zstd_states lengths, places, matches; /* of literals, offsets and matches */
  zstd_sum sum;
};

ZSTD_DStream *ZSTD_createDStream(void) {
  ZSTD_DStream *made = calloc(1, sizeof *made);
  if (made) {
    made->in = malloc(MOST_BLOCK + ZSTD_PAST_END);
    made->literals = malloc(MOST_BLOCK);
    made->needs = 5;
  }
  if (!made || !made->in || !made->literals) {
    ZSTD_freeDStream(made);
    return NULL;
  }
  return made;
}

size_t ZSTD_freeDStream(ZSTD_DStream *stream) {
  if (stream) {
    free(stream->in);
    free(stream->out);
    free(stream->literals);
    free(stream);
  }
  return 0;
}

/* The piece that comes next, and its bytes. */
static size_t expect(ZSTD_DStream *s, phase next, size_t bytes) {
  s->phase = next;
  s->has = 0;
  s->needs = bytes;
  return 0;
}

/* A number of a few bytes, lowest first. */
static uint64_t number(const uint8_t *bytes, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = count; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

/* ---- Frames ---- */

static unsigned dictionary_bytes(uint8_t descriptor) { return (1u << (descriptor & 3)) >> 1; }

static unsigned content_bytes(uint8_t descriptor) {
  unsigned kind = descriptor >> 6;
  return kind ? 1u << kind : descriptor >> 5 & 1;
}

/* The first five bytes: what kind of frame, and how long its header is. */
static size_t begin_frame(ZSTD_DStream *s) {
  uint32_t magic = (uint32_t)number(s->in, 4);
  uint8_t descriptor = s->in[4];
  if ((magic & 0xfffffff0) == 0x184d2a50) {
    s->phase = SKIPPED;
    s->needs = 8;
    return 0;
  }
  if (magic != 0xfd2fb528)
    return fail(UNKNOWN);
  if (descriptor & 8)
    return fail(UNSUPPORTED);
  bool has_window = !(descriptor & 32);
  s->phase = HEADER; /* with the bytes that are here */
  s->needs = 5 + has_window + dictionary_bytes(descriptor) + content_bytes(descriptor);
  return 0;
}

static size_t read_header(ZSTD_DStream *s) {
  uint8_t descriptor = s->in[4];
  const uint8_t *at = s->in + 5;
  uint64_t window = 0;
  if (!(descriptor & 32)) {
    uint64_t base = UINT64_C(1) << (10 + (*at >> 3));
    window = base + base / 8 * (*at & 7);
    at++;
  }
  unsigned dictionary = dictionary_bytes(descriptor), content = content_bytes(descriptor);
  if (number(at, dictionary))
    return fail(DICTIONARY);
  if (descriptor & 32)
    window = number(at + dictionary, content) + (content == 2 ? 256 : 0);
  if (window > MOST_WINDOW)
    return fail(TOO_LARGE);
  s->window = (size_t)window;
  s->block = window < MOST_BLOCK ? (size_t)window : MOST_BLOCK;
  s->has_sum = descriptor & 4;
  s->huffman.is_there = s->lengths.is_there = s->places.is_there = s->matches.is_there = false;
  s->offsets[0] = 1, s->offsets[1] = 4, s->offsets[2] = 8;
  s->made = s->done = 0;
  zstd_sum_begin(&s->sum);
  return expect(s, BLOCK_HEADER, 3);
}

static size_t end_frame(ZSTD_DStream *s) { return expect(s, BEGIN, 5); }

static size_t end_block(ZSTD_DStream *s) {
  if (!s->is_last)
    return expect(s, BLOCK_HEADER, 3);
  return s->has_sum ? expect(s, SUM, 4) : end_frame(s);
}

static size_t read_block_header(ZSTD_DStream *s) {
  unsigned head = (unsigned)number(s->in, 3), size = head >> 3;
  s->is_last = head & 1;
  s->block_kind = head >> 1 & 3;
  if (s->block_kind == 3 || size > s->block)
    return fail(DAMAGED);
  s->made_by_block = size;
  if (size == 0 && s->block_kind != 1)
    return s->block_kind == 2 ? fail(DAMAGED) : end_block(s);
  return expect(s, BLOCK, s->block_kind == 1 ? 1 : size);
}

/* ---- What a block makes ---- */

/* Room for a whole block behind what a block may look back to. */
static bool make_room(ZSTD_DStream *s) {
  if (s->room - s->made >= s->block && s->room)
    return true;
  if (s->made > s->window && s->room >= 2 * s->window + 2 * s->block) {
    size_t kept = s->window;
    memmove(s->out, s->out + s->made - kept, kept);
    s->made = s->done = kept; /* all was handed out */
    return true;
  }
  size_t room = 2 * s->room + s->block, most = 2 * s->window + 3 * s->block;
  room = room > most ? most : room;
  room = room < s->made + s->block ? s->made + s->block : room;
  uint8_t *grown = realloc(s->out, room + 1);
  if (!grown)
    return false;
  s->out = grown;
  s->room = room;
  return true;
}

/* Literals of a block: where they are, how many, and how many bytes of the block they take. */
typedef struct literals {
  const uint8_t *bytes;
  size_t count, used;
} literals;

/* Literals by Huffman's code, in one stream or four. */
static bool unpack_literals(ZSTD_DStream *s, const uint8_t *in, size_t size, size_t count,
                            bool is_four) {
  if (!is_four)
    return zstd_huffman_decode(&s->huffman, in, size, s->literals, count);
  if (size < 6)
    return false;
  size_t part = (count + 3) / 4, begin = 6, to = 0;
  for (unsigned i = 0; i < 4; i++) {
    size_t own = i < 3 ? (size_t)number(in + 2 * i, 2) : size - begin;
    size_t makes = i < 3 ? part : count - to;
    if (begin > size || own > size - begin || to > count || makes > count - to ||
        !zstd_huffman_decode(&s->huffman, in + begin, own, s->literals + to, makes))
      return false;
    begin += own;
    to += makes;
  }
  return true;
}

/* Literals as they are, or one that repeats. */
static bool read_plain_literals(ZSTD_DStream *s, const uint8_t *in, size_t size, literals *found) {
  unsigned form = in[0] >> 2 & 3, head = form == 1 ? 2 : form == 3 ? 3 : 1;
  bool repeats = in[0] & 1;
  if (head > size)
    return false;
  found->count = (size_t)(number(in, head) >> (head == 1 ? 3 : 4));
  found->used = head + (repeats ? 1 : found->count);
  if (found->count > s->block || found->used > size)
    return false;
  found->bytes = in + head;
  if (repeats) {
    memset(s->literals, in[head], found->count);
    found->bytes = s->literals;
  }
  return true;
}

static bool read_literals(ZSTD_DStream *s, const uint8_t *in, size_t size, literals *found) {
  unsigned kind = in[0] & 3, form = in[0] >> 2 & 3;
  if (kind < 2)
    return read_plain_literals(s, in, size, found);
  unsigned head = form < 2 ? 3 : form + 2, bits = form < 2 ? 10 : form == 2 ? 14 : 18;
  if (head > size)
    return false;
  uint64_t sizes = number(in, head) >> 4, mask = (UINT64_C(1) << bits) - 1;
  size_t packed = (size_t)(sizes >> bits & mask), table = 0;
  found->count = (size_t)(sizes & mask);
  found->used = head + packed;
  found->bytes = s->literals;
  if (found->count > s->block || found->used > size)
    return false;
  if (kind == 2 && !(table = zstd_huffman_read(&s->huffman, in + head, packed)))
    return false;
  return s->huffman.is_there &&
         unpack_literals(s, in + head + table, packed - table, found->count, form);
}

/* Lengths by their codes: where those of a code begin, and how many bits more say which. */
typedef struct span {
  uint32_t begin;
  uint8_t bits;
} span;

static const span literal_spans[36] = {
    {0, 0},     {1, 0},      {2, 0},      {3, 0},     {4, 0},   {5, 0},     {6, 0},     {7, 0},
    {8, 0},     {9, 0},      {10, 0},     {11, 0},    {12, 0},  {13, 0},    {14, 0},    {15, 0},
    {16, 1},    {18, 1},     {20, 1},     {22, 1},    {24, 2},  {28, 2},    {32, 3},    {40, 3},
    {48, 4},    {64, 6},     {128, 7},    {256, 8},   {512, 9}, {1024, 10}, {2048, 11}, {4096, 12},
    {8192, 13}, {16384, 14}, {32768, 15}, {65536, 16}};

static span match_span(unsigned code) {
  static const span above[21] = {
      {35, 1},    {37, 1},    {39, 1},    {41, 1},    {43, 2},     {47, 2},     {51, 3},
      {59, 3},    {67, 4},    {83, 4},    {99, 5},    {131, 7},    {259, 8},    {515, 9},
      {1027, 10}, {2051, 11}, {4099, 12}, {8195, 13}, {16387, 14}, {32771, 15}, {65539, 16}};
  return code < 32 ? (span){code + 3, 0} : above[code - 32];
}

/* A table of states: the usual one, one that repeats, one that is described, or the one before. */
static bool read_table(zstd_states *made, unsigned mode, const zstd_states *usual,
                       unsigned most_symbol, unsigned most_accuracy, const uint8_t **in,
                       size_t *size) {
  size_t used = 0;
  if (mode == 0) {
    *made = *usual;
    return true;
  }
  if (mode == 3)
    return made->is_there;
  if (mode == 1 && *size && (*in)[0] <= most_symbol) {
    zstd_states_repeat(made, (*in)[0]);
    used = 1;
  } else if (mode == 2) {
    used = zstd_states_read(made, *in, *size, most_symbol, most_accuracy);
  }
  if (!used || used > *size)
    return false;
  *in += used;
  *size -= used;
  return true;
}

/* All three tables of a block, by its byte of modes. */
static bool read_tables(ZSTD_DStream *s, unsigned modes, const uint8_t **in, size_t *size) {
  static const int16_t lengths[36] = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                      2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
  static const int16_t places[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};
  static const int16_t matches[53] = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
  zstd_states usual;
  zstd_states_make(&usual, lengths, 36, 6);
  if (!read_table(&s->lengths, modes >> 6, &usual, 35, 9, in, size))
    return false;
  zstd_states_make(&usual, places, 29, 5);
  if (!read_table(&s->places, modes >> 4 & 3, &usual, 31, 8, in, size))
    return false;
  zstd_states_make(&usual, matches, 53, 6);
  return read_table(&s->matches, modes >> 2 & 3, &usual, 52, 9, in, size);
}

/* The offset that a value stands for: a new one, or one of the last three. */
static uint32_t take_offset(ZSTD_DStream *s, uint32_t value, bool no_literals) {
  uint32_t *last = s->offsets, offset;
  unsigned which = value > 3 ? 3 : value - 1 + no_literals;
  if (value > 3)
    offset = value - 3;
  else
    offset = which == 3 ? last[0] - 1 : last[which];
  if (which > 1)
    last[2] = last[1];
  if (which > 0)
    last[1] = last[0];
  last[0] = offset;
  return offset;
}

/* Copies literals behind what was made. */
static bool put_literals(ZSTD_DStream *s, literals *from, size_t count, size_t most) {
  if (count > from->count || s->made + count > most)
    return false;
  memcpy(s->out + s->made, from->bytes, count);
  s->made += count;
  from->bytes += count;
  from->count -= count;
  return true;
}

/* Copies what was made before; it may overlap itself. */
static bool put_match(ZSTD_DStream *s, uint32_t offset, size_t count, size_t most) {
  if (!offset || offset > s->made || offset > s->window || s->made + count > most)
    return false;
  for (size_t i = 0; i < count; i++, s->made++)
    s->out[s->made] = s->out[s->made - offset];
  return true;
}

static bool run_sequences(ZSTD_DStream *s, const uint8_t *in, size_t size, unsigned count,
                          literals *from, size_t most) {
  zstd_bits bits;
  if (!zstd_bits_begin(&bits, in, size))
    return false;
  unsigned length = zstd_states_begin(&s->lengths, &bits),
           place = zstd_states_begin(&s->places, &bits);
  unsigned match = zstd_states_begin(&s->matches, &bits);
  for (unsigned i = 0; i < count; i++) {
    unsigned place_code = s->places.state[place].symbol;
    span of_match = match_span(s->matches.state[match].symbol);
    span of_literals = literal_spans[s->lengths.state[length].symbol];
    uint32_t value = (uint32_t)((UINT64_C(1) << place_code) + zstd_bits_read(&bits, place_code));
    size_t matched = of_match.begin + (size_t)zstd_bits_read(&bits, of_match.bits);
    size_t own = of_literals.begin + (size_t)zstd_bits_read(&bits, of_literals.bits);
    if (i + 1 < count) {
      length = zstd_states_next(&s->lengths, length, &bits);
      match = zstd_states_next(&s->matches, match, &bits);
      place = zstd_states_next(&s->places, place, &bits);
    }
    if (bits.left < 0 || !put_literals(s, from, own, most) ||
        !put_match(s, take_offset(s, value, own == 0), matched, most))
      return false;
  }
  return bits.left == 0;
}

/* A compressed block: literals, then sequences of literals and matches. */
static bool unpack_block(ZSTD_DStream *s) {
  const uint8_t *in = s->in;
  size_t size = s->needs, most = s->made + s->block;
  literals from;
  if (!read_literals(s, in, size, &from))
    return false;
  in += from.used, size -= from.used;
  unsigned head = !size ? 0 : in[0] < 128 ? 1 : in[0] < 255 ? 2 : 3;
  if (!head || head > size)
    return false;
  unsigned count = head == 1   ? in[0]
                   : head == 2 ? (in[0] - 128u) << 8 | in[1]
                               : (unsigned)number(in + 1, 2) + 0x7f00;
  in += head, size -= head;
  if (count) {
    if (!size)
      return false;
    unsigned modes = in[0];
    in++, size--;
    if (modes & 3 || !read_tables(s, modes, &in, &size) ||
        !run_sequences(s, in, size, count, &from, most))
      return false;
  } else if (size) {
    return false;
  }
  return put_literals(s, &from, from.count, most);
}

static size_t read_block(ZSTD_DStream *s) {
  if (!make_room(s))
    return fail(NO_MEMORY);
  size_t before = s->made;
  if (s->block_kind == 2) {
    memset(s->in + s->needs, 0, ZSTD_PAST_END);
    if (!unpack_block(s))
      return fail(DAMAGED);
  } else {
    size_t count = s->made_by_block;
    if (s->block_kind == 1)
      memset(s->out + s->made, s->in[0], count);
    else
      memcpy(s->out + s->made, s->in, count);
    s->made += count;
  }
  if (s->has_sum)
    zstd_sum_add(&s->sum, s->out + before, s->made - before);
  return end_block(s);
}

/* ---- The piece that is here ---- */

static size_t read_piece(ZSTD_DStream *s) {
  switch (s->phase) {
  case BEGIN:
    return begin_frame(s);
  case HEADER:
    return read_header(s);
  case SKIPPED:
    s->skip = number(s->in + 4, 4);
    return end_frame(s);
  case BLOCK_HEADER:
    return read_block_header(s);
  case BLOCK:
    return read_block(s);
  case SUM:
  default:
    return (uint32_t)zstd_sum_end(&s->sum) == number(s->in, 4) ? end_frame(s) : fail(BAD_SUM);
  }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Hands out what was made. */
static void hand_out(ZSTD_DStream *s, ZSTD_outBuffer *to) {
  size_t count = least(s->made - s->done, to->size - to->pos);
  if (count)
    memcpy((char *)to->dst + to->pos, s->out + s->done, count);
  s->done += count;
  to->pos += count;
}

/* Takes bytes of the piece that is next. */
static void take_in(ZSTD_DStream *s, ZSTD_inBuffer *from) {
  size_t skipped = s->skip < from->size - from->pos ? (size_t)s->skip : from->size - from->pos;
  s->skip -= skipped;
  from->pos += skipped;
  size_t count = least(s->needs - s->has, from->size - from->pos);
  if (count)
    memcpy(s->in + s->has, (const char *)from->src + from->pos, count);
  s->has += count;
  from->pos += count;
}

size_t ZSTD_decompressStream(ZSTD_DStream *s, ZSTD_outBuffer *to, ZSTD_inBuffer *from) {
  for (;;) {
    hand_out(s, to);
    if (s->made > s->done)
      return 1;
    take_in(s, from);
    if (s->has < s->needs || s->skip)
      return s->phase == BEGIN && !s->has && !s->skip ? 0 : s->needs - s->has;
    size_t result = read_piece(s);
    if (ZSTD_isError(result))
      return result;
    bool is_end = s->phase == BEGIN && !s->has;
    hand_out(s, to);
    if (is_end && s->made == s->done && !s->skip)
      return 0;
  }
}

size_t ZSTD_decompress(void *to, size_t room, const void *from, size_t size) {
  ZSTD_outBuffer out = {to, room, 0};
  ZSTD_inBuffer in = {from, size, 0};
  ZSTD_DStream *stream = ZSTD_createDStream();
  size_t result = stream ? 1 : fail(NO_MEMORY);
  while (stream && !ZSTD_isError(result) && (in.pos < size || stream->made > stream->done)) {
    result = ZSTD_decompressStream(stream, &out, &in);
    if (!ZSTD_isError(result) && stream->made > stream->done)
      result = fail(NO_ROOM);
  }
  ZSTD_freeDStream(stream);
  return ZSTD_isError(result) ? result : result ? fail(CUT_OFF) : out.pos;
}

/* ---- Packing, which is refused where there is data ---- */

ZSTD_CStream *ZSTD_createCStream(void) {
  static char none;
  return (ZSTD_CStream *)(void *)&none;
}

size_t ZSTD_freeCStream(ZSTD_CStream *stream) {
  (void)stream;
  return 0;
}

size_t ZSTD_compressStream2(ZSTD_CStream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from,
                            ZSTD_EndDirective mode) {
  (void)stream, (void)to, (void)from, (void)mode;
  return fail(NO_PACKING);
}

size_t ZSTD_CCtx_setParameter(ZSTD_CStream *stream, ZSTD_cParameter parameter, int value) {
  (void)stream, (void)parameter, (void)value;
  return 0;
}
