#!/usr/bin/env python3
"""Every instruction of the toolkit's own wrappers (cuda::ptx, cccl/cuda/__ptx) is read, and the emulator takes the kernel that holds it or
refuses it for one of the reasons below. ptxas takes all of them too. Skipped without the toolkit's headers. Run as: toolkit_ptx.py BUILD_FOLDER"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = "include/cccl/cuda/__ptx/instructions/generated/*.h"
REGISTERS = {"r": "b32", "l": "b64", "h": "b16", "f": "f32", "d": "f64", "q": "b128"}
# Which instructions are refused, and what the message says.
REFUSED = [
    (r"^multimem\.", "memory of several GPUs at one address"),
    (r"tcgen05\.mma\.ws[^;]*, \w+, %\d+;", "columns of zeros"),
    (r"^tcgen05\.cp\..*(4x256b|b8x16)", "tcgen05.cp of this shape or format"),
]


def toolkit():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))


def parts(text):
    """The parts of an asm statement between its colons: pairs of constraint or text and what follows it in brackets."""
    found, quoted = [[]], re.compile(r'"((?:[^"\\]|\\.)*)"|(::?)|\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)')
    for match in quoted.finditer(text):
        if match.group(2):
            found += [[] for _ in match.group(2)]
        elif match.group(1) is not None:
            found[-1].append(match.group(1))
    return found


def instructions():
    """Declarations and code of each asm statement, without repeats."""
    seen = {}
    for path in sorted(glob.glob(os.path.join(toolkit(), HEADERS))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in re.finditer(r"\basm\s*(?:volatile)?\s*\((.*?)\);\n", text, re.S):
            found = parts(match.group(1))
            code = "".join(found[0]).replace("\\n", "\n").replace("\\t", " ")
            kinds = [kind.strip("=+&") for part in found[1:3] for kind in part]
            seen[code, tuple(kinds)] = os.path.basename(path)
    return seen


def kernel(name, code, kinds):
    """A kernel that jumps over the instruction, so that nothing needs to be right but its form."""
    number = {"tensormap.cp": "128", "fence.proxy.tensormap": "128", "st.bulk": "0"}
    constant = next((value for word, value in number.items() if code.startswith(word)), "1")
    operand = [constant if kind == "n" else f"%x{i}" for i, kind in enumerate(kinds)]
    declared = "".join(f".reg .{REGISTERS[kind]} %x{i}; " for i, kind in enumerate(kinds) if kind != "n")
    code = re.sub(r"%(%|\d+)", lambda match: "%" if match.group(1) == "%" else operand[int(match.group(1))], code)
    return (f".visible .entry {name}() {{ {declared}\n.reg .b32 %skip; .reg .pred %skips; mov.u32 %skip, %ntid.x;\n"
            f"setp.ne.u32 %skips, %skip, 0; @%skips bra over;\n{code}\nover:\nret;\n}}\n")


def is_wrapped(code):
    """Instructions, not what the compiler does with names of its own."""
    return bool(re.match(r"[a-z{]", code.strip()))


def run(program, ptx, launches):
    path = os.path.join(os.path.dirname(ptx), "made.launch")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f"launch {name} grid 1 block 128\n" for name in launches))
    return subprocess.run([program, "profile", ptx, "--launch", path], capture_output=True, text=True, check=False)


def main():
    made = {f"k{i}": (code, kinds) for i, (code, kinds) in enumerate(k for k in instructions() if is_wrapped(k[0]))}
    if not made:
        print("no headers of cuda::ptx")
        return 77
    program, faults = os.path.join(os.path.abspath(sys.argv[1]), "bankfold"), 0
    with tempfile.TemporaryDirectory() as work:
        ptx = os.path.join(work, "made.ptx")
        with open(ptx, "w", encoding="utf-8") as file:
            file.write(".version 9.0\n.target sm_100a\n.address_size 64\n")
            file.write("".join(kernel(name, *what) for name, what in made.items()))
        left, refused = list(made), {}
        for pattern, why in REFUSED:
            for name in [name for name in left if re.search(pattern, made[name][0])]:
                refused[name] = why
                left.remove(name)
        result = run(program, ptx, left)
        if result.returncode:
            print(result.stderr)
            faults += 1
        for why in {why for _, why in REFUSED}:
            names = [name for name in refused if refused[name] == why]
            message = run(program, ptx, names[:1]).stderr if names else ""
            if why not in message or "line" not in message:
                print(f"{why}: {len(names)} instructions, {made[names[0]][0] if names else ''}: {message}")
                faults += 1
        if "--ptxas" in sys.argv:
            faults += subprocess.run(["ptxas", "-arch=sm_100a", ptx, "-o", "/dev/null"], check=False).returncode != 0
    print(f"{len(left)} instructions taken, {len(refused)} refused, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
