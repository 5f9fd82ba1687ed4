"""Machines, hashes, accesses, counting, patterns and pictures."""
import json
import pathlib
import tempfile
import unittest
import xml.dom.minidom

import bankfold

try:
    import numpy
except ImportError:
    numpy = None


def reference_wavefronts(words, bank_of):
    """Wavefronts of a load of 4 bytes: the most different words in one bank."""
    banks = {}
    for word in set(words):
        banks.setdefault(bank_of(word), set()).add(word)
    return max(map(len, banks.values()))


class MachineTest(unittest.TestCase):
    def test_built_in(self):
        machine = bankfold.Machine("hopper")
        self.assertEqual((machine.banks, machine.word_bytes, machine.lanes), (32, 4, 32))
        self.assertIn("hopper", bankfold.machines())
        for name in bankfold.machines():
            self.assertTrue(bankfold.Machine(name).title)

    def test_overrides(self):
        self.assertEqual(bankfold.Machine("hopper", banks=16).banks, 16)

    def test_text(self):
        with self.assertRaises(bankfold.BadInput) as caught:
            bankfold.Machine.parse("nonsense here\n", "own.machine")
        self.assertEqual((caught.exception.file, caught.exception.line), ("own.machine", 1))

    def test_unknown(self):
        with self.assertRaises(bankfold.BankfoldError):
            bankfold.Machine("no such machine")


class HashTest(unittest.TestCase):
    def test_bank_and_place(self):
        hash_ = bankfold.Hash("xor:0,5,31")
        for word in range(4096):
            self.assertEqual(hash_.bank(word), (word ^ word >> 5) & 31)
            self.assertEqual(hash_.place(word) % 32, hash_.bank(word))
            self.assertEqual(hash_.unplace(hash_.place(word)), word)

    def test_rows(self):
        hash_ = bankfold.Hash.from_rows([1 << i | 1 << (i + 5) for i in range(5)])
        self.assertTrue(all(hash_.bank(word) == (word ^ word >> 5) & 31 for word in range(1024)))
        with self.assertRaises(bankfold.BadInput):
            bankfold.Hash.from_rows([1, 2])

    def test_no_word_at_a_place(self):
        with self.assertRaises(bankfold.BadInput):
            bankfold.Hash("pad:32+1").unplace(32)

    def test_wrong_text_has_a_place(self):
        with self.assertRaises(bankfold.BadInput) as caught:
            bankfold.Hash("xor:0,")
        self.assertTrue(str(caught.exception))

    def test_cost_and_code(self):
        self.assertGreater(bankfold.Hash("xor:0,5,31").cost.instructions, 0)
        for form in bankfold.emit_forms():
            self.assertTrue(bankfold.emit("cute:3,4,3" if form in ("cute", "triton") else "xor:0,5,31", form))
        with self.assertRaises(bankfold.BankfoldError):
            bankfold.emit("xor:0,5,31", "cobol")


