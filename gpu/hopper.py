#!/usr/bin/env python3
"""What wgmma, bulk and tensor copies and other blocks' shared memory cost on the GPU in this machine, as CSV.

A program is written, built and run twice: alone, for cycles, and under Nsight Compute, for counters. Each line of the
result is one launch of one warpgroup, or of a cluster of two blocks: what it did REPEATS times, the cycles between begin
and end, and the counters. tests/data/h200/README.md says what the columns mean. Skipped (status 77) without a Hopper
GPU, nvcc or ncu. Run as: hopper.py [--output FILE]
"""
import csv
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile

REPEATS = 16
SHARED_BYTES = 200 * 1024
COUNTERS = [
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "sm__sass_data_bytes_mem_shared_op_gmma.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__tmain_requests.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_dshared.sum",
    "l1tex__t_requests_pipe_lsu_mem_dshared.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared.sum",
]

# ---- wgmma ----

# Type: PTX names of both operands and the sum, K of one instruction, C type and letter of the registers of the sum.
TYPES = {
    "f16": ("f32.f16.f16", 16, "float", "f"),
    "bf16": ("f32.bf16.bf16", 16, "float", "f"),
    "tf32": ("f32.tf32.tf32", 8, "float", "f"),
    "e4m3": ("f32.e4m3.e4m3", 32, "float", "f"),
    "s8": ("s32.s8.s8", 32, "int", "r"),
}


def wgmma_shapes():
    """Kernels: type, N, A transposed, B transposed, A in registers."""
    for n in (8, 16, 24, 64, 128, 192, 256):
        for b_turned in (0, 1):
            for a_turned, in_registers in ((0, 0), (1, 0), (0, 1)):
                yield "f16", n, a_turned, b_turned, in_registers
    for name in ("bf16", "tf32", "e4m3", "s8"):
        for in_registers in (0, 1):
            yield name, 64, 0, 0, in_registers


def wgmma_kernel(name, n, a_turned, b_turned, in_registers):
    types, k, c_type, letter = TYPES[name]
    count = n // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    left = "{%s}" % ", ".join(f"%{count + 2 + i}" for i in range(4)) if in_registers else f"%{count}"
    last = ["p", "1", "1"] if name != "s8" else ["p"]
    if name in ("f16", "bf16"):
        last += [str(b_turned)] if in_registers else [str(a_turned), str(b_turned)]
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))
    inputs = ['"l"(a)', '"l"(b)'] + ([f'"r"(x[{i}])' for i in range(4)] if in_registers else [])
    inputs.append('"r"(1)')
    place = count + len(inputs) - 1
    return f"""
__global__ void __launch_bounds__(128) wgmma_{name}_{n}_{a_turned}{b_turned}_{in_registers}(
    uint64_t a, uint64_t b, long long *cycles) {{
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t base = (uint32_t)__cvta_generic_to_shared(memory);
  {c_type} d[{count}] = {{}};
  {"uint32_t x[4] = {threadIdx.x, 0, 0, 0};" if in_registers else ""}
  a += base >> 4;
  b += base >> 4;
  for (int i = threadIdx.x; i < {SHARED_BYTES} / 4; i += blockDim.x)
    ((uint32_t *)memory)[i] = 0;
  asm volatile("fence.proxy.async;");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < {REPEATS}; i++)
    asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{place}, 0;"
                 "wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{sums}}}, {left}, %{count + 1}, "
                 "{", ".join(last)}; }}" : {outputs} : {", ".join(inputs)});
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  long long end = clock64();
  if (threadIdx.x == 0)
    *cycles = end - begin;
  if (d[0] == ({c_type})12345)
    *cycles = 0;
}}
"""


def descriptor(leading, stride, layout, offset, base):
    """A matrix descriptor: offsets in bytes; layout 0 none, 1, 2, 3: 128, 64, 32 bytes."""
    return (offset >> 4 & 0x3FFF) | (leading >> 4 & 0x3FFF) << 16 | (stride >> 4 & 0x3FFF) << 32 | base << 49 | layout << 62


