/* gpu/tried: a benchmark of the corpus in a trial (tune/trial.h). */
#ifndef BF_GPU_TRIED_H
#define BF_GPU_TRIED_H

#include "kernels/corpus.h"
#include "tune/trial.h"

/* Runs the benchmark with the given PTX in the place of its own; what it computes must be right. Of
 * options, what describes launches is not looked at. Free the trial also after an error. */
int gpu_try(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed, const char *ptx,
            const bf_trial_options *options, bf_trial *trial, bf_diagnostic *diagnostic);

#endif
