/* One instruction at a time.
 *
 * Between two steps the running path of a warp is not in its list of paths; warp->at says where it
 * goes on. Operations that are no instructions (joins, the end of a function, taking the result of
 * a barrier that the warp has passed) happen while looking for the next instruction, so that what
 * peek shows is what step executes. */
#include "emu/step.h"
#include "ptx/site.h"

#include "emu/block.h"
#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/late.h"
#include "emu/put_off.h"
#include "emu/warp.h"

#include <stdlib.h>
#include <sys/mman.h>

struct bf_emu_stepper {
  bf_emu_flight *flight;
  bf_emu_launch launch;
  bf_emu_observer observer;
  bf_emu_block **spare;     /* per place: blocks not in use */
  bf_emu_cluster *clusters; /* of which blocks are in use */
  /* Blocks of all places lie in few pieces of memory. */
  pthread_mutex_t lock; /* of what follows */
  struct piece {
    struct piece *next;
    void *memory;
  } * pieces;
  size_t piece_bytes, used; /* of the newest piece */
  /* By place, where reductions are put off, else NULL; the time of the first that is left. */
  struct bf_emu_put_off *put_off;
  uint64_t *put_off_next;
};

int bf_emu_stepper_create(bf_emu *emu, const bf_emu_launch *launch, bf_emu_stepper **stepper,
                          bf_diagnostic *diagnostic) {
  *stepper = calloc(1, sizeof **stepper);
  if (!*stepper)
    return bf_no_memory(diagnostic);
  pthread_mutex_init(&(*stepper)->lock, NULL);
  (*stepper)->launch = *launch;
  if (launch->observer) {
    (*stepper)->observer = *launch->observer;
    (*stepper)->launch.observer = &(*stepper)->observer;
  }
  int error = bf_emu_flight_open(emu, &(*stepper)->launch, &(*stepper)->flight, diagnostic);
  if (!error) {
    (*stepper)->launch.workers = (*stepper)->flight->workers;
    (*stepper)->spare = calloc((*stepper)->launch.workers, sizeof *(*stepper)->spare);
    if (!(*stepper)->spare)
      error = bf_no_memory(diagnostic);
  }
  if (error) {
    bf_emu_stepper_free(*stepper);
    *stepper = NULL;
  }
  return error;
}

int bf_emu_stepper_result(const bf_emu_stepper *stepper, bf_emu_result *result,
                          bf_diagnostic *diagnostic) {
  return bf_emu_flight_result(stepper->flight, result, diagnostic);
}

void bf_emu_stepper_free(bf_emu_stepper *stepper) {
  if (!stepper)
    return;
  for (unsigned i = 0; stepper->spare && i < stepper->launch.workers; i++)
    for (bf_emu_block *block = stepper->spare[i], *next; block; block = next) {
      next = block->next;
      bf_emu_block_free(block);
    }
  for (bf_emu_cluster *cluster = stepper->clusters, *next; cluster; cluster = next) {
    next = cluster->next;
    for (unsigned i = 0; i < cluster->count; i++)
      bf_emu_block_free(cluster->block[i]);
    free(cluster);
  }
  for (unsigned i = 0; stepper->put_off && i < stepper->launch.workers; i++)
    free(stepper->put_off[i].bytes);
  free(stepper->put_off);
  free(stepper->put_off_next);
  bf_emu_flight_close(stepper->flight);
  for (struct piece *piece = stepper->pieces, *next; piece; piece = next) {
    next = piece->next;
    free(piece->memory);
    free(piece);
  }
  pthread_mutex_destroy(&stepper->lock);
  free(stepper->spare);
  free(stepper);
}

bool bf_emu_stepper_stopped(const bf_emu_stepper *stepper) {
  return __atomic_load_n(&stepper->flight->stop, __ATOMIC_RELAXED) != 0;
}

void bf_emu_stepper_clock(bf_emu_stepper *stepper, unsigned place, const uint64_t *clock) {
  stepper->flight->worker[place].clock = clock;
}

/* ---- Reductions that are put off ---- */

/* Whether only the warps of this launch look at its memory, and places have a time. */
static bool may_put_off(const bf_emu_flight *flight) {
  for (unsigned i = 0; i < flight->workers; i++)
    if (!flight->worker[i].clock)
      return false;
  return !flight->races && !flight->launch->is_beside && !flight->kernel->uses_system &&
         !flight->is_clustered && !flight->kernel->uses_cluster;
}

