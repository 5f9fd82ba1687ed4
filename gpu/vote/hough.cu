// Hough transforms, as bankfold_vote_cuda.h has them: the size of the space, the factors of its
// angles, and the choice of the way.
#include "hough.cuh"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
enum { MAX_SIDE = 65536, MAX_RHO = 1 << 20, MAX_ANGLES = 1 << 20 };

// From so many edge pixels in 100 on, CONSTANT is faster than TWO_STEP, whose time grows with them:
// between the 21% and the 50% measured on an H200 (bench/results), where a line through the times
// of TWO_STEP meets the time of CONSTANT.
enum { MANY_EDGES_PERCENT = 37 };

static int set_angles(const bf_hough_options *options, bf_hough_space *space) {
  double low = options->theta_low, high = options->theta_high;
  double step = options->theta_step == 0 ? pi / 180 : options->theta_step;
  if (low == 0 && high == 0) {
    low = options->form == BF_HOUGH_POLAR ? 0 : -pi / 4;
    high = low + pi;
  }
  if (!isfinite(low) || !isfinite(high) || !(low < high) || !isfinite(step) || step <= 0)
    return BF_BAD_INPUT;
  double count = fmax(1, round((high - low) / step));
  if (!(count <= MAX_ANGLES))
    return BF_UNSUPPORTED;
  space->angles = (size_t)count;
  space->theta_low = low;
  space->theta_step = step;
  return BF_OK;
}

static int set_rhos(const bf_pixels *edges, const bf_hough_options *options,
                    bf_hough_space *space) {
  double step = options->rho_step == 0 ? 1 : options->rho_step;
  double x = edges->width ? (double)(edges->width - 1) : 0;
  double y = edges->height ? (double)(edges->height - 1) : 0;
  if (!isfinite(step) || step <= 0)
    return BF_BAD_INPUT;
  double reach = ceil((options->form == BF_HOUGH_POLAR ? hypot(x, y) : x + y) / step);
  if (!(reach <= MAX_RHO))
    return BF_UNSUPPORTED;
  space->rho_zero = (size_t)reach;
  space->rhos = 2 * space->rho_zero + 1;
  space->rho_step = step;
  return BF_OK;
}

extern "C" int bf_cuda_hough_shape(const bf_pixels *edges, const bf_hough_options *options,
                                   bf_hough_space *space) {
  if (!edges || !options || !space)
    return BF_BAD_INPUT;
  *space = {};
  space->form = options->form;
  if (options->form != BF_HOUGH_POLAR && options->form != BF_HOUGH_CARTESIAN)
    return BF_BAD_INPUT;
  if (edges->type != BF_PIXEL_U8 || edges->channels > 1)
    return BF_BAD_INPUT;
  if (edges->width > MAX_SIDE || edges->height > MAX_SIDE)
    return BF_UNSUPPORTED;
  int error = set_angles(options, space);
  return error ? error : set_rhos(edges, options, space);
}

// The factors of x and y at an angle, as bf_hough_factors has them.
static Angle make_angle(const bf_hough_space &space, size_t number) {
  double theta = space.theta_low + (double)number * space.theta_step;
  double c = cos(theta), s = sin(theta), x_factor = c, y_factor = s;
  if (space.form == BF_HOUGH_CARTESIAN) {
    bool shallow = fabs(c) >= fabs(s);
    x_factor = shallow ? -s / c : 1;
    y_factor = shallow ? 1 : -c / s;
  }
  return {(float)(x_factor / space.rho_step), (float)(y_factor / space.rho_step)};
}

// Factors of all angles go to the device; the host's copy is read when this returns.
static int copy_angles(const bf_hough_space &space, void *to, cudaStream_t stream) {
  Angle *angle = (Angle *)malloc(space.angles * sizeof *angle);
  if (!angle)
    return BF_NO_MEMORY;
  for (size_t i = 0; i < space.angles; i++)
    angle[i] = make_angle(space, i);
  cudaError_t error =
      cudaMemcpyAsync(to, angle, space.angles * sizeof *angle, cudaMemcpyHostToDevice, stream);
  free(angle);
  return error == cudaSuccess ? BF_OK : BF_IO;
}

static int make_edges(const bf_pixels *from, bool weighted, Image *edges) {
  *edges = {(const unsigned char *)from->data,
            from->stride_bytes ? from->stride_bytes : from->width,
            from->width,
            from->height,
            1,
            0,
            from->mask,
            from->mask_stride_bytes ? from->mask_stride_bytes : from->width};
  if (edges->width == 0 || edges->height == 0)
    edges->width = edges->height = 0;
  if (edges->stride_bytes < edges->width ||
      (edges->mask && edges->mask_stride_bytes < edges->width) || (!edges->data && edges->width))
    return BF_BAD_INPUT;
  // All pixels could vote for one bin.
  return edges->width * edges->height * (weighted ? 255 : 1) > UINT32_MAX ? BF_UNSUPPORTED : BF_OK;
}

