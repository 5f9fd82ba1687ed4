#!/usr/bin/env python3
"""Writes a CUDA source with 220 large kernels, as libraries of matrix products and attention have them: instances of two templates,
with 157 instructions on shared memory each, of which nvcc makes one module of 8 MB.

    bench/large_module.py >large.cu; nvcc -arch=sm_89 -std=c++17 -lineinfo -ptx large.cu; bench/scan_speed.py BUILD FOLDER"""
SOURCE = r'''#include <cuda_fp16.h>
template <int BM, int BN, int BK, int TM, int TN, bool TA> __global__ void __launch_bounds__((BM/TM)*(BN/TN)) gemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BK][BM]; __shared__ float Bs[BK][BN];
    const int threads = (BM / TM) * (BN / TN); int t = threadIdx.x, row = t / (BN / TN) * TM, col = t % (BN / TN) * TN; float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
        for (int i = t; i < BM * BK; i += threads) if (TA) As[i / BM][i % BM] = A[(k0 + i / BM) * M + blockIdx.y * BM + i % BM]; else As[i % BK][i / BK] = A[(blockIdx.y * BM + i / BK) * K + k0 + i % BK];
#pragma unroll
        for (int i = t; i < BK * BN; i += threads) Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + blockIdx.x * BN + i % BN];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++)
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) acc[i][j] += As[k][row + i] * Bs[k][col + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) for (int j = 0; j < TN; j++) if (blockIdx.y * BM + row + i < M) C[(blockIdx.y * BM + row + i) * N + blockIdx.x * BN + col + j] = acc[i][j];
}
template <typename T, int D, int NC, int NW, bool MASK> __global__ void __launch_bounds__(32 * NW) flash(const float *Q, const T *K, const T *V, const T *mask, float *dst, float scale, int ne11, int nb11, int nb21) {
    __shared__ float KQ[NC][32 * NW]; __shared__ T tmp[32 * NW][D / 2 + 1]; __shared__ float Qs[NC][D]; __shared__ float maxs[NC][32]; extern __shared__ float dyn[];
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32, t = threadIdx.x;
    for (int j = ty; j < NC; j += NW) for (int i = tx; i < D; i += 32) Qs[j][i] = Q[(blockIdx.x * NC + j) * D + i] * scale;
    __syncthreads();
    float m[NC], acc[NC];
#pragma unroll
    for (int j = 0; j < NC; j++) { m[j] = -1e30f; acc[j] = 0; }
    for (int k0 = blockIdx.y * 32 * NW; k0 < ne11; k0 += gridDim.y * 32 * NW) {
#pragma unroll 4
        for (int i = 0; i < D / 2; i++) tmp[t][i] = K[(k0 + t) * nb11 + i];
        __syncthreads();
        float s[NC];
#pragma unroll
        for (int j = 0; j < NC; j++) s[j] = 0;
#pragma unroll 8
        for (int i = 0; i < D / 2; i++)
#pragma unroll
            for (int j = 0; j < NC; j++) s[j] += (float)tmp[t][i] * Qs[j][2 * i] + (float)tmp[t][i] * Qs[j][2 * i + 1];
#pragma unroll
        for (int j = 0; j < NC; j++) { if (MASK) s[j] += (float)mask[j * ne11 + k0 + t]; float v = s[j]; for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); if (tx == 0) maxs[j][ty] = v; KQ[j][t] = s[j]; }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < NC; j++) { float v = tx < NW ? maxs[j][tx] : -1e30f; for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); m[j] = v; KQ[j][t] = __expf(KQ[j][t] - v); }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32 * NW; k++) { float v = (float)V[(k0 + k) * nb21 + t]; 
#pragma unroll
            for (int j = 0; j < NC; j++) acc[j] += KQ[j][k] * v; }
        dyn[t * 4 + (k0 & 3)] = acc[0];
        __syncthreads();
    }
    for (int j = 0; j < NC; j++) dst[(blockIdx.x * NC + j) * D + t] = acc[j] + m[j] + dyn[t];
}
'''


def products():
    for bm, bn, bk in ((bm, bn, bk) for bm in (32, 64, 128) for bn in (32, 64, 128) for bk in (8, 16, 32)):
        for tm, tn in ((4, 4), (2, 4), (8, 4)):
            if (bm // tm) * (bn // tn) <= 1024 and (bm + bn) * bk * 4 <= 48 * 1024:
                for turned in ("true", "false"):
                    yield (f"template __global__ void gemm<{bm}, {bn}, {bk}, {tm}, {tn}, {turned}>(int, int, int, const float *, "
                           "const float *, float *);")


def attentions():
    shapes = ((depth, columns, warps) for depth in (64, 128, 256) for columns in (1, 2, 4, 8) for warps in (4, 8))
    for depth, columns, warps in shapes:
        for element, size in (("float", 4), ("__half", 2)):
            bytes_ = columns * 32 * warps * 4 + 32 * warps * (depth // 2 + 1) * size + columns * depth * 4 + columns * 128
            if bytes_ <= 48 * 1024:
                for masked in ("true", "false"):
                    yield (f"template __global__ void flash<{element}, {depth}, {columns}, {warps}, {masked}>(const float *, const {element} *, "
                           f"const {element} *, const {element} *, float *, float, int, int, int);")


print(SOURCE, *products(), *attentions(), sep="\n")
