"""Layouts that `bankfold layout --emit triton` wrote, compiled by Triton and run on a GPU: gluon.py FOLDER. FOLDER holds NAME.py (the
code), NAME.txt (rows, columns, type) and NAME.offsets (for each element of the tile its byte offset, as the layout has it). A tile
is stored to shared memory of that layout and read back as it lies there."""
import pathlib
import sys
import traceback

import torch
import triton  # pylint: disable=unused-import
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def lie(source, target, back, rows: gl.constexpr, columns: gl.constexpr, tile_layout: gl.constexpr, words: gl.constexpr):
    """The tile through shared memory, and where its layout allows it the words of shared memory one behind the other."""
    blocked: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    row = gl.arange(0, rows, layout=gl.SliceLayout(1, blocked))
    column = gl.arange(0, columns, layout=gl.SliceLayout(0, blocked))
    offset = row[:, None] * columns + column[None, :]
    value = gl.load(source + offset)
    tile = gl.allocate_shared_memory(value.dtype, [rows, columns], tile_layout)
    tile.store(value)
    gl.store(back + offset, tile.load(blocked))
    if words > 0:
        flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
        line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
        raw = tile._reinterpret(value.dtype, [words], flat)
        place = gl.arange(0, words, layout=line)
        gl.store(target + place, raw.load(line))


def try_one(path):
    rows, columns, kind = path.with_suffix(".txt").read_text().split()
    rows, columns = int(rows), int(columns)
    found = {}
    exec(compile(path.read_text(), str(path), "exec"), found)  # pylint: disable=exec-used
    layout = found["tile_layout"]
    element = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}[kind]
    size = torch.tensor([], dtype=element).element_size()
    count = rows * columns
    if size == 1:
        source = (torch.arange(count, device="cuda") % 251).to(element)
    else:
        plain = torch.arange(1, count + 1, device="cuda", dtype=torch.int32)
        source = plain.view(torch.float32) if size == 4 else plain.to(torch.int16).view(element)
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[size]
    offsets = [int(text) // size for text in path.with_suffix(".offsets").read_text().split()]
    is_padded = max(offsets) >= count
    target, back = torch.zeros(count, dtype=element, device="cuda"), torch.zeros(count, dtype=element, device="cuda")
    lie[(1,)](source.view(integers), target.view(integers), back.view(integers), rows, columns, layout, 0 if is_padded else count)
    torch.cuda.synchronize()
    if not torch.equal(back.view(integers), source.view(integers)):
        return "wrong: the tile changed on its way"
    if is_padded:
        return "right (padded: where it lies was not looked at)"
    expected = torch.zeros(count, dtype=integers, device="cuda")
    expected[torch.tensor(offsets, device="cuda")] = source.view(integers)
    wrong = int((expected != target.view(integers)).sum())
    return f"wrong: {wrong} of {count} elements lie elsewhere" if wrong else "right"


def main():
    faults = 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
        try:
            said = try_one(path)
        except Exception:  # pylint: disable=broad-except
            said = "wrong: " + " | ".join(traceback.format_exc().strip().splitlines()[-6:])
        print("triton", path.stem, said, flush=True)
        faults += said.startswith("wrong")
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
