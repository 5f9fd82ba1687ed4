"""Sorts rows of 1024 numbers with Triton, and says why tl.sort is slow. Needs a GPU.

    python3 triton_sort.py"""
import sys

import torch
import triton
import triton.language as tl

import bankfold.triton


@triton.jit
def sort_rows(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


def milliseconds(launch):
    return triton.testing.do_bench(launch)


def main():
    x = torch.randn(32768, 1024, device="cuda")
    y = torch.empty_like(x)

    def launch():
        sort_rows[(x.shape[0],)](x, y, x.shape[1], num_warps=4)

    launch()
    before = milliseconds(launch)
    with bankfold.triton.watch(optimize=True, file=sys.stdout):
        launch()
        assert torch.equal(y, x.sort(1).values)
        after = milliseconds(launch)
    print(f"{before:.3f} ms -> {after:.3f} ms, {before / after:.2f} times as fast")


if __name__ == "__main__":
    main()
