/* The async proxy's view of shared memory, word by word. */
#include "emu/proxy.h"

#include "emu/device.h"
#include "emu/race.h"
#include "ptx/site.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_MAPS = 32 }; /* that are changed and not acquired; of more, the first are forgotten */

enum { WORD_BYTES = 4, MOST_THREADS = 1024, MOST_WARPS = MOST_THREADS / BF_EMU_LANES };

/* Who did something to a word, and where in the code. */
typedef struct doer {
  uint16_t thread, site;
} doer;

typedef struct word {
  doer writer;            /* the thread that wrote it last */
  doer copier;            /* the thread whose copy is on its way */
  uint32_t fences;        /* of the writer before it wrote, plus 1; 0: not written by a thread */
  uint16_t reads, writes; /* copies on their way */
  doer reader;            /* the warp that multiplied with it last, by its first thread */
  uint32_t product;       /* and the group of that product, plus 1; 0: there was none */
  uint16_t width;         /* of the swizzle that a tensor copy wrote it with; 0: not known */
  uint16_t waiter;        /* the thread that waited for that copy, where `landed` is not 0 */
  uint32_t landed;        /* when the last copy into it was done; 0: a thread wrote it since */
} word;

/* A tensor map that a thread has changed, and nobody has acquired. */
typedef struct changed_map {
  uint64_t address;
  const bf_ptx_instruction *by;
  uint16_t thread;
} changed_map;

struct bf_emu_proxy {
  uint64_t words;
  changed_map map[MOST_MAPS];
  unsigned maps;
  uint32_t fences[MOST_THREADS];
  /* Of every warp: groups of products that it has committed, and that it has waited for. */
  uint32_t committed[MOST_WARPS], waited[MOST_WARPS];
  /* Copies that are done and warps that hear of others, one after the other; when a warp last did -
   * waited for an mbarrier, made a fence, or a strong access - and all by a barrier. */
  uint32_t clock, heard[MOST_WARPS], all_heard;
  uint16_t waiter; /* the last thread to test an mbarrier */
  word word[];
};

/* st.async or red.async. */
static bool is_sent(const bf_ptx_instruction *instruction) {
  return instruction->opcode != BF_PTX_OP_CP && bf_ptx_has(instruction, "async");
}

bool bf_proxy_is_used(const bf_emu_kernel *kernel) {
  for (unsigned i = 0; i < kernel->site_count; i++) {
    const bf_ptx_instruction *instruction = kernel->sites[i].instruction;
    if (instruction->opcode == BF_PTX_OP_WGMMA ||
        (instruction->opcode == BF_PTX_OP_CP && bf_ptx_has(instruction, "bulk")) ||
        is_sent(instruction))
      return true;
  }
  return false;
}

struct bf_emu_proxy *bf_proxy_create(uint64_t bytes) {
  uint64_t words = bytes / WORD_BYTES + 1;
  struct bf_emu_proxy *made = calloc(1, sizeof *made + words * sizeof(word));
  if (made)
    made->words = words;
  return made;
}

void bf_proxy_begin(bf_emu_block *block) {
  struct bf_emu_proxy *proxy = block->proxy;
  if (!proxy)
    return;
  memset(proxy->fences, 0, sizeof proxy->fences);
  memset(proxy->committed, 0, sizeof proxy->committed);
  memset(proxy->waited, 0, sizeof proxy->waited);
  memset(proxy->heard, 0, sizeof proxy->heard);
  proxy->clock = proxy->all_heard = 0;
  proxy->maps = 0;
  memset(proxy->word, 0, proxy->words * sizeof *proxy->word);
}

static uint16_t thread_of(const bf_emu_warp *warp, unsigned lane) {
  return (uint16_t)((warp->index * BF_EMU_LANES + lane) % MOST_THREADS);
}

static doer doer_of(const bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  return (doer){thread_of(warp, lane), (uint16_t)(op->site < UINT16_MAX ? op->site : UINT16_MAX)};
}

