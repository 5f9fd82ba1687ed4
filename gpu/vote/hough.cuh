// What the kernels of Hough transforms share.
#ifndef BF_GPU_HOUGH_CUH
#define BF_GPU_HOUGH_CUH

#include "vote.cuh"

// Factors of x and y at an angle, divided by rho_step.
struct Angle {
  float x_factor, y_factor;
};

struct Hough {
  Image edges;
  const Angle *angle; // on the device
  unsigned angles, rhos, rho_zero;
  bool weighted;
  unsigned *votes;
};

// Adding 1.5 * 2^23 to a float below 2^22 rounds it to the nearest integer, ties to even, and
// leaves the integer in the low bits; these are the bits of zero.
enum { ROUNDER_BITS = 0x4b400000 };

// rho of a point at an angle, rounded so: both products are rounded, then their sum, then to the
// nearest integer.
__device__ inline unsigned rounded_bits(float x, float y, Angle angle) {
  float rho = __fadd_rn(__fmul_rn(x, angle.x_factor), __fmul_rn(y, angle.y_factor));
  return __float_as_uint(__fadd_rn(rho, 12582912.0f));
}

__device__ inline unsigned rho_bin(float x, float y, Angle angle, unsigned rho_zero) {
  return rounded_bits(x, y, angle) - ROUNDER_BITS + rho_zero;
}

// The vote of a pixel: 0 where it is no edge.
__device__ inline unsigned edge_vote(const Hough &hough, uint64_t x, uint64_t y) {
  unsigned value = hough.edges.data[y * hough.edges.stride_bytes + x];
  if (value == 0 || (hough.edges.mask && !hough.edges.mask[y * hough.edges.mask_stride_bytes + x]))
    return 0;
  return hough.weighted ? value : 1;
}

// Memory of the ways, beside the angles; and the ways.
size_t hough_global_bytes(const Hough &hough, const bf_cuda_hough_choice &choice);
int hough_global(const Hough &hough, const bf_cuda_hough_choice &choice, void *scratch,
                 const Device &device, cudaStream_t stream);
size_t hough_two_step_bytes(const Hough &hough);
int hough_two_step(const Hough &hough, const bf_cuda_hough_choice &choice, void *scratch,
                   const Device &device, cudaStream_t stream);
size_t hough_constant_bytes(const Hough &hough);
int hough_constant(const Hough &hough, void *scratch, const Device &device, cudaStream_t stream);

#endif
