#!/usr/bin/env python3
"""What kernels for Hopper take on the GPU in this machine, or on the simulator, as CSV.

Two parts. `micro`: gpu/hopper/micro.cu, cycles of single copies, barriers, products and clusters by clock64. `launch`: every
launch of the programs for Hopper (tests/programs) at two sizes, and of Triton's kernels (tests/data/triton), under Nsight
Compute with flushed caches: the median, least and most cycles of three runs. Programs check their results; a wrong one ends
this with status 1. Skipped (status 77) without a Hopper GPU, nvcc or ncu.

Run as: hopper_times.py [--output FILE] [--only NAME]
        hopper_times.py --compare BANKFOLD [FILE] [--only NAME]   the simulator's cycles beside those of FILE
"""
import concurrent.futures
import csv
import ctypes
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PROGRAMS = os.path.join(ROOT, "tests", "programs")
MEASURED = os.path.join(ROOT, "tests", "data", "h200", "hopper_times.csv")
RUNS = 3
CYCLES = "sm__cycles_elapsed.max"
# Program, and the scales at which it is built.
SCALES = {"hopper_bulk": (1, 8), "hopper_transpose": (1, 8), "hopper_attention": (1, 4), "hopper_convolution": (1, 8),
          "hopper_gemm": (1, 4), "hopper_persistent": (1, 4), "hopper_cluster": (1, 8)}
COLUMNS = ["part", "name", "a", "b", "c", "cycles", "least", "most"]

# ---- wgmma ----

TYPES = {"f16": ("f32.f16.f16", 16, ", 1, 1, 0, 0", ", 1, 1, 0"), "e4m3": ("f32.e4m3.e4m3", 32, ", 1, 1", ", 1, 1"),
         "tf32": ("f32.tf32.tf32", 8, ", 1, 1", ", 1, 1")}
SHAPES = ([("f16", n, r) for n in (8, 16, 32, 64, 128, 256) for r in (0, 1)] +
          [("e4m3", 64, 0), ("e4m3", 128, 0), ("tf32", 128, 0)])
COUNTS = (1, 2, 4, 16)


