/* rewrite: PTX in which every access to shared memory goes through a hash, or in which rows of
 * arrays are longer.
 *
 * Registers keep logical addresses; the hash is computed at the access. So pointer arithmetic,
 * comparisons, aliasing, unions and spilled pointers stay valid, and the one obligation is that
 * every dereference of shared memory uses the same bijection. The hash is row-preserving: it XORs
 * address bits above the row (128 bytes) into the bank bits, on the absolute shared address, so
 * that it needs no base, bounds or provenance; rows must belong to the kernel as a whole, which is
 * why static arrays are padded and aligned to rows, and dynamic shared memory is aligned to them:
 * GPUs give blocks whole rows (ptx/rewritten.h). Its granule is the widest access of the kernel:
 * aligned granules stay whole. Arrays may have hashes of their own where every access is proven to
 * be to one array.
 *
 * The hash pad:ROW+P of an array is no map that accesses compute: its rows become longer, and
 * addresses are computed anew with the longer row (pad.c). Where that is not possible, or not
 * proven, the place in the longer row is computed at the access, for rows of powers of two
 * (place.c).
 *
 * A function that kernels with different hashes call is copied for each hash, under the name
 * FUNCTION__bankfold_NUMBER, and calls lead to the copies; the function itself stays for the
 * others. Kernels are rewritten in their place, or copied as well (is_beside).
 *
 * What is not understood is refused, kernel by kernel, with the line and the reason; a refused
 * kernel is left as it was. So is a module that was rewritten before: hashes that are applied twice
 * can cancel out. verify/verify.h judges the result without sharing code with this; there is no way
 * to a result that it has not accepted. */
#ifndef BF_REWRITE_H
#define BF_REWRITE_H

#include "hash/hash.h"
#include "ptx/ptx.h"

enum { BF_REWRITE_ROW_BYTES = 128 };

/* Why a kernel is left alone. */
typedef struct bf_rewrite_obstacle {
  uint64_t line;    /* in the PTX; 0: the kernel as a whole */
  const char *text; /* "cp.async.bulk on shared memory" */
} bf_rewrite_obstacle;

/* A shared array of a kernel. Open arrays ([]) all start at the same place and count as one. */
typedef struct bf_rewrite_array {
  const bf_ptx_variable *variable; /* of the module */
  const char *name;
  const char *hash;             /* canonical text; NULL: it is left alone */
  unsigned granule_bytes;       /* of the widest access known to be to it; 0: there is none */
  unsigned padding_grain_bytes; /* what a padding of its rows must be a multiple of */
  unsigned accesses;            /* known to be to it, by where they are in memory: */
  const bf_ptx_instruction **access;
} bf_rewrite_array;

typedef struct bf_rewrite_kernel {
  const char *name;
  bool is_rewritten;
  /* The kernel that stands beside it, where options ask for that; NULL: it has changed itself. */
  const char *beside;
  /* Canonical text; NULL: none was asked for. Where arrays have hashes of their own:
   * "tile=fixed, other=none". */
  const char *hash;
  unsigned arrays; /* that it, or a function it calls, names */
  bf_rewrite_array *array;
  bool knows_arrays; /* every access is known to be to one of them */
  /* Of the widest access to shared memory; 0: it makes none; a row where there is wmma, which no
   * hash keeps together. */
  unsigned granule_bytes;
  unsigned accesses;       /* instructions on shared memory, in it and the functions it calls */
  unsigned hashed, exempt; /* exempt: barriers, and accesses to arrays that are left alone */
  unsigned added_instructions;
  bool is_placed;                      /* places in longer rows are computed at accesses, */
  bool can_be_placed;                  /* or could be, or in another way */
  uint64_t shared_bytes, padded_bytes; /* static, before and after */
  /* Rewritten, it may be launched in blocks with so many threads in x, y and z; 0: any. */
  uint32_t most_block[3];
  bool has_dynamic_shared;
  /* Rewritten, it must be launched with `unused` bytes more of dynamic shared memory for every
   * whole `row` bytes that the original is launched with; 0: it needs none
   * (bf_rewrite_dynamic_bytes). */
  uint64_t dynamic_row_bytes, dynamic_unused_bytes;
  unsigned obstacles;
  bf_rewrite_obstacle *obstacle;
} bf_rewrite_kernel;

