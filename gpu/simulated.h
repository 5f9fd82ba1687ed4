/* gpu/simulated: benchmarks of the corpus on a simulated H200, or on a small part of one. */
#ifndef BF_GPU_SIMULATED_H
#define BF_GPU_SIMULATED_H

#include "kernels/corpus.h"

#include "tune/tune.h"

/* An H200 or a thirty-third of it, without the time that starting a kernel takes. */
int gpu_simulated_load(bool is_whole, bf_sim_gpu **gpu, bf_diagnostic *diagnostic);
/* The largest power of two that keeps that many multiprocessors no busier than the scale keeps an
 * H200; at least 1. */
unsigned gpu_simulated_scale(unsigned scale, unsigned sms);
/* Runs the benchmark with the given PTX; what it computes must be right. */
int gpu_simulated_run(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed,
                      const char *ptx, const bf_trial_options *options, bf_trial *trial,
                      bf_diagnostic *diagnostic);

#endif
