#!/usr/bin/env python3
"""Writes runtime/driver/names.def, the names that the toolkit's stub of libcuda exports and those of pictures of other
interfaces (OpenGL, EGL, VDPAU), which a driver exports and the stub does not, and runtime/driver/procs.def,
which of them cuGetProcAddress answers with: the versions of CUDA in which functions changed are those of the toolkit's
types of functions.
    tools/driver_names.py [TOOLKIT]     (default /usr/local/cuda)"""
import collections
import pathlib
import re
import subprocess
import sys

toolkit = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda")
to = pathlib.Path(__file__).resolve().parent.parent / "runtime/driver"
stub = next((path for lib in ("lib64", "lib") for path in [toolkit / lib / "stubs/libcuda.so"] if path.exists()), None)
if not stub:
    sys.exit(f"driver_names.py: no stubs/libcuda.so in {toolkit}")
listing = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True, text=True, check=True).stdout
PICTURES = ["GL", "EGL", "VDPAU"]
headers = "".join((toolkit / f"include/cuda{of}.h").read_text() for of in PICTURES)
declared = set(re.findall(r"CUDAAPI (cu[A-Z]\w*)", headers)) - {"cuWGLGetDevice"}  # of Windows
pictured = [name for name in re.findall(r"\b(cu[A-Z]\w*)", headers) if re.sub(r"_v\d$", "", name) in declared]
names = sorted(set(re.findall(r" (cu[A-Z]\w*)", listing) + pictured +
                   [name + "_pt" + kind.lower() for kind, name in re.findall(r"__CUDA_API_PT(DS|SZ)\((cu\w+)\)", headers)]))

TYPE = re.compile(r"\*PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)")
versions = collections.defaultdict(set)  # of (name, whether the stream is the thread's own)
types = "".join((toolkit / f"include/cuda{of}Typedefs.h").read_text() for of in ["", *PICTURES])
for name, version, ending in TYPE.findall(types):
    versions[name, bool(ending)].add(int(version))


def forms(name, per_thread):
    """The symbols of a function, oldest first: NAME, NAME_v2, ..."""
    endings = ["_ptsz", "_ptds"] if per_thread else [""]
    tried = [name + middle + ending for middle in [""] + [f"_v{i}" for i in range(2, 10)] for ending in endings]
    return [symbol for symbol in tried if symbol in names]


rows = []
versions.pop(("cuWGLGetDevice", False), None)
for (name, per_thread), when in sorted(versions.items()):
    symbols = forms(name, per_thread)
    if len(symbols) != len(when):
        sys.exit(f"driver_names.py: {name} has {len(when)} versions and {len(symbols)} symbols")
    rows += [f"{'T' if per_thread else 'P'}({name}, {version}, {symbol})" for version, symbol in zip(sorted(when), symbols)]
known = {name for name, _ in versions}
rows += [f"P({name}, 4000, {name})" for name in names if name.startswith("cuProfiler") and name not in known]

made = "made by tools/driver_names.py. */\n"
(to / "names.def").write_text("/* Names that libcuda exports; " + made + "".join(f"X({name})\n" for name in names))
(to / "procs.def").write_text(
    "/* What cuGetProcAddress answers: name, version of CUDA since which it is so, symbol. P: by default, T: where the\n"
    " * default stream is the thread's own; " + made + "".join(row + "\n" for row in sorted(rows)))
