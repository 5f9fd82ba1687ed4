// Textures and surfaces by object, and old caches: ld.global.nc, ld.cs, prefetch.
extern "C" __global__ void fetch(float4 *out, cudaTextureObject_t t, cudaSurfaceObject_t s, const int *in) {
  int x = threadIdx.x;
  float4 v = tex2D<float4>(t, x + .5f, 3.f);
  v.x += tex1Dfetch<float>(t, x) + tex3D<float>(t, 1.f, 2.f, 3.f);
  surf2Dwrite(v.x, s, x * 4, 1);
  v.y += surf2Dread<float>(s, x * 4, 2);
  v.z += __ldg(in + x) + __ldcs(in + x + 1);
  __stwt(&out[x + 1].x, v.y);
  asm volatile("prefetch.global.L2 [%0 + 128];" ::"l"(in));
  out[x] = v;
}
