// DXT1-style compression: every 4 x 4 pixels become two colours of 16 bits and 16 choices of 2 bits
// between these and two colours in between. A block of 64 threads tries all pairs of the 16 colours
// of a tile as end points and keeps the best, in integers, so that the result is exact.
enum { THREADS = 64, PIXELS = 16, PAIRS = PIXELS * PIXELS };

// A colour, 8 bits a channel, rounded down to 5, 6 and 5 bits and back.
__device__ unsigned to_565(int red, int green, int blue) {
  return red >> 3 << 11 | green >> 2 << 5 | blue >> 3;
}

__device__ int red_of(unsigned colour) { return (colour >> 11) << 3 | colour >> 13; }
__device__ int green_of(unsigned colour) { return (colour >> 5 & 63) << 2 | (colour >> 9 & 3); }
__device__ int blue_of(unsigned colour) { return (colour & 31) << 3 | (colour >> 2 & 7); }

// The squared error of all pixels with the end points first and second, each pixel taking the
// nearest of (3 - k) / 3 first + k / 3 second, k = 0 to 3; the choices go to *choices.
__device__ unsigned try_pair(const int *colours, unsigned first, unsigned second,
                             unsigned *choices) {
  unsigned error = 0, taken = 0;
  for (unsigned pixel = 0; pixel < PIXELS; pixel++) {
    unsigned best = 0xffffffff, choice = 0;
    for (int k = 0; k < 4; k++) {
      int red = ((3 - k) * red_of(first) + k * red_of(second)) / 3 - colours[3 * pixel];
      int green = ((3 - k) * green_of(first) + k * green_of(second)) / 3 - colours[3 * pixel + 1];
      int blue = ((3 - k) * blue_of(first) + k * blue_of(second)) / 3 - colours[3 * pixel + 2];
      unsigned distance = red * red + green * green + blue * blue;
      if (distance < best) {
        best = distance;
        choice = k;
      }
    }
    error += best;
    taken |= choice << 2 * pixel;
  }
  *choices = taken;
  return error;
}

// pixels: red, green and blue bytes, width a multiple of 4. blocks: per tile the two colours (first
// in the low half) and the choices. Of pairs of equal error the lowest number wins.
extern "C" __global__ void dxtc(const unsigned char *pixels, unsigned width, unsigned *blocks) {
  __shared__ int colours[3 * PIXELS];
  __shared__ unsigned errors[THREADS], numbers[THREADS], ends[THREADS], choices[THREADS];
  unsigned t = threadIdx.x;
  if (t < 3 * PIXELS) {
    unsigned pixel = t / 3, y = blockIdx.y * 4 + pixel / 4, x = blockIdx.x * 4 + pixel % 4;
    colours[t] = pixels[(y * width + x) * 3 + t % 3];
  }
  __syncthreads();

  unsigned best = 0xffffffff, number = 0, end = 0, choice = 0;
  for (unsigned pair = t; pair < PAIRS; pair += THREADS) {
    const int *a = &colours[3 * (pair % PIXELS)], *b = &colours[3 * (pair / PIXELS)];
    if (pair % PIXELS > pair / PIXELS)
      continue;
    unsigned first = to_565(a[0], a[1], a[2]), second = to_565(b[0], b[1], b[2]);
    unsigned taken, error = try_pair(colours, first, second, &taken);
    if (error < best) {
      best = error;
      number = pair;
      end = first | second << 16;
      choice = taken;
    }
  }
  errors[t] = best;
  numbers[t] = number;
  ends[t] = end;
  choices[t] = choice;
  for (unsigned distance = THREADS / 2; distance > 0; distance /= 2) {
    __syncthreads();
    unsigned other = t + distance;
    if (t < distance && (errors[other] < errors[t] ||
                         (errors[other] == errors[t] && numbers[other] < numbers[t]))) {
      errors[t] = errors[other];
      numbers[t] = numbers[other];
      ends[t] = ends[other];
      choices[t] = choices[other];
    }
  }
  if (t == 0) {
    unsigned tile = blockIdx.y * gridDim.x + blockIdx.x;
    blocks[2 * tile] = ends[0];
    blocks[2 * tile + 1] = choices[0];
  }
}

// Six products of what colours of a tile differ from their mean, in sixteenths, summed over its
// pixels: red with red, green and blue, green with green and blue, blue with blue. Where the sample
// dxtc of NVIDIA's toolkit looks for the line that fits the colours best, half a warp does this in
// a tree, and lanes have their six products side by side: six words apart they conflict 2 ways in
// 16 banks, and not in 32, of which 16 lanes have one each.
extern "C" __global__ void dxtc_covariance(const unsigned char *pixels, unsigned width, int *sums) {
  __shared__ int colours[3 * PIXELS], products[6 * PIXELS];
  unsigned t = threadIdx.x;
  if (t < 3 * PIXELS) {
    unsigned pixel = t / 3, y = blockIdx.y * 4 + pixel / 4, x = blockIdx.x * 4 + pixel % 4;
    colours[t] = pixels[(y * width + x) * 3 + t % 3];
  }
  __syncthreads();
  if (t < PIXELS) {
    int off[3];
    for (int c = 0; c < 3; c++) {
      off[c] = PIXELS * colours[3 * t + c];
      for (int i = 0; i < PIXELS; i++)
        off[c] -= colours[3 * i + c];
    }
    for (int c = 0, at = 0; c < 3; c++)
      for (int d = c; d < 3; d++, at++)
        products[6 * t + at] = off[c] * off[d];
    for (unsigned distance = PIXELS / 2; distance > 0; distance /= 2) {
      __syncwarp(0xffff);
      if (t < distance)
        for (int i = 0; i < 6; i++)
          products[6 * t + i] += products[6 * (t + distance) + i];
    }
    __syncwarp(0xffff);
    if (t < 6)
      sums[6 * (blockIdx.y * gridDim.x + blockIdx.x) + t] = products[t];
  }
}
