"""Builds the wheel (PEP 517) with nothing but the standard library.

The wheel holds the package and, in bankfold/native, what a build folder of the project has made: the shared library, the
program in one file, and the libraries that `bankfold run` and `bankfold exec` load. The build folder is $BANKFOLD_BUILD, or
build/ of the checkout; where that has no library, it is made in python/build by meson and ninja."""
import base64
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = "libbankfold.so.0"
TARGETS = ["all", "bankfold-static"]

PTXAS = """#!/bin/sh
# The program as a ptxas: all arguments are those of ptxas, and settings come from the environment.
exec "$(dirname "$(readlink -f "$0")")/bankfold" ptxas -- "$@"
"""
NVCC = PTXAS.replace("ptxas", "nvcc")


def read_version():
    """The version is written in the public header and nowhere else."""
    text = (ROOT / "include" / "bankfold.h").read_text()
    return ".".join(re.search(rf"define BF_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


# ---- What was built ----


def find_build():
    """The build folder, made where there is none."""
    for folder in (os.environ.get("BANKFOLD_BUILD"), ROOT / "build", HERE / "build"):
        if folder and (pathlib.Path(folder) / LIBRARY).exists():
            return pathlib.Path(folder).resolve()
    if os.environ.get("BANKFOLD_BUILD"):
        raise SystemExit(f"BANKFOLD_BUILD: {os.environ['BANKFOLD_BUILD']} has no {LIBRARY}")
    folder = HERE / "build"
    for command in (["meson", "setup", "--buildtype=release", "-Dwerror=false", str(folder), str(ROOT)], ["ninja", "-C", str(folder), *TARGETS]):
        print(" ".join(command), file=sys.stderr)
        try:
            subprocess.run(command, check=True, stdout=sys.stderr)
        except FileNotFoundError:
            raise SystemExit(f"{command[0]} is missing: the wheel is built from what meson and ninja make; BANKFOLD_BUILD can "
                             "name a build folder") from None
    return folder


def needed_zstd(library):
    """The file of libzstd.so.1 that the library was linked with, or None."""
    try:
        said = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"libzstd\.so\.1 => (\S+)", said)
    return pathlib.Path(found[1]).resolve() if found else None


def runtime_folder(build):
    """Where the program looks for its libraries, from its own folder."""
    options = json.loads((build / "meson-info" / "intro-buildoptions.json").read_text())
    values = {option["name"]: option["value"] for option in options}
    return pathlib.PurePosixPath(*[".."] * len(pathlib.PurePosixPath(values["bindir"]).parts)) / values["libdir"] / "bankfold"


def native_files(build):
    """Files of bankfold/native: path there, and bytes or a file."""
    library = (build / LIBRARY).resolve()
    yield LIBRARY, library
    zstd = needed_zstd(library)
    if zstd:
        yield "libzstd.so.1", zstd
    static, dynamic = build / "bankfold-static", build / "bankfold"
    program = static if static.exists() else dynamic
    if program == dynamic:
        print(f"{build} has no bankfold-static: the program of this wheel needs libpng and libzstd", file=sys.stderr)
    if program.exists():
        yield "bin/bankfold", program
        yield "bin/bankfold-ptxas", PTXAS.encode()
        yield "bin/bankfold-nvcc", NVCC.encode()
    folder = os.path.normpath(pathlib.PurePosixPath("bin") / runtime_folder(build))
    for loaded in sorted([*build.glob("inject/*.so"), *build.glob("runtime/*.so*")]):
        if loaded.is_file():
            yield f"{folder}/{loaded.name}", loaded
    if zstd and list(build.glob("runtime/*.so*")):
        yield f"{folder}/libzstd.so.1", zstd


# ---- Wheels ----


class Wheel:
    """A wheel that is being written. Times are those of the epoch of zip: the same input gives the same file."""

    def __init__(self, path):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        self.file.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info_folder):
        self.record.append(f"{info_folder}/RECORD,,")
        self.file.writestr(zipfile.ZipInfo(f"{info_folder}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(self.record) + "\n")
        self.file.close()


def project():
    """What pyproject.toml says: the few keys that metadata needs (Python before 3.11 cannot read the file itself)."""
    text = (HERE / "pyproject.toml").read_text()
    scripts = text.split("[project.scripts]")[1]
    return {key: re.search(rf'^{key} = "(.*)"$', text, re.M)[1] for key in ("name", "description", "requires-python")}, scripts


def metadata_files():
    facts, scripts = project()
    metadata = ["Metadata-Version: 2.1", f"Name: {facts['name']}", f"Version: {read_version()}",
                f"Summary: {facts['description']}", "License: Apache-2.0", f"Requires-Python: {facts['requires-python']}",
                "Classifier: Operating System :: POSIX :: Linux", "Classifier: Typing :: Typed", ""]
    yield "METADATA", "\n".join(metadata)
    yield "entry_points.txt", "[console_scripts]\n" + "\n".join(
        line.replace('"', "") for line in scripts.strip().split("\n")) + "\n"
    yield "LICENSE", (ROOT / "LICENSE").read_text()
    yield "NOTICE", (ROOT / "NOTICE").read_text() + ZSTD_NOTICE


ZSTD_NOTICE = """
The wheel and the program in it contain libzstd: Copyright (c) Meta Platforms, Inc. and affiliates; BSD License
(https://github.com/facebook/zstd/blob/dev/LICENSE). The program contains libpng and zlib as well: Copyright (c) the PNG
Reference Library Authors, and Jean-loup Gailly and Mark Adler; under the licenses of both
(http://www.libpng.org/pub/png/src/libpng-LICENSE.txt, https://zlib.net/zlib_license.html).
"""


def wheel_file(tag):
    return f"Wheel-Version: 1.0\nGenerator: bankfold\nRoot-Is-Purelib: false\nTag: {tag}\n"


def write_wheel(directory, fill):
    """Writes a wheel whose contents fill(wheel) adds, and returns its name."""
    tag = f"py3-none-linux_{platform.machine()}"
    version = read_version()
    name, info = f"bankfold-{version}-{tag}.whl", f"bankfold-{version}.dist-info"
    handle, temporary = tempfile.mkstemp(dir=directory)
    os.close(handle)
    wheel = Wheel(temporary)
    fill(wheel)
    for file, text in metadata_files():
        wheel.add(f"{info}/{file}", text.encode())
    wheel.add(f"{info}/WHEEL", wheel_file(tag).encode())
    wheel.close(info)
    os.chmod(temporary, 0o644)
    shutil.move(temporary, os.path.join(directory, name))
    return name


def add_package(wheel):
    for path in sorted((HERE / "bankfold").rglob("*")):
        inner = path.relative_to(HERE)
        if path.is_file() and "__pycache__" not in inner.parts and inner.parts[1] != "native":
            wheel.add(inner.as_posix(), path.read_bytes())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = find_build()

    def fill(wheel):
        add_package(wheel)
        for name, content in native_files(build):
            data = content if isinstance(content, bytes) else content.read_bytes()
            wheel.add(f"bankfold/native/{name}", data, executable=True)

    return write_wheel(wheel_directory, fill)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The checkout itself, with the library of its build folder."""
    find_build()
    return write_wheel(wheel_directory, lambda wheel: wheel.add("bankfold.pth", f"{HERE}\n".encode()))


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("the source distribution is that of the whole project: the package is built from its C sources")


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def main():
    """python3 python/backend.py FOLDER: writes the wheel there, without pip."""
    directory = sys.argv[1] if len(sys.argv) > 1 else "."
    os.makedirs(directory, exist_ok=True)
    print(os.path.join(directory, build_wheel(directory)))


if __name__ == "__main__":
    main()
