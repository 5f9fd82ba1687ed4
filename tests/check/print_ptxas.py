#!/usr/bin/env python3
"""A module as build folder $1 prints it gives the machine code of its source: all sections that ptxas makes, but names of
files and debug data. Skipped where there is no ptxas.

    print_ptxas.py BUILD [COUNT [SEED]]   all PTX of the repository, every form of instruction that the emulator is
                                          compared on, and COUNT random kernels and variables (default 2000)
"""
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "merge"))
sys.path.insert(0, str(HERE))
import expressions_ptxas
import sass_shared

KERNELS_PER_MODULE = 100
PARALLEL = 2


# ---- Comparing ----

def symbols(cubin):
    """What a cubin says of its symbols, by their names; of variables in functions the names end in the line of the PTX."""
    table, = struct.unpack_from("<Q", cubin, 40)
    count, = struct.unpack_from("<H", cubin, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + 64 * i) for i in range(count)]
    text = {index: cubin[at:cubin.index(b"\0", at)] for index, header in enumerate(headers)
            for at in [headers[struct.unpack_from("<H", cubin, 62)[0]][4] + header[0]]}
    found = []
    for header in (header for header in headers if header[1] == 2):
        for at in range(header[4], header[4] + header[5], 24):
            name, kind, other, index, value, size = struct.unpack_from("<IBBHQQ", cubin, at)
            start = headers[header[6]][4] + name
            name = re.sub(rb"__\d+$", b"", cubin[start:cubin.index(b"\0", start)])
            found.append((name, kind, other, text.get(index, b""), value, size))
    return sorted(symbol for symbol in found if b"debug" not in symbol[0])


def assemble(text, work, arch):
    """What is in the cubin that ptxas makes of PTX in a folder of its own, by section; None where it refuses it. Of
    shared memory the file has only the size."""
    work.mkdir()
    (work / "a.ptx").write_bytes(text)
    done = subprocess.run(["ptxas", "-w", f"-arch={arch}", "-c", "a.ptx", "-o", "a.cubin"], capture_output=True, cwd=work)
    if done.returncode:
        return None
    cubin = (work / "a.cubin").read_bytes()
    found = {name: len(data) if name.startswith(".nv.shared") else data for name, data in sass_shared.sections(cubin)
             if not re.match(r"(\.rela?)?\.(debug|nv_debug|strtab|shstrtab|symtab)", name)}
    return {**found, "symbols": symbols(cubin)}


def compare(program, source, work):
    """(whether ptxas takes the source, what is wrong with what is printed of it or None)."""
    text = source.read_bytes()
    arch = re.search(rb"^\s*\.target\s+(sm_\w+)", text, re.M)
    arch = arch[1].decode() if arch else "sm_90"
    wanted = assemble(text, work / "source", arch)
    if wanted is None:
        return False, None
    shown, message = expressions_ptxas.printed(program, work, source)
    if shown is None:
        return True, f"refused here, but not by ptxas: {message}"
    found = assemble(shown, work / "printed", arch)
    if found is None:
        return True, "ptxas refuses what is printed"
    other = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    return True, f"other contents in {', '.join(other[:5])}" if other else None


def compare_alone(program, source):
    """The same in a folder for this module alone."""
    with tempfile.TemporaryDirectory() as folder:
        return compare(program, source, pathlib.Path(folder))


# ---- Random modules ----

WIDTHS = {"16": "%h", "32": "%r", "64": "%d"}
BINARY = ["add", "sub", "mul.lo", "min", "max", "div", "rem"]


