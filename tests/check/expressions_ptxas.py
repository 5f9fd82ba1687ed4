#!/usr/bin/env python3
"""Constant expressions: what ptxas computes and what build folder $1 computes must be the same, bit by bit.

    expressions_ptxas.py BUILD [COUNT [SEED]]   rows of a table and COUNT random expressions (default 4000)
    expressions_ptxas.py --record BUILD FILE    writes what ptxas computes, for tests/unit/test_expressions.c

Expressions initialise variables, whose bytes ptxas puts into the cubin, and are offsets of loads, whose code must be that
of what is printed for them. What ptxas refuses is not looked at. Skipped where there is no ptxas."""
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"
KINDS = {"u64": 8, "f64": 8, "f32": 4, "b32": 4, "b8": 1, "s16": 2}

TABLE = """
~0>>1 | 7 % -3 | 1<<64 | 1<<65 | 1<<-1 | 8>>65 | -1>>64 | ~0<0 | (~7)/2 | -7/2 | -7 % 3 | -5 % 3 | -1>>1 | (.s64)~0>>1
(.u64)-5/2 | (.s64)0xffffffffffffffff/2 | -1<0 | -1<0U | 0-1<0 | -9223372036854775808/2 | -9223372036854775808>>1
((7 % 3)-100)>>1 | ((7 & 3U)-100)>>1 | ((7 | 3)-100)>>1 | ((7 ^ 3U)-100)>>1 | ((7 << 3U)-100)>>1 | ((7U >> 3)-100)>>1
((7U < 3)-100)>>1 | ((7U == 3)-100)>>1 | ((7U && 3)-100)>>1 | ((!7U)-100)>>1 | ((-7U)-100)>>1 | ((+7U)-100)>>1
((.s64)7U-100)>>1 | ((1?7:8U)-100)>>1 | ((0?7U:8)-100)>>1 | (WARP_SZ-100)>>1 | WARP_SZ*2 | -WARP_SZ | ~WARP_SZ
18446744073709551615 | 18446744073709551616 | 18446744073709551617 | (18446744073709551617-100)>>1 | 27670116110564327423
36893488147419103232 | 184467440737095516160 | 0x1ffffffffffffffff | 02000000000000000000000 | 07777777777777777777777
0777 | 0b101 | 0B11U | 0X1f | 017U | 5?1:2 | 0?1:2 | 2 ? 3 ? 4 : 5 : 6 | 0 ? 1 : 0 ? 2 : 3 | 1 | 2 ^ 3 & 4 | 1 + 2 << 3
1 << 2 + 3 | 1 < 2 == 1 | 6 & 2 == 2 | !1 + 1 | -1 << 2 | 1 == 2 < 3 | --5 | - -5 | !!5 | ~~5 | -~5 | ( .s64 ) 5
1.5<2.0 | 1.5==1.5 | 0d7ff8000000000000==0d7ff8000000000000 | 0d7ff8000000000000!=0d7ff8000000000000
0d7ff8000000000000>=1.0 | 0.0==-0.0 | ((1.0<2.0)-100)>>1 | 1.0<2.0 ? 7 : 8 | (0f3f800000)==0d000000003f800000
(-9223372036854775807-1) % -1 | 5 % 0 | 1/0 | 0&&1/0 | 1.5+1 | 1?1.5:2 | !1.5 | 99999999999999999999
"""
DOUBLES = """
.5 | 5. | 1.e5 | 1e5 | 1E+5 | .5e1 | -.5 | +1.5 | - -1.5 | (1.5) | -(1.5) | 1.5-0.5 | 0.1+0.2 | 1.0/3.0 | 1.0+2.0*3.0
(1.0+2.0)*3.0 | 1e308*10.0 | -1e308*10.0 | 1e-300*1e-20 | 0.0*-1.0 | -1.0+1.0 | 0d7ff0000000000000-0d7ff0000000000000
0d7ff0000000000000*0.0 | 0d7ff8000000000001+0d7ff8000000000002 | 0d7ff8000000000002-0d7ff8000000000001
0d7ff8000000000001*0d7ff8000000000002 | 0d7ff8000000000001/0d7ff8000000000002 | 1.0-0d7ff8000000000002
0d7ff0000000000001+1.0 | -0d7ff0000000000001 | 0d0000000000000001*1.0 | 0d3ff8000000000000+1.0 | 0f3fc00000 | (0f3dcccccd)
-(0f3dcccccd) | +(0f3dcccccd) | (0f3dcccccd)+1.0 | (0f3dcccccd)+(0f3dcccccd) | 00.5 | 010.5 | 09e1 | 16777217.0 | 1e23
1.00000005960464477539062500001 | 9007199254740993.0 | 1.0/0.0 | 1e39 | 1e-46 | 1.7976931348623157e308
"""


# ---- Random expressions ----

