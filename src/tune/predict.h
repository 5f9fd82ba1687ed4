/* tune/predict: what a hash is worth to a kernel, from its PTX and what is known of a launch,
 * without running it.
 *
 *   bf_plans_make(module, ...)                what stands in the way of each kernel
 *   bf_predict_choose(&plans, &options, ...)  a hash for each kernel that wins by one, or none
 *   bf_plans_rewrite(&plans, false, ...)      the module with these hashes
 *   bf_predict_prepare(&plans, plan, ...)     both forms of a kernel, once
 *   bf_predict(pair, ...)                     for each launch: with the hash, or without it?
 *
 * The analysis of the PTX (analyze/analyze.h) says what a block of threads executes and which
 * addresses it accesses (work.h). Two bounds make a time of that:
 *
 *  throughput   of a multiprocessor full of blocks: its busiest unit is never idle;
 *  latency      of a block: instructions wait for the results of others, and warps for each other.
 *
 * A small launch is bound by the second, in which instructions that compute hashes count more and
 * conflicts less; so it depends on the launch whether a hash pays. The judge (judge.h) decides by
 * the time before and after and by the error of the prediction; where nothing can be known, nothing
 * is done. */
#ifndef BF_TUNE_PREDICT_H
#define BF_TUNE_PREDICT_H

#include "tune/plans.h"

/* ---- Launches ---- */

/* What a GPU has. */
typedef struct bf_predict_gpu {
  unsigned multiprocessors, schedulers;
  unsigned blocks, warps, registers; /* that a multiprocessor holds at once */
  uint64_t shared_bytes;             /* of a multiprocessor */
  unsigned reserved_bytes;           /* of these, for each block */
  double bytes_per_cycle;            /* of global memory, for each multiprocessor */
  /* That a launch takes whatever the kernel does: these, and for each multiprocessor those. */
  double launch_cycles, launch_sm_cycles;
} bf_predict_gpu;

extern const bf_predict_gpu bf_predict_h200;

/* Cycles that a launch takes whatever the kernel does. */
double bf_predict_start(const bf_predict_gpu *gpu);
/* Blocks that a multiprocessor holds at once; at least 1. */
unsigned bf_predict_resident(const bf_predict_gpu *gpu, unsigned threads, uint64_t shared_bytes,
                             unsigned registers);

typedef struct bf_predict_launch {
  uint32_t block[3]; /* 0: unknown */
  uint32_t grid[3];  /* 0: unknown, as many as fill the GPU */
  uint64_t dynamic_shared_bytes;
  /* Blocks that a multiprocessor holds at once without the hash and with it, as who has compiled
   * both knows; 0: estimated from shared memory. */
  unsigned resident[2];
  /* The parameter block and which of its bytes are known (bf_analyze_options), or NULL. */
  const uint8_t *parameter, *is_known;
  uint64_t parameter_bytes;
} bf_predict_launch;

typedef struct bf_predict_options {
  const bf_machine *machine;       /* 32 banks of 4 bytes */
  const bf_predict_gpu *gpu;       /* NULL: bf_predict_h200 */
  const bf_predict_launch *launch; /* NULL: nothing is known */
  /* Whoever launches the rewritten kernels asks bf_predict at each launch, and can take the
   * original: where the block is not known, a hash is chosen that wins in blocks of some shape, not
   * of all, and where addresses depend on parameters, for some values of these. */
  bool decides_by_launch;
  /* With decides_by_launch: launches tell the values of parameters. Where addresses depend on
   * these, a hash is chosen that wins for some values. */
  bool launches_tell_values;
  /* With decides_by_launch: both versions are measured before one is taken for good, so that a hash
   * is chosen that may win, not only one that is predicted to, and where addresses are not known
   * one of which nothing can be predicted. */
  bool is_measured;
  /* Longest search of a hash, of which there are a few for each kernel with conflicts. 0: none;
   * what is chosen does not depend on time then. */
  double time_limit_seconds;
} bf_predict_options;

/* ---- Predicting ---- */

typedef struct bf_prediction {
  bool is_known;            /* else nothing but reason is filled */
  bool is_worth;            /* by the judge, for the launch */
  double share;             /* time with the hash / time without it */
  double error;             /* of share, as a share of it */
  bf_comparison comparison; /* of the launch, as the judge has it */
  bool is_latency_bound;    /* the launch is too small to fill multiprocessors */
  double full_share;        /* of a launch that fills the GPU many times */
  double full_error;
  uint64_t least_blocks; /* of a grid for which the hash is worth it; 0: none is */
  char reason[240];      /* in words: what was predicted, or why nothing is known */
} bf_prediction;

/* A kernel and its rewritten form, ready for predictions. What it is made of must live as long. */
typedef struct bf_predict_pair bf_predict_pair;

/* rewritten is the kernel of the plan with its hash, a function of rewritten_module. Takes about as
 * long as a prediction. Free also after an error; NULL does nothing. */
int bf_predict_prepare(const bf_plans *plans, const bf_plan *plan,
                       const bf_ptx_module *rewritten_module, const bf_ptx_function *rewritten,
                       bf_predict_pair **pair, bf_diagnostic *diagnostic);
void bf_predict_pair_free(bf_predict_pair *pair);
/* What the hash does to a launch. The block must be known. Takes milliseconds: keep the result for
 * launches alike (the same block, parameters that matter, and grid). */
int bf_predict(const bf_predict_pair *pair, const bf_predict_options *options,
               bf_prediction *prediction, bf_diagnostic *diagnostic);

/* ---- Choosing ---- */

/* Gives every open kernel without a hash the one that is best for it, or none and the reason: from
 * its launch or, where the block is not known, from what directives say (.reqntid, .maxntid), else
 * over shapes of blocks that are usual, for which all it must win. plan->comparison is that of the
 * shape that gains least; with decides_by_launch, most. */
int bf_predict_choose(bf_plans *plans, const bf_predict_options *options,
                      bf_diagnostic *diagnostic);

/* Gives an open kernel longer rows as one more candidate, for whoever tries candidates: those that
 * leave fewest wavefronts by its PTX and that the verifier accepts. */
int bf_predict_padding(bf_plans *plans, bf_plan *plan, const bf_predict_options *options,
                       bf_diagnostic *diagnostic);

#endif