bool bf_emu_stepper_put_off(bf_emu_stepper *stepper) {
  bf_emu_flight *flight = stepper->flight;
  unsigned places = stepper->launch.workers;
  if (stepper->put_off || !may_put_off(flight))
    return false;
  stepper->put_off = calloc(places, sizeof *stepper->put_off);
  stepper->put_off_next = calloc(places, sizeof *stepper->put_off_next);
  if (!stepper->put_off || !stepper->put_off_next)
    return false;
  for (unsigned i = 0; i < places; i++) {
    stepper->put_off_next[i] = UINT64_MAX;
    stepper->put_off[i].next = &stepper->put_off_next[i];
    stepper->put_off[i].first = UINT64_MAX;
    flight->worker[i].put_off = &stepper->put_off[i];
  }
  return true;
}

bool bf_emu_stepper_has_put_off(const bf_emu_stepper *stepper, unsigned place) {
  return stepper->put_off_next && stepper->put_off_next[place] != UINT64_MAX;
}

void bf_emu_stepper_settle(bf_emu_stepper *stepper, uint64_t time, unsigned place) {
  const uint64_t *next = stepper->put_off_next;
  for (unsigned first = 0; next; first = 0) {
    for (unsigned i = 1; i < stepper->launch.workers; i++)
      first = next[i] < next[first] ? i : first;
    if (next[first] == UINT64_MAX || next[first] > time || (next[first] == time && first > place))
      return;
    bf_emu_put_off_make(&stepper->put_off[first]);
  }
}

/* ---- Blocks ---- */

/* Begins a piece of memory with room for a block. Each is twice as large as the one before, up to
 * MOST_BYTES; large ones ask for large pages, because blocks of many places do not fit into what
 * the host can remember of small ones. */
static bool add_piece(bf_emu_stepper *stepper, size_t room) {
  enum { HUGE_BYTES = 1 << 21, MOST_BYTES = 1 << 25 };
  size_t bytes = 2 * stepper->piece_bytes < MOST_BYTES ? 2 * stepper->piece_bytes : MOST_BYTES;
  if (bytes < room)
    bytes = room;
  struct piece *piece = malloc(sizeof *piece);
  if (!piece || posix_memalign(&piece->memory, bytes < HUGE_BYTES ? 64 : HUGE_BYTES, bytes)) {
    free(piece);
    return false;
  }
#ifdef MADV_HUGEPAGE /* of Linux, and a wish: nothing depends on it */
  if (bytes >= HUGE_BYTES)
    madvise(piece->memory, bytes, MADV_HUGEPAGE);
#endif
  piece->next = stepper->pieces;
  stepper->pieces = piece;
  stepper->piece_bytes = bytes;
  stepper->used = 0;
  return true;
}

/* Makes one more block. */
static bf_emu_block *make_block(bf_emu_stepper *stepper) {
  size_t room = bf_emu_block_room(stepper->flight);
  uint8_t *memory = NULL;
  pthread_mutex_lock(&stepper->lock);
  if (stepper->piece_bytes - stepper->used >= room || add_piece(stepper, room)) {
    memory = (uint8_t *)stepper->pieces->memory + stepper->used;
    stepper->used += room;
  }
  pthread_mutex_unlock(&stepper->lock);
  return memory ? bf_emu_block_make(stepper->flight, memory) : NULL;
}

/* A block that begins at a place; NULL: out of memory. */
static bf_emu_block *take_block(bf_emu_stepper *stepper, unsigned place, uint64_t index) {
  bf_emu_block *block = stepper->spare[place];
  if (block)
    stepper->spare[place] = block->next;
  else
    block = make_block(stepper);
  if (block)
    bf_emu_block_begin(block, &stepper->flight->worker[place], index);
  return block;
}

/* ---- Clusters ---- */

unsigned bf_emu_stepper_cluster(const bf_emu_stepper *stepper) {
  const bf_emu_flight *flight = stepper->flight;
  return flight->is_clustered || flight->kernel->uses_cluster ? bf_emu_cluster_blocks(flight) : 0;
}

uint64_t bf_emu_stepper_in_cluster(const bf_emu_stepper *stepper, uint64_t cluster, unsigned rank) {
  return bf_emu_cluster_block_index(stepper->flight, cluster, rank);
}

bool bf_emu_stepper_join(bf_emu_stepper *stepper, uint64_t number, const unsigned *place) {
  bf_emu_cluster *cluster = calloc(1, sizeof *cluster);
  if (!cluster)
    return false;
  cluster->next = stepper->clusters;
  stepper->clusters = cluster;
  for (unsigned count = bf_emu_cluster_blocks(stepper->flight); cluster->count < count;
       cluster->count++) {
    unsigned rank = cluster->count;
    bf_emu_block *block =
        take_block(stepper, place[rank], bf_emu_stepper_in_cluster(stepper, number, rank));
    if (!block)
      return false;
    block->cluster = cluster;
    bf_emu_block_rank(block, rank);
    cluster->block[rank] = block;
  }
  return true;
}