class Kernel:
    """A kernel with random declarations, scopes and instructions, all of whose results are stored."""

    def __init__(self, rng, number):
        self.rng, self.number, self.lines, self.labels, self.depth = rng, number, [], 0, 1

    def say(self, text):
        guard = self.rng.choice(["@%p{} ", "@!%p{} "]).format(self.rng.randrange(4)) if self.rng.random() < 0.1 else ""
        self.lines.append("\t" * self.depth + guard + text + ";")

    def register(self, width):
        return f"{WIDTHS[width]}{self.rng.randrange(6)}"

    def constant(self, depth=2):
        """An integer; / and % are left out, so that ptxas refuses none."""
        text = "/"
        while re.search(r"[/%]|(?<![0-9])\.(?![su])|\d\.\d|0d|0f|\de", text):
            text = expressions_ptxas.whole(self.rng, self.rng.randrange(depth + 1))
        return f"({text})" if re.search(r"[^\w]", text) else text

    def operand(self, width):
        return self.constant() if self.rng.random() < 0.35 else self.register(width)

    def address(self, space, step):
        """An address of that space with an offset that is a multiple of step."""
        base = {"global": f"%d{self.rng.choice('67')}", "shared": self.rng.choice(["s", "m", "%r6"]), "local": "l"}[space]
        if space == "shared" and base in "sm" and self.rng.random() < 0.3:
            space = ""
        offset = self.rng.choice(["", f"+{step}", f"+{step}*{self.rng.randrange(9)}", f"+-{step}", f"+(~0-{step - 1})",
                                  f"+{step}*(WARP_SZ>>2)", f"+{self.rng.randrange(20)}*{step}+{step}"])
        return space and "." + space, f"[{base}{offset}]"

    def arithmetic(self):
        width = self.rng.choice(list(WIDTHS))
        kind = self.rng.choice("us") + width
        self.say(f"{self.rng.choice(BINARY)}.{kind} {self.register(width)}, {self.register(width)}, {self.operand(width)}")

    def logic(self):
        width = self.rng.choice(list(WIDTHS))
        operation = self.rng.choice(["and", "or", "xor", "shl", "shr"])
        right = self.operand("32" if operation.startswith("sh") else width)
        self.say(f"{operation}.b{width} {self.register(width)}, {self.register(width)}, {right}")

    def floating(self):
        number = expressions_ptxas.real(self.rng, self.rng.randrange(3))
        while re.search(r"/|0f", number):
            number = expressions_ptxas.real(self.rng, self.rng.randrange(3))
        kind, letter = self.rng.choice([("f32", "f"), ("f64", "e")])
        name, other = (f"%{letter}{self.rng.randrange(4)}" for _ in range(2))
        self.say(self.rng.choice([f"add.{kind} {name}, {other}, {number}", f"mov.{kind} {name}, {number}",
                                  f"fma.rn.{kind} {name}, {other}, {number}, {name}"]))

    def compare(self):
        width = self.rng.choice(list(WIDTHS))
        two = f"%p{self.rng.randrange(4)}|%p4" if self.rng.random() < 0.3 else f"%p{self.rng.randrange(4)}"
        relation = self.rng.choice(["lt", "ge", "eq", "ne"])
        self.say(f"setp.{relation}.{self.rng.choice('us')}{width} {two}, {self.register(width)}, {self.operand(width)}")

    def memory(self):
        size = self.rng.choice([1, 2, 4])
        volatile = self.rng.choice(["", "", ".volatile"])
        space, address = self.address(self.rng.choice(["global", "shared", "local"] if not volatile else ["global", "shared"]), 4 * size)
        items = [f"%r{i}" for i in self.rng.sample(range(6), size)]
        data, vector = ("{" + ", ".join(items) + "}", f".v{size}") if size > 1 else (items[0], "")
        if self.rng.random() < 0.5:
            self.say(f"ld{volatile}{space}{vector}.u32 {data}, {address}")
        else:
            self.say(f"st{volatile}{space}{vector}.u32 {address}, {data if size > 1 else self.operand('32')}")

    def atomic(self):
        space, address = self.address(self.rng.choice(["global", "shared"]), 4)
        self.say(self.rng.choice([f"atom{space}.add.u32 %r0, {address}, {self.operand('32')}", f"red{space}.max.s32 {address}, %r1",
                                  f"atom{space}.cas.b32 %r2, {address}, {self.constant()}, %r3"]))

    def move(self):
        self.say(self.rng.choice([f"mov.u32 %r1, %{self.rng.choice(['tid', 'ntid', 'ctaid'])}.{self.rng.choice('xyz')}",
                                  f"mov.u32 %r2, s+{self.constant(1)}", "mov.b64 %d0, {%r0, %r1}", "mov.b64 {%r2, _}, %d1",
                                  f"mov.u{self.rng.choice(['16 %h', '32 %r', '64 %d'])}3, {self.constant(3)}",
                                  f"selp.b32 %r4, {self.constant()}, {self.operand('32')}, %p{self.rng.randrange(4)}",
                                  "cvt.u64.u32 %d2, %r2", "mov.u64 %d3, table+8*1", "bar.sync 1+1", "mov.pred %p1, 3>2"]))

    def scope(self):
        """Instructions in braces, with a register that hides another."""
        self.lines.append("\t" * self.depth + "{ .reg .b32 %r5; .reg .b32 %t<2>;")
        self.depth += 1
        self.say(f"mov.b32 %r5, {self.constant()}")
        self.fill(self.rng.randrange(1, 4))
        self.lines.append("\t" * (self.depth - 1) + "}")
        self.depth -= 1

    def branch(self):
        label = f"$L{self.labels}"
        self.labels += 1
        self.lines.append("\t" * self.depth + f"@%p{self.rng.randrange(4)} bra {label};")
        self.fill(self.rng.randrange(1, 4))
        self.lines.append(f"{label}:")

    def call(self):
        self.lines.append("{ .param .b32 a; .param .b32 b; st.param.b32 [a+0], %r0; call (b), f, (a); ld.param.b32 %r0, [b]; }")

    def fill(self, count):
        for _ in range(count):
            if self.depth > 3:
                self.arithmetic()
                continue
            self.depth += 1
            kinds = [self.arithmetic] * 3 + [self.memory] * 3 + [self.logic, self.floating, self.compare, self.atomic, self.move] * 2
            self.depth -= 1
            self.rng.choice(kinds + [self.scope, self.branch, self.call])()

    def text(self):
        self.fill(self.rng.randrange(3, 15))
        stores = "".join(f"st.volatile.global.u64 [%d7+{8 * i}], %d{i}; st.volatile.global.u32 [%d7+{64 + 4 * i}], %r{i};\n"
                         for i in range(6))
        tuning = self.rng.choice(["", ".maxntid WARP_SZ", ".reqntid 32, 1+0, 1".replace("1+0", "1"), ".maxntid 64\n.minnctapersm 2"])
        return (f"{self.rng.choice(['.visible ', '', '.weak '])}.entry k{self.number}(.param .u64 p, .param .align 8 .b8 q[16]) {tuning}\n"
                "{\n.reg .b16 %h<6>; .reg .b32 %r<7>, %u; .reg .f32 %f<4>; .reg .f64 %e<4>; .reg .b64 %d<8>; .reg .pred %p<5>;\n"
                ".shared .align 16 .b8 s[2048]; .local .align 16 .b8 l[512];\n"
                "ld.param.u64 %d7, [p]; cvta.to.global.u64 %d7, %d7; ld.param.u64 %d6, [q+8]; cvta.to.global.u64 %d6, %d6;\n"
                "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d7]; ld.global.v2.u64 {%d0, %d1}, [%d7+16]; ld.global.u64 %d2, [%d7+32];\n"
                "mov.u32 %r6, %tid.x; shl.b32 %r6, %r6, 4; mov.u32 %r4, %r6; setp.ne.u32 %p0, %r6, 0; cvt.u16.u32 %h0, %r0;\n"
                + "\n".join(self.lines) + "\n" + stores + "ret;\n}\n")


