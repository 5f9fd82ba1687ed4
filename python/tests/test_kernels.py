"""Kernels: parameters, analysis, launches on numpy arrays and other memory, simulation, rewriting, tuning."""
import array
import ctypes
import gc
import gzip
import pathlib
import random
import signal
import struct
import tempfile
import unittest

import bankfold

from . import support

try:
    import numpy
except ImportError:
    numpy = None

SIDE = 32


def turned(values):
    return [values[x * SIDE + y] for y in range(SIDE) for x in range(SIDE)]


class ModuleTest(unittest.TestCase):
    def test_kernels_and_parameters(self):
        module = bankfold.Module(support.SAXPY, "saxpy.ptx")
        kernel = module.kernel()
        self.assertEqual([(p.name, p.type, p.offset_bytes, p.bytes) for p in kernel.parameters],
                         [("x", "u64", 0, 8), ("y", "u64", 8, 8), ("a", "f32", 16, 4), ("n", "u32", 20, 4),
                          ("more", "f64", 24, 8), ("short", "u16", 32, 2)])
        self.assertEqual(list(module.kernels), ["saxpy"])
        self.assertIn(".entry saxpy", module.text)
        with self.assertRaises(bankfold.BadInput):
            module.kernel("daxpy")

    def test_errors_have_a_place(self):
        with self.assertRaises(bankfold.BadInput) as caught:
            bankfold.Module(support.SAXPY.replace("fma.rn.f32", "fmb.rn.f32"), "wrong.ptx")
        self.assertEqual((caught.exception.file, caught.exception.line), ("wrong.ptx", 24))
        self.assertGreater(caught.exception.column, 0)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "k.ptx")
            path.write_text(support.transpose())
            self.assertEqual(list(bankfold.Module(path).kernels), ["transpose"])
            self.assertEqual([image.kind for image in bankfold.images(path)], ["ptx"])


class AnalyzeTest(unittest.TestCase):
    def test_conflicts_by_line(self):
        found = bankfold.analyze(support.transpose(), block=(SIDE, SIDE))
        self.assertEqual(found.by_line(), {"transpose.cu:7": (32, 1024, 992), "transpose.cu:5": (32, 32, 0)})
        self.assertEqual(found.conflicts, 992)
        self.assertEqual(bankfold.solve(found.workload).conflicts_after, 0)
        self.assertIn("transpose.cu:7", str(found))
        self.assertNotIn("workload", found.to_dict())
        self.assertEqual(bankfold.analyze(support.transpose(".reqntid 32, 32, 1")).conflicts, 992)


