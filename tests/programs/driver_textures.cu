// flags: -lcuda
// Arrays of one to three dimensions, copies with them, textures and surfaces, all made by the driver and read by kernels
// of the runtime.
#include "driver.h"

__global__ void read(cudaTextureObject_t texture, float *to, int width) {
  int x = threadIdx.x, y = threadIdx.y;
  to[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}
__global__ void read_scaled(cudaTextureObject_t texture, float *to) {
  to[threadIdx.x] = tex2D<float>(texture, (threadIdx.x + 0.5f) / 16, 0.5f);
}
__global__ void write(cudaSurfaceObject_t surface) {
  surf2Dwrite(100.0f + threadIdx.x, surface, threadIdx.x * 4, threadIdx.y);
}
__global__ void read_line(cudaTextureObject_t texture, int *to) {
  to[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x);
}
__global__ void read_bytes(cudaTextureObject_t texture, int *to) {
  to[threadIdx.x] = tex2D<unsigned char>(texture, threadIdx.x + 0.5f, 1.5f);
}

int main() {
  CUcontext context;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxPushCurrent(context));
  enum { W = 16, H = 8 };
  float host[H][W], back[H][W];
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      host[y][x] = (float)(y * 100 + x);

  CUarray array;
  CUDA_ARRAY_DESCRIPTOR form = {W, H, CU_AD_FORMAT_FLOAT, 1}, seen = {};
  CUDA_ARRAY3D_DESCRIPTOR form_3d = {W, H, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
  OK(cuArray3DCreate(&array, &form_3d));
  OK(cuArrayGetDescriptor(&seen, array));
  printf("array: %s\n", memcmp(&seen, &form, sizeof form) == 0 ? "as asked for" : "another");
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = sizeof host[0];
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = sizeof host[0];
  copy.Height = H;
  OK(cuMemcpy2D(&copy));

  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC how = {};
  how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
  how.filterMode = CU_TR_FILTER_MODE_POINT;
  CUtexObject texture;
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  CUdeviceptr out;
  OK(cuMemAlloc(&out, sizeof host));
  read<<<1, dim3(W, H)>>>(texture, (float *)out, W);
  OK(cuMemcpyDtoH(back, out, sizeof back));
  printf("texture: %s\n", memcmp(host, back, sizeof host) == 0 ? "right" : "wrong");
  OK(cuTexObjectDestroy(texture));
  how.flags = CU_TRSF_NORMALIZED_COORDINATES;
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  read_scaled<<<1, 15>>>(texture, (float *)out);
  OK(cuMemcpyDtoH(back, out, sizeof back));
  printf("normalised: %g %g\n", back[0][0], back[0][14]);
  CUDA_TEXTURE_DESC told;
  OK(cuTexObjectGetTextureDesc(&told, texture));
  printf("told: %s\n", told.filterMode == CU_TR_FILTER_MODE_LINEAR ? "linear" : "another");
  OK(cuTexObjectDestroy(texture));

  CUsurfObject surface;
  OK(cuSurfObjectCreate(&surface, &resource));
  write<<<1, dim3(W, 2)>>>(surface);
  OK(cuSurfObjectDestroy(surface));
  memset(back, 0, sizeof back);
  CUDA_MEMCPY3D out_copy = {};
  out_copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out_copy.srcArray = array;
  out_copy.srcXInBytes = 8;
  out_copy.srcY = 1;
  out_copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  out_copy.dstHost = back;
  out_copy.dstPitch = sizeof back[0];
  out_copy.dstHeight = H;
  out_copy.WidthInBytes = 8;
  out_copy.Height = 2;
  out_copy.Depth = 1;
  OK(cuMemcpy3D(&out_copy));
  printf("part: %g %g, %g %g\n", back[0][0], back[0][1], back[1][0], back[1][1]);
  OK(cuArrayDestroy(array));

  CUarray line;
  CUDA_ARRAY_DESCRIPTOR line_form = {8, 0, CU_AD_FORMAT_SIGNED_INT32, 1};
  int numbers[8] = {8, 7, 6, 5, 4, 3, 2, 1}, some[8] = {0};
  OK(cuArrayCreate(&line, &line_form));
  OK(cuMemcpyHtoA(line, 0, numbers, sizeof numbers));
  OK(cuMemcpyAtoD(out, line, 4, 16));
  OK(cuMemcpyDtoH(some, out, 16));
  printf("line: %d %d %d %d\n", some[0], some[1], some[2], some[3]);
  OK(cuArrayDestroy(line));

  OK(cuMemcpyHtoD(out, numbers, sizeof numbers));
  memset(&resource, 0, sizeof resource);
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = out;
  resource.res.linear.format = CU_AD_FORMAT_SIGNED_INT32;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = sizeof numbers;
  memset(&how, 0, sizeof how);
  how.flags = CU_TRSF_READ_AS_INTEGER;
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  CUdeviceptr seen_numbers;
  OK(cuMemAlloc(&seen_numbers, sizeof numbers));
  read_line<<<1, 8>>>(texture, (int *)seen_numbers);
  OK(cuMemcpyDtoH(some, seen_numbers, sizeof some));
  printf("linear: %s\n", memcmp(some, numbers, sizeof some) == 0 ? "right" : "wrong");

  size_t pitch;
  CUdeviceptr rows;
  OK(cuMemAllocPitch(&rows, &pitch, 40, 5, 4));
  OK(cuMemsetD2D16(rows, pitch, 0x1234, 20, 5));
  unsigned short element;
  OK(cuMemcpyDtoH(&element, rows + 4 * pitch + 38, 2));
  printf("rows: %#x\n", element);

  // Whole numbers with a filter that blends, as a filter of ffmpeg asks for, at the centres of texels, where filters agree.
  unsigned char bytes[2][32];
  for (int i = 0; i < 64; i++)
    bytes[i / 32][i % 32] = (unsigned char)(i * 37);
  OK(cuMemcpyHtoD(out, bytes, sizeof bytes));
  memset(&resource, 0, sizeof resource);
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D.devPtr = out;
  resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
  resource.res.pitch2D.numChannels = 1;
  resource.res.pitch2D.width = resource.res.pitch2D.pitchInBytes = 32;
  resource.res.pitch2D.height = 2;
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  read_bytes<<<1, 8>>>(texture, (int *)seen_numbers);
  OK(cuMemcpyDtoH(some, seen_numbers, sizeof some));
  bool right = true;
  for (int i = 0; i < 8; i++)
    right = right && some[i] == bytes[1][i];
  printf("bytes: %s\n", right ? "right" : "wrong");
  return 0;
}
