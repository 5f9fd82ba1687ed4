"""CuTe's layouts against enumeration of all their coordinates, and what they do to banks."""
import itertools
import random
import unittest

import bankfold
from bankfold import cute
from bankfold.cute import (ComposedLayout, Layout, Swizzle, best_swizzle, coalesce, complement, composition, conflicts,
                           logical_divide, logical_product, make_layout)


def random_layout(source, most=3):
    """A small layout with nested modes and strides that may overlap."""
    def mode(depth):
        if depth and source.random() < 0.3:
            parts = [mode(depth - 1) for _ in range(source.randint(1, 2))]
            return tuple(part[0] for part in parts), tuple(part[1] for part in parts)
        return source.choice([1, 2, 3, 4, 6, 8]), source.choice([0, 1, 2, 3, 4, 8, 12, 16])

    parts = [mode(1) for _ in range(source.randint(1, most))]
    return Layout(tuple(part[0] for part in parts), tuple(part[1] for part in parts))


def enumerate_offsets(layout):
    """Offsets in the order of indices, from the modes alone: the leftmost is the fastest."""
    modes = layout.flat()
    ranges = [range(size) for size, _ in reversed(modes)]
    return [sum(i * step for i, (_, step) in zip(reversed(at), modes)) for at in itertools.product(*ranges)]


class AlgebraTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(1)

    def test_indices_and_coordinates(self):
        for _ in range(300):
            layout = random_layout(self.random)
            self.assertEqual(layout.offsets(), enumerate_offsets(layout))
            self.assertEqual(layout.cosize, max(layout.offsets()) + 1)
            self.assertEqual(Layout(str(layout)), layout)

    def test_coordinates_of_modes(self):
        layout = Layout(((2, 4), 3), ((1, 6), 2))
        self.assertEqual(layout((1, 3), 2), 1 + 18 + 4)
        self.assertEqual(layout(7, 2), layout((1, 3), 2))
        self.assertEqual(layout(7 + 8 * 2), layout((1, 3), 2))
        with self.assertRaises(bankfold.BadInput):
            layout(1, 2, 3)

    def test_coalesce(self):
        for _ in range(300):
            layout = random_layout(self.random)
            less = coalesce(layout)
            self.assertEqual(less.offsets(), layout.offsets())
            self.assertLessEqual(len(less.flat()), max(1, len(layout.flat())))

    def test_composition(self):
        made = 0
        for _ in range(2000):
            outer, inner = random_layout(self.random), random_layout(self.random, 2)
            if inner.cosize > outer.size:
                continue
            try:
                both = composition(outer, inner)
            except bankfold.BadInput:
                continue
            made += 1
            self.assertEqual(both.offsets(), [outer(inner(i)) for i in range(inner.size)], f"{outer} o {inner}")
            self.assertEqual(both.size, inner.size)
        self.assertGreater(made, 100)

    def test_composition_that_must_be_possible(self):
        """Powers of two always divide."""
        for _ in range(500):
            sizes = [self.random.choice([1, 2, 4, 8]) for _ in range(3)]
            outer = Layout(tuple(sizes), tuple(self.random.choice([1, 2, 4, 16, 64]) for _ in sizes))
            step = self.random.choice([1, 2, 4])
            if step >= outer.size:
                continue
            inner = Layout(outer.size // step, step)
            self.assertEqual(composition(outer, inner).offsets(), [outer(i * step) for i in range(inner.size)])

    def test_complement(self):
        made = 0
        for _ in range(1000):
            layout, cosize = random_layout(self.random), self.random.randint(1, 100)
            try:
                rest = complement(layout, cosize)
            except bankfold.BadInput:
                continue
            made += 1
            sums = sorted(a + b for a in layout.offsets() for b in rest.offsets())
            self.assertEqual(sums, list(range(len(sums))), f"{layout} and {rest}")
            self.assertGreaterEqual(len(sums), cosize)
            self.assertEqual(rest.offsets(), sorted(rest.offsets()))
        self.assertGreater(made, 100)

    def test_published_examples(self):
        """Those of CUTLASS's documentation of the layout algebra."""
        self.assertEqual(complement(Layout("(2,2):(1,6)"), 24), Layout("(3,2):(2,12)"))
        self.assertEqual(coalesce(Layout("(2,(1,6)):(1,(6,2))")), Layout("12:1"))
        self.assertEqual(logical_divide(Layout("(4,2,3):(2,1,8)"), Layout("4:2")), Layout("((2,2),(2,3)):((4,1),(2,8))"))
        self.assertEqual(logical_product(Layout("(2,2):(4,1)"), Layout("6:1")), Layout("((2,2),(2,3)):((4,1),(2,8))"))
        self.assertEqual(composition(Layout("(6,2):(8,2)"), Layout("(4,3):(3,1)")), Layout("((2,2),3):((24,2),8)"))

    def test_divide_and_product_cover(self):
        layout = Layout((8, 12), (12, 1))
        tiles = logical_divide(layout, (2, 4))
        self.assertEqual(sorted(tiles.offsets()), sorted(layout.offsets()))
        self.assertEqual((tiles[0].size, tiles[1].size), (8, 12))
        copies = logical_product(Layout(4), 3)
        self.assertEqual(sorted(copies.offsets()), list(range(12)))

    def test_what_is_no_layout(self):
        for text in ("(2,3):(1)", "(2,(3:1", "x", "(2,3):(1,(2,3))", "(0,1)", "", "(,2)", "((((" * 200):
            with self.assertRaises(bankfold.BadInput, msg=text):
                Layout(text)
        with self.assertRaises(bankfold.BadInput):
            composition(Layout(6), (1, 2))
        with self.assertRaises(bankfold.BadInput):
            complement(Layout((2, 2), (1, 1)), 8)

    def test_swizzle(self):
        for bits, base, shift in ((3, 4, 3), (2, 0, 4), (1, 2, 1), (0, 3, 0)):
            swizzle = Swizzle(bits, base, shift)
            for offset in range(4096):
                high = offset >> (base + shift) & ((1 << bits) - 1)
                self.assertEqual(swizzle(offset), offset ^ high << base)
            self.assertEqual(sorted(map(swizzle, range(4096))), list(range(4096)))
        with self.assertRaises(bankfold.BadInput):
            Swizzle(3, 0, 2)


def brute_force_swizzle(tile, thread_map, element_bytes, vector, values):
    """The fewest conflicts of all swizzles that keep vectors whole."""
    best = conflicts(tile, thread_map, element_bytes=element_bytes, vector=vector, values=values).total.conflicts
    least = vector.bit_length() - 1
    for bits, base, shift in itertools.product(range(1, 6), range(least, 6), range(1, 8)):
        if shift >= bits:
            layout = ComposedLayout(Swizzle(bits, base, shift), tile)
            found = conflicts(layout, thread_map, element_bytes=element_bytes, vector=vector, values=values)
            best = min(best, found.total.conflicts)
    return best


class BankTest(unittest.TestCase):
    TILE = Layout((32, 32), (32, 1))
    ROWS, COLUMNS = Layout((32, 2), (32, 1)), Layout((32, 2), (1, 32))

    def test_conflicts(self):
        self.assertEqual(conflicts(self.TILE, self.ROWS).total.conflicts, 0)
        self.assertEqual(conflicts(self.TILE, self.COLUMNS).total.conflicts, 2 * 31)
        padded = Layout((32, 32), (33, 1))
        self.assertEqual(conflicts(padded, self.COLUMNS).total.conflicts, 0)
        self.assertEqual(conflicts(self.TILE, lambda thread, value: (thread, value), values=2).total.conflicts, 2 * 31)

    def test_best_swizzle_is_that_of_brute_force(self):
        cases = [(self.TILE, self.COLUMNS, 4, 1, None), (Layout((32, 16), (16, 1)), Layout((32, 2), (1, 32)), 4, 1, None),
                 (Layout((16, 64), (64, 1)), lambda t, v: (t % 8, v + 8 * (t // 8)), 2, 8, 8),
                 (Layout((32, 32), (32, 1)), lambda t, v: (t // 4, v + 4 * (t % 4)), 4, 4, 4)]
        for tile, thread_map, element_bytes, vector, values in cases:
            found = best_swizzle(tile, thread_map, element_bytes=element_bytes, vector=vector, values=values)
            self.assertTrue(found.proven)
            self.assertEqual(found.conflicts_after,
                             brute_force_swizzle(tile, thread_map, element_bytes, vector, values), str(found))

    def test_hash_and_layout_agree(self):
        found = best_swizzle(self.TILE, self.COLUMNS, self.ROWS)
        work = cute.accesses(self.TILE, self.COLUMNS)
        self.assertEqual(bankfold.check(work, found.swizzle.hash_text(4)).total.conflicts,
                         conflicts(found.layout, self.COLUMNS).total.conflicts)
        self.assertIn("Sw<", str(found))
        self.assertEqual(found.to_dict()["conflicts_after"], 0)

    def test_nothing_to_gain(self):
        found = best_swizzle(self.TILE, self.ROWS)
        self.assertIsNone(found.swizzle)

    def test_vectors_must_lie_side_by_side(self):
        with self.assertRaises(bankfold.BadInput):
            conflicts(self.TILE, Layout((32, 4), (1, 32 * 2)), vector=4)
        self.assertEqual(conflicts(Layout((4, 256), (1, 4)), make_layout(Layout(32, 4), Layout(4)), vector=4).total.conflicts, 0)


if __name__ == "__main__":
    unittest.main()