/* Takes note of a block of a cluster that is done; the memory of all is spare once the last is. */
static void end_in_cluster(bf_emu_stepper *stepper, bf_emu_block *block) {
  bf_emu_cluster *cluster = block->cluster, **at = &stepper->clusters;
  block->has_ended = true;
  if (++cluster->done < cluster->count)
    return;
  for (unsigned i = 0; i < cluster->count; i++) {
    bf_emu_block *own = cluster->block[i];
    own->cluster = NULL;
    own->next = stepper->spare[own->worker->index];
    stepper->spare[own->worker->index] = own;
  }
  while (*at != cluster)
    at = &(*at)->next;
  *at = cluster->next;
  free(cluster);
}

/* The block of a cluster that was made for a number in the grid; NULL: none was. */
static bf_emu_block *find_joined(const bf_emu_stepper *stepper, uint64_t index) {
  for (const bf_emu_cluster *cluster = stepper->clusters; cluster; cluster = cluster->next)
    for (unsigned i = 0; i < cluster->count; i++)
      if (cluster->block[i]->index == index)
        return cluster->block[i];
  return NULL;
}

bf_emu_block *bf_emu_block_peer(bf_emu_block *block, unsigned rank) {
  const bf_emu_cluster *cluster = block->cluster;
  if (!cluster)
    return rank == 0 ? block : NULL;
  return rank < cluster->count && !cluster->block[rank]->has_ended ? cluster->block[rank] : NULL;
}

bf_emu_block *bf_emu_stepper_begin(bf_emu_stepper *stepper, unsigned place, uint64_t index) {
  bf_emu_block *joined = stepper->clusters ? find_joined(stepper, index) : NULL;
  return joined ? joined : take_block(stepper, place, index);
}

void bf_emu_stepper_end(bf_emu_stepper *stepper, unsigned place, bf_emu_block *block) {
  if (block->cluster) {
    end_in_cluster(stepper, block);
    return;
  }
  block->next = stepper->spare[place];
  stepper->spare[place] = block;
}

unsigned bf_emu_block_warps(const bf_emu_block *block) { return block->warps; }

bf_emu_warp *bf_emu_block_warp(bf_emu_block *block, unsigned index) { return &block->warp[index]; }

uint64_t bf_emu_block_bytes(const bf_emu_block *block) {
  const bf_emu_flight *flight = block->worker->flight;
  uint64_t per_warp = sizeof *block->warp + flight->kernel->code->frame_bytes;
  return sizeof *block + block->shared_bytes + block->warps * per_warp;
}

/* ---- Steps ---- */

/* Whether an operation is no instruction of the program. */
static bool is_pseudo(const bf_emu_op *op) {
  return op->run == bf_emu_step_join || op->run == bf_emu_step_end ||
         op->run == bf_emu_step_barrier_result || op->run == bf_emu_step_line_up;
}

/* Goes on to the next instruction; false: there is none. */
static bool find_instruction(bf_emu_warp *warp) {
  for (;;) {
    if (!warp->at) {
      warp->budget = BF_EMU_SLICE;
      warp->at = bf_emu_next_path(warp);
    }
    if (!warp->at)
      return false;
    if (!is_pseudo(warp->at))
      return true;
    warp->at = warp->at->run(warp, warp->at);
  }
}

/* Whether some warp of the block can go on. The one behind own is asked first: most often it has
 * not come yet. */
static bool can_go_on(const bf_emu_block *block, unsigned own) {
  for (unsigned i = 1; i <= block->warps; i++) {
    const bf_emu_warp *warp = &block->warp[(own + i) % block->warps];
    if (warp->at || bf_emu_can_run(warp))
      return true;
  }
  return false;
}

/* Opens a barrier that every warp of a block has come to, after the last one, which waits or has
 * ended (bf_emu_barrier_by_warps). False: there is none. */
static bool open_by_warps(bf_emu_warp *warp) {
  bf_emu_block *block = warp->block;
  return !block->worker->flight->races && !can_go_on(block, warp->index) &&
         bf_emu_barrier_by_warps(block);
}

bf_emu_turn bf_emu_warp_peek(bf_emu_warp *warp, bf_emu_next *next) {
  bool found = find_instruction(warp) || (open_by_warps(warp) && find_instruction(warp));
  next->barriers = warp->block->epoch;
  if (!found)
    return warp->paths ? BF_EMU_TURN_WAITS : BF_EMU_TURN_ENDED;
  const bf_emu_code *code = warp->frame->code;
  next->instruction = code->first_instruction + code->instruction[warp->at - code->op];
  next->active = warp->active;
  return BF_EMU_TURN_READY;
}

