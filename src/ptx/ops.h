/* ptx/ops: what instructions are made of: types, state spaces, opcodes and special registers, each
 * a list from which enum, names and tables come. Opcodes have theirs in a file, ops.def. */
#ifndef BF_PTX_OPS_H
#define BF_PTX_OPS_H

#include "base/base.h"

/* Every type of PTX: enum, text, bytes (0: opaque or a predicate). */
#define BF_PTX_TYPES(X)                                                                            \
  X(B8, "b8", 1)                                                                                   \
  X(B16, "b16", 2)                                                                                 \
  X(B32, "b32", 4)                                                                                 \
  X(B64, "b64", 8)                                                                                 \
  X(B128, "b128", 16)                                                                              \
  X(U8, "u8", 1)                                                                                   \
  X(U16, "u16", 2)                                                                                 \
  X(U32, "u32", 4)                                                                                 \
  X(U64, "u64", 8)                                                                                 \
  X(S8, "s8", 1)                                                                                   \
  X(S16, "s16", 2)                                                                                 \
  X(S32, "s32", 4)                                                                                 \
  X(S64, "s64", 8)                                                                                 \
  X(U16X2, "u16x2", 4)                                                                             \
  X(S16X2, "s16x2", 4)                                                                             \
  X(F16, "f16", 2)                                                                                 \
  X(F16X2, "f16x2", 4)                                                                             \
  X(BF16, "bf16", 2)                                                                               \
  X(BF16X2, "bf16x2", 4)                                                                           \
  X(TF32, "tf32", 4)                                                                               \
  X(F32, "f32", 4)                                                                                 \
  X(F32X2, "f32x2", 8)                                                                             \
  X(F64, "f64", 8)                                                                                 \
  X(E4M3, "e4m3", 1)                                                                               \
  X(E5M2, "e5m2", 1)                                                                               \
  X(E4M3X2, "e4m3x2", 2)                                                                           \
  X(E5M2X2, "e5m2x2", 2)                                                                           \
  X(E4M3X4, "e4m3x4", 4)                                                                           \
  X(E5M2X4, "e5m2x4", 4)                                                                           \
  X(E2M1X2, "e2m1x2", 1)                                                                           \
  X(E2M3X2, "e2m3x2", 2)                                                                           \
  X(E3M2X2, "e3m2x2", 2)                                                                           \
  X(UE8M0X2, "ue8m0x2", 2)                                                                         \
  X(U4, "u4", 0)                                                                                   \
  X(S4, "s4", 0)                                                                                   \
  X(B1, "b1", 0)                                                                                   \
  X(PRED, "pred", 0)                                                                               \
  X(TEXREF, "texref", 8)                                                                           \
  X(SAMPLERREF, "samplerref", 0)                                                                   \
  X(SURFREF, "surfref", 8)

typedef enum bf_ptx_type {
  BF_PTX_TYPE_NONE,
#define X(symbol, name, bytes) BF_PTX_##symbol,
  BF_PTX_TYPES(X)
#undef X
      BF_PTX_TYPE_COUNT
} bf_ptx_type;

const char *bf_ptx_type_name(bf_ptx_type type);
unsigned bf_ptx_type_bytes(bf_ptx_type type);

#define BF_PTX_SPACES(X)                                                                           \
  X(REG, "reg")                                                                                    \
  X(CONST, "const")                                                                                \
  X(GLOBAL, "global")                                                                              \
  X(LOCAL, "local")                                                                                \
  X(PARAM, "param")                                                                                \
  X(SHARED, "shared")                                                                              \
  X(TEX, "tex")

typedef enum bf_ptx_space {
  BF_PTX_SPACE_NONE, /* generic, where an instruction names none */
#define X(symbol, name) BF_PTX_SPACE_##symbol,
  BF_PTX_SPACES(X)
#undef X
      BF_PTX_SPACE_COUNT
} bf_ptx_space;

const char *bf_ptx_space_name(bf_ptx_space space);

/* How an opcode touches memory; which space it is says the instruction. */
typedef enum bf_ptx_access {
  BF_PTX_NO_ACCESS,
  BF_PTX_LOAD,
  BF_PTX_STORE,
  BF_PTX_ATOMIC,
  BF_PTX_COPY,   /* from one space to another */
  BF_PTX_MATRIX, /* wmma: load or store, said by a modifier */
} bf_ptx_access;

