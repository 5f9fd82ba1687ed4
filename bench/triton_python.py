#!/usr/bin/env python3
"""The Python package on a GPU: Triton, torch.compile and CuPy as they are and through Bankfold, results compared with
PyTorch's (docs/python.md).

    bench/triton_python.py [--wheel FILE] [--output FILE] [NAME...]

Without --wheel the package of the checkout is used, with the library of its build folder. Each case runs plain, then
inside bankfold.triton.watch(optimize=True), then plain again: code of one way must not be taken for the other. NAME: triton, library,
decorator, autotune, inductor, targets, cupy, cuda. The exit status is 1 where a result is wrong or something fails."""
import argparse
import glob
import json
import os
import pathlib
import statistics
import sys
import tempfile
import traceback
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def unpack(wheel):
    """The wheel in a folder that Python imports from, with the modes of its programs."""
    folder = tempfile.mkdtemp(prefix="bankfold-wheel-")
    with zipfile.ZipFile(wheel) as file:
        for info in file.infolist():
            path = file.extract(info, folder)
            os.chmod(path, info.external_attr >> 16 & 0o777 or 0o644)
    return folder


def time_us(torch, launch, launches=30):
    """The median of many launches, each between two events, on a GPU that is busy until both are on their way."""
    times = []
    for i in range(-5, launches):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(500_000)  # cycles
        start.record()
        launch()
        end.record()
        end.synchronize()
        if i >= 0:
            times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times)


class Bench:
    """Cases one by one; one that fails does not end the others."""

    def __init__(self):
        import torch
        import bankfold.triton
        self.torch, self.watch, self.rows = torch, bankfold.triton.watch, []

    def add(self, **row):
        self.rows.append(row)
        print(json.dumps(row), flush=True)

    def attempt(self, name, function, *arguments):
        try:
            function(*arguments)
        except Exception as why:  # pylint: disable=broad-except # what fails is a row
            traceback.print_exc()
            self.add(case=name, failed=f"{type(why).__name__}: {why}"[-300:])

    def three(self, name, make, result, reference, tolerance):
        """Plain, through us, plain again. make() gives what launches; in its own way each time."""
        torch = self.torch

        def once():
            launch = make()
            made = result()
            if made is not None:
                made.fill_(-1)
            out = launch()
            torch.cuda.synchronize()
            made = made if made is not None else out
            wrong = (made.double() - reference().double()).abs().max().item()
            return time_us(torch, launch), wrong

        before, wrong_before = once()
        with self.watch(optimize=True, file=sys.stdout) as seen:
            after, wrong_after = once()
        again, wrong_again = once()
        self.add(case=name, before_us=before, after_us=after, again_us=again, speed=before / after, seen=len(seen.kernels),
                 right=max(wrong_before, wrong_after, wrong_again) <= tolerance, error=wrong_after,
                 conflicts=sum(kernel.conflicts for kernel in seen.kernels),
                 wavefronts=sum(kernel.wavefronts for kernel in seen.kernels),
                 said=[kernel.optimization for kernel in seen.kernels], unread=[k.error for k in seen.kernels if k.error])


# ---- Triton ----


def run_cases(bench, module, prefix):
    for name, (launch, result, reference, tolerance) in module.cases().items():
        bench.attempt(prefix + name, bench.three, prefix + name, lambda launch=launch: launch, lambda result=result: result,
                      reference, tolerance)


def run_triton(bench):
    import triton_kernels
    run_cases(bench, triton_kernels, "triton/")


def run_library(bench):
    """Functions of Triton's standard library."""
    import triton_library
    run_cases(bench, triton_library, "library/")


def run_decorator(bench):
    """A kernel of its own that is decorated, and one that is decorated and tuned."""
    import kernels_of_bench as own
    torch = bench.torch
    x = torch.randn(32768, 1024, device="cuda")
    y = torch.empty_like(x)

    def measure(kernel, **more):
        y.fill_(-1)

        def launch():
            kernel[(32768,)](x, y, 1024, **more)

        launch()
        torch.cuda.synchronize()
        return time_us(torch, launch), bool(torch.equal(y, x.sort(1).values))

    before, right_before = measure(own.sort_plain, num_warps=4)
    after, right_after = measure(own.sort_decorated, num_warps=4)
    bench.add(case="decorator", before_us=before, after_us=after, speed=before / after, right=right_before and right_after,
              said=[kernel.optimization for kernel in own.seen.kernels])


