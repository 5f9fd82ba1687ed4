/* Functions of the device's library that kernels call by name: vprintf, __assertfail, malloc, free.
 */
#include "emu/builtin.h"

#include <stdlib.h>

enum { MOST_TEXT = 1 << 16, MOST_PIECE = 512 };

/* Appends the string at a generic address; false: a fault. */
static bool add_string(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address,
                       bf_text *text) {
  for (unsigned i = 0; i < MOST_TEXT; i++) {
    const uint8_t *byte = bf_emu_reach_one(warp, op, lane, address + i, 1, false);
    if (!byte)
      return false;
    if (!*byte)
      return true;
    bf_text_add(text, (const char *)byte, 1);
  }
  return true;
}

/* ---- printf ---- */

/* The arguments of printf, packed as a C compiler aligns them. */
typedef struct packed {
  bf_emu_warp *warp;
  const bf_emu_op *op;
  unsigned lane;
  uint64_t address, offset;
} packed;

/* The next argument of 4 or 8 bytes; false: a fault. */
static bool next_argument(packed *arguments, unsigned bytes, uint64_t *value) {
  uint64_t offset = (arguments->offset + bytes - 1) / bytes * bytes;
  const uint8_t *at = bf_emu_reach_one(arguments->warp, arguments->op, arguments->lane,
                                       arguments->address + offset, bytes, false);
  if (!at)
    return false;
  *value = 0;
  memcpy(value, at, bytes);
  arguments->offset = offset + bytes;
  return true;
}

/* A conversion of a format: from % to its letter. */
typedef struct conversion {
  char text[64]; /* as it will be given to snprintf, stars replaced */
  size_t length;
  char letter;
  unsigned bytes;
} conversion;

static void put(conversion *made, char letter) {
  if (made->length + 4 < sizeof made->text)
    made->text[made->length++] = letter;
}

/* Reads a conversion at format (behind the %); returns what follows it, or NULL at a fault. */
static const char *read_conversion(const char *format, packed *arguments, conversion *made) {
  *made = (conversion){.text = "%", .length = 1, .bytes = 4};
  for (; *format && strchr("-+ #0123456789.*", *format); format++) {
    uint64_t star;
    if (*format != '*') {
      put(made, *format);
    } else {
      if (!next_argument(arguments, 4, &star))
        return NULL;
      char digits[16];
      snprintf(digits, sizeof digits, "%d", (int)star);
      for (const char *digit = digits; *digit; digit++)
        put(made, *digit);
    }
  }
  for (; *format && strchr("hljztL", *format); format++)
    if (*format != 'h' && *format != 'L')
      made->bytes = 8;
  made->letter = *format;
  if (strchr("eEfFgGaAsp", made->letter) && made->letter)
    made->bytes = 8;
  return *format ? format + 1 : format;
}

/* Appends one converted argument; false: a fault. */
static bool convert(packed *arguments, conversion *made, bf_text *text) {
  char piece[MOST_PIECE];
  uint64_t value;
  double number;
  if (!next_argument(arguments, made->bytes, &value))
    return false;
  switch (made->letter) {
  case 's': {
    bf_text string = {0};
    if (!add_string(arguments->warp, arguments->op, arguments->lane, value, &string)) {
      bf_text_free(&string);
      return false;
    }
    strcpy(made->text + made->length, "s");
    bf_text_addf(text, made->text, string.data ? string.data : "");
    bf_text_free(&string);
    return true;
  }
  case 'd':
  case 'i':
    strcpy(made->text + made->length, "lld");
    snprintf(piece, sizeof piece, made->text,
             made->bytes == 8 ? (long long)value : (long long)(int32_t)value);
    break;
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    strcpy(made->text + made->length, "ll");
    made->text[made->length + 2] = made->letter;
    made->text[made->length + 3] = '\0';
    snprintf(piece, sizeof piece, made->text, (unsigned long long)value);
    break;
  case 'c':
    strcpy(made->text + made->length, "c");
    snprintf(piece, sizeof piece, made->text, (int)value);
    break;
  case 'p':
    snprintf(piece, sizeof piece, "0x%llx", (unsigned long long)value);
    break;
  default: /* e E f F g G a A */
    memcpy(&number, &value, sizeof number);
    made->text[made->length] = made->letter;
    made->text[made->length + 1] = '\0';
    snprintf(piece, sizeof piece, made->text, number);
  }
  bf_text_puts(text, piece);
  return true;
}

