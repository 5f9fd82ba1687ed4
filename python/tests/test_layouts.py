"""Layouts of a tile: what the library finds, and that the code it writes means the same."""
import re
import unittest

import bankfold
from bankfold import cute


def numbers(text):
    """Shape<Int<64>, Shape<Int<64>, Int<2>>> as a tuple."""
    text = re.sub(r"Int<(\d+)>|_(\d+)", lambda m: m.group(1) or m.group(2), text)
    return eval(re.sub(r"(Shape|Stride)<", "(", text).replace(">", ",)"))  # pylint: disable=eval-used


def cute_offset(code):
    """The function from (row, column) to a byte offset that the CuTe code of a tile of 2-byte elements is."""
    shape, stride = map(numbers, re.search(r"Layout<(Shape<.*?>), (Stride<.*>)>\{\}", code).groups())
    layout = cute.Layout(shape, stride)
    swizzle = re.search(r"Swizzle<(\d+), (\d+), (-?\d+)>", code)
    bits, base, shift = map(int, swizzle.groups()) if swizzle else (0, 0, 0)
    swizzled = cute.Swizzle(bits, base, shift)
    return lambda row, column: 2 * swizzled(layout((row, column)))


def cuda_offset(code):
    """The same from the CUDA code."""
    lines = re.search(r"unsigned offset = (.*);\n  return (.*);", code)
    first, last = (text.replace("/", "//") for text in lines.groups())

    def offset(row, column):
        at = eval(first, {"row": row, "column": column})  # pylint: disable=eval-used
        return eval(last, {"offset": at})  # pylint: disable=eval-used
    return offset


class LayoutsTest(unittest.TestCase):
    def test_best(self):
        found = bankfold.layouts("64x64", "f16", write=["tma"], read=["wgmma:A", "ldmatrix.trans*2"])
        self.assertEqual((found.best.name, found.best.conflicts, found.best.tma_mode),
                         ("128", 0, "CU_TENSOR_MAP_SWIZZLE_128B"))
        self.assertEqual(found.best.accesses[1].descriptor, 0x4000004000010000)
        self.assertEqual(found.best.accesses[2].weight, 2)
        self.assertIn("pad:BYTES", dict(found.refused))
        self.assertIn("wavefronts", str(found))
        self.assertNotIn("owner", found.to_dict()["choices"][0])
        with self.assertRaises(IndexError):
            found.best.offset(64, 0)

    def test_refused(self):
        with self.assertRaisesRegex(bankfold.BadInput, "256 bytes wide"):
            bankfold.layouts("64x128", write=["tma:128"], layout="128")
        with self.assertRaisesRegex(bankfold.BadInput, "did you mean 'tma'"):
            bankfold.layouts("64x128", write=["tm"])

    def test_code_means_the_layout(self):
        questions = [("64x128", ["tma"], ["wgmma:A"], None), ("32x96", ["tma"], ["ldmatrix"], None),
                     ("64x32", ["cp.async"], ["ldmatrix"], None), ("64x32", ["st:16"], ["ldmatrix"], "pad:16"),
                     ("64x64", ["st:4"], ["ld:4@(l, 0)"], "cute:2,2,-5")]
        for tile, write, read, layout in questions:
            for choice in bankfold.layouts(tile, "f16", write=write, read=read, layout=layout).choices[:6]:
                rows, columns = map(int, tile.split("x"))
                by_cute, by_cuda = cute_offset(choice.emit("cute")), cuda_offset(choice.emit("cuda"))
                for row in range(rows):
                    for column in range(0, columns, 3):
                        expected = choice.offset(row, column)
                        self.assertEqual(by_cute(row, column), expected, (tile, choice.name, row, column))
                        self.assertEqual(by_cuda(row, column), expected, (tile, choice.name, row, column))


if __name__ == "__main__":
    unittest.main()
