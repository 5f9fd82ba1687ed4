// Textures on linear and pitched memory and on arrays, surfaces, layers, and copies of arrays.
#include "check.h"

#include <cmath>

typedef cudaTextureObject_t texture_t;

static cudaTextureDesc sampler(cudaTextureAddressMode outside, cudaTextureFilterMode filter,
                               cudaTextureReadMode read, bool normalised) {
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = outside;
  how.filterMode = filter;
  how.readMode = read;
  how.normalizedCoords = normalised;
  return how;
}

static texture_t on_array(cudaArray_t array, const cudaTextureDesc &how) {
  cudaResourceDesc what = {};
  texture_t texture;
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  CHECK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  return texture;
}

__global__ void fetch(texture_t numbers, texture_t bytes, int *out, int count) {
  int i = (int)threadIdx.x - 2;
  int2 pair = tex1Dfetch<int2>(numbers, i);
  uchar4 four = tex1Dfetch<uchar4>(bytes, i);
  out[threadIdx.x] = pair.x + pair.y + four.x + 256 * four.w;
  (void)count;
}

static void linear() {
  const int count = 60;
  int2 numbers[count], *numbers_on_device;
  uchar4 bytes[count], *bytes_on_device;
  int *out, got[64], wrong = 0;
  for (int i = 0; i < count; i++) {
    numbers[i] = make_int2(i * 7, -i);
    bytes[i] = make_uchar4(i, 1, 2, 255 - i);
  }
  CHECK(cudaMalloc(&numbers_on_device, sizeof numbers));
  CHECK(cudaMalloc(&bytes_on_device, sizeof bytes));
  CHECK(cudaMalloc(&out, sizeof got));
  CHECK(cudaMemcpy(numbers_on_device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(bytes_on_device, bytes, sizeof bytes, cudaMemcpyHostToDevice));
  cudaResourceDesc what = {};
  cudaTextureDesc how = {};
  texture_t texture[2];
  what.resType = cudaResourceTypeLinear;
  what.res.linear.devPtr = numbers_on_device;
  what.res.linear.desc = cudaCreateChannelDesc<int2>();
  what.res.linear.sizeInBytes = sizeof numbers;
  CHECK(cudaCreateTextureObject(&texture[0], &what, &how, nullptr));
  what.res.linear.devPtr = bytes_on_device;
  what.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  what.res.linear.sizeInBytes = sizeof bytes;
  CHECK(cudaCreateTextureObject(&texture[1], &what, &how, nullptr));
  fetch<<<1, 64>>>(texture[0], texture[1], out, count);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int t = 0; t < 64; t++) {
    int i = t - 2;
    int want = i < 0 || i >= count ? 0 : i * 7 - i + i + 256 * (255 - i);
    wrong += got[t] != want;
  }
  printf("linear memory: %d wrong\n", wrong);
  CHECK(cudaDestroyTextureObject(texture[0]));
  CHECK(cudaDestroyTextureObject(texture[1]));
  CHECK(cudaFree(numbers_on_device));
  CHECK(cudaFree(bytes_on_device));
  CHECK(cudaFree(out));
}

__global__ void read_2d(texture_t texture, float *out, float x, float y, float step) {
  out[threadIdx.y * blockDim.x + threadIdx.x] =
      tex2D<float>(texture, x + step * threadIdx.x, y + step * threadIdx.y);
}

static void show(const char *name, texture_t texture, float *out, float x, float y, float step) {
  float got[2][6];
  read_2d<<<1, dim3(6, 2)>>>(texture, out, x, y, step);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("%s:", name);
  for (int i = 0; i < 12; i++)
    printf(" %g", got[i / 6][i % 6]);
  printf("\n");
}