def wgmma_launches(rng):
    """Rows: kernel, the two descriptors, and their fields."""
    for shape in wgmma_shapes():
        name, n, a_turned, b_turned, in_registers = shape
        fields = []
        for layout in range(4):
            pitch = {0: 128, 1: 1024, 2: 512, 3: 256}[layout]
            fields += [(pitch, pitch * 2, layout, 0, 0), (pitch * 8, pitch, layout, 0, 0)]
            for _ in range(2 if n in (24, 64) else 1):
                fields.append((16 * rng.randrange(1, 200), 16 * rng.randrange(1, 200), layout,
                               16 * rng.randrange(64), rng.choice([0, 0, rng.randrange(8)])))
        for a in fields:
            b = rng.choice(fields) if rng.random() < 0.5 else a
            b = (b[0], b[1], a[2] if rng.random() < 0.8 else b[2], b[3] + 65536, b[4])
            yield f"wgmma_{name}_{n}_{a_turned}{b_turned}_{in_registers}", a, b


# ---- Copies and clusters ----

COPIES = r"""
__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }"
               :: "r"(barrier), "r"(parity) : "memory");
}

/* One thread copies; bytes of all copies arrive at one barrier. */
template <typename COPY> __device__ void timed(uint32_t bytes, long long *cycles, COPY copy) {
  __shared__ __align__(8) uint64_t barrier;
  uint32_t at = (uint32_t)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at));
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" :: "r"(at), "r"(bytes * REPEATS));
    long long begin = clock64();
    for (int i = 0; i < REPEATS; i++)
      copy(at);
    wait(at, 0);
    *cycles = clock64() - begin;
  }
}

__global__ void __launch_bounds__(128) bulk_load(const unsigned char *from, uint32_t bytes, uint32_t offset, long long *cycles) {
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t to = (uint32_t)__cvta_generic_to_shared(memory) + offset;
  timed(bytes, cycles, [=](uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
  });
}

__global__ void __launch_bounds__(128) bulk_store(unsigned char *to, uint32_t bytes, uint32_t offset, long long *cycles) {
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t from = (uint32_t)__cvta_generic_to_shared(memory) + offset;
  if (threadIdx.x == 0) {
    long long begin = clock64();
    for (int i = 0; i < REPEATS; i++)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(from), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    *cycles = clock64() - begin;
  }
}

__global__ void __launch_bounds__(128) tensor_load(const __grid_constant__ CUtensorMap map, uint32_t bytes, long long *cycles) {
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t to = (uint32_t)__cvta_generic_to_shared(memory);
  timed(bytes, cycles, [&](uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(&map), "r"(0), "r"(0), "r"(barrier) : "memory");
  });
}

__global__ void __launch_bounds__(128) tensor_store(const __grid_constant__ CUtensorMap map, uint32_t bytes, long long *cycles) {
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t from = (uint32_t)__cvta_generic_to_shared(memory);
  (void)bytes;
  if (threadIdx.x == 0) {
    long long begin = clock64();
    for (int i = 0; i < REPEATS; i++)
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                   :: "l"(&map), "r"(0), "r"(0), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    *cycles = clock64() - begin;
  }
}

/* One warp of the first block accesses shared memory of the second, lanes stride bytes apart. */
template <int KIND> __global__ void __cluster_dims__(2) __launch_bounds__(32) remote(uint32_t stride, long long *cycles) {
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t own = (uint32_t)__cvta_generic_to_shared(memory) + threadIdx.x * stride, far, value = 0, sum = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(own), "r"(1));
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (blockIdx.x == 0) {
    long long begin = clock64();
    for (int i = 0; i < REPEATS; i++) {
      if (KIND == 0)
        asm volatile("ld.volatile.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(far) : "memory");
      else if (KIND == 1)
        asm volatile("st.volatile.shared::cluster.u32 [%0], %1;" :: "r"(far), "r"(sum) : "memory");
      else
        asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(value) : "r"(far), "r"(1) : "memory");
      sum += value;
    }
    if (threadIdx.x == 0)
      *cycles = clock64() - begin + (sum == 12345);
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
"""

