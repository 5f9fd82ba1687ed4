// Structures are sorted and reduced by functions of the program.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>

struct particle {
  float mass;
  int kind;
};
struct by_mass {
  __host__ __device__ bool operator()(const particle &a, const particle &b) const { return a.mass < b.mass; }
};
struct heavier {
  __host__ __device__ particle operator()(const particle &a, const particle &b) const { return a.mass > b.mass ? a : b; }
};

int main() {
  thrust::host_vector<particle> host(500);
  for (int i = 0; i < 500; i++)
    host[i] = {(float)(next_random() % 100000), i};
  thrust::device_vector<particle> data = host;
  particle heaviest = thrust::reduce(data.begin(), data.end(), particle{-1, -1}, heavier());
  thrust::sort(data.begin(), data.end(), by_mass());
  host = data;
  int wrong = 0;
  for (int i = 1; i < 500; i++)
    wrong += host[i - 1].mass > host[i].mass;
  EXPECT(wrong == 0 && host[499].mass == heaviest.mass);
  return finish();
}
