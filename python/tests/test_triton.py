"""bankfold.triton with a stand-in for Triton and for ptxas: what is compiled how, and taken from which cache."""
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import bankfold

from . import support

HAS_TRITON = support.is_installed("triton")

# Copies its input; says on -v what it needs, as ptxas does.
COPY = """#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, NAME"; exit; }
while [ $# -gt 0 ]; do
  case $1 in
  -o) out=$2; shift ;;
  -*) ;;
  *) input=$1 ;;
  esac
  shift
done
[ -z "$out" ] || cat "$input" >"$out"
echo "ptxas info    : Compiling entry function 'transpose' for 'sm_90'" >&2
echo "ptxas info    : Function properties for transpose" >&2
echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" >&2
echo "ptxas info    : Used 12 registers, used 1 barriers, 4096 bytes smem, 368 bytes cmem[0]" >&2
"""


@unittest.skipIf(HAS_TRITON, "Triton itself is installed: bench/triton_python.py tests with it")
class TritonTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, variable in (("ptxas", "FAKE_PTXAS"), ("ptxas-blackwell", "FAKE_PTXAS_BLACKWELL")):
            os.environ[variable] = support.write_program(pathlib.Path(self.folder.name) / name, COPY.replace("NAME", name))
        import bankfold.triton  # pylint: disable=import-outside-toplevel
        import triton  # pylint: disable=import-outside-toplevel
        self.triton, self.watch = triton, bankfold.triton.watch
        self.compiler = triton.compiler.compiler
        self.compiler.cache.clear()
        self.compiler.compilations.clear()
        triton.backends.nvidia.compiler.get_ptxas_version.cache_clear()

    def kernel(self):
        return self.triton.jit(lambda: support.transpose(".reqntid 32, 32, 1"))

    def is_hashed(self, cubin):
        """The stand-in's machine code is the PTX that it was given."""
        return cubin != self.kernel().fn().encode()

    def test_context_reports_conflicts_by_line(self):
        out = io.StringIO()
        with self.watch(file=out) as seen:
            self.kernel()[(1,)]()
        self.assertEqual([kernel.conflicts for kernel in seen.kernels], [992])
        self.assertEqual(seen.kernels[0].lines[0].place, "transpose.cu:7")
        self.assertEqual(seen.kernels[0].lines[0].conflicts, 992)
        self.assertIn("992 conflicts in a block", out.getvalue())
        self.assertEqual(seen.to_dict()["kernels"][0]["name"], "transpose")

    def test_lines_of_the_kernel_come_before_those_of_functions_that_it_calls(self):
        ptx = support.transpose(".reqntid 32, 32, 1").replace('.file 1 "transpose.cu"', '.file 1 "/lib/standard.py"\n'
                                                              '.file 2 "/home/me/sort.py"')
        ptx = ptx.replace(".loc 1 7 3", ".loc 1 7 3 // standard.py:7:3 @[ standard.py:99:1 @[ sort.py:14:29 ] ]")
        ptx = ptx.replace(".loc 1 5 3", ".loc 2 15 3 // sort.py:15:3")
        with self.watch(verbose=False) as seen:
            self.triton.jit(lambda: ptx)[(1,)]()
        self.assertEqual([(line.place, line.inside, line.conflicts) for line in seen.kernels[0].lines],
                         [("/home/me/sort.py:14", "/lib/standard.py:7", 992), ("/home/me/sort.py:15", None, 0)])

    def test_nothing_is_seen_outside(self):
        with self.watch(verbose=False) as seen:
            pass
        self.kernel()[(1,)]()
        self.assertEqual(seen.kernels, [])
        self.assertEqual(str(seen), "no kernel was compiled")

    def test_optimize_compiles_hashed_code_and_only_inside(self):
        kernel = self.kernel()
        kernel[(1,)]()
        with self.watch(optimize=True, verbose=False) as seen:
            kernel[(1,)]()
            kernel[(1,)]()
        kernel[(1,)]()
        self.assertEqual([self.is_hashed(cubin) for cubin in kernel.launched], [False, True, True, False])
        self.assertEqual(len(self.compiler.compilations), 2)
        self.assertEqual(len(seen.kernels), 1)
        self.assertIn("transpose", seen.kernels[0].optimization)
        self.assertNotIn("TRITON_PTXAS_PATH", os.environ)

    def test_cache_tells_hashed_code_from_other(self):
        with self.watch(optimize=True, verbose=False):
            self.kernel()[(1,)]()
        self.assertEqual(len(self.compiler.compilations), 1)
        plain = self.kernel()
        plain[(1,)]()
        self.assertFalse(self.is_hashed(plain.launched[0]))
        with self.watch(optimize=True, verbose=False) as seen:
            again = self.kernel()
            again[(1,)]()
        self.assertTrue(self.is_hashed(again.launched[0]))
        self.assertIn("from Triton's cache", seen.kernels[0].optimization)
        self.assertEqual(len(self.compiler.compilations), 2)  # the third came from the cache
        with self.watch(optimize=True, hash="xor:0,5,31", verbose=False):
            self.kernel()[(1,)]()
        self.assertEqual(len(self.compiler.compilations), 3)

    def test_decorator_of_a_kernel(self):
        seen = self.watch(optimize=True, verbose=False)
        decorated, other = seen(self.kernel()), self.kernel()
        decorated[(1,)]()
        other[(1,)]()
        decorated[(1,)]()
        self.assertEqual([self.is_hashed(cubin) for cubin in decorated.launched + other.launched], [True, True, False])
        self.assertEqual(len(seen.kernels), 1)

    def test_decorator_of_a_function(self):
        @self.watch(optimize=True, verbose=False)
        def work(kernel):
            kernel[(1,)]()
            return kernel.launched[-1]

        self.assertTrue(self.is_hashed(work(self.kernel())))

    def test_autotune(self):
        tuned = self.triton.autotune([2, 4, 8])(self.kernel())
        tuned[(1,)]()
        with self.watch(optimize=True, verbose=False) as seen:
            tuned[(1,)]()
        tuned[(1,)]()
        hashed = [self.is_hashed(cubin) for cubin in tuned.fn.launched]
        self.assertEqual(hashed, [False] * 4 + [True] * 4 + [False])
        self.assertTrue(seen.kernels)

    def test_decorator_of_an_autotuned_kernel(self):
        seen = self.watch(optimize=True, verbose=False)
        tuned = seen(self.triton.autotune([2, 4])(self.kernel()))
        tuned[(1,)]()
        self.assertTrue(all(map(self.is_hashed, tuned.fn.launched)))

    def test_targets_by_hand(self):
        for target in (90, 100):
            with self.watch(optimize=True, verbose=False) as seen:
                compiled = self.triton.compile(self.compiler.ASTSource(self.kernel()), target=target)
            self.assertTrue(self.is_hashed(compiled.asm["cubin"]))
            self.assertEqual(seen.kernels[0].conflicts, 992)

    def test_settings_that_were_set_in_the_program(self):
        self.triton.knobs.nvidia.ptxas = os.environ["FAKE_PTXAS"]
        self.addCleanup(self.triton.knobs.nvidia.__dict__.clear)
        kernel = self.kernel()
        with self.watch(optimize=True, verbose=False):
            kernel[(1,)]()
        self.assertTrue(self.is_hashed(kernel.launched[0]))
        self.assertEqual(self.triton.knobs.nvidia.__dict__["ptxas"], os.environ["FAKE_PTXAS"])

    def test_a_hash_that_is_asked_for(self):
        with self.watch(optimize=True, hash="xor:0,5,31", verbose=False) as seen:
            self.kernel()[(1,)]()
        self.assertIn("xor:0,5,31", seen.kernels[0].optimization)

    def test_hashes_that_cannot_be_are_refused_at_once(self):
        for wrong in ("nonsense", "mod:31"):
            with self.assertRaises(bankfold.BadInput):
                self.watch(optimize=True, hash=wrong)
        path = pathlib.Path(self.folder.name, "hashes")
        path.write_text("transpose xor:0,5,31\n")
        with self.watch(optimize=True, hashes=str(path), verbose=False) as seen:
            self.kernel()[(1,)]()
        self.assertIn("xor:0,5,31", seen.kernels[0].optimization)
        path.write_text("transpose\n")
        with self.assertRaisesRegex(bankfold.BadInput, "hashes:1"):
            self.watch(optimize=True, hashes=str(path))

    def test_a_context_inside_itself(self):
        context = self.watch(optimize=True, verbose=False)
        kernel = self.kernel()
        with context:
            with context:
                kernel[(1,)]()
            kernel[(1,)]()
        kernel[(1,)]()
        self.assertEqual([self.is_hashed(cubin) for cubin in kernel.launched], [True, True, False])

    def test_what_cannot_be_read_is_said_and_compiled(self):
        broken = self.triton.jit(lambda: "this is no PTX")
        with self.watch(optimize=True, verbose=False) as seen:
            broken[(1,)]()
        self.assertEqual(broken.launched, [b"this is no PTX"])
        self.assertTrue(seen.kernels[0].error)

    def run_program(self, *options):
        """Runs a program with a kernel by python -m: its status, its output, and what is said."""
        script = pathlib.Path(self.folder.name, "app.py")
        script.write_text(f"import sys, triton\nPTX = {support.transpose('.reqntid 32, 32, 1')!r}\n"
                          "kernel = triton.jit(lambda: PTX)\nkernel[(1,)]()\n"
                          "print(kernel.launched[0] != PTX.encode(), sys.argv[1:], __name__)\n")
        path = os.pathsep.join([*filter(None, sys.path), support.FAKES])
        ran = subprocess.run([sys.executable, "-m", "bankfold.triton", *options, str(script), "--own", "x"], check=False,
                             capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        return ran.returncode, ran.stdout, ran.stderr

    def test_whole_programs(self):
        status, out, said = self.run_program()
        self.assertEqual((status, out), (0, "False ['--own', 'x'] __main__\n"), said)
        self.assertIn("992 conflicts in a block", said)
        status, out, said = self.run_program("--optimize")
        self.assertEqual((status, out), (0, "True ['--own', 'x'] __main__\n"), said)
        self.assertIn("rewritten", said)
        self.assertEqual(self.run_program("--optimize", "--hash", "nonsense")[0], 2)

    def test_settings_of_torch_are_those_of_the_context(self):
        config = types.ModuleType("torch._inductor.config")
        config.compile_threads, config.fx_graph_cache = 32, True  # and none of the others, as in other versions
        modules = {"torch": types.ModuleType("torch"), "torch._inductor": types.ModuleType("torch._inductor"),
                   "torch._inductor.config": config}
        with unittest.mock.patch.dict(sys.modules, modules):
            with self.watch(verbose=False):
                self.assertEqual((config.compile_threads, config.fx_graph_cache), (1, False))
            self.assertEqual((config.compile_threads, config.fx_graph_cache), (32, True))
            self.assertFalse(hasattr(config, "autotune_local_cache"))

    def test_an_exception_inside_leaves_nothing_behind(self):
        kernel = self.kernel()
        with self.assertRaises(ZeroDivisionError), self.watch(optimize=True, verbose=False):
            kernel[(1,)]()
            raise ZeroDivisionError
        kernel[(1,)]()
        self.assertEqual([self.is_hashed(cubin) for cubin in kernel.launched], [True, False])


if __name__ == "__main__":
    unittest.main()