/* Says that two come too near; false: the launch has ended. */
static bool report(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t offset,
                   unsigned width_bytes, bool is_write, doer other, const char *did,
                   const char *missing) {
  char thread[48], line[200] = "", text[600];
  const bf_emu_flight *flight = warp->worker->flight;
  bf_race_put_place(thread, sizeof thread, other.thread, flight->launch->block);
  bf_race_put_line(line, sizeof line, flight->kernel, other.site);
  snprintf(text, sizeof text, "thread %s %s it%s, %s", thread, did, line, missing);
  return bf_emu_say_race(warp, op, BF_PTX_SPACE_SHARED, lane, offset, width_bytes, is_write, text);
}

/* The words of bytes from offset on. */
#define EACH_WORD(proxy, offset, bytes, at)                                                        \
  for (uint64_t at = (offset) / WORD_BYTES,                                                        \
                at##_end = ((offset) + (bytes) + WORD_BYTES - 1) / WORD_BYTES;                     \
       at < at##_end && at < (proxy)->words; at++)

/* Whether a product may still read a word. */
static bool is_multiplied(const struct bf_emu_proxy *proxy, const word *own) {
  return own->product && own->product > proxy->waited[own->reader.thread / BF_EMU_LANES];
}

static const char not_waited[] = "and no wgmma.wait_group says that it has read it";

/* What the last one to write asynchronously does. */
static const char *how_written(const bf_emu_warp *warp, const word *own) {
  const bf_emu_kernel *kernel = warp->worker->flight->kernel;
  unsigned site = own->copier.site;
  return site < kernel->site_count && is_sent(kernel->sites[site].instruction)
             ? "of the cluster stores asynchronously to"
             : "copies in bulk to";
}

void bf_proxy_tests(const bf_emu_warp *warp, unsigned lane) {
  if (warp->block->proxy)
    warp->block->proxy->waiter = thread_of(warp, lane);
}

void bf_proxy_hears(const bf_emu_warp *warp) {
  struct bf_emu_proxy *proxy = warp->block->proxy;
  if (proxy)
    proxy->heard[warp->index % MOST_WARPS] = ++proxy->clock;
}

void bf_proxy_all_hear(const bf_emu_block *block) {
  if (block->proxy)
    block->proxy->all_heard = ++block->proxy->clock;
}

/* Whether a copy into a word was waited for by another warp alone, from which this one has not
 * heard since. */
static bool is_hearsay(const bf_emu_warp *warp, const word *own) {
  const struct bf_emu_proxy *proxy = warp->block->proxy;
  return own->landed && own->waiter / BF_EMU_LANES != warp->index % MOST_WARPS &&
         proxy->heard[warp->index % MOST_WARPS] < own->landed && proxy->all_heard < own->landed;
}

/* Says who alone has waited; false: the launch has ended. */
static bool report_hearsay(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t offset,
                           unsigned width_bytes, bool is_write, const word *own) {
  char waiter[48], text[200];
  bf_race_put_place(waiter, sizeof waiter, own->waiter, warp->worker->flight->launch->block);
  snprintf(text, sizeof text,
           "and thread %s has waited for it, behind which nothing orders this one", waiter);
  return report(warp, op, lane, offset, width_bytes, is_write, own->copier, how_written(warp, own),
                text);
}

static bool check_lane(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t offset,
                       unsigned width_bytes, bool is_write, bool is_copy) {
  struct bf_emu_proxy *proxy = warp->block->proxy;
  EACH_WORD(proxy, offset, width_bytes, at) {
    word *own = &proxy->word[at];
    if (own->writes && !report(warp, op, lane, offset, width_bytes, is_write, own->copier,
                               how_written(warp, own), "and nobody has waited for it"))
      return false;
    if (is_hearsay(warp, own) &&
        !report_hearsay(warp, op, lane, offset, width_bytes, is_write, own))
      return false;
    if (is_write && own->reads &&
        !report(warp, op, lane, offset, width_bytes, is_write, own->copier, "copies in bulk from",
                "and has not waited for it"))
      return false;
    if (!is_write)
      continue;
    if (is_multiplied(proxy, own) && !report(warp, op, lane, offset, width_bytes, is_write,
                                             own->reader, "multiplies with", not_waited))
      return false;
    own->writer = doer_of(warp, op, lane);
    own->fences = is_copy ? 0 : proxy->fences[own->writer.thread] + 1;
    own->product = own->width = 0;
    own->landed = 0;
  }
  return true;
}

bool bf_proxy_access(bf_emu_warp *warp, const bf_emu_op *op, unsigned width_bytes, bool is_write,
                     uint32_t lanes, const uint64_t *offset) {
  const bf_emu_kernel *kernel = warp->worker->flight->kernel;
  bool is_copy =
      op->site < kernel->site_count && kernel->sites[op->site].instruction->opcode == BF_PTX_OP_CP;
  BF_EACH_LANE(lanes, lane)
  if (!check_lane(warp, op, lane, offset[lane], width_bytes, is_write, is_copy))
    return false;
  return true;
}

void bf_proxy_fence(bf_emu_warp *warp, uint32_t lanes) {
  if (warp->block->proxy)
    BF_EACH_LANE(lanes, lane) warp->block->proxy->fences[thread_of(warp, lane)]++;
}

bool bf_proxy_read(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *block,
                   uint64_t offset, uint64_t bytes) {
  struct bf_emu_proxy *proxy = block->proxy;
  if (!proxy)
    return true;
  EACH_WORD(proxy, offset, bytes, at) {
    const word *own = &proxy->word[at];
    if (own->writes)
      return report(warp, op, lane, at * WORD_BYTES, WORD_BYTES, false, own->copier,
                    "copies in bulk to", "and nobody has waited for it");
    if (block == warp->block && is_hearsay(warp, own))
      return report_hearsay(warp, op, lane, at * WORD_BYTES, WORD_BYTES, false, own);
    if (own->fences && own->fences == proxy->fences[own->writer.thread] + 1)
      return report(warp, op, lane, at * WORD_BYTES, WORD_BYTES, false, own->writer, "wrote",
                    "without a fence.proxy.async behind it: the async proxy may not see it");
  }
  return true;
}

/* Says by which swizzle data were written, and by which they are read. */
static bool report_width(bf_emu_warp *warp, const bf_emu_op *op, uint64_t offset, const word *own,
                         unsigned width) {
  static const char form[] = "with %s%s, and the descriptor says %s%s";
  char text[120], number[2][12];
  unsigned both[2] = {own->width, width};
  for (unsigned i = 0; i < 2; i++)
    snprintf(number[i], sizeof number[i], "%u", both[i]);
  snprintf(text, sizeof text, form, own->width > 16 ? "a swizzle of " : "no swizzle",
           own->width > 16 ? number[0] : "", width > 16 ? "one of " : "none",
           width > 16 ? number[1] : "");
  return report(warp, op, 0, offset, 16, false, own->copier, "copied", text);
}

bool bf_proxy_product(bf_emu_warp *warp, const bf_emu_op *op, uint64_t offset, unsigned width) {
  struct bf_emu_proxy *proxy = warp->block->proxy;
  if (!proxy)
    return true;
  if (!bf_proxy_read(warp, op, 0, warp->block, offset, 16))
    return false;
  EACH_WORD(proxy, offset, 16, at) {
    word *own = &proxy->word[at];
    if (own->width && own->width != width && !report_width(warp, op, offset, own, width))
      return false;
    own->reader = doer_of(warp, op, 0);
    own->product = proxy->committed[warp->index % MOST_WARPS] + 1;
  }
  return true;
}

void bf_proxy_products_commit(const bf_emu_warp *warp) {
  if (warp->block->proxy)
    warp->block->proxy->committed[warp->index % MOST_WARPS]++;
}

void bf_proxy_products_wait(const bf_emu_warp *warp, uint64_t but) {
  struct bf_emu_proxy *proxy = warp->block->proxy;
  if (!proxy)
    return;
  uint32_t committed = proxy->committed[warp->index % MOST_WARPS];
  uint32_t *waited = &proxy->waited[warp->index % MOST_WARPS];
  if (committed > but && committed - but > *waited)
    *waited = (uint32_t)(committed - but);
}

bool bf_proxy_copy_begins(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                          bf_emu_block *block, uint64_t offset, uint64_t bytes, bool is_write,
                          unsigned width) {
  struct bf_emu_proxy *proxy = block->proxy;
  if (!proxy)
    return true;
  EACH_WORD(proxy, offset, bytes, at) {
    word *own = &proxy->word[at];
    if (is_write && is_multiplied(proxy, own) &&
        !report(warp, op, lane, at * WORD_BYTES, WORD_BYTES, true, own->reader, "multiplies with",
                not_waited))
      return false;
    own->copier = doer_of(warp, op, lane);
    own->reads = (uint16_t)(own->reads + !is_write);
    own->writes = (uint16_t)(own->writes + is_write);
    if (is_write) {
      own->width = (uint16_t)width;
      own->product = 0;
    }
  }
  return true;
}

void bf_proxy_copy_ends(bf_emu_block *block, uint64_t offset, uint64_t bytes, bool is_write) {
  struct bf_emu_proxy *proxy = block->proxy;
  if (!proxy)
    return;
  proxy->clock += is_write;
  EACH_WORD(proxy, offset, bytes, at) {
    word *own = &proxy->word[at];
    own->reads = (uint16_t)(own->reads - (!is_write && own->reads));
    own->writes = (uint16_t)(own->writes - (is_write && own->writes));
    if (!is_write)
      continue;
    own->fences = 0;
    own->landed = proxy->clock;
    own->waiter = proxy->waiter;
  }
}

/* ---- Tensor maps ---- */

void bf_proxy_map_acquired(bf_emu_block *block, uint64_t address) {
  struct bf_emu_proxy *proxy = block->proxy;
  unsigned kept = 0;
  for (unsigned i = 0; proxy && i < proxy->maps; i++)
    if (proxy->map[i].address != address)
      proxy->map[kept++] = proxy->map[i];
  if (proxy)
    proxy->maps = kept;
}

void bf_proxy_map_changes(const bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                          uint64_t address) {
  struct bf_emu_proxy *proxy = warp->block->proxy;
  const bf_emu_code *code = warp->frame->code;
  uint32_t index = code->instruction[op - code->op];
  if (!proxy || index >= code->function->instructions)
    return;
  bf_proxy_map_acquired(warp->block, address);
  if (proxy->maps == MOST_MAPS)
    memmove(proxy->map, proxy->map + 1, --proxy->maps * sizeof *proxy->map);
  proxy->map[proxy->maps++] =
      (changed_map){address, code->function->instruction[index], thread_of(warp, lane)};
}

bool bf_proxy_map_used(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address) {
  const struct bf_emu_proxy *proxy = warp->block->proxy;
  const bf_emu_flight *flight = warp->worker->flight;
  unsigned i = 0;
  while (proxy && i < proxy->maps && proxy->map[i].address != address)
    i++;
  if (!proxy || i == proxy->maps)
    return true;
  char thread[48], text[300];
  const char *file;
  uint64_t line;
  bf_race_put_place(thread, sizeof thread, proxy->map[i].thread, flight->launch->block);
  bf_ptx_user_line(flight->kernel->module->ptx, proxy->map[i].by, &file, &line);
  snprintf(text, sizeof text,
           "thread %s changed the tensor map at %s:%llu, and no fence.proxy.tensormap has acquired "
           "it: the copy may use the old one",
           thread, line && file ? file : "PTX line",
           (unsigned long long)(line && file ? line : proxy->map[i].by->line));
  return bf_emu_say_race(warp, op, BF_PTX_SPACE_GLOBAL, lane, address, 128, false, text);
}
