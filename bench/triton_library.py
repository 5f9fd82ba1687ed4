"""Functions of Triton's standard library, one kernel each, for bench/triton_python.py: which of them gain by hashed shared
memory. cases() is as in triton_kernels.py."""
import torch
import triton
import triton.language as tl


@triton.jit
def sort_any_kernel(x, y, N: tl.constexpr, DOWN: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at), descending=DOWN))


@triton.jit
def sort_tile_kernel(x, y, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * ROWS * N + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def topk_kernel(x, y, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    best = tl.topk(tl.load(x + row * N + tl.arange(0, N)), K)
    tl.store(y + row * K + tl.arange(0, K), best)


@triton.jit
def flip_kernel(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.flip(tl.load(x + at), 0))


@triton.jit
def gather_kernel(x, index, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@triton.jit
def argmax_columns_kernel(x, y, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * ROWS * N + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + tl.program_id(0) * N + tl.arange(0, N), tl.argmax(tl.load(x + at), 0))


@triton.jit
def sum_columns_kernel(x, y, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * ROWS * N + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + tl.program_id(0) * N + tl.arange(0, N), tl.sum(tl.load(x + at), 0))


@triton.jit
def cumprod_columns_kernel(x, y, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * ROWS * N + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.cumprod(tl.load(x + at), 0))


@triton.jit
def permute_kernel(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    base = tl.program_id(0) * A * B * C
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    tile = tl.permute(tl.load(x + base + a * B * C + b * C + c), (2, 1, 0))
    i, j, k = tl.arange(0, C)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, A)[None, None, :]
    tl.store(y + base + i * B * A + j * A + k, tile)


@triton.jit
def interleave_kernel(x, z, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    both = tl.interleave(tl.load(x + at), tl.load(z + at))
    tl.store(y + tl.program_id(0) * 2 * N + tl.arange(0, 2 * N), both)


@triton.jit
def dot_kernel(x, z, y, N: tl.constexpr):
    base = tl.program_id(0) * N * N
    at = base + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.dot(tl.load(x + at), tl.load(z + at), input_precision="ieee"))


def sort_cases(x):
    """tl.sort of several lengths and types."""
    found = {}
    for length in (256, 512, 2048, 4096):
        data = x.view(-1, length)
        out = torch.empty_like(data)
        found[f"sort-{length}"] = (lambda d=data, o=out, n=length: sort_any_kernel[(d.shape[0],)](d, o, n, False, num_warps=4),
                                   out, lambda d=data: d.sort(1).values, 0)
    for name, kind in (("half", torch.float16), ("short", torch.int16), ("long", torch.int64)):
        data = (x * 1000).to(kind).view(-1, 1024)
        out = torch.empty_like(data)
        found[f"sort-{name}"] = (lambda d=data, o=out: sort_any_kernel[(d.shape[0],)](d, o, 1024, True, num_warps=4), out,
                                 lambda d=data: d.sort(1, descending=True).values, 0)
    tile = torch.empty_like(x)
    found["sort-8-rows"] = (lambda: sort_tile_kernel[(4096,)](x, tile, 8, 1024, num_warps=8), tile,
                            lambda: x.sort(1).values, 0)
    return found


def cases():
    torch.manual_seed(2)
    x = torch.randn(32768, 1024, device="cuda")
    z = torch.randn(32768, 1024, device="cuda")
    y, best = torch.empty_like(x), torch.empty(32768, 16, device="cuda")
    index = torch.randint(0, 1024, x.shape, device="cuda", dtype=torch.int32)
    columns, places = torch.empty(8192, 64, device="cuda"), torch.empty(8192, 64, device="cuda", dtype=torch.int32)
    twice = torch.empty(32768, 2048, device="cuda")
    tiles, cubes = x.view(8192, 64, 64), x.view(-1, 16, 16, 32)
    near = (1 + x / 100).contiguous()
    return {
        **sort_cases(x),
        "topk": (lambda: topk_kernel[(32768,)](x, best, 1024, 16, num_warps=4), best, lambda: x.topk(16, 1).values, 0),
        "flip": (lambda: flip_kernel[(32768,)](x, y, 1024, num_warps=4), y, lambda: x.flip(1), 0),
        "gather": (lambda: gather_kernel[(32768,)](x, index, y, 1024, num_warps=4), y, lambda: x.gather(1, index.long()), 0),
        "argmax-columns": (lambda: argmax_columns_kernel[(8192,)](x, places, 64, 64, num_warps=4), places,
                           lambda: tiles.argmax(1).int(), 0),
        "sum-columns": (lambda: sum_columns_kernel[(8192,)](x, columns, 64, 64, num_warps=4), columns, lambda: tiles.sum(1),
                        1e-3),
        "cumprod-columns": (lambda: cumprod_columns_kernel[(8192,)](near, y, 64, 64, num_warps=4), y,
                            lambda: near.view(8192, 64, 64).cumprod(1).view(x.shape), 1e-3),
        "permute": (lambda: permute_kernel[(cubes.shape[0],)](x, y, 16, 16, 32, num_warps=4), y,
                    lambda: cubes.permute(0, 3, 2, 1).reshape(x.shape), 0),
        "interleave": (lambda: interleave_kernel[(32768,)](x, z, twice, 1024, num_warps=4), twice,
                       lambda: torch.stack((x, z), 2).view(32768, 2048), 0),
        "dot-fp32": (lambda: dot_kernel[(8192,)](x, z, y, 64, num_warps=4), y,
                     lambda: (tiles.double() @ z.view(8192, 64, 64).double()).float().view(x.shape), 1e-3),
    }