HOST = r"""
#define CHECK(call) do { int error = (int)(call); if (error) { fprintf(stderr, "%s: error %d\n", #call, error); exit(2); } } while (0)

typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                                    const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/* A tensor of 1024 rows of pitch bytes; elements of 1, 2 or 4 bytes; boxes of inner x outer elements. */
static CUtensorMap make_map(void *data, unsigned element, unsigned pitch, unsigned inner, unsigned outer, unsigned swizzle) {
  static encode_function encode;
  if (!encode) {
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found));
  }
  CUtensorMap map;
  cuuint64_t size[2] = {pitch / element, 1024}, strides[1] = {pitch};
  cuuint32_t box[2] = {inner, outer}, steps[2] = {1, 1};
  CUtensorMapDataType type = element == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                             : element == 2 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  CHECK(encode(&map, type, 2, data, size, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

static void launch(const char *name, const unsigned long long *n, unsigned char *data, long long *cycles) {
  void *wgmma = find_wgmma(name);
  void *remotes[] = {(void *)remote<0>, (void *)remote<1>, (void *)remote<2>};
  if (wgmma) {
    void *arguments[] = {(void *)&n[0], (void *)&n[1], &cycles};
    CHECK(cudaFuncSetAttribute(wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    CHECK(cudaLaunchKernel(wgmma, 1, 128, arguments, SHARED_BYTES, 0));
  } else if (!strncmp(name, "remote_", 7)) {
    unsigned stride = (unsigned)n[1];
    void *arguments[] = {&stride, &cycles};
    CHECK(cudaLaunchKernel(remotes[n[0]], 2, 32, arguments, 32 * 1024, 0));
  } else if (!strcmp(name, "bulk_load") || !strcmp(name, "bulk_store")) {
    unsigned bytes = (unsigned)n[0], offset = (unsigned)n[1];
    void *kernel = !strcmp(name, "bulk_load") ? (void *)bulk_load : (void *)bulk_store;
    void *arguments[] = {&data, &bytes, &offset, &cycles};
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    CHECK(cudaLaunchKernel(kernel, 1, 128, arguments, SHARED_BYTES, 0));
  } else {
    unsigned bytes = (unsigned)(n[0] * n[2] * n[3]);
    CUtensorMap map = make_map(data, (unsigned)n[0], (unsigned)n[1], (unsigned)n[2], (unsigned)n[3], (unsigned)n[4]);
    void *kernel = !strcmp(name, "tensor_load") ? (void *)tensor_load : (void *)tensor_store;
    void *arguments[] = {&map, &bytes, &cycles};
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    CHECK(cudaLaunchKernel(kernel, 1, 128, arguments, SHARED_BYTES, 0));
  }
}

/* Lines of standard input: a kernel and five numbers; twice each without ncu, so that code is loaded. Prints cycles. */
int main(int argc, char **argv) {
  char name[64];
  unsigned long long n[5];
  unsigned char *data;
  long long *cycles;
  (void)argv;
  CHECK(cudaMalloc(&data, 64 << 20));
  CHECK(cudaMemset(data, 0, 64 << 20));
  CHECK(cudaMallocManaged(&cycles, sizeof *cycles));
  while (scanf("%63s %llu %llu %llu %llu %llu", name, &n[0], &n[1], &n[2], &n[3], &n[4]) == 6) {
    for (int i = 0; i < (argc > 1 ? 1 : 2); i++) {
      launch(name, n, data, cycles);
      CHECK(cudaDeviceSynchronize());
    }
    printf("%lld\n", *cycles);
  }
}
"""


