"""The best swizzle for a tile of halves that is written by rows and read by columns of 8 x 8 matrices, as ldmatrix does.

    python3 examples/python/swizzle.py"""
from bankfold.cute import Layout, best_swizzle, conflicts

TILE = Layout((64, 64), (64, 1))  # 64 rows of 64 halves


def write(thread, value):
    """A thread writes 8 halves of a row: 8 threads have a row."""
    return thread // 8, thread % 8 * 8 + value


def read(thread, value):
    """Lanes 0-7 have the rows of the first matrix, 8-15 those of the one below, and so on."""
    return thread % 16, thread // 16 * 8 + value


def main():
    for name, thread_map in (("write", write), ("read", read)):
        print(f"{name}: {conflicts(TILE, thread_map, element_bytes=2, vector=8, values=8).total.conflicts} conflicts")
    found = best_swizzle(TILE, write, read, element_bytes=2, vector=8, values=8)
    print(found)
    for name, thread_map in (("write", write), ("read", read)):
        left = conflicts(found.layout, thread_map, element_bytes=2, vector=8, values=8)
        print(f"{name}: {left.total.conflicts} conflicts")


if __name__ == "__main__":
    main()