LITERALS = ["0", "1", "2", "3", "7", "31", "63", "64", "65", "0x7fffffffffffffff", "0x8000000000000000", "9223372036854775808",
            "0xffffffffffffffff", "4294967295", "0xffffffff", "2147483648", "017", "0b1011", "1U", "5U", "0xfU", "WARP_SZ"]
OPERATORS = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||"]
REALS = ["1.0", ".5", "2.", "1e3", "0.1", "3.25", "-1.5", "1e300", "1e-300", "0d3ff8000000000000", "0d7ff0000000000000",
         "0d0000000000000001", "0d8000000000000000", "(0f3f800000)"]


def literal(rng):
    choice = rng.random()
    if choice < 0.6:
        return rng.choice(LITERALS)
    number = rng.getrandbits(rng.choice([3, 8, 31, 33, 63, 64]))
    return rng.choice([f"{number}", f"{number:#x}", f"0{number:o}", f"{number:#b}"]) + ("U" if rng.random() < 0.15 else "")


def real(rng, depth):
    """A random expression of doubles."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(REALS)
    if rng.random() < 0.2:
        return f"{rng.choice('+-')}({real(rng, depth - 1)})"
    return f"({real(rng, depth - 1)} {rng.choice('+-*/')} {real(rng, depth - 1)})"


def whole(rng, depth):
    """A random expression of integers."""
    choice = rng.random()
    if depth == 0 or choice < 0.12:
        return literal(rng)
    if choice < 0.3:
        return rng.choice("-~!+") + (" " if rng.random() < 0.3 else "") + whole(rng, depth - 1)
    if choice < 0.4:
        return f"{rng.choice(['(.s64)', '(.u64)'])}{whole(rng, depth - 1)}"
    if choice < 0.5:
        return f"({whole(rng, depth - 1)})"
    if choice < 0.57:
        return f"({whole(rng, depth - 1)} ? {whole(rng, depth - 1)} : {whole(rng, depth - 1)})"
    if choice < 0.6:
        return f"({real(rng, 1)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {real(rng, 1)})"
    blank = " " if rng.random() < 0.5 else ""
    sign = rng.choice(OPERATORS)
    return f"{whole(rng, depth - 1)}{blank or ' ' * (sign == '%')}{sign}{blank or ' '}{whole(rng, depth - 1)}"


# ---- ptxas ----

def values(cubin):
    """{name: bytes} of the variables in a cubin."""
    table, = struct.unpack_from("<Q", cubin, 40)
    count, = struct.unpack_from("<H", cubin, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + 64 * i) for i in range(count)]
    found = {}
    for header in (header for header in headers if header[1] == 2):
        names = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, _, _, index, start, size = struct.unpack_from("<IBBHQQ", cubin, at)
            if 0 < index < count:
                text = cubin[names + name:cubin.index(b"\0", names + name)].decode()
                start += headers[index][4]
                found[text] = bytes(size) if headers[index][1] == 8 else cubin[start:start + size]
    return found


def assemble(work, text):
    """(cubin, None), or (None, the lines with errors); lines are empty where ptxas does not say them."""
    ptx, cubin = work / "a.ptx", work / "a.cubin"
    ptx.write_text(text)
    done = subprocess.run(["ptxas", "-w", "-arch=sm_90", ptx, "-o", cubin], capture_output=True, text=True)
    if done.returncode == 0:
        return cubin.read_bytes(), None
    return None, {int(line) for line in re.findall(r", line (\d+); (?:error|fatal)", done.stderr)}


def module(rows):
    """A variable for each (kind, expression)."""
    return HEAD + "".join(f".visible .global .{kind} v{i} = {expression};\n" for i, (kind, expression) in enumerate(rows))


def by_ptxas(work, rows):
    """[(kind, expression, bits)] of those that ptxas takes."""
    while rows:
        cubin, lines = assemble(work, module(rows))
        if cubin:
            found = values(cubin)
            return [(*row, int.from_bytes(found[f"v{i}"], "little")) for i, row in enumerate(rows)]
        if not lines:  # it died of one
            half = len(rows) // 2
            return by_ptxas(work, rows[:half]) + by_ptxas(work, rows[half:]) if half else []
        rows = [row for i, row in enumerate(rows) if i + 4 not in lines]
    return []


# ---- Ours ----

def printed(program, work, source):
    """(a module as check_ptx prints it, None), or (None, its message)."""
    folder = work / "shown"
    folder.mkdir(exist_ok=True)
    done = subprocess.run([program, "--write", folder, source], capture_output=True)
    if done.returncode:
        return None, (done.stdout + done.stderr).decode()
    return (folder / source.name).read_bytes(), None


def bits_of(kind, text):
    """The bits that a printed number has in a variable of that kind; ptxas's rules for single numbers."""
    size = KINDS[kind]
    if text.startswith("0f"):
        number = int(text[2:], 16)
    elif text.startswith("0d") or re.search("[.e]", text):
        value = struct.unpack("<d", struct.pack("<Q", int(text[2:], 16)))[0] if text.startswith("0d") else float(text)
        number = int(text[2:], 16) if text.startswith("0d") else struct.unpack("<Q", struct.pack("<d", value))[0]
        if size == 4:
            number = single_bits(value)
    else:
        number = int(text)
    return number & (1 << 8 * size) - 1