// Whether rows and columns are only shifted, for CONSTANT.
static bool can_shift(const bf_hough_space &space, bool weighted) {
  return space.form == BF_HOUGH_CARTESIAN && space.rho_step == 1 && !weighted;
}

// Two angles per block where they fit, and slices that make it one block per SM: the best over
// 10%, 21% and 50% edges together on an H200 (bench/results).
static void fill_two_step(const Hough &hough, const Device &device, bf_cuda_hough_choice *choice) {
  size_t line_bytes = ((size_t)hough.rhos + 1) * choice->copies * sizeof(unsigned) + 16;
  if (!choice->angles) {
    choice->angles = 2;
    while (choice->angles > 1 && line_bytes * choice->angles > (size_t)device.shared_limit / 2)
      choice->angles /= 2;
  }
  unsigned groups = (hough.angles + choice->angles - 1) / choice->angles;
  if (!choice->slices)
    choice->slices = (unsigned)device.sms > groups ? device.sms / groups : 1;
  if (choice->method == BF_CUDA_HOUGH_BEST)
    choice->method = line_bytes * choice->angles <= (size_t)device.shared_limit
                         ? BF_CUDA_HOUGH_TWO_STEP
                         : BF_CUDA_HOUGH_GLOBAL;
}

static int complete(const bf_hough_space &space, const Hough &hough, const Device &device,
                    bf_cuda_hough_choice *choice) {
  if (choice->method == BF_CUDA_HOUGH_BEST && choice->edge_percent >= MANY_EDGES_PERCENT &&
      can_shift(space, hough.weighted))
    choice->method = BF_CUDA_HOUGH_CONSTANT;
  if (!choice->copies)
    choice->copies = 1;
  if (!choice->threads)
    choice->threads = choice->method == BF_CUDA_HOUGH_GLOBAL ? 256 : 1024;
  fill_two_step(hough, device, choice);
  unsigned angles = choice->angles;
  if (choice->copies > 8 || choice->threads % WARP || choice->threads > 1024 ||
      choice->layout >= BF_CUDA_HASHED || angles > 8 || (angles & (angles - 1)) ||
      choice->slices > 4096 || choice->edge_percent > 100 ||
      choice->method > BF_CUDA_HOUGH_CONSTANT)
    return BF_BAD_INPUT;
  if (choice->method == BF_CUDA_HOUGH_CONSTANT && !can_shift(space, hough.weighted))
    return BF_UNSUPPORTED;
  return BF_OK;
}

static size_t scratch_bytes(const Hough &hough, const bf_cuda_hough_choice &choice) {
  switch (choice.method) {
  case BF_CUDA_HOUGH_GLOBAL:
    return hough_global_bytes(hough, choice);
  case BF_CUDA_HOUGH_TWO_STEP:
    return hough_two_step_bytes(hough);
  default:
    return hough_constant_bytes(hough);
  }
}

static int run(const Hough &hough, const bf_cuda_hough_choice &choice, void *scratch,
               const Device &device, cudaStream_t stream) {
  switch (choice.method) {
  case BF_CUDA_HOUGH_GLOBAL:
    return hough_global(hough, choice, scratch, device, stream);
  case BF_CUDA_HOUGH_TWO_STEP:
    return hough_two_step(hough, choice, scratch, device, stream);
  default:
    return hough_constant(hough, scratch, device, stream);
  }
}

extern "C" int bf_cuda_hough_vote(void *workspace, size_t *workspace_bytes, const bf_pixels *edges,
                                  const bf_hough_options *options,
                                  const bf_cuda_hough_choice *wanted, uint32_t *votes,
                                  cudaStream_t stream) {
  bf_hough_space space;
  Device device;
  Hough hough = {};
  bf_cuda_hough_choice choice = {};
  if (wanted)
    choice = *wanted;
  int error = bf_cuda_hough_shape(edges, options, &space);
  if (!error)
    error = make_edges(edges, options->weighted, &hough.edges);
  if (!error)
    error = vote_device(&device);
  if (error)
    return error;
  hough.angles = (unsigned)space.angles;
  hough.rhos = (unsigned)space.rhos;
  hough.rho_zero = (unsigned)space.rho_zero;
  hough.weighted = options->weighted;
  hough.votes = votes;
  error = complete(space, hough, device, &choice);
  if (error || !workspace_bytes)
    return error ? error : BF_BAD_INPUT;
  size_t angle_bytes = (space.angles * sizeof(Angle) + 255) / 256 * 256;
  size_t needed = angle_bytes + scratch_bytes(hough, choice);
  if (!workspace) {
    *workspace_bytes = needed;
    return BF_OK;
  }
  if (*workspace_bytes < needed || !votes)
    return BF_BAD_INPUT;
  hough.angle = (const Angle *)workspace;
  error = copy_angles(space, workspace, stream);
  return error ? error : run(hough, choice, (char *)workspace + angle_bytes, device, stream);
}
