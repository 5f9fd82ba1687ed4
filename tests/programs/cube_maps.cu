// Cube maps with and without layers, mipmaps by level and by gradient, gathered texels, views, and questions about objects.
#include "check.h"

#include <cmath>

enum { N = 8, LAYERS = 2, LEVELS = 4 };
typedef cudaTextureObject_t texture_t;

static cudaTextureDesc sampler(cudaTextureFilterMode filter, cudaTextureFilterMode levels) {
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
  how.filterMode = filter;
  how.normalizedCoords = 1;
  how.mipmapFilterMode = levels;
  how.maxMipmapLevelClamp = LEVELS - 1;
  return how;
}

// The direction of a texel of a face.
__host__ __device__ static float3 direction(int face, int x, int y) {
  float u = (x + 0.5f) / N * 2 - 1, v = (y + 0.5f) / N * 2 - 1;
  switch (face) {
  case 0: return make_float3(1, -v, -u);
  case 1: return make_float3(-1, -v, u);
  case 2: return make_float3(u, 1, v);
  case 3: return make_float3(u, -1, -v);
  case 4: return make_float3(u, -v, 1);
  default: return make_float3(-u, -v, -1);
  }
}

__global__ void read_cube(texture_t texture, float *out, int layers) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  float3 d = direction(z % 6, x, y);
  out[(z * N + y) * N + x] = layers == 1 ? texCubemap<float>(texture, d.x, d.y, d.z)
                                         : texCubemapLayered<float>(texture, d.x, d.y, d.z, z / 6);
}

__global__ void add_to_face(cudaSurfaceObject_t surface, int face) {
  float value;
  surfCubemapread(&value, surface, threadIdx.x * 4, threadIdx.y, face);
  surfCubemapwrite(value + 1000, surface, threadIdx.x * 4, threadIdx.y, face);
}

static cudaArray_t fill(cudaArray_t array, int width, int depth, float first) {
  cudaMemcpy3DParms copy = {};
  float *host = (float *)malloc(sizeof(float) * width * width * depth);
  for (int i = 0; i < width * width * depth; i++)
    host[i] = first + i;
  copy.srcPtr = make_cudaPitchedPtr(host, width * sizeof(float), width, width);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, width, depth);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  free(host);
  return array;
}