def run_autotune(bench):
    import kernels_of_bench as own
    torch = bench.torch
    x = torch.randn(32768, 1024, device="cuda")
    y = torch.empty_like(x)
    bench.three("autotune", lambda: lambda: own.sort_tuned[(32768,)](x, y, 1024), lambda: y, lambda: x.sort(1).values, 0)
    print("best:", own.sort_tuned.best_config)


KERNELS = '''
import sys
import triton
import triton.language as tl
import bankfold.triton

seen = bankfold.triton.watch(optimize=True, file=sys.stdout)


@triton.jit
def sort_plain(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@seen
@triton.jit
def sort_decorated(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (2, 4, 8)], key=["N"])
@triton.jit
def sort_tuned(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))
'''


def run_targets(bench):
    """Kernels for GPUs that are not here."""
    import kernels_of_bench as own
    import triton
    from triton.backends.compiler import GPUTarget
    for capability in (80, 90, 100, 120):
        def compile_(capability=capability):
            signature = {"x": "*fp32", "y": "*fp32", "N": "constexpr"}
            source = triton.compiler.ASTSource(fn=own.sort_plain, signature=signature, constexprs={(2,): 1024})
            with bench.watch(optimize=True, file=sys.stdout) as seen:
                compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
            kernel = seen.kernels[0]
            if os.environ.get("OUT"):
                pathlib.Path(os.environ["OUT"], f"sort_sm_{capability}.ptx").write_text(compiled.asm["ptx"])
            bench.add(case=f"target sm_{capability}", right=True, conflicts=kernel.conflicts, wavefronts=kernel.wavefronts,
                      said=[kernel.optimization], unread=[kernel.error] if kernel.error else [])
        bench.attempt(f"target sm_{capability}", compile_)


# ---- PyTorch ----


def inductor_cases(torch):
    x = torch.randn(32768, 1024, device="cuda")
    square = torch.randn(8192, 8192, device="cuda")
    batch = torch.randn(64, 256, 56, 56, device="cuda")
    return {
        "sort": (lambda a: a.view(-1, 256).sort(-1).values, x, 0),
        "sort-columns": (lambda a: a[:16384].view(-1, 128, 64).sort(1).values, x, 0),
        "argsort": (lambda a: a.view(-1, 512).argsort(dim=-1, stable=True), x, 0),
        "sort-rows-of-columns": (lambda a: a.view(-1, 64, 256).sort(1).values, x, 0),
        "median-of-columns": (lambda a: a.view(-1, 64, 64).sort(1).values[:, 32], x, 0),
        "topk": (lambda a: a.view(-1, 256).sort(-1, descending=True).values[:, :8], x, 0),
        "cumsum-columns": (lambda a: a.view(-1, 64, 64).cumsum(1), x, 1e-3),
        "max-columns": (lambda a: a.view(-1, 128, 64).amax(1), x, 0),
        "softmax": (lambda a: a.softmax(-1), x, 1e-5),
        "softmax-columns": (lambda a: a.view(-1, 128, 64).softmax(1), x, 1e-5),
        "cumsum": (lambda a: a.view(-1, 1024).cumsum(1), x, 1e-2),
        "layer-norm": (lambda a: torch.nn.functional.layer_norm(a, (1024,)), x, 1e-4),
        "transpose-add": (lambda a: (a.t() + a).contiguous(), square, 1e-6),
        "sum-columns": (lambda a: (a * a).sum(0), square, 1e-1),
        "batch-norm-relu": (lambda a: torch.relu(a - a.mean((0, 2, 3), keepdim=True)), batch, 1e-4),
        "channels-last": (lambda a: (a * 2 + 1).to(memory_format=torch.channels_last), batch, 1e-6),
        "var-mean": (lambda a: torch.stack(torch.var_mean(a, 1)), x, 1e-4),
    }


