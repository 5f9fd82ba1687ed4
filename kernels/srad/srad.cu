// Speckle-reducing anisotropic diffusion of an image, one step in two kernels, in tiles of 16 x 16
// pixels. Neighbours inside the tile are read from shared memory, others from global memory; both
// along rows.
enum { SIDE = 16 };

// The pixel beside (x, y) of the tile at distance (dx, dy); pixels outside the image equal those at
// its edge.
__device__ float beside(const float (*tile)[SIDE], const float *image, int width, int height,
                        int dx, int dy) {
  int x = threadIdx.x + dx, y = threadIdx.y + dy;
  if (x >= 0 && x < SIDE && y >= 0 && y < SIDE)
    return tile[y][x];
  int column = min(max((int)(blockIdx.x * SIDE) + x, 0), width - 1);
  int row = min(max((int)(blockIdx.y * SIDE) + y, 0), height - 1);
  return image[row * width + column];
}

// How freely each pixel exchanges with its neighbours: 1 in even areas, 0 at edges. speckle is the
// squared coefficient of variation of an even area.
extern "C" __global__ void srad_coefficient(const float *image, int width, int height,
                                            float speckle, float *coefficients) {
  __shared__ float tile[SIDE][SIDE];
  int i = (blockIdx.y * SIDE + threadIdx.y) * width + blockIdx.x * SIDE + threadIdx.x;
  float centre = image[i];
  tile[threadIdx.y][threadIdx.x] = centre;
  __syncthreads();
  float north = beside(tile, image, width, height, 0, -1) - centre;
  float south = beside(tile, image, width, height, 0, 1) - centre;
  float west = beside(tile, image, width, height, -1, 0) - centre;
  float east = beside(tile, image, width, height, 1, 0) - centre;
  float gradient = (north * north + south * south + west * west + east * east) / (centre * centre);
  float laplacian = (north + south + west + east) / centre;
  float numerator = gradient / 2 - laplacian * laplacian / 16;
  float denominator = 1 + laplacian / 4;
  float variation = numerator / (denominator * denominator);
  float coefficient = 1 / (1 + (variation - speckle) / (speckle * (1 + speckle)));
  coefficients[i] = fminf(fmaxf(coefficient, 0), 1);
}

// One step of diffusion, with the coefficient of the pixel for flow to the north and west and those
// of the neighbours for flow to the south and east.
extern "C" __global__ void srad_update(const float *image, const float *coefficients, int width,
                                       int height, float step, float *result) {
  __shared__ float pixels[SIDE][SIDE], tile[SIDE][SIDE];
  int i = (blockIdx.y * SIDE + threadIdx.y) * width + blockIdx.x * SIDE + threadIdx.x;
  float centre = image[i], own = coefficients[i];
  pixels[threadIdx.y][threadIdx.x] = centre;
  tile[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  float north = beside(pixels, image, width, height, 0, -1) - centre;
  float south = beside(pixels, image, width, height, 0, 1) - centre;
  float west = beside(pixels, image, width, height, -1, 0) - centre;
  float east = beside(pixels, image, width, height, 1, 0) - centre;
  float flow = own * (north + west) + beside(tile, coefficients, width, height, 0, 1) * south +
               beside(tile, coefficients, width, height, 1, 0) * east;
  result[i] = centre + step / 4 * flow;
}
