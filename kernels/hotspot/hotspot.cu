// Temperature of a chip: every step moves a cell towards its neighbours and the surroundings and
// adds the heat of its power. A block of 16 x 16 threads makes STEPS steps at once on a tile that
// overlaps its neighbours by STEPS cells on every side; what lies too near to the rim is thrown
// away.
enum { SIDE = 16, STEPS = 2, KEPT = SIDE - 2 * STEPS };

// The temperature of the tile at (y, x), or that of the centre where this is outside the chip.
__device__ float beside(const float (*tile)[SIDE], int y, int x, bool is_inside, float centre) {
  return is_inside && y >= 0 && y < SIDE && x >= 0 && x < SIDE ? tile[y][x] : centre;
}

// side: cells of the chip in each direction; sideways, to_air: exchange with each neighbour and
// with the surroundings at temperature air; heating: degrees for each unit of power.
extern "C" __global__ void hotspot(const float *temperatures, const float *powers, int side,
                                   float sideways, float to_air, float air, float heating,
                                   float *result) {
  __shared__ float tile[2][SIDE][SIDE];
  __shared__ float power[SIDE][SIDE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = (int)blockIdx.x * KEPT + tx - STEPS, y = (int)blockIdx.y * KEPT + ty - STEPS;
  bool is_cell = x >= 0 && x < side && y >= 0 && y < side;
  tile[0][ty][tx] = is_cell ? temperatures[y * side + x] : 0;
  power[ty][tx] = is_cell ? powers[y * side + x] : 0;
  __syncthreads();
  for (int step = 0; step < STEPS; step++) {
    const float(*old)[SIDE] = tile[step % 2];
    float centre = old[ty][tx];
    float change = beside(old, ty - 1, tx, y > 0, centre) +
                   beside(old, ty + 1, tx, y < side - 1, centre) +
                   beside(old, ty, tx - 1, x > 0, centre) +
                   beside(old, ty, tx + 1, x < side - 1, centre) - 4 * centre;
    tile[(step + 1) % 2][ty][tx] =
        centre + sideways * change + to_air * (air - centre) + heating * power[ty][tx];
    __syncthreads();
  }
  bool is_kept = tx >= STEPS && tx < SIDE - STEPS && ty >= STEPS && ty < SIDE - STEPS;
  if (is_kept && is_cell)
    result[y * side + x] = tile[STEPS % 2][ty][tx];
}
