#!/usr/bin/env python3
"""Kernels in Triton as tutorials write them. bench/triton_speed.py runs this file once for each way to compile them; it
prints a line of JSON for each kernel: its time, and how far its result is from PyTorch's.

    triton_kernels.py [--once] [NAME...]

With --once kernels are launched once, for counters. The kernel of the case `softmax-columns` is softmax_columns_kernel, and so on.
"""
import json
import statistics
import sys

import torch
import triton
import triton.language as tl

LAUNCHES = 50


@triton.jit
def sort_kernel(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def scan_kernel(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.associative_scan(tl.load(x + at), 0, add))


@triton.jit
def cumsum_columns_kernel(x, y, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * ROWS * N + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def histogram_kernel(x, y, N: tl.constexpr, BINS: tl.constexpr):
    row = tl.program_id(0)
    counts = tl.histogram(tl.load(x + row * N + tl.arange(0, N)), BINS)
    tl.store(y + row * BINS + tl.arange(0, BINS), counts)


@triton.jit
def softmax_kernel(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.load(x + at)
    row = tl.exp(row - tl.max(row, 0))
    tl.store(y + at, row / tl.sum(row, 0))


@triton.jit
def softmax_columns_kernel(x, y, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * ROWS * N + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + at)
    tile = tl.exp(tile - tl.max(tile, 0)[None, :])
    tl.store(y + at, tile / tl.sum(tile, 0)[None, :])


@triton.jit
def transpose_kernel(x, y, n, T: tl.constexpr):
    row, column = tl.program_id(0) * T, tl.program_id(1) * T
    i = tl.arange(0, T)
    tile = tl.load(x + (row + i)[:, None] * n + (column + i)[None, :])
    tl.store(y + (column + i)[:, None] * n + (row + i)[None, :], tl.trans(tile))


@triton.jit
def layer_norm_kernel(x, weight, bias, y, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(x + tl.program_id(0) * N + i)
    row -= tl.sum(row, 0) / N
    row *= tl.rsqrt(tl.sum(row * row, 0) / N + 1e-5)
    tl.store(y + tl.program_id(0) * N + i, row * tl.load(weight + i) + tl.load(bias + i))


@triton.jit
def attention_kernel(q, k, v, y, n, scale, M: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * n * D
    d = tl.arange(0, D)[None, :]
    rows = head + (tl.program_id(0) * M + tl.arange(0, M))[:, None] * D + d
    mine = tl.load(q + rows)
    total = tl.zeros([M, D], tl.float32)
    most = tl.full([M], -1e30, tl.float32)
    weights = tl.zeros([M], tl.float32)
    for start in range(0, n, B):
        at = head + (start + tl.arange(0, B))[:, None] * D + d
        scores = tl.dot(mine, tl.trans(tl.load(k + at))) * scale
        higher = tl.maximum(most, tl.max(scores, 1))
        scores = tl.exp(scores - higher[:, None])
        shrink = tl.exp(most - higher)
        weights = weights * shrink + tl.sum(scores, 1)
        total = total * shrink[:, None] + tl.dot(scores.to(tl.float16), tl.load(v + at))
        most = higher
    tl.store(y + rows, (total / weights[:, None]).to(tl.float16))


def cases():
    """Names -> (what launches the kernel, what it made, what PyTorch makes, tolerance)."""
    torch.manual_seed(1)

    def matrix(rows, columns, **more):
        return torch.randn(rows, columns, device="cuda", **more)

    x = matrix(32768, 1024)
    whole = torch.randint(0, 100, (32768, 1024), device="cuda", dtype=torch.int32)
    y, sums = torch.empty_like(x), torch.empty_like(whole)
    counts = torch.empty(32768, 256, device="cuda", dtype=torch.int32)
    wide, square = matrix(16384, 4096), matrix(8192, 8192)
    wide_out, square_out = torch.empty_like(wide), torch.empty_like(square)
    weight, bias = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
    heads = [torch.randn(64, 1024, 64, device="cuda", dtype=torch.float16) for _ in range(3)]
    seen = torch.empty_like(heads[0])
    binned = whole * 5 // 2

    def histograms():
        keys = binned.long() + 256 * torch.arange(32768, device="cuda")[:, None]
        return torch.bincount(keys.flatten(), minlength=32768 * 256).view(32768, 256).int()

    return {
        "sort": (lambda: sort_kernel[(32768,)](x, y, 1024, num_warps=4), y, lambda: x.sort(1).values, 0),
        "scan": (lambda: scan_kernel[(32768,)](whole, sums, 1024, num_warps=4), sums,
                 lambda: whole.cumsum(1).int(), 0),
        "cumsum-columns": (lambda: cumsum_columns_kernel[(8192,)](whole, sums, 64, 64, num_warps=4), sums,
                           lambda: whole.view(-1, 64, 64).cumsum(1).int().view(whole.shape), 0),
        "histogram": (lambda: histogram_kernel[(32768,)](binned, counts, 1024, 256, num_warps=4), counts, histograms, 0),
        "softmax": (lambda: softmax_kernel[(16384,)](wide, wide_out, 4096, num_warps=8), wide_out,
                    lambda: wide.softmax(1), 1e-5),
        "softmax-columns": (lambda: softmax_columns_kernel[(8192,)](x, y, 64, 64, num_warps=4), y,
                            lambda: x.view(-1, 64, 64).softmax(1).view(x.shape), 1e-5),
        "transpose": (lambda: transpose_kernel[(128, 128)](square, square_out, 8192, 64, num_warps=4), square_out,
                      lambda: square.t(), 0),
        "layer-norm": (lambda: layer_norm_kernel[(16384,)](wide, weight, bias, wide_out, 4096, num_warps=8), wide_out,
                       lambda: torch.nn.functional.layer_norm(wide, (4096,), weight, bias), 1e-3),
        "attention": (lambda: attention_kernel[(8, 64)](*heads, seen, 1024, 0.125, 128, 64, 64, num_warps=8,
                                                        num_stages=1), seen,
                      lambda: torch.nn.functional.scaled_dot_product_attention(*(h[None] for h in heads))[0], 1e-2),
    }


def time_ns(launch):
    """The median of many launches, each between two events. The GPU is kept busy until both are on their way, because a
    launch from Python takes longer than some kernels."""
    times = []
    for i in range(-5, LAUNCHES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(500_000)  # cycles
        start.record()
        launch()
        end.record()
        end.synchronize()
        if i >= 0:
            times.append(start.elapsed_time(end) * 1e6)
    return statistics.median(times)


def main(names):
    """A line of JSON for each kernel."""
    once, names = "--once" in names, [name for name in names if name != "--once"]
    for name, (launch, result, reference, tolerance) in cases().items():
        if names and name not in names:
            continue
        try:  # one kernel that fails does not end the others
            result.fill_(-1)
            compiled = launch()
            torch.cuda.synchronize()
            wrong = (result.double() - reference().double()).abs().max().item()
            told = {"launches": LAUNCHES, "ns": 0 if once else time_ns(launch), "error": wrong, "right": wrong <= tolerance,
                    "shared_bytes": getattr(getattr(compiled, "metadata", None), "shared", None)}
        except Exception as error:
            told = {"failed": str(error)[-300:]}
        print(json.dumps({"name": name, **told}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
