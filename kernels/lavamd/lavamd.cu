// Forces between particles in boxes: a block computes one box, a thread one of its particles,
// against all particles of the box and of the boxes around it. Particles lie in shared memory as
// structures of four floats, so that a warp reads one member with a stride of four words; padded,
// of five.
//
// volatile keeps the four accesses to a structure apart, as a compiler makes them that does not
// know the alignment; otherwise they become one access of 16 bytes.
enum { PARTICLES = 100 };

// What a box is: the boxes around it, itself included, are neighbours[first .. first + count).
struct Box {
  unsigned first, count;
};

// particles: v = |position|^2 / 2, then x, y, z; forces: energy, then the force.
template <int STRIDE>
__device__ void box_forces(const Box *boxes, const unsigned *neighbours, const float *particles,
                           const float *charges, float alpha, float *forces) {
  __shared__ volatile float mine[PARTICLES * STRIDE];
  __shared__ volatile float other[PARTICLES * STRIDE];
  __shared__ float charge[PARTICLES];
  unsigned t = threadIdx.x;
  Box box = boxes[blockIdx.x];
  if (t < PARTICLES)
    for (unsigned c = 0; c < 4; c++)
      mine[STRIDE * t + c] = particles[(blockIdx.x * PARTICLES + t) * 4 + c];

  float energy = 0, fx = 0, fy = 0, fz = 0;
  for (unsigned n = box.first; n < box.first + box.count; n++) {
    __syncthreads();
    if (t < PARTICLES) {
      unsigned source = neighbours[n] * PARTICLES + t;
      for (unsigned c = 0; c < 4; c++)
        other[STRIDE * t + c] = particles[source * 4 + c];
      charge[t] = charges[source];
    }
    __syncthreads();
    if (t < PARTICLES)
      for (unsigned j = 0; j < PARTICLES; j++) {
        float x = mine[STRIDE * t + 1], y = mine[STRIDE * t + 2], z = mine[STRIDE * t + 3];
        float ox = other[STRIDE * j + 1], oy = other[STRIDE * j + 2], oz = other[STRIDE * j + 3];
        // Half the squared distance.
        float half = mine[STRIDE * t] + other[STRIDE * j] - (x * ox + y * oy + z * oz);
        float potential = charge[j] * expf(-2 * alpha * alpha * half);
        energy += potential;
        fx += 2 * potential * (x - ox);
        fy += 2 * potential * (y - oy);
        fz += 2 * potential * (z - oz);
      }
  }
  if (t < PARTICLES) {
    float *force = &forces[(blockIdx.x * PARTICLES + t) * 4];
    force[0] = energy;
    force[1] = fx;
    force[2] = fy;
    force[3] = fz;
  }
}

extern "C" __global__ void lavamd(const Box *boxes, const unsigned *neighbours,
                                  const float *particles, const float *charges, float alpha,
                                  float *forces) {
  box_forces<4>(boxes, neighbours, particles, charges, alpha, forces);
}

extern "C" __global__ void lavamd_padded(const Box *boxes, const unsigned *neighbours,
                                         const float *particles, const float *charges, float alpha,
                                         float *forces) {
  box_forces<5>(boxes, neighbours, particles, charges, alpha, forces);
}