static void planes() {
  const int width = 4, height = 3;
  float image[height][width], back[height][width], *out;
  unsigned char bytes[height][width];
  cudaArray_t array, small;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      image[y][x] = (float)(10 * y + x);
      bytes[y][x] = (unsigned char)(51 * x);
    }
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaChannelFormatDesc narrow = cudaCreateChannelDesc<unsigned char>();
  CHECK(cudaMalloc(&out, 12 * sizeof(float)));
  CHECK(cudaMallocArray(&array, &channel, width, height));
  CHECK(cudaMallocArray(&small, &narrow, width, height));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image, sizeof image[0], sizeof image[0], height,
                            cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DToArray(small, 0, 0, bytes, sizeof bytes[0], sizeof bytes[0], height,
                            cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], height,
                              cudaMemcpyDeviceToHost));
  printf("copied back: %g %g\n", back[0][1], back[2][3]);
  const cudaTextureReadMode plain = cudaReadModeElementType;
  show("clamp", on_array(array, sampler(cudaAddressModeClamp, cudaFilterModePoint, plain, false)),
       out, -1.5f, 0.5f, 1);
  show("border", on_array(array, sampler(cudaAddressModeBorder, cudaFilterModePoint, plain, false)),
       out, -0.5f, 2.5f, 1);
  show("wrap", on_array(array, sampler(cudaAddressModeWrap, cudaFilterModePoint, plain, true)), out,
       -0.125f, 0.5f, 0.25f);
  show("mirror", on_array(array, sampler(cudaAddressModeMirror, cudaFilterModePoint, plain, true)),
       out, -0.375f, 0.5f, 0.25f);
  show("filter", on_array(array, sampler(cudaAddressModeClamp, cudaFilterModeLinear, plain, false)),
       out, 0.25f, 1, 0.5f);
  show("filter at the border",
       on_array(array, sampler(cudaAddressModeBorder, cudaFilterModeLinear, plain, false)), out, 0,
       0.5f, 1);
  show("fractions",
       on_array(small, sampler(cudaAddressModeClamp, cudaFilterModeLinear,
                               cudaReadModeNormalizedFloat, false)),
       out, 0.5f, 0.5f, 0.5f);
  cudaResourceDesc what = {};
  cudaTextureDesc how = sampler(cudaAddressModeClamp, cudaFilterModeLinear, plain, false);
  texture_t texture;
  what.resType = cudaResourceTypeArray;
  what.res.array.array = small;
  printf("filter of integers: %s\n",
         cudaGetErrorName(cudaCreateTextureObject(&texture, &what, &how, nullptr)));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(small));
  CHECK(cudaFree(out));
}

__global__ void fill(cudaSurfaceObject_t surface) {
  surf3Dwrite((float)(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z), surface,
              (int)(threadIdx.x * sizeof(float)), threadIdx.y, threadIdx.z);
}

__global__ void read_3d(texture_t texture, cudaSurfaceObject_t surface, float *out) {
  float x = threadIdx.x + 0.5f;
  float outside, inside;
  surf3Dread(&outside, surface, -4, 0, 0, cudaBoundaryModeZero);
  surf3Dread(&inside, surface, 99 * 4, 1, 1, cudaBoundaryModeClamp);
  out[threadIdx.x] = tex3D<float>(texture, x, 1.5f, 2) + outside + inside;
}

static void boxes() {
  cudaArray_t array;
  cudaResourceDesc what = {};
  cudaSurfaceObject_t surface;
  float *out, got[4];
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&array, &channel, make_cudaExtent(4, 3, 5), cudaArraySurfaceLoadStore));
  CHECK(cudaMalloc(&out, sizeof got));
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  CHECK(cudaCreateSurfaceObject(&surface, &what));
  fill<<<1, dim3(4, 3, 5)>>>(surface);
  texture_t texture = on_array(
      array, sampler(cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false));
  read_3d<<<1, 4>>>(texture, surface, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("box: %g %g %g %g\n", got[0], got[1], got[2], got[3]);
  float back[2][1][2];
  cudaMemcpy3DParms how = {};
  how.srcArray = array;
  how.srcPos = make_cudaPos(1, 2, 3);
  how.dstPtr = make_cudaPitchedPtr(back, sizeof back[0][0], 2, 1);
  how.extent = make_cudaExtent(2, 1, 2);
  how.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&how));
  printf("part of it: %g %g %g %g\n", back[0][0][0], back[0][0][1], back[1][0][0], back[1][0][1]);
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
}

__global__ void read_layers(texture_t texture, short *out) {
  out[threadIdx.x] = tex2DLayered<short>(texture, threadIdx.x % 2 + 0.5f, 0.5f, threadIdx.x / 2);
}

static void layers() {
  short value[3][2] = {{-1, 2}, {-30, 40}, {-500, 600}}, got[6], *out;
  cudaArray_t array;
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<short>();
  CHECK(cudaMalloc3DArray(&array, &channel, make_cudaExtent(2, 1, 3), cudaArrayLayered));
  CHECK(cudaMalloc(&out, sizeof got));
  cudaMemcpy3DParms how = {};
  how.srcPtr = make_cudaPitchedPtr(value, sizeof value[0], 2, 1);
  how.dstArray = array;
  how.extent = make_cudaExtent(2, 1, 3);
  how.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&how));
  read_layers<<<1, 6>>>(on_array(array, sampler(cudaAddressModeClamp, cudaFilterModePoint,
                                                cudaReadModeElementType, false)),
                        out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("layers:");
  for (int i = 0; i < 6; i++)
    printf(" %d", got[i]);
  printf("\n");
  cudaExtent extent;
  unsigned flags;
  CHECK(cudaArrayGetInfo(&channel, &extent, &flags, array));
  printf("array: %d bits, %zu x %zu x %zu, flags %u\n", channel.x, extent.width, extent.height,
         extent.depth, flags);
}

int main() {
  linear();
  planes();
  boxes();
  layers();
  return 0;
}
