// Textures of many forms, read by whole warps and, with the handles of two equal textures in turn, lane by
// lane: both give the same bits, and nearest texels are those of the host. And launches that are repeated with
// a texture see what has changed in it.
#include "check.h"
#include <cmath>
#include <cstring>

enum { WIDTH = 19, HEIGHT = 11, READS = 4096 };

__device__ float4 widen(float v) { return make_float4(v, 0, 0, 0); }
__device__ float4 widen(float2 v) { return make_float4(v.x, v.y, 0, 0); }
__device__ float4 widen(float4 v) { return v; }
__device__ float4 widen(int v) { return make_float4(__int_as_float(v), 0, 0, 0); }
__device__ float4 widen(uchar4 v) { return make_float4(v.x, v.y, v.z, v.w); }

template <typename T>
__global__ void read_all(cudaTextureObject_t first, cudaTextureObject_t second, const float2 *at, float4 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaTextureObject_t texture = threadIdx.x % 2 ? second : first;
  out[i] = widen(tex2D<T>(texture, at[i].x, at[i].y));
}

static unsigned differs(const float4 *a, const float4 *b) {
  unsigned count = 0;
  for (int i = 0; i < READS; i++)
    count += memcmp(&a[i], &b[i], sizeof *a) != 0;
  return count;
}

static cudaTextureObject_t make(cudaArray_t array, int mode, bool filter, bool normalised, cudaTextureReadMode read) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture = {};
  for (int i = 0; i < 3; i++)
    texture.addressMode[i] = (cudaTextureAddressMode)mode;
  texture.filterMode = filter ? cudaFilterModeLinear : cudaFilterModePoint;
  texture.normalizedCoords = normalised;
  texture.readMode = read;
  texture.borderColor[0] = 0.25f;
  cudaTextureObject_t made;
  CHECK(cudaCreateTextureObject(&made, &resource, &texture, NULL));
  return made;
}

// All modes of one type of texels; returns reads that differ between the two ways.
template <typename T, typename Read>
static unsigned compare(const char *name, cudaTextureReadMode read, bool can_filter, float2 *at, float4 *all, float4 *each) {
  static T texel[HEIGHT * WIDTH];
  unsigned state = 7, wrong = 0, forms = 0;
  for (size_t i = 0; i < sizeof texel; i++)
    ((unsigned char *)texel)[i] = i % 4 == 3 && sizeof(T) % 4 == 0 ? 0x3f : next_random(&state);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<T>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &channel, WIDTH, HEIGHT));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, texel, WIDTH * sizeof(T), WIDTH * sizeof(T), HEIGHT, cudaMemcpyHostToDevice));
  for (int form = 0; form < 16; form++) {
    bool filter = form & 8, normalised = form & 4;
    if (filter && !can_filter)
      continue;
    for (int i = 0; i < READS; i++) {
      float x = (int)(next_random(&state) % 4000) / 1000.f - 1.5f, y = (int)(next_random(&state) % 4000) / 1000.f - 1.5f;
      at[i] = normalised ? make_float2(x, y) : make_float2(x * WIDTH, y * HEIGHT);
    }
    cudaTextureObject_t one = make(array, form & 3, filter, normalised, read);
    cudaTextureObject_t two = make(array, form & 3, filter, normalised, read);
    read_all<Read><<<READS / 128, 128>>>(one, one, at, all);
    read_all<Read><<<READS / 128, 128>>>(one, two, at, each);
    CHECK(cudaDeviceSynchronize());
    wrong += differs(all, each);
    forms++;
    CHECK(cudaDestroyTextureObject(one));
    CHECK(cudaDestroyTextureObject(two));
  }
  CHECK(cudaFreeArray(array));
  printf("%s: %u forms, %u reads differ\n", name, forms, wrong);
  return wrong;
}

// The nearest texel with clamped coordinates, against the host; launched again with another content, and again
// with a texture of another form in its place.
static void repeat(float2 *at, float4 *out, int launches) {
  float texel[HEIGHT][WIDTH];
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &channel, WIDTH, HEIGHT));
  for (int round = 0; round < 6; round++) {
    int content = round / 4, mode = round == 5 ? cudaAddressModeBorder : cudaAddressModeClamp, wrong = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
      texel[i / WIDTH][i % WIDTH] = i * (1 + content);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texel, sizeof texel[0], sizeof texel[0], HEIGHT, cudaMemcpyHostToDevice));
    for (int i = 0; i < READS; i++)
      at[i] = make_float2(i % 40 - 9.5f, i / 40 % 30 - 8.5f);
    cudaTextureObject_t texture = make(array, mode, false, false, cudaReadModeElementType);
    for (int again = 0; again < launches; again++)
      read_all<float><<<READS / 128, 128>>>(texture, texture, at, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < READS; i++) {
      int x = floorf(at[i].x), y = floorf(at[i].y);
      bool inside = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
      x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
      y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
      wrong += out[i].x != (round == 5 && !inside ? 0.25f : texel[y][x]);
    }
    printf("round %d: %d wrong\n", round, wrong);
    CHECK(cudaDestroyTextureObject(texture));
  }
  CHECK(cudaFreeArray(array));
}

int main() {
  float2 *at;
  float4 *all, *each;
  CHECK(cudaMallocManaged(&at, READS * sizeof *at));
  CHECK(cudaMallocManaged(&all, READS * sizeof *all));
  CHECK(cudaMallocManaged(&each, READS * sizeof *each));
  compare<float, float>("float", cudaReadModeElementType, true, at, all, each);
  compare<float2, float2>("float2", cudaReadModeElementType, true, at, all, each);
  compare<float4, float4>("float4", cudaReadModeElementType, true, at, all, each);
  compare<int, int>("int", cudaReadModeElementType, false, at, all, each);
  compare<uchar4, uchar4>("uchar4", cudaReadModeElementType, false, at, all, each);
  compare<uchar4, float4>("uchar4 as fractions", cudaReadModeNormalizedFloat, true, at, all, each);
  compare<short2, float2>("short2 as fractions", cudaReadModeNormalizedFloat, true, at, all, each);
  repeat(at, all, 3);
}
