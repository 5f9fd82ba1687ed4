"""A transpose from its PTX: where the conflicts are, what removes them, and how long it takes before and after. Needs
neither a GPU nor numpy.

    python3 examples/python/transpose.py"""
import array
import pathlib

import bankfold

PTX = pathlib.Path(__file__).parents[2] / "kernels" / "transpose" / "transpose.ptx"
KERNEL, SIDE, GRID, BLOCK = "transpose32", 256, (8, 8), (32, 8)


def main():
    module = bankfold.Module(PTX, "transpose.ptx")
    values = array.array("f", range(SIDE * SIDE))
    turned = array.array("f", bytes(4 * SIDE * SIDE))
    arguments = [values, turned, SIDE, SIDE]

    print(bankfold.profile(module, KERNEL, grid=GRID, block=BLOCK, arguments=arguments))
    assert all(turned[x * SIDE + y] == values[y * SIDE + x] for y in range(SIDE) for x in range(SIDE))

    done = bankfold.rewrite(module, "xor:0,5,31", kernel=KERNEL)
    kernel = next(kernel for kernel in done.kernels if kernel.name == KERNEL)
    print(f"\n{kernel.hash}: {kernel.hashed} of {kernel.accesses} accesses are hashed\n")
    before, after = (bankfold.simulate(ptx, KERNEL, grid=GRID, block=BLOCK, arguments=arguments) for ptx in (module, done.ptx))
    print(f"{before.shared_conflicts} -> {after.shared_conflicts} conflicts")
    assert after.cycles < before.cycles


if __name__ == "__main__":
    main()
