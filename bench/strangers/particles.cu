// Structures in shared memory, as they come: 32 and 12 and 16 bytes each, read member by member.

// gpu: 128
#include "strangers.h"

struct particle {
  int x, y, z, charge, speed[4];
};

struct pixel {
  int red, green, blue;
};

// Every particle meets all of its block: members of 32 bytes, each thread its own and then all the
// same.
__global__ void meet(const particle *in, int *out) {
  __shared__ particle all[128];
  int t = threadIdx.x;
  size_t at = (size_t)blockIdx.x * 128 + t;
  all[t] = in[at];
  __syncthreads();
  particle own = all[t];
  int force = 0;
  for (int i = 0; i < 128; i++) {
    const particle &other = all[(t * 5 + i) % 128];
    int dx = other.x - own.x, dy = other.y - own.y;
    force += other.charge * (dx * dx + dy * dy) + other.speed[i % 4];
  }
  out[at] = force;
}

// A box filter over 16 pixels of 12 bytes, whose stride of three words has no conflicts.
__global__ void blur(const pixel *in, pixel *out) {
  __shared__ pixel line[256 + 16];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * 256;
  line[t] = in[first + t];
  if (t < 16)
    line[256 + t] = in[first + t];
  __syncthreads();
  pixel sum = {0, 0, 0};
  for (int i = 0; i < 16; i++) {
    sum.red += line[t + i].red;
    sum.green += line[t + i].green;
    sum.blue += line[t + i].blue;
  }
  out[first + t] = sum;
}

// Four words each, from which each thread takes one member by an index of its own.
__global__ void pick(const int4 *in, const int *which, int *out) {
  extern __shared__ int4 quads[];
  int t = threadIdx.x;
  size_t at = (size_t)blockIdx.x * 256 + t;
  quads[t] = in[at];
  __syncthreads();
  const int *words = (const int *)quads;
  int sum = 0;
  for (int i = 0; i < 64; i++)
    sum = sum * 3 + words[(t + i) % 256 * 4 + (which[blockIdx.x * 64 + i] & 3)];
  out[at] = sum;
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384;
  std::vector<int> raw = numbers<int>(n * 8, 64), wanted(n);
  std::vector<particle> particles(n);
  std::vector<pixel> pixels(n);
  std::vector<int4> quads(n);
  for (size_t i = 0; i < n; i++) {
    const int *r = &raw[i * 8];
    particles[i] = {r[0], r[1], r[2], r[3], {r[4], r[5], r[6], r[7]}};
    pixels[i] = {r[0], r[1], r[2]};
    quads[i] = make_int4(r[0], r[1], r[2], r[3]);
  }
  int *out = device_array<int>(n), *which = to_device(raw);
  particle *source = to_device(particles);
  p.timed("meet", [&] { meet<<<n / 128, 128>>>(source, out); });
  std::vector<int> got = to_host(out, n);
  size_t wrong = 0;
  for (size_t i = 0; i<n; i += p.scale> 1 ? 61 : 1) {
    int force = 0;
    for (int k = 0; k < 128; k++) {
      const particle &own = particles[i],
                     &other = particles[i / 128 * 128 + (i % 128 * 5 + k) % 128];
      int dx = other.x - own.x, dy = other.y - own.y;
      force += other.charge * (dx * dx + dy * dy) + other.speed[k % 4];
    }
    wrong += got[i] != force;
  }
  p.report("particles", wrong, got);
  pixel *picture = to_device(pixels), *blurred = device_array<pixel>(n);
  p.timed("blur", [&] { blur<<<n / 256, 256>>>(picture, blurred); });
  std::vector<pixel> result = to_host(blurred, n);
  wrong = 0;
  for (size_t i = 0; i < n; i++) {
    int red = 0, blue = 0;
    for (size_t k = 0; k < 16; k++) {
      const pixel &from = pixels[i / 256 * 256 + (i % 256 + k) % 256];
      red += from.red, blue += from.blue;
    }
    wrong += result[i].red != red || result[i].blue != blue;
  }
  p.report("pixels", wrong, result);
  int4 *fours = to_device(quads);
  p.timed("pick", [&] { pick<<<n / 256, 256, 256 * 16>>>(fours, which, out); });
  got = to_host(out, n);
  wrong = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned sum = 0;
    for (size_t k = 0; k < 64; k++)
      sum = sum * 3 + (&quads[i / 256 * 256 + (i % 256 + k) % 256].x)[raw[i / 256 * 64 + k] & 3];
    wrong += (unsigned)got[i] != sum;
  }
  p.report("picked", wrong, got);
  return p.end();
}
