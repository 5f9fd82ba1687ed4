"""CuPy, Numba and cuda-python with stand-ins: PTX goes in, analysed and hashed."""
import contextlib
import io
import unittest

import bankfold

from . import support

MISSING = {name for name in ("cupy", "numba", "cuda") if not support.is_installed(name)}


def is_hashed(ptx):
    return bankfold.analyze(ptx, block=(32, 32)).conflicts == 0


class PrepareTest(unittest.TestCase):
    def test_kernels_without_a_known_block_are_named(self):
        from bankfold.cuda import prepare
        prepared = prepare(support.transpose())
        self.assertEqual(prepared.analyses, [])
        self.assertIn("transpose: not analysed", prepared.notes[0])
        prepared = prepare(support.transpose(), blocks={"transpose": (32, 32)}, optimize=False)
        self.assertEqual(prepared.analyses[0].conflicts, 992)
        self.assertIsNone(prepared.rewriting)
        self.assertFalse(is_hashed(prepared.ptx))


@unittest.skipUnless("cupy" in MISSING, "CuPy itself is installed: bench/triton_python.py tests with it")
class CupyTest(unittest.TestCase):
    def test_source_and_ptx(self):
        import bankfold.cupy
        source = "// source\n" + support.transpose().replace(".target", ".Target")  # is no PTX before it is compiled
        for code in (source, support.transpose(), support.transpose().encode()):
            module = bankfold.cupy.raw_module(code, block=(32, 32))
            self.assertEqual(module.get_function("transpose"), "transpose")
            self.assertTrue(is_hashed(module.raw.text))
            self.assertIn("992 conflicts", str(module.prepared))
        plain = bankfold.cupy.raw_module(support.transpose(), optimize=False)
        self.assertFalse(is_hashed(plain.raw.text))

    def test_options_of_the_compiler(self):
        import bankfold.cupy
        from cupy.cuda import nvrtc
        bankfold.cupy.ptx_of("// source\n" + support.transpose())
        self.assertEqual(nvrtc.programs[len(nvrtc.programs)][1], ("--gpu-architecture=compute_90", "-lineinfo"))
        with self.assertRaisesRegex(ValueError, "no such thing"):
            bankfold.cupy.ptx_of("nonsense")


@unittest.skipUnless("numba" in MISSING, "Numba itself is installed: test_numba tests with it")
class NumbaTest(unittest.TestCase):
    def test_analyze_and_optimize(self):
        import bankfold.numba
        from numba import cuda
        kernel = cuda.Kernel(support.transpose())
        self.assertEqual([found.conflicts for found in bankfold.numba.analyze(kernel, (32, 32))], [992])
        said = io.StringIO()
        with contextlib.redirect_stderr(said), bankfold.numba.optimize() as seen:
            kernel[1, (32, 32, 1)]()
        self.assertTrue(is_hashed(kernel.loaded))
        self.assertEqual([prepared.analyses[0].block for prepared in seen], [(32, 32, 1)])
        self.assertIn("992 conflicts", said.getvalue())
        kernel[1, (32, 32, 1)]()
        self.assertFalse(is_hashed(kernel.loaded))

    def test_what_cannot_be_read_is_compiled(self):
        import bankfold.numba
        from numba import cuda
        kernel = cuda.Kernel("no PTX")
        with contextlib.redirect_stderr(io.StringIO()), bankfold.numba.optimize():
            kernel[1, (32, 1, 1)]()
        self.assertEqual(kernel.loaded, "no PTX")


@unittest.skipUnless("cuda" in MISSING, "cuda-python itself is installed")
class CudaTest(unittest.TestCase):
    def test_load(self):
        import bankfold.cuda
        module, prepared = bankfold.cuda.load(support.transpose(), block=(32, 32))
        self.assertTrue(is_hashed(module.rstrip("\0")))
        self.assertTrue(prepared.rewriting.is_changed)


if __name__ == "__main__":
    unittest.main()
