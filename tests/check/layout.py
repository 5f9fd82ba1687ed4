#!/usr/bin/env python3
"""The code that `bankfold layout --emit` writes is compiled and used: layout.py BUILD. Products of matrices from tma, ptx and cuda
code - every mode, both orders of both operands, f16 and bf16, tiles of several panels and blocks - and tiles that threads write and
read by cuda code, whose wavefronts must be those that `layout` has counted. Under `bankfold exec` where BUILD has its runtime.

layout.py BUILD --sources FOLDER only writes the sources, Triton's too; layout.py --device FOLDER builds and runs them on the GPU of
a machine that needs nothing else, counts wavefronts with ncu where there is one, and compiles Triton's where that is. Status 77
without nvcc."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "layout"
# M, N, K, A's rows are along K, B's are, layouts of A and B, type
PRODUCTS = [(64, 64, 64, 0, 0, "128", "128", "f16"), (128, 256, 128, 0, 0, "128", "64", "f16"), (64, 64, 32, 0, 0, "64", "32", "bf16"),
            (64, 24, 64, 0, 0, "none:16", "32", "f16"), (64, 64, 64, 1, 1, "128", "128", "f16"), (128, 128, 32, 1, 0, "64", "none:16", "bf16"),
            (64, 256, 64, 0, 1, "32", "128", "f16"), (192, 64, 16, 1, 1, "none:16", "none:16", "f16"), (64, 128, 48, 1, 1, "32", "64", "bf16"),
            (64, 96, 64, 0, 0, "128", "64", "tf32"), (128, 32, 16, 0, 0, "32", "none:16", "tf32"),
            (64, 128, 256, 0, 0, "128", "32", "e4m3"), (192, 40, 64, 0, 0, "none:16", "64", "e4m3"),
            (64, 64, 32, 0, 1, "none:16+16", "none:16+48", "f16"), (128, 96, 48, 1, 0, "none:16+112", "none:16+80", "bf16"),
            (64, 32, 64, 0, 0, "none:16+32", "64", "e4m3")]
# tile, type, who writes and reads, layout (none: the best)
THREADS = [("32x32", "f32", "st", "ld@32x1", ""), ("32x32", "f32", "st", "ld@32x1", "pad:4"), ("32x32", "f32", "st", "ld@32x1", "none"),
           ("64x64", "f16", "st:4", "ld:2@32x1", ""), ("64x64", "f16", "st:16", "ldmatrix.x4", ""), ("64x64", "f16", "st:16", "ldmatrix.x4", "pad:16"),
           ("64x64", "f16", "st:16", "ldmatrix.x4", "none"), ("32x48", "f32", "st", "ld@32x1", ""), ("64x32", "f32", "st:16", "ld:4@32x1", ""),
           ("64x32", "f32", "st:8@8x4", "ld:16@32x1", ""), ("128x32", "u8", "st:4", "ld:4@16x2t", ""), ("64x16", "f32", "st@8x4t", "ld@16x2", "")]
# tile, type, write, read, layout
GLUON = [("128x64", "bf16", "tma", "wgmma:B", "128"), ("64x32", "f16", "tma", "wgmma:A", "64"), ("64x16", "f16", "tma", "wgmma:A", "32"),
         ("64x128", "f16", "tma", "wgmma:B.mn", "128"), ("128x64", "f16", "tma", "wgmma:B", "64"), ("32x32", "f32", "st", "ld@32x1", ""), ("64x64", "f16", "cp.async", "ldmatrix.trans", ""),
         ("64x64", "f16", "st:4", "ld:2@32x1", ""), ("64x32", "f32", "st:16", "ld:4@32x1", ""), ("32x32", "f32", "st", "ld@32x1", "pad:4"),
         ("64x64", "f16", "st:16", "ldmatrix.x4", "pad:16"), ("32x32", "f32", "st", "ld@32x1", "none"), ("128x32", "u8", "st:4", "ld:4@16x2t", "")]
C_TYPES = {"f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "u8": "uint8_t", "tf32": "float", "e4m3": "__nv_fp8_e4m3"}
SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1}
SASS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
COUNTERS = {"write": [SASS + "st.sum"], "read": [SASS + "ld.sum", SASS + "ldsm.sum"]}


def emit(build, tile, kind, write, read, layout, form):
    line = [str(build / "bankfold"), "layout", "--tile", tile, "--type", kind, "--write", write, "--read", read, "--emit", form]
    line += ["--layout", layout] if layout else []
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


# ---- Sources: a folder for each case, with a copy of the program ----

def wgmma(n, a_turned, b_turned, kind):
    """The instruction, with a register for each sum. Types of other than 16 bits are K-major only."""
    count = n // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return (f'asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{count + 2}, 0; wgmma.mma_async.sync.aligned.m64n{n}k{32 // SIZES[kind]}.f32.{kind}.{kind} '
            f'{{{sums}}}, %{count}, %{count + 1}, p, 1, 1{f", {a_turned}, {b_turned}" if SIZES[kind] == 2 else ""}; }}" : {outputs} : "l"(left), "l"(right), "r"(1));\n')


def write_case(folder, values, kind, more):
    folder.mkdir(parents=True)
    lines = [f"constexpr int {name} = {value};\n" for name, value in values.items()] + [f"typedef {kind} element;\n"]
    for name, text in {"case.h": "".join(lines + more.pop("lines", [])), **more}.items():
        (folder / name).write_text(text, encoding="ascii")


def write_product(build, folder, case):
    m, n, k, a_turned, b_turned, a_layout, b_layout, kind = case
    tiles = {"a": (f"{k}x{m}" if a_turned else f"{m}x{k}", "wgmma:A", a_turned, a_layout),
             "b": (f"{k}x{n}" if b_turned else f"{n}x{k}", "wgmma:B", b_turned, b_layout)}
    more = {"wgmma.h": wgmma(n, a_turned, b_turned, kind), "program.cu": (HERE / "product.cu").read_text(encoding="utf-8")}
    has_gaps = "+" in a_layout + b_layout  # which tensor copies cannot leave
    values = {"M": m, "N": n, "K": k, "a_turned": a_turned, "b_turned": b_turned}
    for name, (tile, who, turned, layout) in tiles.items():
        forms = ("ptx", "cuda") if has_gaps else ("tma", "ptx", "cuda")
        code = "".join(emit(build, tile, kind, "st:16" if has_gaps else "tma", who + (".mn" if turned else ""), layout, form) for form in forms)
        values[f"{name}_bytes"] = int(re.search(r"(\d+) bytes at a multiple", code)[1])
        more[f"{name}.h"] = code
    write_case(folder, values, C_TYPES[kind], {"lines": ["#define FILLED_BY_THREADS\n"] if has_gaps else [], **more})


def lanes_of(spec, tile, kind, prefix):
    """The constants of a thread map as in st:4@8x4t; without a map lanes go along the rows."""
    size = {"f16": 2, "f32": 4, "u8": 1}[kind]
    found = re.fullmatch(r"(?:ld|st)(?::(\d+))?(?:@(\d+)x(\d+)(t?))?", spec)
    width = int(found[1] or size)
    wide = int(tile.split("x")[1]) * size // width
    across = next(n for n in range(min(wide, 32), 0, -1) if 32 % n == 0 and wide % n == 0)
    rows, columns = (int(found[2]), int(found[3])) if found[2] else (32 // across, across)
    return {f"{prefix}_bytes": width, f"{prefix}_rows": rows, f"{prefix}_columns": columns, f"{prefix}_down": int(bool(found[4]))}


def write_threads(build, folder, case):
    tile, kind, write, read, layout = case
    code = emit(build, tile, kind, write, read, layout, "cuda")
    rows, columns = map(int, tile.split("x"))
    values = {"rows": rows, "columns": columns, "tile_bytes": int(re.search(r"(\d+) bytes at a multiple", code)[1]), **lanes_of(write, tile, kind, "write")}
    is_matrix = read.startswith("ldmatrix")
    values.update({} if is_matrix else lanes_of(read, tile, kind, "read"))
    counts = re.search(r"would do: \S+ (\d+), \S+ (\d+)", code)
    write_case(folder, values, {"f16": "uint16_t", "f32": "uint32_t", "u8": "uint8_t"}[kind],
               {"tile.h": code, "program.cu": (HERE / "threads.cu").read_text(encoding="utf-8"),
                "lines": ["#define READ_MATRICES\n"] if is_matrix else [],
                "expected.json": json.dumps({"write": int(counts[1]), "read": int(counts[2])})})


def write_gluon(build, folder, case):
    """The code, and where each element must lie by the code for CUDA, evaluated here."""
    tile, kind, write, read, layout = case
    rows, columns = map(int, tile.split("x"))
    text = emit(build, tile, kind, write, read, layout, "cuda")
    body = re.search(r"unsigned offset = (.*);\n  return (.*);", text)
    first, last = (part.replace("/", "//") for part in body.groups())
    offsets = []
    for row in range(rows):
        for column in range(columns):
            offset = eval(first, {}, {"row": row, "column": column})  # pylint: disable=eval-used
            offsets.append(eval(last, {}, {"offset": offset}))  # pylint: disable=eval-used
    assert len(set(offsets)) == rows * columns
    name = "_".join([tile, kind, layout or "best", read]).replace(":", "-").replace("@", "-").replace(".", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(emit(build, tile, kind, write, read, layout, "triton"), encoding="ascii")
    (folder / f"{name}.txt").write_text(f"{rows} {columns} {kind}\n", encoding="ascii")
    (folder / f"{name}.offsets").write_text(" ".join(map(str, offsets)) + "\n", encoding="ascii")


def write_sources(build, folder):
    for i, case in enumerate(PRODUCTS):
        write_product(build, folder / f"product{i}", case)
    for i, case in enumerate(THREADS):
        write_threads(build, folder / f"threads{i:02}", case)
    for case in GLUON:
        write_gluon(build, folder / "triton", case)
    shutil.copy(HERE / "gluon.py", folder / "gluon.py")


# ---- Building and running ----

def compile_case(folder):
    program = folder / "program"
    subprocess.run(["nvcc", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-gencode", "arch=compute_90a,code=compute_90a",
                    "--cudart", "shared", "-I", str(folder), "-o", str(program), str(folder / "program.cu"), "-lcuda"],
                   check=True, capture_output=True, text=True)
    return program


def count_on_device(program):
    """Wavefronts of stores and loads, or None without ncu."""
    if not shutil.which("ncu"):
        return None
    said = subprocess.run(["ncu", "--csv", "--page", "raw", "--metrics", ",".join(sum(COUNTERS.values(), [])), str(program)],
                          check=True, capture_output=True, text=True).stdout
    lines = [line for line in said.splitlines() if line.startswith('"')]
    names, values = (line.strip('"').split('","') for line in (lines[0], lines[-1]))
    return {side: sum(int(values[names.index(name)].replace(",", "")) for name in parts) for side, parts in COUNTERS.items()}


def count_emulated(build, program):
    said = subprocess.run([str(build / "bankfold"), "exec", "--json", str(program)], check=True, capture_output=True, text=True)
    return json.JSONDecoder().raw_decode(said.stdout[said.stdout.index("{"):])[0]["kernels"][0]["wavefronts"]


def run_case(folder, build):
    """What is wrong, or nothing. build: emulated; None: on the GPU."""
    program = compile_case(folder)
    line = [str(program)] if build is None else [str(build / "bankfold"), "exec", str(program)]
    ran = subprocess.run(line, check=False, capture_output=True, text=True)
    if not ran.stdout.startswith("right"):
        return "wrong: " + (ran.stdout + ran.stderr)[-1500:]
    wanted = folder / "expected.json"
    if not wanted.exists():
        return "right"
    expected = json.loads(wanted.read_text(encoding="utf-8"))
    counted = count_on_device(program) if build is None else count_emulated(build, program)
    if counted is None:
        return "right, not counted"
    if build is not None:
        expected = expected["write"] + expected["read"]
    return f"right, wavefronts {counted}" if counted == expected else f"wrong: counted {counted}, expected {expected}"


def run_all(folder, build):
    faults = 0
    for case in sorted(path for path in folder.iterdir() if (path / "program.cu").exists()):
        try:
            said = run_case(case, build)
        except subprocess.CalledProcessError as error:
            said = "wrong: " + (error.stdout or "") + (error.stderr or "")
        print(case.name, said, flush=True)
        faults += said.startswith("wrong")
    if build is None:
        faults += subprocess.run([sys.executable, str(folder / "gluon.py"), str(folder / "triton")], check=False).returncode
    return faults != 0


def main():
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if "--device" in sys.argv:
        return run_all(pathlib.Path(sys.argv[-1]), None)
    build = pathlib.Path(sys.argv[1]).resolve()
    if "--sources" in sys.argv:
        write_sources(build, pathlib.Path(sys.argv[-1]))
        return 0
    if not shutil.which("nvcc"):
        return 77
    if not (build / "runtime/libcuda.so.1").exists():
        print("no runtime in the build folder")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        write_sources(build, pathlib.Path(folder))
        return run_all(pathlib.Path(folder), build)


sys.exit(main())