/* The hash of each kernel (array NULL) and of each shared array of it: NULL leaves it alone. Where
 * an array has another hash than its kernel, every access must be proven to be to one array; a
 * kernel in which one is not is refused. */
typedef struct bf_rewrite_options {
  void *context;
  const bf_hash *(*hash_of)(void *context, const bf_ptx_function *kernel,
                            const bf_ptx_variable *array);
  /* Launches have room for what padding adds before dynamic shared memory, or fall back to the
   * original; without that promise a kernel is refused whose dynamic shared memory starts later. */
  bool padding_has_room;
  /* Whoever launches the kernels holds to most_block of the result, and launches the original in
   * other blocks; without that promise a padding is refused that holds for some blocks only. */
  bool blocks_are_checked;
  /* Whoever launches the kernels gives them bf_rewrite_dynamic_bytes of dynamic shared memory, or
   * launches the original; without that promise its rows are not made longer. */
  bool resizes_dynamic;
  /* Pairs of and and xor are written as one lop3, as the GPU executes them: for counts and
   * simulations. Otherwise it is left to ptxas to join them, because it does not see that an
   * address behind lop3 is aligned, and would no longer merge accesses there. */
  bool joins_logic;
  /* Kernels stay as they are, and so do their shared variables; what each is rewritten to stands
   * beside it, under the name KERNEL__bankfold_NUMBER, with shared variables of its own, so that
   * whoever launches it can choose. */
  bool is_beside;
  /* Longer rows only where nothing is computed at accesses. */
  bool keeps_accesses;
} bf_rewrite_options;

typedef struct bf_rewrite_result {
  bf_arena arena;
  unsigned kernels;
  bf_rewrite_kernel *kernel; /* in the order of the module */
  bool is_changed;           /* some kernel was rewritten */
  bool was_rewritten;        /* the module has been rewritten before: all kernels are refused */
  bf_text text;          /* the module as PTX; where nothing changed, as bf_ptx_print gives it */
  bf_ptx_module *module; /* text, parsed; NULL where nothing changed */
} bf_rewrite_result;

/* Rewrites a module for 32 banks of 4 bytes and has the result verified. BF_BAD_INPUT for a hash
 * that is not row-preserving or has another geometry; that a kernel is refused is no error. Kernels
 * whose rewritten form the verifier rejects are refused too, with its reason, and the others are
 * rewritten without them; where it names none, the module stays as it is. */
int bf_rewrite(const bf_ptx_module *module, const bf_rewrite_options *options,
               bf_rewrite_result *result, bf_diagnostic *diagnostic);
void bf_rewrite_free(bf_rewrite_result *result);

/* The dynamic shared memory with which a kernel is launched whose rows of `row` bytes have `unused`
 * more, where the original would have `bytes`. */
uint64_t bf_rewrite_dynamic_bytes(uint64_t bytes, uint64_t row, uint64_t unused);

/* Whether kernels can be rewritten with a hash: it is row-preserving, or makes rows longer. */
bool bf_rewrite_takes(const bf_hash *hash);

/* The hash that a list has for a kernel or, array not NULL, for an array of it: by names as in the
 * PTX or readable, those of all kernels ("*") last; for arrays without a line that of the kernel.
 * NULL: the list has none; the hash may be `none`. The only error is BF_NO_MEMORY. */
int bf_rewrite_listed_hash(const bf_hash_list *list, const char *kernel, const char *array,
                           const bf_hash **hash);

/* What stands in the way of each kernel, whatever the hash: as bf_rewrite would find it for a hash
 * whose granule fits. text and module are empty. */
int bf_rewrite_examine(const bf_ptx_module *module, bf_rewrite_result *result,
                       bf_diagnostic *diagnostic);
/* Whether an array of an examined kernel is better left alone whatever its hash: it has one row at
 * most, whose words a hash moves all alike, so that its conflicts stay what they are; and every
 * access of the kernel is known to be to one array. */
bool bf_rewrite_is_narrow(const bf_rewrite_kernel *examined, const bf_ptx_variable *array);
/* The array of a kernel that an instruction is known to access, or NULL. */
const char *bf_rewrite_accessed_array(const bf_rewrite_kernel *kernel,
                                      const bf_ptx_instruction *access);

#endif