class CheckTest(unittest.TestCase):
    def test_forms_of_accesses_agree(self):
        addresses = [128 * lane for lane in range(32)]
        given = ["ld 4 ffffffff stride:32", bankfold.Access("ld", 4, tuple(addresses)), addresses, [addresses],
                 bankfold.Workload.parse("ld 4 ffffffff stride:32"), [bankfold.Access("ld", 4, tuple(addresses))]]
        if numpy:
            given += [numpy.array(addresses), numpy.array([addresses], dtype=numpy.uint32)]
        for accesses in given:
            result = bankfold.check(accesses)
            self.assertEqual((result.total.wavefronts, result.total.conflicts), (32, 31))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.trace")
            path.write_text("ld 4 ffffffff stride:32 x3 @here\n")
            result = bankfold.check(path)
            self.assertEqual((result.total.accesses, result.total.conflicts, result.accesses[0].site), (3, 93, "here"))
            path.write_text("ld 4 ffffffff stride:32\nld 4 ffff\n")
            with self.assertRaises(bankfold.BadInput) as caught:
                bankfold.check(path)
            self.assertEqual((caught.exception.file, caught.exception.line), (str(path), 2))
            self.assertGreater(caught.exception.column, 0)
            with self.assertRaises(bankfold.FileError):
                bankfold.check(pathlib.Path(folder, "none.trace"))

    def test_counts_are_those_of_a_reference(self):
        state = 7
        for text, bank in (("none", lambda word: word & 31), ("xor:0,5,31", lambda word: (word ^ word >> 5) & 31),
                           ("pad:32+1", lambda word: (word + word // 32) & 31)):
            for _ in range(50):
                words = []
                for _ in range(32):
                    state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
                    words.append(state >> 40 & 1023)
                result = bankfold.check([4 * word for word in words], text)
                self.assertEqual(result.total.wavefronts, reference_wavefronts(words, bank))

    def test_idle_lanes(self):
        self.assertEqual(bankfold.check([0, None, 128, None]).total.conflicts, 1)

    def test_what_cannot_be(self):
        for wrong in ([-4] * 32, [1 << 33], [0] * 33, [0.5], ["x"], 5, []):
            with self.assertRaises(bankfold.BadInput):
                bankfold.check(wrong)
        with self.assertRaises(bankfold.BadInput):
            bankfold.check([0], op="jump")

    def test_table_and_dictionary(self):
        result = bankfold.check("ld 4 ffffffff stride:32 @turn")
        self.assertIn("31 conflicts", str(result))
        self.assertIn("turn", str(result))
        self.assertIn("<table>", result._repr_html_())
        self.assertEqual(json.loads(json.dumps(result.to_dict()))["total"]["conflicts"], 31)

    def test_bank_map(self):
        lie = bankfold.layout("xor:0,5,31", 32, 32)
        self.assertEqual(lie.banks[3][5], 3 ^ 5)
        self.assertEqual(lie.column_conflicts(), 1)
        self.assertEqual(bankfold.layout(None, 32, 32).column_conflicts(), 32)
        self.assertEqual(len(str(lie).split("\n")), 32)


class PatternTest(unittest.TestCase):
    def test_classify(self):
        found = bankfold.classify("ld 4 ffffffff stride:32\nld 4 ffffffff stride:1\nld 4 ffffffff stride:0")
        self.assertEqual([pattern.pattern for pattern in found.patterns], ["stride", "linear", "broadcast"])
        self.assertEqual(found.patterns[0].stride_x, 32)
        shaped = bankfold.classify("ld 4 ffffffff stride:1", columns=16, block_x=16).patterns[0]
        self.assertEqual((shaped.width_x, shaped.stride_y), (16, 16))
        with self.assertRaises(bankfold.BadInput):
            bankfold.classify("ld 4 ffffffff stride:1", block_x=64)

    def test_draw(self):
        picture = bankfold.draw("ld 4 ffffffff stride:1\nld 4 ffffffff stride:2", "xor:0,5,31")
        self.assertIn("hash none: 2 wavefronts, ideal 1, conflicts 1", str(picture))
        self.assertIn("hash xor:0,5,31: 1 wavefront", str(picture))
        document = xml.dom.minidom.parseString(picture._repr_svg_())
        self.assertEqual(document.documentElement.tagName, "svg")
        self.assertTrue(picture._repr_html_().startswith("<svg"))
        with self.assertRaises(bankfold.BadInput):
            bankfold.draw("# nothing\n")


class SearchTest(unittest.TestCase):
    COLUMNS = "ld 4 ffffffff stride:32\nld 4 ffffffff stride:1\n"

    def test_solve(self):
        for method in ("exact", "bit-vector", "givargis", "min-imbalance", "padding", "modulo"):
            found = bankfold.solve(self.COLUMNS, method=method)
            left = bankfold.check(self.COLUMNS, found.hash).total.conflicts
            self.assertEqual((found.conflicts_before, found.conflicts_after), (31, left))
        for class_ in ("general", "row", "cute", "one-term", "two-term"):
            self.assertEqual(bankfold.solve(self.COLUMNS, class_=class_).conflicts_after, 0)
        for wrong in ({"method": "luck"}, {"class_": "first"}, {"threads": -1}, {"threads": 1 << 31}, {"time_limit_seconds": -1},
                      {"time_limit_seconds": float("nan")}):
            with self.assertRaises(ValueError):
                bankfold.solve(self.COLUMNS, **wrong)

    def test_joint(self):
        found = bankfold.solve_joint(self.COLUMNS)
        self.assertEqual((found.solution.conflicts_before, found.solution.conflicts_after), (31, 0))
        self.assertLessEqual(found.tried, found.all)
        self.assertIn("0 conflicts", str(found))
        unaligned = "ld 16 ffffffff stride:1+1"
        self.assertLessEqual(bankfold.solve_joint(unaligned).solution.conflicts_after,
                             bankfold.solve(unaligned).conflicts_after)

    def test_arrays(self):
        columns, skewed = "ld 4 ffffffff stride:32 x3\n", [4096 + 4 * (33 * lane % 1024) for lane in range(32)]
        trace = columns + "ld 4 ffffffff " + " ".join(map(str, skewed)) + "\n"
        found = bankfold.solve_arrays(trace, [0, 4096])
        self.assertEqual([(at.begin_bytes, at.accesses, at.before, at.after) for at in found.arrays],
                         [(0, 3, 93, 0), (4096, 1, 0, 0)])
        self.assertTrue(found.proven)
        self.assertEqual(found.conflicts_before, bankfold.check(trace).total.conflicts)
        self.assertIn("begins at", str(found))
        for wrong in ([4096, 0], [0, 2], [0, 2048]):
            with self.assertRaises(bankfold.BadInput):
                bankfold.solve_arrays(trace, wrong)
        with self.assertRaises(ValueError):
            bankfold.solve_arrays(trace, [-4])

    def test_ladder(self):
        found = bankfold.ladder(self.COLUMNS)
        self.assertEqual([step.name for step in found.steps][0], "nothing")
        self.assertIn(found.recommended, found.steps)
        for step in found.steps:
            self.assertEqual(step.conflicts, bankfold.check(self.COLUMNS, step.hash).total.conflicts)
        self.assertIn("recommended", str(found))

    def test_what_a_callback_raises_comes_back(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        hard = "".join(f"ld 4 ffffffff {' '.join(str(4 * ((i * 37 + lane * lane * 13) % 4096)) for lane in range(32))}\n"
                       for i in range(40))
        with self.assertRaises(KeyboardInterrupt):
            bankfold.solve(hard, progress=interrupt, time_limit_seconds=5)


if __name__ == "__main__":
    unittest.main()