/* What kind of work an opcode is, for timing; the types of the instruction say the rest. */
typedef enum bf_ptx_work {
  BF_PTX_WORK_NOTHING,
  BF_PTX_WORK_MOVE,
  BF_PTX_WORK_LOGIC,      /* on integers, whatever the type says */
  BF_PTX_WORK_ARITHMETIC, /* addition and the like, and fused multiply-add of floats */
  BF_PTX_WORK_MULTIPLY,
  BF_PTX_WORK_DIVIDE,
  BF_PTX_WORK_SPECIAL, /* reciprocal, roots, sine, logarithm */
  BF_PTX_WORK_CONVERT, /* between types; counting bits */
  BF_PTX_WORK_VIDEO,
  BF_PTX_WORK_MATRIX,
  BF_PTX_WORK_EXCHANGE, /* between the lanes of a warp */
  BF_PTX_WORK_BRANCH,
  BF_PTX_WORK_BARRIER,
  BF_PTX_WORK_FENCE,
  BF_PTX_WORK_MEMORY,
} bf_ptx_work;

typedef enum bf_ptx_opcode {
#define X(symbol, name, access, work, operands, meaning) BF_PTX_OP_##symbol,
#include "ptx/ops.def"
#undef X
  BF_PTX_OPCODE_COUNT
} bf_ptx_opcode;

/* A row of ops.def. */
typedef struct bf_ptx_op {
  const char *name;
  bf_ptx_access access;
  bf_ptx_work work;
  const char *operands;
  const char *meaning;
} bf_ptx_op;

const bf_ptx_op *bf_ptx_op_get(bf_ptx_opcode opcode);
/* The opcode called name, or -1. */
int bf_ptx_op_find(const char *name);

/* Every special register: enum, text, whether it has components x, y, z (and w), and numbered ones
 * how many there are (else 0). */
#define BF_PTX_SPECIALS(X)                                                                         \
  X(TID, "%tid", true, 0)                                                                          \
  X(NTID, "%ntid", true, 0)                                                                        \
  X(CTAID, "%ctaid", true, 0)                                                                      \
  X(NCTAID, "%nctaid", true, 0)                                                                    \
  X(CLUSTERID, "%clusterid", true, 0)                                                              \
  X(NCLUSTERID, "%nclusterid", true, 0)                                                            \
  X(CLUSTER_CTAID, "%cluster_ctaid", true, 0)                                                      \
  X(CLUSTER_NCTAID, "%cluster_nctaid", true, 0)                                                    \
  X(CLUSTER_CTARANK, "%cluster_ctarank", false, 0)                                                 \
  X(CLUSTER_NCTARANK, "%cluster_nctarank", false, 0)                                               \
  X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", false, 0)                                         \
  X(LANEID, "%laneid", false, 0)                                                                   \
  X(WARPID, "%warpid", false, 0)                                                                   \
  X(NWARPID, "%nwarpid", false, 0)                                                                 \
  X(SMID, "%smid", false, 0)                                                                       \
  X(NSMID, "%nsmid", false, 0)                                                                     \
  X(GRIDID, "%gridid", false, 0)                                                                   \
  X(LANEMASK_EQ, "%lanemask_eq", false, 0)                                                         \
  X(LANEMASK_LE, "%lanemask_le", false, 0)                                                         \
  X(LANEMASK_LT, "%lanemask_lt", false, 0)                                                         \
  X(LANEMASK_GE, "%lanemask_ge", false, 0)                                                         \
  X(LANEMASK_GT, "%lanemask_gt", false, 0)                                                         \
  X(CLOCK, "%clock", false, 0)                                                                     \
  X(CLOCK_HI, "%clock_hi", false, 0)                                                               \
  X(CLOCK64, "%clock64", false, 0)                                                                 \
  X(GLOBALTIMER, "%globaltimer", false, 0)                                                         \
  X(GLOBALTIMER_LO, "%globaltimer_lo", false, 0)                                                   \
  X(GLOBALTIMER_HI, "%globaltimer_hi", false, 0)                                                   \
  X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin", false, 0)                                  \
  X(RESERVED_SMEM_END, "%reserved_smem_offset_end", false, 0)                                      \
  X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap", false, 0)                                      \
  X(RESERVED_SMEM, "%reserved_smem_offset_", false, 2)                                             \
  X(TOTAL_SMEM_SIZE, "%total_smem_size", false, 0)                                                 \
  X(AGGR_SMEM_SIZE, "%aggr_smem_size", false, 0)                                                   \
  X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", false, 0)                                             \
  X(CURRENT_GRAPH_EXEC, "%current_graph_exec", false, 0)                                           \
  X(ENVREG, "%envreg", false, 32)                                                                  \
  X(PM, "%pm", false, 8)                                                                           \
  X(PM64, "%pm_64", false, 8)

typedef enum bf_ptx_special {
#define X(symbol, name, vector, numbered) BF_PTX_SPECIAL_##symbol,
  BF_PTX_SPECIALS(X)
#undef X
      BF_PTX_SPECIAL_COUNT
} bf_ptx_special;

#endif
