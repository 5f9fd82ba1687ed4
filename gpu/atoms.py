#!/usr/bin/env python3
"""What wide atomics and accesses to other blocks' shared memory cost on the GPU in this machine, as CSV.

Each row is one launch in which one warp makes one access: atomics of 16, 64 and 128 bits on its own shared memory, whose
values decide how often they try again, or loads, stores and atomics on the shared memory of the other block of a cluster.
tests/data/h200/README.md says what the columns mean. Rows are dealt in turn to two files: look at the first while looking
for a rule, and at the second to judge it. Skipped (status 77) without a Hopper GPU, nvcc or ncu.
--loads: loads of 8 and 16 bytes by some lanes, instead. --stores: stores to the other block.
Run as: atoms.py OUTPUT_FOLDER [--loads | --stores]
"""
import csv
import os
import random
import re
import subprocess
import sys
import tempfile

import hopper

LANES = 32
SHARED_WORDS = 1 << 13  # of 4 bytes, that accesses fall into
WANTED = re.compile(
    r"^(sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared(_op_(ld|st|atom|red))?|"
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared(_op_(ld|st|atom|red))?|l1tex__data_pipe_lsu_wavefronts_mem_dshared\w*|"
    r"l1tex__data_bank_conflicts_pipe_lsu_mem_shared|l1tex__t_output_wavefronts_pipe_lsu_mem_dshared|"
    r"l1tex__t_requests_pipe_lsu_mem_dshared|l1tex__m_xbar2l1tex_read_sectors_mem_dshared)$")

# Name: type of the value, bytes, and the instruction; %0 result, %1 address, %2 operand, %3 what cas compares with.
OWN = {}
for _op in ("exch", "cas", "add", "and", "or", "xor", "min", "max"):
    for _type in {"min": ("u64", "s64"), "max": ("u64", "s64"), "add": ("u64",)}.get(_op, ("b64",)):
        _last = ", %3, %2" if _op == "cas" else ", %2"
        OWN[f"{_op}_{_type}"] = (8, f"atom.shared.{_op}.{_type} %0, [%1]{_last};")
        if _op not in ("exch", "cas"):
            OWN[f"red_{_op}_{_type}"] = (8, f"red.shared.{_op}.{_type} [%1], %2;")
PAIR = "{ .reg .b128 a, b, c; mov.b128 b, {%2, %2}; mov.b128 c, {%3, %3}; "
OWN["exch_b128"] = (16, PAIR + "atom.shared.exch.b128 a, [%1], b; mov.b128 {%0, %0}, a; }")
OWN["cas_b128"] = (16, PAIR + "atom.shared.cas.b128 a, [%1], c, b; mov.b128 {%0, %0}, a; }")
HALF = "{ .reg .b16 a, b, c, d, e, f; mov.b64 {b, d, e, f}, %2; mov.b64 {c, d, e, f}, %3; "
OWN["cas_b16"] = (2, HALF + "atom.shared.cas.b16 a, [%1], c, b; cvt.u64.u16 %0, a; }")
OWN["add_f16"] = (2, HALF + "atom.shared.add.noftz.f16 a, [%1], b; cvt.u64.u16 %0, a; }")
OWN["add_bf16"] = (2, HALF + "atom.shared.add.noftz.bf16 a, [%1], b; cvt.u64.u16 %0, a; }")

OWN["ld_8"] = (8, "ld.volatile.shared.b64 %0, [%1];")
OWN["ld_16"] = (16, "{ .reg .b64 a; ld.volatile.shared.v2.b64 {%0, a}, [%1]; }")

WORDS = "{ .reg .b32 a, b, c, d, e; mov.b64 {b, e}, %2; "
FAR = {
    "none": (4, "mov.b64 %0, %2;"),
    "ld_4": (4, WORDS + "ld.volatile.shared::cluster.b32 a, [%1]; mov.b64 %0, {a, a}; }"),
    "ld_8": (8, "ld.volatile.shared::cluster.b64 %0, [%1];"),
    "ld_16": (16, WORDS + "ld.volatile.shared::cluster.v4.b32 {a, b, c, d}, [%1]; mov.b64 %0, {a, d}; }"),
    "st_4": (4, WORDS + "st.volatile.shared::cluster.b32 [%1], b; }"),
    "st_8": (8, "st.volatile.shared::cluster.b64 [%1], %2;"),
    "st_16": (16, WORDS + "st.volatile.shared::cluster.v4.b32 [%1], {b, e, b, e}; }"),
    "atom_add": (4, WORDS + "atom.shared::cluster.add.u32 a, [%1], b; mov.b64 %0, {a, a}; }"),
    "atom_cas": (4, WORDS + "atom.shared::cluster.cas.b32 a, [%1], e, b; mov.b64 %0, {a, a}; }"),
    "atom_exch": (4, WORDS + "atom.shared::cluster.exch.b32 a, [%1], b; mov.b64 %0, {a, a}; }"),
    "red_add": (4, WORDS + "red.shared::cluster.add.u32 [%1], b; }"),
    "atom_f32": (4, "{ .reg .f32 a, b, c; mov.b64 {b, c}, %2; atom.shared::cluster.add.f32 a, [%1], b; mov.b64 %0, {a, a}; }"),
    "atom_add64": (8, "atom.shared::cluster.add.u64 %0, [%1], %2;"),
}