def run_inductor(bench):
    torch = bench.torch
    for name, (function, x, tolerance) in inductor_cases(torch).items():
        def make(function=function, x=x):
            torch._dynamo.reset()
            compiled = torch.compile(function)
            compiled(x)
            return lambda: compiled(x)
        bench.attempt(name, bench.three, "inductor/" + name, make, lambda: None, lambda function=function, x=x: function(x),
                      tolerance)


# ---- CuPy and cuda-python ----

TRANSPOSE = r'''
extern "C" __global__ void transpose(const float *in, float *out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
template <int N> __global__ void reverse(float *data) {
  __shared__ float row[N];
  row[threadIdx.x] = data[blockIdx.x * N + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * N + threadIdx.x] = row[N - 1 - threadIdx.x];
}
template __global__ void reverse<256>(float *);
'''


def run_cupy(bench):
    import cupy
    import bankfold.cupy
    n = 8192
    x = cupy.random.rand(n, n, dtype=cupy.float32)
    y = cupy.empty_like(x)
    times, right = {}, True
    for way in (False, True):
        module = bankfold.cupy.raw_module(TRANSPOSE, block=(32, 8), optimize=way)
        kernel = module.get_function("transpose")

        def launch(kernel=kernel):
            kernel((n // 32, n // 32), (32, 8), (x, y, cupy.int32(n)))

        y.fill(-1)
        launch()
        right = right and bool((y == x.T).all())
        times[way] = time_us(bench.torch, launch) if bench.torch else 0
        print(module.prepared)
        module.get_function("reverse<256>")
    bench.add(case="cupy/transpose", before_us=times[False], after_us=times[True], speed=times[False] / times[True], right=right)


def run_cuda(bench):
    import bankfold.cuda
    import bankfold.cupy
    bench.torch.zeros(1, device="cuda")  # a context
    module, prepared = bankfold.cuda.load(bankfold.cupy.ptx_of(TRANSPOSE), block=(32, 8))
    driver = bankfold.cuda._driver()
    error, function = driver.cuModuleGetFunction(module, prepared.kernel_name("transpose").encode())
    bench.add(case="cuda-python", right=int(error) == 0 and function is not None)


# ---- All of it ----


def show(rows):
    print("\n| case | before, us | through us | speed | again | right | conflicts of wavefronts | said |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        if "failed" in row:
            print(f"| {row['case']} | failed: {row['failed'][:200]} | | | | no | | |")
            continue
        numbers = [f"{row[key]:.1f}" if key in row else "" for key in ("before_us", "after_us")]
        said = "; ".join(str(text) for text in row.get("said", []))[:160] + "; ".join(row.get("unread", []))[:100]
        print(f"| {row['case']} | {numbers[0]} | {numbers[1]} | {row.get('speed', 0):.3f} | {row.get('again_us', 0):.1f} | "
              f"{'yes' if row['right'] else 'NO'} | {row.get('conflicts', '')} of {row.get('wavefronts', '')} | {said} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", default=(sorted(glob.glob(str(ROOT / "dist" / "*.whl"))) or [None])[-1])
    parser.add_argument("--output")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    sys.path.insert(0, unpack(options.wheel) if options.wheel else str(ROOT / "python"))
    own = tempfile.mkdtemp()
    pathlib.Path(own, "kernels_of_bench.py").write_text(KERNELS)
    sys.path[:0] = [own, str(ROOT / "bench")]
    try:
        import torch
        missing = None if torch.cuda.is_available() else "no GPU"
        import triton
    except ImportError as why:
        missing = str(why)
    if missing:
        print(missing)
        return 77
    import bankfold
    print(f"bankfold {bankfold.__version__} from {bankfold.__file__}, torch {torch.__version__}, triton {triton.__version__}")
    bench = Bench()
    everything = {"triton": run_triton, "library": run_library, "decorator": run_decorator, "autotune": run_autotune,
                  "targets": run_targets, "cupy": run_cupy, "cuda": run_cuda, "inductor": run_inductor}
    for name in options.names or everything:
        bench.attempt(name, everything[name], bench)
    show(bench.rows)
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(bench.rows, indent=1))
    return 1 if any("failed" in row or not row["right"] for row in bench.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
