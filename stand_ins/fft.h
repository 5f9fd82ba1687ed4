/* Inside stand_ins: discrete Fourier transforms of any size, in double precision. */
#ifndef STAND_IN_FFT_H
#define STAND_IN_FFT_H

#include "stand_in.h"

/* What transforms of one size need. */
typedef struct fft_plan fft_plan;

/* NULL where memory is exhausted. */
fft_plan *fft_make(int64_t size);
void fft_free(fft_plan *plan);
/* Transforms `size` numbers, step apart, in place: sums of x[j] exp(sign 2 pi i j k / size). False
 * where memory is exhausted. */
bool fft_run(const fft_plan *plan, number *data, int64_t step, int sign);

#endif
