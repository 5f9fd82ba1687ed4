/* References of back propagation. */
#ifndef BF_KERNELS_BACKPROP_H
#define BF_KERNELS_BACKPROP_H

#include <stdint.h>

enum { BF_BACKPROP_UNITS = 16 };

/* sums[16]: the products of inputs and their weights, 16 per input, summed up for each unit. */
void bf_backprop_forward(const float *inputs, const float *weights, uint32_t input_count,
                         double *sums);
/* The new weight, and the change that leads to it. */
double bf_backprop_adjust(double weight, double input, double delta, double rate, double momentum,
                          double *change);

#endif