def kernel(name, code, is_far):
    return f"""
__global__ void {"__cluster_dims__(2)" if is_far else ""} __launch_bounds__(32) {name}(const __grid_constant__ task t, uint64_t *out) {{
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t at = (uint32_t)__cvta_generic_to_shared(memory) + t.address[threadIdx.x];
  uint64_t result = 0;
  for (uint32_t i = threadIdx.x; i < {SHARED_WORDS} / 2; i += 32)
    ((uint64_t *)memory)[i] = begins_as(t, i);
  __syncwarp();
  {'asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(at) : "r"(at));' if is_far else ""}
  {'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");' if is_far else ""}
  if (blockIdx.x == 0 && t.mask >> threadIdx.x & 1)
    asm volatile("{code}" : "+l"(result) : "r"(at), "l"(t.value[threadIdx.x]), "l"(t.other[threadIdx.x]) : "memory");
  {'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");' if is_far else ""}
  out[threadIdx.x] = result;
}}
"""


HEAD = r"""
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(call) do { int error = (int)(call); if (error) { fprintf(stderr, "%s: error %d\n", #call, error); exit(2); } } while (0)
struct task { uint32_t mask, kept_bits; uint32_t address[32]; uint64_t value[32], other[32], seed; };
/* What 8 bytes of shared memory hold before the access. */
__device__ uint64_t begins_as(const task &t, uint64_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ t.seed;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return t.kept_bits ? x >> (64 - t.kept_bits) : 0;
}
"""

MAIN = r"""
int main(void) {
  char name[64];
  task t;
  uint64_t *out;
  CHECK(cudaMalloc(&out, 64 * sizeof *out));
  while (scanf("%63s %u %u %llu", name, &t.mask, &t.kept_bits, (unsigned long long *)&t.seed) == 4) {
    for (int i = 0; i < 32; i++)
      if (scanf("%u", &t.address[i]) != 1) return 3;
    for (int i = 0; i < 64; i++)
      if (scanf("%llu", (unsigned long long *)(i < 32 ? &t.value[i] : &t.other[i - 32])) != 1) return 3;
    void *arguments[] = {&t, &out};
    void *function = find(name);
    CHECK(cudaLaunchKernel(function, strncmp(name, "far_", 4) ? 1 : 2, 32, arguments, SHARED_WORDS * 4, 0));
    CHECK(cudaDeviceSynchronize());
  }
}
"""


def addresses(rng, width):
    """32 byte addresses in one of several shapes."""
    most = SHARED_WORDS * 4 // width
    shape = rng.randrange(6)
    step = rng.choice([0, 1, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 64]) if shape == 0 else 0
    if shape == 0:
        places = [lane * step for lane in range(LANES)]
    elif shape == 1:
        places = [rng.randrange(rng.choice([2, 4, 16, 64])) for _ in range(LANES)]
    elif shape == 2:
        places = [rng.randrange(most) for _ in range(LANES)]
    elif shape == 3:
        shared = rng.randrange(2, LANES)
        places = [0 if lane < shared else lane for lane in range(LANES)]
    elif shape == 4:
        part = rng.choice([2, 4, 8, 16])
        places = [lane // part * rng.choice([1, 16, 17]) for lane in range(LANES)]
    else:
        part = rng.choice([2, 4, 8])
        places = [lane % part * rng.choice([16, 32, 64]) + lane // part for lane in range(LANES)]
    return [place % most * width for place in places]


def values(rng, size_bits):
    kind = rng.randrange(4)
    if kind == 0:
        return [lane + 1 for lane in range(LANES)]
    if kind == 1:
        return [rng.randrange(4) for _ in range(LANES)]
    if kind == 2:
        return [rng.randrange(1 << size_bits) for _ in range(LANES)]
    return [5] * LANES


def load_rows(rng, count):
    """Loads of 8 and 16 bytes by some lanes, most of them such that lanes pair up on the same address."""
    for i in range(count):
        name = ("ld_8", "ld_16")[i % 2]
        width, most = OWN[name][0], rng.choice([4, 16, 64, 1024])
        free = rng.random() < 0.7
        places = [rng.randrange(most) for _ in range(LANES)]
        other = rng.choice([1, 2, 2, 3, 4])
        if free:
            places = [places[lane & ~other] for lane in range(LANES)]
        mask = rng.choice([0xFFFFFFFF, rng.randrange(1, 1 << 32), rng.randrange(1, 1 << 32) & rng.randrange(1, 1 << 32) | 1,
                           1 << rng.randrange(32) | 1 << rng.randrange(32) | 1 << rng.randrange(32)])
        if rng.random() < 0.2:  # one lane of each pair
            places, mask = [rng.randrange(most) for _ in range(LANES)], mask & rng.choice([0x55555555, 0x33333333, 0xAAAAAAAA]) or 1
        yield f"own_{name}", mask, 0, 0, [place * width for place in places], [0] * LANES, [0] * LANES


def store_rows(rng, count):
    """Stores to the other block, of which some lanes may write where others do, or nowhere."""
    for i in range(count):
        name = ("st_4", "st_8", "st_16")[i % 3]
        width = FAR[name][0]
        mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, rng.randrange(1, 1 << 32), rng.randrange(1, 1 << 32) | rng.randrange(1, 1 << 32)])
        at = addresses(rng, width)
        if rng.random() < 0.5:  # neighbours, some of which go elsewhere
            at = [lane * width for lane in range(LANES)]
            for _ in range(rng.randrange(8)):
                at[rng.randrange(LANES)] = rng.randrange(LANES) * width
        yield f"far_{name}", mask, 0, 0, at, [lane + 1 for lane in range(LANES)], [0] * LANES


