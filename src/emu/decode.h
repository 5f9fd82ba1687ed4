/* Inside room emu: what decoding and control flow share. */
#ifndef BF_EMU_DECODE_H
#define BF_EMU_DECODE_H

#include "emu/device.h"
#include "emu/isa.h"

/* A parameter or return value in a frame: stride bytes per lane, lane after lane. */
typedef struct bf_emu_region {
  const bf_ptx_variable *variable;
  uint32_t place, stride;
} bf_emu_region;

/* A variable in local memory: offset from the frame's base; or in shared memory: from its start. */
typedef struct bf_emu_offset {
  const bf_ptx_variable *variable;
  uint64_t offset;
} bf_emu_offset;

/* Where a branch can go, first as indices of instructions (their number stands for the end), then
 * as operations. */
typedef struct bf_emu_branch {
  uint32_t targets;
  uint32_t *target_instruction;
  const bf_emu_op **target;
  uint32_t join_instruction;
  const bf_emu_op *join;
  bool is_backward;
  bool ends; /* the ways meet only where threads end: nobody waits there */
} bf_emu_branch;

/* What a call passes, by position; places are those of the caller. */
typedef struct bf_emu_call {
  const bf_ptx_function *function; /* NULL: through a register */
  bf_emu_code *code;               /* of function */
  int (*builtin)(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask);
  unsigned arguments, returns;
  bf_emu_region *argument, *result;
} bf_emu_call;

struct bf_emu_decoder {
  bf_emu_module *module;
  bf_emu_kernel *kernel;
  bf_emu_code *code;
  const bf_ptx_function *function;
  const bf_ptx_instruction *instruction; /* the one being decoded, and its index */
  uint32_t index;
  const bf_ptx_flow *flow;
  const bf_emu_isa *isa;
  uint32_t *place;       /* per register */
  bool *reads;           /* per register: some instruction reads it */
  uint32_t *block_order; /* per block: see bf_emu_code.order */
  bf_emu_op *op;
  uint32_t *instruction_of; /* per op */
  uint32_t ops, capacity;
  uint32_t guard, guard_flip;
  struct constant {
    uint64_t bits;
    unsigned bytes;
    uint32_t place;
    bool is_shared; /* an address of shared memory: the rank of the block is above it */
  } * constant;
  unsigned constants, constant_capacity;
  uint32_t frame_bytes;
  bf_emu_region *region;
  unsigned regions;
  bf_emu_offset *local;
  unsigned locals;
  bf_emu_offset *shared; /* of the whole kernel */
  unsigned shareds;
  char refused_why[100]; /* of the current instruction; empty: not refused */
  bool failed;           /* out of memory */
};

enum { BF_EMU_REFUSED_LISTED = 12 }; /* instructions that a message lists */

static inline uint64_t bf_emu_align(uint64_t value, uint64_t alignment) {
  return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

static inline unsigned bf_emu_alignment(const bf_ptx_variable *variable) {
  unsigned own = bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
  return variable->alignment_bytes ? variable->alignment_bytes : own ? own : 1;
}

/* Bytes per lane of a register: 0 for a predicate. */
unsigned bf_emu_lane_bytes(bf_ptx_type type);
/* Room in the frame. */
uint32_t bf_emu_take(bf_emu_decoder *decoder, uint64_t bytes, uint32_t alignment);
/* Marks the registers that some instruction reads: all operands but the first of an opcode that
 * writes it. */
void bf_emu_mark_reads(const bf_ptx_function *function, bool *reads);
/* Decodes one function (decode.c); what cannot be run is added to refused. */
int bf_emu_decode_function(bf_emu_decoder *decoder, bf_text *refused, unsigned *refused_count,
                           unsigned *site_capacity, bf_diagnostic *diagnostic);

/* Control flow: bra, brx, call, ret, exit, trap, bar, barrier (control.c). */
bool bf_emu_select_control(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op);
/* Clusters of blocks, and small things that came with them (cluster.c). */
bool bf_emu_select_cluster(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op);
/* Copies by the hardware: cp.async.bulk and its like (bulk.c). */
bool bf_emu_select_bulk(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op);
/* Tensor maps that change, and st.bulk (tensor_change.c). */
bool bf_emu_select_tensor_change(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                 bf_emu_op *op);
/* Clusters that need not begin: clusterlaunchcontrol (cancel.c). */
bool bf_emu_select_cancel(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op);
/* Tensor memory: tcgen05 (tensor_core.c). */
bool bf_emu_select_tensor_core(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op);
/* The operations that decoding adds by itself. */
const bf_emu_op *bf_emu_step_barrier_result(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_line_up(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_join(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_end(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_exit(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_special(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_local_address(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_parameter_address(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_branch(bf_emu_warp *warp, const bf_emu_op *op);
const bf_emu_op *bf_emu_step_branch_list(bf_emu_warp *warp, const bf_emu_op *op);

/* The region of a parameter of a function or of a call; NULL: none. */
const bf_emu_region *bf_emu_region_of(const bf_emu_decoder *decoder,
                                      const bf_ptx_variable *variable);
/* Index of a parameter of the kernel; false where variable is none. */
bool bf_emu_kernel_parameter_of(const bf_emu_decoder *decoder, const bf_ptx_variable *variable,
                                uint64_t *offset);

/* Marks the instructions before which warps line up (line_up.c); has_read has room for a mark of
 * each block. */
void bf_emu_mark_line_ups(const bf_ptx_function *function, const bf_ptx_flow *flow, bool *has_read,
                          bool *marks);
/* Whether threads of a kernel end at once at an instruction. */
bool bf_emu_ends_at(const bf_ptx_function *function, uint32_t index);
/* Whether some instruction reads the register. */
bool bf_emu_is_read(const bf_emu_decoder *decoder, const bf_ptx_operand *operand);

/* Functions of the device's library that the emulator has (builtin.c); NULL: not known. */
typedef int (*bf_emu_builtin)(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask);
bf_emu_builtin bf_emu_builtin_find(const char *name);

#endif
