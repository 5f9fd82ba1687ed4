/* Registers of kernels as the program was compiled, for the driver's compiler. The PTX of a program
 * does not say what its machine code was limited to (nvcc -maxrregcount), and another ptxas may
 * take more registers than the one that made it: launches with many threads would fail that ran
 * before. So the program's own kernels get a limit (.maxnreg) with which as many threads can be
 * launched as with the machine code. Second versions get it where the user of nvcc asked for one;
 * else they may take more, and launches are decided about one by one (choose.c).
 *
 * What is read of a cubin, worked out on files that ptxas 13.0 writes: an ELF file of 64 bits.
 * Section .nv.info holds entries of a byte of form, a byte of kind, and two bytes; form 4 has
 * as many bytes of content as those say. Kind 0x2f: the number of a symbol and its registers, 4
 * bytes each. Section .nv.info.KERNEL is alike; kind 0x1b: the limit of registers in its two bytes,
 * 255 where there is none. */
#include "inject.h"

#include "ptx/bytes.h"

#include <stdlib.h>
#include <string.h>

enum {
  FORM_SIZED = 4,
  KIND_REGISTERS = 0x2f,
  KIND_MOST_REGISTERS = 0x1b,
  SECTION_BYTES = 64,
  SYMBOL_BYTES = 24,
  MOST_REGISTERS = 255,
  UNIT_REGISTERS = 8, /* that a thread owns a multiple of */
};

/* ---- Cubins ---- */

typedef struct bytes {
  const unsigned char *at;
  uint64_t size;
} bytes;

typedef struct section {
  const char *name;
  bytes content;
  uint32_t link;
} section;

typedef struct cubin {
  bytes all;
  unsigned sections;
  uint64_t headers; /* where those of sections are */
  uint64_t names;   /* the section that holds their names */
} cubin;

/* The part of bytes that starts there; empty where it is not inside. */
static bytes part(bytes from, uint64_t begin, uint64_t size) {
  return bf_fits(begin, size, from.size) ? (bytes){from.at + begin, size} : (bytes){NULL, 0};
}

/* The text at an offset, which ends inside; "" where it does not. */
static const char *text_at(bytes from, uint64_t offset) {
  bool is_inside = offset < from.size && memchr(from.at + offset, 0, from.size - offset);
  return is_inside ? (const char *)from.at + offset : "";
}

static bool open_cubin(bytes all, cubin *made) {
  if (all.size < 64 || memcmp(all.at, "\177ELF\2\1", 6) != 0)
    return false;
  *made = (cubin){.all = all,
                  .headers = bf_read_u64(all.at + 40),
                  .sections = bf_read_u16(all.at + 60),
                  .names = bf_read_u16(all.at + 62)};
  return bf_read_u16(all.at + 58) == SECTION_BYTES &&
         part(all, made->headers, (uint64_t)made->sections * SECTION_BYTES).at != NULL;
}

/* The bytes of a section, without its name. */
static bytes content_of(const cubin *from, uint64_t number) {
  enum { NO_BITS = 8 };
  if (number >= from->sections)
    return (bytes){NULL, 0};
  const unsigned char *header = from->all.at + from->headers + number * SECTION_BYTES;
  if (bf_read_u32(header + 4) == NO_BITS)
    return (bytes){NULL, 0};
  return part(from->all, bf_read_u64(header + 24), bf_read_u64(header + 32));
}

static section section_of(const cubin *from, unsigned number) {
  const unsigned char *header = from->all.at + from->headers + (uint64_t)number * SECTION_BYTES;
  return (section){.name = text_at(content_of(from, from->names), bf_read_u32(header)),
                   .content = content_of(from, number),
                   .link = bf_read_u32(header + 40)};
}

/* The section of that name; its content is empty where there is none. */
static section find_section(const cubin *from, const char *name) {
  for (unsigned i = 0; i < from->sections; i++) {
    section found = section_of(from, i);
    if (strcmp(found.name, name) == 0)
      return found;
  }
  return (section){.name = ""};
}

/* ---- Entries ---- */

typedef struct entry {
  unsigned kind, number;
  bytes content;
} entry;

/* The next entry, which is taken off; false where there is none. */
static bool next_entry(bytes *left, entry *out) {
  if (left->size < 4)
    return false;
  *out = (entry){.kind = left->at[1], .number = bf_read_u16(left->at + 2)};
  uint64_t size = left->at[0] == FORM_SIZED ? out->number : 0;
  out->content = part(*left, 4, size);
  if (size && !out->content.at)
    return false;
  *left = (bytes){left->at + 4 + size, left->size - 4 - size};
  return true;
}

/* ---- Limits ---- */

typedef struct limit {
  const char *kernel; /* in the cubin */
  unsigned registers; /* that it has */
  unsigned most;      /* that it was limited to; 255: it was not */
} limit;

static int compare_limits(const void *a, const void *b) {
  return strcmp(((const limit *)a)->kernel, ((const limit *)b)->kernel);
}

