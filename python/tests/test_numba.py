"""The real Numba, where it is installed with NVIDIA's NVVM: kernels are compiled, rewritten and linked by it, and run on the
driver of `bankfold exec`, without a GPU."""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from bankfold.program import program_path

from . import support


def toolkit():
    """NVVM and its device library, or None."""
    for home in filter(None, (os.environ.get("CUDA_HOME"), "/usr/local/cuda", "/usr/lib/nvidia-cuda-toolkit", "/usr")):
        found = [path for folder in ("nvvm/lib64", "lib64", "lib", "lib/x86_64-linux-gnu")
                 for path in sorted(glob.glob(f"{home}/{folder}/libnvvm.so*"))]
        device = sorted(glob.glob(f"{home}/nvvm/libdevice/libdevice*.bc"))
        if found and device:
            return found[0], os.path.dirname(device[0])
    return None


@unittest.skipUnless(support.is_installed("numba"), "Numba is not installed (Debian: python3-numba)")
class NumbaTest(unittest.TestCase):
    def test_kernels_are_rewritten_before_they_run(self):
        found = toolkit()
        if not found:
            self.skipTest("no NVVM: it comes with NVIDIA's CUDA toolkit")
        with tempfile.TemporaryDirectory() as home:
            # Numba looks for all below one folder.
            folder = pathlib.Path(home, "nvvm", "lib64")
            folder.mkdir(parents=True)
            (folder / "libnvvm.so").symlink_to(found[0])
            (folder.parent / "libdevice").symlink_to(found[1])
            pathlib.Path(home, "lib64").mkdir()
            pathlib.Path(home, "lib64", "libcudart.so").symlink_to(self.libraries() / "libcudart.so.13")
            script = support.TESTS / "numba_program.py"
            run = subprocess.run([str(program_path()), "exec", "--json", sys.executable, str(script)], capture_output=True, text=True,
                                 check=False, env={**os.environ, "CUDA_HOME": home, "NUMBA_CUDA_DRIVER": str(self.libraries() / "libcuda.so.1"),
                                                   "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
        self.assertEqual(run.returncode, 0, run.stderr)
        said = json.loads(next(line for line in run.stderr.split("\n") if line.startswith("{")))
        name = said.pop("name")
        self.assertTrue(name.startswith("cudapy::") and name.endswith("transpose"), name)
        self.assertEqual(said, {"plain is right": True, "conflicts": [992], "hashed is right": True, "plain stays": True,
                                "blocks": [[32, 32, 1]], "left": [0], "hashed is right behind it": True})
        # What ran: four blocks of a kernel as it is, twice, and of the other without a conflict, twice.
        kernels = json.loads(run.stdout)["kernels"]
        self.assertEqual(sorted((kernel["launches"], kernel["conflicts"]) for kernel in kernels), [(2, 0), (2, 2 * 4 * 992)])

    @staticmethod
    def libraries():
        """Where libcuda.so.1 of Bankfold is: beside its program in a build folder, or where it is installed."""
        folder = program_path().resolve().parent
        places = (folder / "runtime", folder.parent / "lib" / "bankfold", folder.parent / "lib64" / "bankfold",
                  *folder.parent.glob("lib/*/bankfold"))
        return next(place for place in places if (place / "libcuda.so.1").exists())


if __name__ == "__main__":
    unittest.main()
