#!/usr/bin/env python3
"""The code that `bankfold layout --emit` writes is compiled and multiplies matrices: layout.py BUILD [--device]. Every mode,
both orders of both operands, f16 and bf16; tiles of several panels and blocks. Under `bankfold exec` where BUILD has its
runtime, on the GPU of this machine with --device. Status 77 without nvcc."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
DEVICE = "--device" in sys.argv
# M, N, K, A's rows are along K, B's are, layouts of A and B, type
CASES = [(64, 64, 64, 0, 0, "128", "128", "f16"), (128, 256, 128, 0, 0, "128", "64", "f16"), (64, 64, 32, 0, 0, "64", "32", "bf16"),
         (64, 24, 64, 0, 0, "none:16", "32", "f16"), (64, 64, 64, 1, 1, "128", "128", "f16"), (128, 128, 32, 1, 0, "64", "none:16", "bf16"),
         (64, 256, 64, 0, 1, "32", "128", "f16"), (192, 64, 16, 1, 1, "none:16", "none:16", "f16"), (64, 128, 48, 1, 1, "32", "64", "bf16")]


def emit(tile, kind, who, layout, form):
    line = [str(BUILD / "bankfold"), "layout", "--tile", tile, "--type", kind, "--write", "tma", "--read", who, "--layout", layout,
            "--emit", form]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def wgmma(n, a_turned, b_turned, kind):
    """The instruction, with a register for each sum."""
    count = n // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return (f'asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{count + 2}, 0; wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{kind}.{kind} '
            f'{{{sums}}}, %{count}, %{count + 1}, p, 1, 1, {a_turned}, {b_turned}; }}" : {outputs} : "l"(left), "l"(right), "r"(1));\n')


def run_case(folder, case):
    m, n, k, a_turned, b_turned, a_layout, b_layout, kind = case
    tiles = {"a": (f"{k}x{m}" if a_turned else f"{m}x{k}", "wgmma:A", a_turned, a_layout),
             "b": (f"{k}x{n}" if b_turned else f"{n}x{k}", "wgmma:B", b_turned, b_layout)}
    for name, (tile, who, turned, layout) in tiles.items():
        code = [emit(tile, kind, who + (".mn" if turned else ""), layout, form) for form in ("tma", "ptx", "cuda")]
        (folder / f"{name}.h").write_text("".join(code), encoding="ascii")
    (folder / "wgmma.h").write_text(wgmma(n, a_turned, b_turned, kind), encoding="ascii")
    program = folder / "product"
    values = {"M": m, "N": n, "K": k, "a_turned": a_turned, "b_turned": b_turned, "a_bytes": 2 * m * k, "b_bytes": 2 * n * k}
    lines = [f"constexpr int {name} = {value};\n" for name, value in values.items()]
    lines.append(f"typedef {'__half' if kind == 'f16' else '__nv_bfloat16'} element;\n")
    (folder / "case.h").write_text("".join(lines), encoding="ascii")
    subprocess.run(["nvcc", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-gencode", "arch=compute_90a,code=compute_90a",
                    "--cudart", "shared", "-I", str(folder), "-o", str(program), str(ROOT / "tests/check/layout/product.cu"),
                    "-lcuda"], check=True, capture_output=True, text=True)
    line = [str(program)] if DEVICE else [str(BUILD / "bankfold"), "exec", str(program)]
    ran = subprocess.run(line, check=False, capture_output=True, text=True)
    return "" if ran.stdout.startswith("right") else (ran.stdout + ran.stderr)[-1500:]


def main():
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if not shutil.which("nvcc"):
        return 77
    if not DEVICE and not (BUILD / "runtime/libcuda.so.1").exists():
        print("no runtime in the build folder")
        return 77
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            try:
                said = run_case(pathlib.Path(folder), case)
            except subprocess.CalledProcessError as error:
                said = (error.stdout or "") + (error.stderr or "")
            print(*case, "wrong: " + said if said else "right", flush=True)
            faults += bool(said)
    return faults != 0


sys.exit(main())