class ProfileTest(unittest.TestCase):
    def check(self, values, out, read):
        result = bankfold.profile(support.transpose(), block=(SIDE, SIDE), arguments=[values, out])
        self.assertEqual((result.wavefronts, result.conflicts), (1056, 992))
        self.assertEqual([(line.place, line.conflicts) for line in result.lines],
                         [("transpose.cu:7", 992), ("transpose.cu:5", 0)])
        self.assertEqual(read(out), turned(list(range(SIDE * SIDE))))

    def test_arrays_of_the_standard_library(self):
        values = array.array("I", range(SIDE * SIDE))
        self.check(values, array.array("I", [0] * SIDE * SIDE), list)
        self.check(bytes(values), bytearray(4 * SIDE * SIDE), lambda out: list(struct.unpack("1024I", out)))
        self.check(memoryview(values), memoryview(bytearray(4 * SIDE * SIDE)), lambda out: list(out.cast("I")))
        self.check(values, (ctypes.c_uint32 * (SIDE * SIDE))(), list)

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_arrays_of_numpy(self):
        values = numpy.arange(SIDE * SIDE, dtype=numpy.uint32).reshape(SIDE, SIDE)
        out = numpy.zeros_like(values)
        self.check(values, out, lambda made: made.ravel().tolist())
        self.assertTrue((out == values.T).all())
        values.setflags(write=False)
        self.check(values, out, lambda made: made.ravel().tolist())
        with self.assertRaises(bankfold.BadInput):
            bankfold.profile(support.transpose(), block=(SIDE, SIDE), arguments=[values.T, out])

    def run_saxpy(self, y, *rest):
        x = array.array("f", range(64))
        bankfold.profile(support.SAXPY, block=64, arguments=[x, y, *rest])
        return list(y)

    def test_numbers_become_what_parameters_are(self):
        expected = [2.5 * i + 1 + 0.25 + 3 if i < 60 else 1.0 for i in range(64)]
        self.assertEqual(self.run_saxpy(array.array("f", [1] * 64), 2.5, 60, 0.25, 3), expected)
        if numpy:
            given = [numpy.float32(2.5), numpy.int64(60), numpy.float64(0.25), numpy.uint16(3)]
            self.assertEqual(self.run_saxpy(numpy.ones(64, numpy.float32), *given), expected)

    def test_wrong_arguments(self):
        y = array.array("f", [1] * 64)
        for rest in ((2.5, 1 << 33, 0.25, 3), (2.5, 60, 0.25, 1 << 17), (2.5, 60, 0.25), (2.5, 60.5, 0.25, 3),
                     ("two", 60, 0.25, 3), (2.5, 60, 0.25, 3, 4), (1e300, 60, 0.25, 3)):
            with self.assertRaises(bankfold.BadInput, msg=str(rest)):
                self.run_saxpy(y, *rest)

    def test_a_fault_is_located(self):
        values = array.array("I", range(SIDE * SIDE))
        with self.assertRaises(bankfold.KernelFault) as caught:
            bankfold.profile(support.transpose(), block=(SIDE, SIDE), arguments=[values, array.array("I", [0])])
        self.assertTrue(caught.exception.file and caught.exception.line)

    def test_signals_stop_a_launch(self):
        """What the handler of a signal raises, as Ctrl-C does, ends a kernel that would run for ever."""
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            with self.assertRaises(KeyboardInterrupt):
                bankfold.profile(support.FOREVER)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_progress_stops_a_launch(self):
        with self.assertRaises(bankfold.Stopped):
            bankfold.profile(support.FOREVER, progress=lambda done, blocks: False)
        with self.assertRaises(ZeroDivisionError):
            bankfold.profile(support.FOREVER, progress=lambda done, blocks: 1 // 0)

    def test_what_a_kernel_prints(self):
        self.assertEqual(bankfold.profile(support.HELLO, grid=2, block=3).printed, "hi\n" * 6)
        self.assertEqual(bankfold.simulate(support.HELLO, block=2, set={"sms": 1}).printed, "hi\n" * 2)

    def test_memory_is_given_back(self):
        """Behind a launch, the caller's memory can be made longer again, without the help of the garbage collector."""
        values, out = bytearray(4 * SIDE * SIDE), bytearray(4 * SIDE * SIDE)
        gc.disable()
        try:
            for launch in (bankfold.profile, bankfold.simulate, bankfold.tune):
                launch(support.transpose(), block=(SIDE, SIDE), arguments=[values, out])
                out.append(0)
                del out[-1:]
        finally:
            gc.enable()

    def test_hash_and_progress(self):
        values, out = array.array("I", range(SIDE * SIDE)), array.array("I", [0] * SIDE * SIDE)
        seen = []
        result = bankfold.profile(support.transpose(), block=(SIDE, SIDE), arguments=[values, out], hash="xor:0,5,31",
                                  progress=lambda done, blocks: seen.append((done, blocks)))
        self.assertEqual((result.hash, result.conflicts), ("xor:0,5,31", 0))


class SimulateTest(unittest.TestCase):
    def simulate(self, **more):
        values, out = array.array("I", range(SIDE * SIDE)), array.array("I", [0] * SIDE * SIDE)
        result = bankfold.simulate(support.transpose(), block=(SIDE, SIDE), arguments=[values, out], **more)
        self.assertEqual(list(out), turned(values))
        return result

    def test_cycles(self):
        plain, hashed = self.simulate(), self.simulate(hash="xor:0,5,31")
        self.assertEqual((plain.shared_conflicts, hashed.shared_conflicts), (992, 0))
        self.assertGreater(plain.cycles, hashed.cycles)
        self.assertEqual(sum(stall.turns for stall in plain.stalls) + plain.instructions, plain.turns)
        self.assertEqual([line.place for line in plain.lines], ["transpose.cu:7", "transpose.cu:5"])
        self.assertIn("cycles", str(plain))

    def test_gpus_and_parameters(self):
        self.assertIn("h200", bankfold.gpus())
        self.assertNotEqual(self.simulate(gpu="gtx580").cycles, self.simulate(gpu="gtx580", set={"clock_mhz": 1}).seconds)
        for wrong in ({"gpu": "h3000"}, {"set": {"wheels": 4}}, {"most_cycles": 10}):
            with self.assertRaises(bankfold.BankfoldError):
                self.simulate(**wrong)


class RewriteTest(unittest.TestCase):
    def conflicts(self, ptx):
        values, out = array.array("I", range(SIDE * SIDE)), array.array("I", [0] * SIDE * SIDE)
        result = bankfold.profile(ptx, block=(SIDE, SIDE), arguments=[values, out])
        self.assertEqual(list(out), turned(values))
        return result.conflicts

    def test_rewrite(self):
        for more in ({"hash": "xor:0,5,31"}, {"hash": None, "hashes": {"transpose": "xor:0,5,31"}}, {"block": (SIDE, SIDE)}, {}):
            done = bankfold.rewrite(support.transpose(), **more)
            self.assertTrue(done.is_changed, more)
            self.assertEqual(self.conflicts(done.ptx), 0)
        self.assertLess(bankfold.rewrite(support.transpose()).kernels[0].share_left, 1)
        again = bankfold.rewrite(done.ptx)
        self.assertTrue(again.is_repeated and not again.is_changed)

    def test_left_alone(self):
        done = bankfold.rewrite(support.SAXPY)
        self.assertFalse(done.is_changed)
        self.assertTrue(done.kernels[0].reason)
        with self.assertRaises(bankfold.BankfoldError):
            bankfold.rewrite(support.transpose(), "mod:31")

    def test_tune(self):
        values, out = array.array("I", range(SIDE * SIDE)), array.array("I", [0] * SIDE * SIDE)
        tuned = bankfold.tune(support.transpose(), block=(SIDE, SIDE), arguments=[values, out], gpu="h200")
        self.assertEqual(tuned.kernels[0].wavefronts_after, 64)
        self.assertEqual(self.conflicts(tuned.rewriting.ptx), 0)
        self.assertIn(tuned.kernels[0].hash, str(tuned))


class TritonSortTest(unittest.TestCase):
    """tl.sort of 1024 floats as Triton 3.6 compiles it for sm_90 (bench/triton_python.py, case targets)."""

    ROWS, LENGTH = 4, 1024

    def setUp(self):
        with gzip.open(support.TESTS / "data" / "triton_sort.ptx.gz", "rt") as file:
            self.ptx = file.read()

    def sort(self, ptx):
        source = random.Random(1)
        values = array.array("f", [source.gauss(0, 1) for _ in range(self.ROWS * self.LENGTH)])
        out, scratch = array.array("f", bytes(4 * len(values))), bytearray(64)
        result = bankfold.profile(ptx, grid=self.ROWS, arguments=[values, out, scratch, scratch], shared_bytes=4096)
        for first in range(0, len(values), self.LENGTH):
            self.assertEqual(list(out[first:first + self.LENGTH]), sorted(values[first:first + self.LENGTH]))
        return result

    def test_sorts_with_and_without_conflicts(self):
        found = bankfold.analyze(self.ptx)
        plain, hashed = self.sort(self.ptx), self.sort(bankfold.rewrite(self.ptx).ptx)
        self.assertEqual((plain.wavefronts, plain.conflicts), (self.ROWS * found.wavefronts, self.ROWS * found.conflicts))
        self.assertEqual(found.conflicts, 8640)
        self.assertEqual((hashed.accesses, hashed.conflicts), (plain.accesses, 0))

    def test_lines_lead_back_to_the_kernel(self):
        from bankfold.triton import _by_line
        lines = _by_line(self.ptx, bankfold.analyze(self.ptx).rows())
        self.assertEqual([(line.place, line.inside, line.conflicts) for line in lines],
                         [("/kernels/kernels_of_bench.py:13", "/site-packages/triton/language/standard.py:309", 8640)])


if __name__ == "__main__":
    unittest.main()