def copy_launches(rng):
    for bytes_ in (16, 32, 48, 64, 128, 144, 256, 512, 1024, 2048, 4096, 8192):
        for offset in (0, 16, 64, 128):
            yield "bulk_load", (bytes_, offset, 0, 0, 0)
            yield "bulk_store", (bytes_, offset, 0, 0, 0)
    widest = {0: 256, 1: 32, 2: 64, 3: 128}  # bytes of a row of a box, by swizzle mode
    for kind in ("tensor_load", "tensor_store"):
        for element in (1, 2, 4):
            for swizzle, most in widest.items():
                for row_bytes in (16, 32, 64, 128, 256):
                    for rows in (1, 8, 13, 64):
                        if row_bytes <= most and (rng.random() < 0.35 or (element == 2 and rows in (8, 64))):
                            pitch = rng.choice([256, 512, 528, 1024, 4096])
                            yield kind, (element, max(pitch, row_bytes), row_bytes // element, rows, swizzle)
    for kind in range(3):
        for stride in (0, 4, 8, 12, 16, 32, 36, 64, 128, 132, 256, 512, 1000 // 4 * 4):
            yield f"remote_{('ld', 'st', 'atom')[kind]}", (kind, stride, 0, 0, 0)


# ---- Running ----

def all_launches():
    """Name, five numbers for the program, and what the row of the result shows of them."""
    rng = random.Random(20)
    for name, a, b in wgmma_launches(rng):
        yield name, (descriptor(*a), descriptor(*b), 0, 0, 0), list(a) + list(b)
    for name, numbers in copy_launches(rng):
        yield name, numbers, list(numbers) + [""] * 5


def build(folder):
    shapes = list(wgmma_shapes())
    names = [f"wgmma_{t}_{n}_{a}{b}_{r}" for t, n, a, b, r in shapes]
    table = "\n".join(f'  if (!strcmp(name, "{name}")) return (void *){name};' for name in names)
    source = ("#include <cuda.h>\n#include <cuda_runtime.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
              f"#include <string.h>\nenum {{ REPEATS = {REPEATS}, SHARED_BYTES = {SHARED_BYTES} }};\n"
              + "".join(wgmma_kernel(*shape) for shape in shapes) + COPIES
              + f"static void *find_wgmma(const char *name) {{\n{table}\n  return NULL;\n}}\n" + HOST)
    path = os.path.join(folder, "hopper.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    program = os.path.join(folder, "hopper")
    built = subprocess.run(["nvcc", "-gencode", "arch=compute_90a,code=sm_90a", "-O2", "-std=c++17", "-o", program, path],
                           capture_output=True, text=True)
    if built.returncode:
        sys.exit(built.stderr)
    return program


def counters_of(program, lines, count, counters):
    """For each launch of the program, given lines, its counters."""
    text = subprocess.run(["ncu", "--csv", "--page", "raw", "--metrics", ",".join(counters), program, "once"],
                          input=lines, check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in text.splitlines() if line.startswith('"')))))
    rows = [row for row in rows if row["ID"]]  # the first row of all has units
    if len(rows) != count:
        sys.exit(f"ncu shows {len(rows)} launches of {count}")
    return [[row[name].replace(",", "") for name in counters] for row in rows]


def is_hopper():
    if not (shutil.which("nvidia-smi") and shutil.which("nvcc") and shutil.which("ncu")):
        return False
    said = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True)
    return said.returncode == 0 and said.stdout.split()[:1] == ["9.0"]


def main():
    if not is_hopper():
        print("no Hopper GPU, nvcc or ncu")
        sys.exit(77)
    output = sys.argv[sys.argv.index("--output") + 1] if "--output" in sys.argv else None
    launches = list(all_launches())
    lines = "".join(f"{name} {' '.join(map(str, numbers))}\n" for name, numbers, _ in launches)
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        cycles = subprocess.run([program], input=lines, check=True, capture_output=True, text=True).stdout.split()
        counters = counters_of(program, lines, len(launches), COUNTERS)
    with open(output, "w", encoding="utf-8") if output else sys.stdout as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kernel"] + [f"n{i}" for i in range(10)] + ["cycles"] + COUNTERS)
        for (name, _, shown), own, counted in zip(launches, cycles, counters):
            writer.writerow([name] + shown + [own] + counted)


if __name__ == "__main__":
    main()