/* Makes the instruction that begins with an operation the next one again, if it must wait. */
static bool has_waited(bf_emu_warp *warp, const bf_emu_op *first) {
  bf_emu_worker *worker = warp->worker;
  if (!worker->must_wait)
    return false;
  worker->must_wait = false;
  warp->at = first;
  return true;
}

bool bf_emu_warp_step(bf_emu_warp *warp) {
  const bf_emu_op *op = warp->at, *first = op;
  const bf_emu_code *code = warp->frame->code;
  uint32_t instruction = code->instruction[op - code->op];
  for (;;) {
    const bf_emu_op *next = op->run(warp, op);
    bool is_same =
        next == op + 1 && code->instruction[next - code->op] == instruction && !is_pseudo(next);
    op = next;
    if (!is_same)
      break;
  }
  if (!op && has_waited(warp, first))
    return false;
  warp->at = op;
  return true;
}

bool bf_emu_warp_test_again(bf_emu_warp *warp) {
  if (!warp->test || warp->at != warp->test + 1)
    return false;
  warp->at = warp->test;
  warp->test = NULL;
  return true;
}

void bf_emu_block_land(bf_emu_block *block, uint64_t ticket) { bf_emu_jobs_land(block, ticket); }

uint64_t bf_emu_block_barriers(const bf_emu_block *block) { return block->epoch; }

uint64_t *bf_emu_block_notes(bf_emu_block *block) {
  return block->cluster ? block->cluster->note : NULL;
}

bf_emu_wait bf_emu_warp_wait(const bf_emu_warp *warp) {
  if (warp->paths == 0)
    return (bf_emu_wait){.kind = BF_EMU_WAIT_ENDED};
  const bf_emu_path *path = &warp->path[0];
  const bf_emu_code *code = path->frame->code;
  const bf_emu_op *at = path->state == BF_EMU_AT_BARRIER ? path->at - 1 : path->at;
  uint32_t index = code->instruction[at - code->op];
  bf_emu_wait wait = {.kind = BF_EMU_WAIT_NOTHING};
  if (path->state == BF_EMU_AT_BARRIER)
    wait = (bf_emu_wait){.kind = BF_EMU_WAIT_BARRIER, .barrier = path->barrier};
  else if (path->state == BF_EMU_AT_MEETING)
    wait.kind = BF_EMU_WAIT_LANES;
  if (index < code->function->instructions)
    wait.line = code->function->instruction[index]->line;
  return wait;
}

/* ---- Instructions ---- */

uint32_t bf_emu_kernel_instructions(const bf_emu_kernel *kernel) {
  uint32_t count = 0;
  for (const bf_emu_code *code = kernel->code; code; code = code->next)
    count += code->function->instructions;
  return count;
}

uint32_t bf_emu_kernel_registers(const bf_emu_kernel *kernel) {
  uint32_t count = 0;
  for (const bf_emu_code *code = kernel->code; code; code = code->next)
    count += code->function->registers;
  return count;
}

/* Whether an instruction, by its number in the kernel, is a reduction that may be put off. */
static bool may_be_put_off(const bf_emu_code *code, const bf_ptx_instruction *instruction,
                           uint32_t index) {
  if (instruction->opcode != BF_PTX_OP_ATOM && instruction->opcode != BF_PTX_OP_RED)
    return false;
  for (uint32_t i = 0; i < code->ops; i++)
    if (code->instruction[i] == index - code->first_instruction && !is_pseudo(&code->op[i]))
      return code->op[i].small[BF_EMU_SMALL_PUT_OFF];
  return false;
}

bf_emu_instruction bf_emu_kernel_instruction(const bf_emu_kernel *kernel, uint32_t index) {
  bf_emu_instruction found = {.site = UINT32_MAX};
  for (const bf_emu_code *code = kernel->code; code; code = code->next) {
    if (index >= code->first_instruction + code->function->instructions) {
      found.register_base += code->function->registers;
      continue;
    }
    found.function = code->function;
    found.instruction = code->function->instruction[index - code->first_instruction];
    found.may_be_put_off = may_be_put_off(code, found.instruction, index);
    bf_ptx_source_line(kernel->module->ptx, found.instruction, &found.source_file,
                       &found.source_line);
    break;
  }
  for (unsigned i = 0; i < kernel->site_count; i++)
    if (kernel->sites[i].instruction == found.instruction) {
      found.site = i;
      found.merged = &kernel->merged[i];
    }
  return found;
}