def random_module(rng, kernels):
    """PTX of random variables, a function and kernels."""
    text = [".version 8.5", ".target sm_90", ".address_size 64", ".weak .shared .align 16 .b8 m[1024];",
            ".func (.param .b32 r) f(.param .b32 x) .noinline {".replace(" .noinline", ""),
            ".reg .b32 %a; ld.param.b32 %a, [x]; mad.lo.s32 %a, %a, (~0>>60), 7 % -3; st.param.b32 [r], %a; ret; }",
            ".global .align 8 .u64 table[3] = {f, f, generic(w0)+4*2};".replace("w0", "w")]
    text.insert(4, ".global .align 8 .b32 w[4] = {1+1, ~0, 7 % -3};")
    for i in range(kernels // 2):
        linkage = rng.choice(["", ".visible ", ".weak "])
        count = rng.randrange(1, 5)
        values = ", ".join(expressions_ptxas.literal(rng) for _ in range(count))
        text.append(f"{linkage}.{rng.choice(['global', 'const'])} .align {rng.choice([8, 16, 'WARP_SZ'])} .u64 v{i}[{count}] = {{{values}}};")
    return "\n".join(text) + "\n" + "".join(Kernel(rng, i).text() for i in range(kernels))


# ---- The check ----

def sources(build, work, count, seed):
    """All modules to compare."""
    root = HERE.parent.parent
    found = sorted(path for folder in ("kernels", "tests", "bench", "examples", "reproduce") for path in (root / folder).rglob("*.ptx"))
    forms = work / "forms"
    forms.mkdir()
    subprocess.run([build / "tests" / "check_emu", "--write", forms], check=True)
    rng, randoms = random.Random(seed), []
    for start in range(0, count, KERNELS_PER_MODULE):
        path = work / f"random{start}.ptx"
        path.write_text(random_module(rng, min(KERNELS_PER_MODULE, count - start)))
        randoms.append(path)
    return found, sorted(forms.glob("*.ptx")), randoms


def main():
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if subprocess.run(["sh", "-c", "command -v ptxas"], stdout=subprocess.DEVNULL).returncode:
        print("no ptxas")
        sys.exit(77)
    build = pathlib.Path(sys.argv[1]).resolve()
    count, seed = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 2000), (3, 16)))
    faults = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PARALLEL) as pool:
        work = pathlib.Path(folder)
        for kind, paths in zip(("files", "forms", "random modules"), sources(build, work, count, seed)):
            results = list(pool.map(lambda path: compare_alone(build / "tests" / "check_ptx", path), paths))
            for path, (_, fault) in zip(paths, results):
                if fault:
                    print(f"{path}: {fault}")
                    faults += 1
            taken = sum(is_taken for is_taken, _ in results)
            if taken < len(paths) * 0.8:
                print(f"ptxas takes only {taken} of {len(paths)} {kind}")
                faults += 1
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