/* Appends what a format makes of arguments; *converted counts them. */
static bool print_format(const char *format, packed *arguments, bf_text *text,
                         unsigned *converted) {
  while (*format) {
    const char *percent = strchr(format, '%');
    if (!percent) {
      bf_text_puts(text, format);
      return true;
    }
    bf_text_add(text, format, (size_t)(percent - format));
    if (percent[1] == '%') {
      bf_text_add(text, "%", 1);
      format = percent + 2;
      continue;
    }
    conversion made;
    format = read_conversion(percent + 1, arguments, &made);
    if (!format)
      return false;
    if (!made.letter || !strchr("diuxXocpeEfFgGaAs", made.letter)) {
      bf_text_add(text, percent, (size_t)(format - percent)); /* not a conversion: as it is */
      continue;
    }
    if (!convert(arguments, &made, text))
      return false;
    (*converted)++;
  }
  return true;
}

/* int vprintf(const char *format, void *arguments) */
static int call_vprintf(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  bf_emu_flight *flight = warp->worker->flight;
  bool good = true;
  BF_EACH_LANE(mask, lane) {
    bf_text format = {0}, text = {0};
    unsigned converted = 0;
    packed arguments = {warp, op, lane, bf_emu_argument(warp, call, 1, lane), 0};
    good = good && add_string(warp, op, lane, bf_emu_argument(warp, call, 0, lane), &format) &&
           print_format(format.data ? format.data : "", &arguments, &text, &converted);
    if (good && text.size && flight->launch->print) {
      pthread_mutex_lock(&flight->lock);
      flight->launch->print(flight->launch->print_context, text.data, text.size);
      pthread_mutex_unlock(&flight->lock);
    }
    bf_emu_give(warp, call, lane, converted);
    bf_text_free(&format);
    bf_text_free(&text);
  }
  return good ? 0 : 1;
}

/* ---- assert ---- */

/* void __assertfail(const char *message, const char *file, int line, const char *function,
 * size_t char_bytes) */
static int call_assertfail(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  if (!mask)
    return 0;
  const bf_emu_call *call = op->detail;
  unsigned lane = (unsigned)__builtin_ctz(mask);
  bf_text message = {0}, file = {0}, function = {0};
  if (add_string(warp, op, lane, bf_emu_argument(warp, call, 0, lane), &message) &&
      add_string(warp, op, lane, bf_emu_argument(warp, call, 1, lane), &file) &&
      add_string(warp, op, lane, bf_emu_argument(warp, call, 3, lane), &function))
    bf_emu_fail(warp, op, BF_EMU_ASSERT, lane, "%s:%llu: %s: Assertion `%s' failed",
                file.data ? file.data : "",
                (unsigned long long)bf_emu_argument(warp, call, 2, lane),
                function.data ? function.data : "", message.data ? message.data : "");
  bf_text_free(&message);
  bf_text_free(&file);
  bf_text_free(&function);
  return 1;
}

/* ---- malloc and free ---- */

static int call_malloc(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    uint64_t bytes = bf_emu_argument(warp, call, 0, lane);
    bf_emu_give(warp, call, lane, bf_emu_heap_take(warp->worker->flight, bytes));
  }
  return 0;
}

static int call_free(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane)
  bf_emu_heap_give(warp->worker->flight, bf_emu_argument(warp, call, 0, lane));
  return 0;
}

/* cudaGraphSetConditional(handle, value): the handle is the address of the value, in memory of the
 * device. */
static int call_set_conditional(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    uint32_t value = (uint32_t)bf_emu_argument(warp, call, 1, lane);
    uint8_t *to =
        bf_emu_reach_one(warp, op, lane, bf_emu_argument(warp, call, 0, lane), sizeof value, true);
    if (!to)
      return 1;
    memcpy(to, &value, sizeof value);
  }
  return 0;
}

bf_emu_builtin bf_emu_builtin_find(const char *name) {
  static const struct {
    const char *name;
    bf_emu_builtin run;
  } known[] = {{"vprintf", call_vprintf},
               {"__assertfail", call_assertfail},
               {"malloc", call_malloc},
               {"free", call_free},
               {"cudaGraphSetConditional", call_set_conditional}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0)
      return known[i].run;
  return bf_emu_device_runtime_find(name);
}

bool bf_emu_provides(const char *name) { return bf_emu_builtin_find(name) != NULL; }