/* The most registers with which as many threads of a block can be launched, where the kernel has
 * almost as many; 255: it has not. A multiprocessor has 64 K registers, and threads own multiples
 * of
 * 8. Published: CUDA C++ Programming Guide, technical specifications per compute capability. */
static unsigned most_registers(unsigned registers) {
  static const unsigned edges[] = {65536 / 1024, 65536 / 768 / 8 * 8, 65536 / 512,
                                   65536 / 384 / 8 * 8};
  unsigned owned = (registers + UNIT_REGISTERS - 1) / UNIT_REGISTERS * UNIT_REGISTERS;
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    if (owned == edges[i])
      return owned;
  return MOST_REGISTERS;
}

/* The limit in the section of a kernel. */
static void take_most(const section *from, limit *list, unsigned count) {
  static const char prefix[] = ".nv.info.";
  entry at;
  bytes left = from->content;
  if (strncmp(from->name, prefix, sizeof prefix - 1) != 0)
    return;
  limit *found = bsearch(&(limit){.kernel = from->name + sizeof prefix - 1}, list, count,
                         sizeof *list, compare_limits);
  while (found && next_entry(&left, &at))
    if (at.kind == KIND_MOST_REGISTERS && at.number && at.number < found->most)
      found->most = at.number;
}

/* All kernels of a cubin, sorted by name; NULL: none, or no memory. */
static limit *list_limits(const cubin *from, unsigned *count) {
  section info = find_section(from, ".nv.info"), symbols = find_section(from, ".symtab");
  bytes names = content_of(from, symbols.link), left = info.content;
  limit *list = malloc((info.content.size / 12 + 1) * sizeof *list);
  entry at;
  *count = 0;
  while (list && next_entry(&left, &at)) {
    if (at.kind != KIND_REGISTERS || at.content.size != 8)
      continue;
    uint64_t symbol = (uint64_t)bf_read_u32(at.content.at) * SYMBOL_BYTES;
    bytes found = part(symbols.content, symbol, SYMBOL_BYTES);
    if (found.at)
      list[(*count)++] = (limit){text_at(names, bf_read_u32(found.at)),
                                 bf_read_u32(at.content.at + 4), MOST_REGISTERS};
  }
  if (list)
    qsort(list, *count, sizeof *list, compare_limits);
  for (unsigned i = 0; list && i < from->sections; i++) {
    section own = section_of(from, i);
    take_most(&own, list, *count);
  }
  return list;
}

/* ---- Text ---- */

/* The limit for the kernel whose name starts there and has that size; 0: none. */
static unsigned limit_for(const limit *list, unsigned count, const char *name, size_t size) {
  static const char mark[] = "__bankfold_";
  char own[4096];
  if (size >= sizeof own)
    return 0;
  memcpy(own, name, size);
  own[size] = 0;
  char *end = strstr(own, mark);
  bool is_second = end && !end[sizeof mark - 1 + strspn(end + sizeof mark - 1, "0123456789")];
  if (is_second)
    *end = 0;
  const limit *found = bsearch(&(limit){.kernel = own}, list, count, sizeof *list, compare_limits);
  unsigned most = found ? found->most : MOST_REGISTERS;
  if (found && !is_second && most == MOST_REGISTERS)
    most = most_registers(found->registers);
  return most < MOST_REGISTERS ? most : 0;
}

/* Whether the head of a kernel limits its registers, or its threads, by itself. */
static bool has_limit(const char *head, size_t size) {
  static const char *const words[] = {".maxnreg", ".maxntid", ".reqntid", ".minnctapersm"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (memmem(head, size, words[i], strlen(words[i])))
      return true;
  return false;
}

/* Copies text, with limits before the bodies of kernels. */
static unsigned put_limits(const limit *list, unsigned count, const char *text, bf_text *out) {
  unsigned done = 0;
  for (const char *kernel; (kernel = strstr(text, ".entry "));) {
    const char *name = kernel + strlen(".entry "), *body = strstr(name, "\n{\n");
    if (!body)
      break;
    unsigned most = limit_for(list, count, name, strcspn(name, "( \n\t"));
    bf_text_add(out, text, (size_t)(body - text));
    if (most && !has_limit(name, (size_t)(body - name))) {
      bf_text_addf(out, "\n.maxnreg %u", most);
      done++;
    }
    text = body;
  }
  bf_text_puts(out, text);
  return done;
}

void inject_limit_registers(const bf_text *code, bf_text *text) {
  cubin opened;
  unsigned count = 0, done = 0;
  bf_text limited = {0};
  bytes all = {(const unsigned char *)code->data, code->size};
  limit *list = open_cubin(all, &opened) ? list_limits(&opened, &count) : NULL;
  if (list && count)
    done = put_limits(list, count, text->data, &limited);
  free(list);
  if (!done || limited.failed) {
    bf_text_free(&limited);
    return;
  }
  inject_log("  %u kernels are limited to the registers of the program's machine code", done);
  bf_text_free(text);
  *text = limited;
}