static void cubes(int layers) {
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  unsigned flags = cudaArrayCubemap | cudaArraySurfaceLoadStore | (layers > 1 ? cudaArrayLayered : 0);
  int count = 6 * layers, wrong = 0;
  CHECK(cudaMalloc3DArray(&array, &floats, make_cudaExtent(N, N, count), flags));
  fill(array, N, count, 0);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  cudaTextureDesc how = sampler(cudaFilterModePoint, cudaFilterModePoint);
  texture_t texture;
  cudaSurfaceObject_t surface;
  float *out, host[N * N * 6 * LAYERS];
  CHECK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  CHECK(cudaCreateSurfaceObject(&surface, &what));
  CHECK(cudaMalloc(&out, sizeof host));
  if (layers == 1)
    add_to_face<<<1, dim3(N, N)>>>(surface, 3);
  read_cube<<<count, dim3(N, N)>>>(texture, out, layers);
  CHECK(cudaMemcpy(host, out, sizeof(float) * N * N * count, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N * N * count; i++)
    wrong += host[i] != i + (layers == 1 && i / (N * N) == 3 ? 1000 : 0);
  printf("cube maps of %d layers: %d wrong\n", layers, wrong);
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

__global__ void read_levels(texture_t sharp, texture_t blended, float *out) {
  float at = 0.5f / N;
  out[0] = tex2DLod<float>(sharp, at, at, 0);
  out[1] = tex2DLod<float>(sharp, at, at, 1);
  out[2] = tex2DLod<float>(sharp, 0.9f, 0.9f, 2);
  out[3] = tex2DLod<float>(sharp, 0.9f, 0.9f, 9); // the last one
  out[4] = tex2DLod<float>(blended, at, at, 0.5f);
  out[5] = tex2DLod<float>(blended, at, at, 2.25f);
  out[6] = tex2DGrad<float>(sharp, at, at, make_float2(2.0f / N, 0), make_float2(0, 1.0f / N));
  out[7] = tex2DGrad<float>(blended, at, at, make_float2(0, 4.0f / N), make_float2(0, 0));
  out[8] = tex2D<float>(sharp, at, at);
}

static texture_t on_levels(cudaMipmappedArray_t mipmap, const cudaTextureDesc &how, const cudaResourceViewDesc *view) {
  cudaResourceDesc what = {};
  texture_t texture;
  what.resType = cudaResourceTypeMipmappedArray;
  what.res.mipmap.mipmap = mipmap;
  CHECK(cudaCreateTextureObject(&texture, &what, &how, view));
  return texture;
}

__global__ void read_view(texture_t texture, float *out) { out[0] = tex2DLod<float>(texture, 0, 0, 0); }

// Level k holds 100 k and the numbers from there on.
static void levels() {
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t mipmap;
  CHECK(cudaMallocMipmappedArray(&mipmap, &floats, make_cudaExtent(N, N, 0), LEVELS, 0));
  for (int k = 0; k < LEVELS; k++) {
    cudaArray_t level;
    cudaExtent extent;
    CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, k));
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
    printf("level %d: %zu x %zu\n", k, extent.width, extent.height);
    fill(level, N >> k, 1, 100 * k);
  }
  texture_t sharp = on_levels(mipmap, sampler(cudaFilterModePoint, cudaFilterModePoint), nullptr);
  texture_t blended = on_levels(mipmap, sampler(cudaFilterModePoint, cudaFilterModeLinear), nullptr);
  float *out, host[9];
  CHECK(cudaMalloc(&out, sizeof host));
  read_levels<<<1, 1>>>(sharp, blended, out);
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (float value : host)
    printf("%g ", value);
  printf("\n");
  cudaResourceViewDesc part = {};
  part.format = cudaResViewFormatFloat1;
  part.width = part.height = N;
  part.firstMipmapLevel = 1;
  part.lastMipmapLevel = 2;
  texture_t viewed = on_levels(mipmap, sampler(cudaFilterModePoint, cudaFilterModePoint), &part);
  read_view<<<1, 1>>>(viewed, out);
  CHECK(cudaMemcpy(host, out, sizeof *host, cudaMemcpyDeviceToHost));
  cudaTextureDesc how;
  cudaResourceDesc what;
  CHECK(cudaGetTextureObjectTextureDesc(&how, blended));
  CHECK(cudaGetTextureObjectResourceDesc(&what, blended));
  printf("view: %g; asked: %s, %s\n", host[0], how.mipmapFilterMode == cudaFilterModeLinear ? "linear" : "point",
         what.res.mipmap.mipmap == mipmap ? "the same" : "another");
  CHECK(cudaDestroyTextureObject(sharp));
  CHECK(cudaDestroyTextureObject(blended));
  CHECK(cudaDestroyTextureObject(viewed));
  CHECK(cudaFreeMipmappedArray(mipmap));
  CHECK(cudaFree(out));
}

__global__ void gather(texture_t texture, float4 *out) {
  out[0] = tex2Dgather<float4>(texture, 2.0f, 3.0f, 0);
  out[1] = tex2Dgather<float4>(texture, 2.0f, 3.0f, 1);
}

static void gathered() {
  cudaChannelFormatDesc pairs = cudaCreateChannelDesc<float2>();
  cudaArray_t array;
  float2 host[N][N];
  float4 *out, got[2];
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++)
      host[y][x] = make_float2(10 * y + x, -x);
  CHECK(cudaMallocArray(&array, &pairs, N, N, cudaArrayTextureGather));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof *host, sizeof *host, N, cudaMemcpyHostToDevice));
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  cudaTextureDesc how = {};
  texture_t texture;
  CHECK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  CHECK(cudaMalloc(&out, sizeof got));
  gather<<<1, 1>>>(texture, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (float4 four : got)
    printf("gathered %g %g %g %g\n", four.x, four.y, four.z, four.w);
}

int main() {
  cubes(1);
  cubes(LAYERS);
  levels();
  gathered();
}