def wgmma_kernel(name, n, in_registers):
    """A kernel of `count` products of each warp group, one behind the other; the last group loads from shared memory where
    `loads` asks for it."""
    types, k, last, last_registers = TYPES[name]
    sums = ", ".join(f"%{i}" for i in range(n // 2))
    at = n // 2
    left = "{%s}" % ", ".join(f"%{at + 1 + i}" for i in range(4)) if in_registers else f"%{at + 1}"
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(n // 2))
    inputs = '"l"(b), ' + (", ".join(f'"r"(x[{i}])' for i in range(4)) if in_registers else '"l"(a)')
    product = (f'asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{sums}}}, {left}, %{at}, 1'
               f'{last_registers if in_registers else last};" : {outputs} : {inputs});')
    return f"""
template <int COUNT> __global__ void __launch_bounds__(384) wgmma_{name}_{n}_{in_registers}(bool loads, times *to) {{
  extern __shared__ __align__(1024) uint8_t memory[];
  uint32_t base = (uint32_t)__cvta_generic_to_shared(memory);
  float d[{n // 2}] = {{}};
  uint32_t x[4] = {{threadIdx.x, 0, 0, 0}};
  uint64_t a = descriptor(base, 16, 1024, 1), b = descriptor(base + 32768, 16, 1024, 1);
  for (int i = threadIdx.x; i < 16384; i += blockDim.x)
    ((uint32_t *)memory)[i] = 0;
  async_fence();
  __syncthreads();
  uint32_t sum = x[0];
  (void)a;
  unsigned long long begin = clock64();
  if (loads && threadIdx.x / 128 == blockDim.x / 128 - 1) {{
    uint32_t from = base + threadIdx.x % 32 * 4;
#pragma unroll 16
    for (int i = 0; i < 256; i++) {{
      uint32_t value;
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
      sum += value;
    }}
  }} else {{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      {product}
    wgmma_commit();
    wgmma_wait<0>();
  }}
  unsigned long long took = clock64() - begin;
  if (d[0] == 12345 || sum == 0xffffffff)
    took = 0;
  if (threadIdx.x % 128)
    return;
  atomicMax(loads && threadIdx.x / 128 == blockDim.x / 128 - 1 ? &to->first : &to->again, took);
  atomicAdd(&to->count, 1ull);
}}
"""


def write_wgmma(folder):
    with open(os.path.join(folder, "wgmma.h"), "w", encoding="utf-8") as file:
        file.write("struct times {\n  unsigned long long first, again, count;\n};\n")
        for shape in SHAPES:
            file.write(wgmma_kernel(*shape))
        file.write("template <class Show> static void run_wgmma(Show show, times *to) {\n")
        for name, n, in_registers in SHAPES:
            for count in COUNTS:
                kernel = f"wgmma_{name}_{n}_{in_registers}"
                file.write(f"  CHECK(cudaFuncSetAttribute({kernel}<{count}>, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304));\n")
                for groups in (1, 2, 3):
                    file.write(f"  {kernel}<{count}><<<1, {128 * groups}, 98304>>>(false, to);\n"
                               f'  show("wgmma_{name}_{"rs" if in_registers else "ss"}", {n}, {count}, {groups});\n')
                if count == 16:
                    file.write(f"  {kernel}<{count}><<<1, 256, 98304>>>(true, to);\n"
                               f'  show("wgmma_{name}_{"rs" if in_registers else "ss"}_loads", {n}, {count}, 1);\n')
        file.write("}\n")


# ---- Building ----

def compile_one(source, program, flags):
    built = subprocess.run(["nvcc", "-O3", "-std=c++17", "-gencode", "arch=compute_90a,code=[sm_90a,compute_90a]", "-I", PROGRAMS,
                            *flags, "-o", program, source], capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"{source}: {built.stderr[-2000:]}")


def triton_lines():
    """What gpu/hopper/triton.cu is asked to run: file, kernel, kind, type, m, n, k, blocks in x and y, threads, bytes of
    shared memory, boxes of descriptors."""
    with open(os.path.join(ROOT, "gpu", "hopper", "triton.txt"), encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


def unpack(packed, path):
    """Unpacks a file by zstd's library, which is there where its program is not."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    with open(packed, "rb") as file:
        data = file.read()
    room = ctypes.create_string_buffer(1 << 24)
    got = library.ZSTD_decompress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)))
    if got > len(room):
        sys.exit(f"{packed}: cannot be unpacked")
    with open(path, "wb") as file:
        file.write(room.raw[:got])


def build_all(folder, only):
    """Commands by name and scale; the first of each is the program."""
    write_wgmma(folder)
    jobs = [("micro", 0, os.path.join(ROOT, "gpu", "hopper", "micro.cu"), ["-I", folder]),
            ("triton", 0, os.path.join(ROOT, "gpu", "hopper", "triton.cu"), ["-lcuda"])]
    for name, scales in SCALES.items():
        for scale in scales:
            jobs.append((name, scale, os.path.join(PROGRAMS, name + ".cu"), [f"-DSCALE={scale}"]))
    jobs = [job for job in jobs if not only or job[0] == only]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: compile_one(job[2], os.path.join(folder, f"{job[0]}_{job[1]}"), job[3]), jobs))
    commands = {}
    for name, scale, *_ in jobs:
        program = os.path.join(folder, f"{name}_{scale}")
        if name != "triton":
            commands[name, scale] = [program]
            continue
        for index, line in enumerate(triton_lines()):
            path = os.path.join(folder, line[0])
            if not os.path.exists(path):
                unpack(os.path.join(ROOT, "tests", "data", "triton", line[0] + ".zst"), path)
            commands["triton_" + line[0][:-4], index] = [program, path, *line[1:]]
    return commands


def is_right(text):
    """Whether what a program printed says that nothing is wrong."""
    return not re.search(r"\b[1-9]\d* wrong|: wrong|error", text)


# ---- Measuring ----

def plain_name(kernel):
    """The name of a kernel without types, arguments and folders of names."""
    return re.split(r"[<(]", kernel.replace("void ", ""))[0].split("::")[-1].strip()


def run_under_ncu(commands, folder):
    """Lists of launches, name and cycles of each, for RUNS runs of each command: one ncu watches all of them."""
    script, log = os.path.join(folder, "all.sh"), os.path.join(folder, "ncu.csv")
    with open(script, "w", encoding="utf-8") as file:
        for command in commands:
            file.write((" ".join(command) + " >/dev/null\n") * RUNS)
    run = subprocess.run(["ncu", "--target-processes", "all", "--clock-control", "none", "--cache-control", "all", "--csv", "--page",
                          "raw", "--print-units", "base", "--metrics", CYCLES, "--log-file", log, "bash", script],
                         capture_output=True, text=True, check=False)
    with open(log, encoding="utf-8") as file:
        text = file.read()
    if '"ID"' not in text:
        sys.exit(f"ncu failed: {text[-1000:]} {run.stderr[-1000:]}")
    processes = {}
    rows = csv.DictReader(io.StringIO("\n".join(line for line in text.splitlines() if line.startswith('"'))))
    for row in rows:
        if row["ID"]:
            processes.setdefault(row["Process ID"], []).append((plain_name(row["Kernel Name"]),
                                                                int(float(row[CYCLES].replace(",", "")))))
    found = list(processes.values())
    if len(found) != RUNS * len(commands):
        sys.exit(f"ncu shows {len(found)} processes of {RUNS * len(commands)}")
    return [found[i:i + RUNS] for i in range(0, len(found), RUNS)]


def measure(writer, folder, only):
    right = {}
    for (name, scale), command in build_all(folder, only).items():
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode or not is_right(run.stdout):
            sys.stderr.write(f"{name} {scale}: {run.stdout[-500:]} {run.stderr[-500:]}\n")
            if name == "micro":
                sys.exit(1)
        elif name == "micro":
            for row in list(csv.reader(io.StringIO(run.stdout)))[1:]:
                writer.writerow(["micro", *row, ""])
        else:
            right[name, scale] = command
    for (name, scale), runs in zip(right, run_under_ncu(right.values(), folder)):
        for index, launches in enumerate(zip(*runs)):
            cycles = sorted(own for _, own in launches)
            writer.writerow(["launch", name, scale, index, launches[0][0], cycles[RUNS // 2], cycles[0], cycles[-1]])


# ---- Comparing ----

def simulated_launches(bankfold, command):
    """Names and cycles of the launches of a program on the simulator."""
    run = subprocess.run([bankfold, "exec", "--gpu", "h200", "--every-launch", "--json", *command], capture_output=True, text=True,
                         check=False)
    if run.returncode:
        sys.stderr.write(f"{os.path.basename(command[0])}: {run.stderr[-600:]}\n")
        return []
    return [(plain_name(row["name"]), row["cycles"], row["launches"]) for row in json.loads(run.stdout)["kernels"]]


def compare_micro(bankfold, command, rows):
    run = subprocess.run([bankfold, "exec", "--gpu", "h200", "--every-launch", "--quiet", *command, "short"], capture_output=True,
                         text=True, check=False)
    own = {tuple(row[:4]): row[4:] for row in csv.reader(io.StringIO(run.stdout))}
    print("name,a,b,c,measured,simulated,ratio,first measured,first simulated")
    for row in rows:
        found = own.get((row["name"], row["a"], row["b"], row["c"]))
        if found:
            print(f'{row["name"]},{row["a"]},{row["b"]},{row["c"]},{row["cycles"]},{found[0]},'
                  f'{int(found[0]) / int(row["cycles"]):.3f},{row["least"]},{found[1]}')


def compare(bankfold, measured, only):
    """Cycles of each kernel of each program, measured and simulated, and the mean error."""
    with open(measured, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder:
        commands = build_all(folder, only)
        if only == "micro":
            compare_micro(bankfold, commands["micro", 0], [row for row in rows if row["part"] == "micro"])
            return
        errors = []
        print(f'{"program":<24}{"size":>5}  {"kernel":<26}{"launches":>9}{"measured":>10}{"simulated":>10}{"ratio":>8}')
        for (name, scale), command in commands.items():
            sums = {}
            for row in rows:
                if row["part"] == "launch" and row["name"] == name and row["a"] == str(scale):
                    own = sums.setdefault(row["c"], [0, 0])
                    own[0] += int(row["cycles"])
                    own[1] += 1
            found = {}
            for kernel, cycles, launches in simulated_launches(bankfold, command) if sums else []:
                own = found.setdefault(kernel, [0, 0])
                own[0] += cycles
                own[1] += launches
            for kernel, (cycles, launches) in sums.items():
                if kernel not in found or found[kernel][1] != launches:
                    print(f"{name:<24}{scale:>5}  {kernel:<26}{launches:>9}{cycles / launches:>10.0f}  not simulated")
                    continue
                ratio = found[kernel][0] / cycles
                errors.append(abs(ratio - 1))
                print(f"{name:<24}{scale:>5}  {kernel:<26}{launches:>9}{cycles / launches:>10.0f}"
                      f"{found[kernel][0] / launches:>10.0f}{ratio:>8.3f}")
        if errors:
            print(f"mean error {100 * sum(errors) / len(errors):.1f}% of {len(errors)} kernels; "
                  f"{sum(e <= 0.15 for e in errors)} within 15%")


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def main():
    if "--compare" in sys.argv:
        at = sys.argv.index("--compare") + 2
        is_file = len(sys.argv) > at and not sys.argv[at].startswith("--")
        compare(option("--compare"), sys.argv[at] if is_file else MEASURED, option("--only"))
        return 0
    if not (shutil.which("nvidia-smi") and shutil.which("nvcc") and shutil.which("ncu")):
        print("no Hopper GPU, nvcc or ncu")
        return 77
    output = option("--output")
    with open(output, "w", encoding="utf-8") if output else sys.stdout as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        with tempfile.TemporaryDirectory() as folder:
            measure(writer, folder, option("--only"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