def single_bits(value):
    """A double rounded to a float; what is too large is infinite."""
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0xff800000 if value < 0 else 0x7f800000


def compare_values(program, work, rows):
    """How many of the rows that ptxas takes are computed otherwise here; and how many it takes."""
    taken, faults = by_ptxas(work, rows), 0
    source = work / "values.ptx"
    source.write_text(module([row[:2] for row in taken]))
    text, message = printed(program, work, source)
    if text is None:
        print(f"refused here, but not by ptxas: {message}")
        return 1, len(taken)
    ours = dict(re.findall(r"(v\d+) = (\S+);", text.decode()))
    for i, (kind, expression, bits) in enumerate(taken):
        found = bits_of(kind, ours[f"v{i}"])
        if found != bits:
            print(f".{kind} {expression}: {found:#x}, but ptxas: {bits:#x}")
            faults += 1
    return faults, len(taken)


# ---- Offsets ----

KERNEL = """.visible .entry k(.param .u64 p) {
.shared .align 16 .b8 s[4096]; .reg .b32 %r<3>; .reg .b64 %d<3>;
ld.param.u64 %d0, [p]; cvta.to.global.u64 %d0, %d0; ld.global.u64 %d1, [%d0]; cvt.u32.u64 %r1, %d1;
"""
FORMS = ["ld.volatile.global.u8 %r0, [%d1+{}]", "ld.volatile.shared.u8 %r0, [%r1+{}]", "ld.volatile.shared.u8 %r0, [s+{}]",
         "st.volatile.global.u32 [%d0], {}", "mov.u64 %d2, s+{}; st.volatile.global.u64 [%d0], %d2",
         "add.u32 %r0, %r1, {}; st.volatile.global.u32 [%d0], %r0", "st.volatile.global.u64 [%d0], {}",
         "setp.lt.s32 %q, %r1, {}; selp.b32 %r0, 1, 2, %q; st.volatile.global.u32 [%d0], %r0"]


def compare_code(program, work, expressions):
    """Whether the code of a kernel is that of the kernel as it is printed."""
    lines = [FORMS[i % len(FORMS)].format(expression) for i, expression in enumerate(expressions)]
    text = HEAD + KERNEL.replace(", %d<3>", "").replace("%r<3>;", "%r<3>; .reg .pred %q;") + ";\n".join(lines) + ";\nret;\n}\n"
    source = work / "code.ptx"
    source.write_text(text)
    first, _ = assemble(work, text)
    shown, message = printed(program, work, source)
    if first is None or shown is None:
        print(f"offsets are refused: {message or 'by ptxas'}")
        return 1
    second, _ = assemble(work, shown.decode())
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "merge"))
    import sass_shared
    code = [cubin and dict(sass_shared.sections(cubin))[".text.k"] for cubin in (first, second)]
    if code[0] != code[1]:
        print("the code of offsets and operands is another one when they are printed")
    return int(code[0] != code[1])


# ---- The check ----

def table(kind, text):
    return [(kind, row.strip()) for line in text.strip().split("\n") for row in line.split(" | ")]


def rows_of(rng, count):
    rows = table("u64", TABLE)
    for kind in ("f64", "f32", "b32", "b8"):
        rows += table(kind, DOUBLES)
    rows += table("s16", TABLE)
    rows += [("u64", whole(rng, rng.randrange(1, 6))) for _ in range(count)]
    return rows + [(rng.choice(["f64", "f32"]), real(rng, rng.randrange(1, 4))) for _ in range(count // 8)]


def main():
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if subprocess.run(["sh", "-c", "command -v ptxas"], stdout=subprocess.DEVNULL).returncode:
        print("no ptxas")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if sys.argv[1] == "--record":
            rows = by_ptxas(work, rows_of(random.Random(1), 300))
            pathlib.Path(sys.argv[3]).write_text("".join(f"{kind} {bits:x} {text}\n" for kind, text, bits in rows))
            return
        program, count = os.path.join(sys.argv[1], "tests", "check_ptx"), int(sys.argv[2]) if len(sys.argv) > 2 else 4000
        rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 16)
        faults, taken = compare_values(program, work, rows_of(rng, count))
        whole_rows = by_ptxas(work, [("u64", whole(rng, rng.randrange(1, 4))) for _ in range(400)])
        faults += compare_code(program, work, [f"({text})" for _, text, _ in whole_rows])
    if taken < count // 2:
        print(f"ptxas takes only {taken} expressions")
        faults += 1
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