def rows(rng):
    """Name, mask, bits kept of what memory holds, seed, addresses, values, what cas compares with."""
    for prefix, table, each in (("own", OWN, 24), ("far", FAR, 24)):
        for name, (width, _) in table.items():
            if name.startswith("ld_") and prefix == "own":
                continue
            for _ in range(each if name != "none" else 2):
                mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, rng.randrange(1, 1 << 32), 0xFFFF, 0xFFFF0000])
                size = rng.choice([2, 40, 63])
                yield (f"{prefix}_{name}", mask, rng.choice([0, 2, size]), rng.randrange(1 << 62), addresses(rng, width),
                       values(rng, size), [rng.randrange(3)] * LANES if rng.random() < 0.5 else values(rng, size))


def build(folder):
    names = [("own_" + name, code, False) for name, (_, code) in OWN.items()]
    names += [("far_" + name, code, True) for name, (_, code) in FAR.items()]
    table = "".join(f'  if (!strcmp(name, "{name}")) return (void *){name};\n' for name, _, _ in names)
    path = os.path.join(folder, "atoms.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD + f"enum {{ SHARED_WORDS = {SHARED_WORDS} }};\n" + "".join(kernel(*entry) for entry in names)
                   + f"static void *find(const char *name) {{\n{table}  return NULL;\n}}\n" + MAIN)
    program = os.path.join(folder, "atoms")
    built = subprocess.run(["nvcc", "-gencode", "arch=compute_90a,code=sm_90a", "-O2", "-std=c++17", "-o", program, path],
                           capture_output=True, text=True)
    if built.returncode:
        sys.exit(built.stderr)
    return program


def known_counters():
    """Those of WANTED that this GPU has, and all whose name says that they count other blocks' memory."""
    said = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True).stdout
    names = sorted({line.split()[0] for line in said.splitlines() if line.strip() and "__" in line.split()[0]})
    return [name + ".sum" for name in names if WANTED.match(name)], [name for name in names if "dshared" in name]


def main():
    if not hopper.is_hopper():
        print("no Hopper GPU, nvcc or ncu")
        sys.exit(77)
    output = sys.argv[1]
    if "--loads" in sys.argv:
        tasks = list(load_rows(random.Random(8), 600))
    elif "--stores" in sys.argv:
        tasks = list(store_rows(random.Random(20), 240))
    else:
        tasks = list(rows(random.Random(2020)))
    lines = "".join(" ".join(map(str, [name, mask, bits, seed] + at + value + other)) + "\n"
                    for name, mask, bits, seed, at, value, other in tasks)
    counters, others = known_counters()
    with open(os.path.join(output, "metrics.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(others) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        subprocess.run([program], input=lines, check=True, text=True)
        counted = hopper.counters_of(program, lines, len(tasks), counters)
    files = [open(os.path.join(output, name), "w", encoding="utf-8") for name in ("atoms_seen.csv", "atoms_unseen.csv")]
    writers = [csv.writer(file, lineterminator="\n") for file in files]
    for writer in writers:
        writer.writerow(["kernel"] + counters + ["mask", "kept_bits", "seed", "addresses", "values", "others"])
    for i, (task, sums) in enumerate(zip(tasks, counted)):
        name, mask, bits, seed, at, value, other = task
        texts = [" ".join(map(str, numbers)) for numbers in (at, value, other)]
        writers[i % 2].writerow([name] + sums + [f"{mask:x}", bits, seed] + texts)
    for file in files:
        file.close()


if __name__ == "__main__":
    main()
