#!/usr/bin/env python3
"""Writes a large PTX module of one shape to standard output: big_modules.py SHAPE N.

Shapes:
  kernels    N small kernels, each with a shared array of its own
  chain      N functions, each of which calls the next, and one kernel that calls the first; every
             function reads the shared address that it is given
  deep       the same, but only the last one accesses shared memory, and callers come first
  tree       N functions, each of which calls two others, down to leaves, and one kernel
  cycle      N functions in one ring of calls, and a kernel
  callers    N kernels that call the same function
  fans       a tenth of N kernels, each of which calls every one of ten functions of its own
  accesses   one kernel with N stores and N loads of shared memory
  straight   the same with registers of their own for each
  arrays     one kernel with N shared variables
  globals    one kernel and N global variables that it does not use
  labels     one kernel with N labels and jumps
  registers  one kernel with N declared registers by name
"""
import sys

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"

BODY = """	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 7;
	mov.u32 %r3, {array};
	add.u32 %r4, %r3, %r2;
	st.shared.u32 [%r4], %r1;
	bar.sync 0;
	ld.shared.u32 %r5, [%r4+4];
	ld.param.u64 %rd1, [{name}_p];
	st.global.u32 [%rd1], %r5;
"""


def kernel(name, array, calls=(), bytes_=4096):
    """A kernel with one array, which calls functions with a pointer into it."""
    text = f".visible .entry {name}(.param .u64 {name}_p)\n{{\n"
    text += f"\t.shared .align 4 .b8 {array}[{bytes_}];\n"
    text += BODY.format(array=array, name=name)
    for callee in calls:
        text += call(callee, "%r4")
    return text + "\tret;\n}\n"


def call(callee, value):
    """A call of a function of this file."""
    return (f"\t{{\n\t.param .b32 one;\n\tst.param.b32 [one], {value};\n"
            f"\tcall.uni {callee}, (one);\n\t}}\n")


def function(name, calls):
    """A function that reads shared memory at its argument and calls others with it."""
    text = f".func {name}(.param .b32 {name}_a)\n{{\n\t.reg .b32 %r<4>;\n"
    text += f"\tld.param.b32 %r1, [{name}_a];\n\tld.shared.u32 %r2, [%r1+8];\n"
    text += "\tst.shared.u32 [%r1+12], %r2;\n"
    for callee in calls:
        text += call(callee, "%r1")
    return text + "\tret;\n}\n"


def declarations(names):
    """Declarations of functions that are defined later."""
    return "".join(f".func {name}(.param .b32 {name}_a);\n" for name in names)


def kernels(n):
    return HEADER + "".join(kernel(f"k{i}", f"s{i}") for i in range(n))


def chain(n):
    text = HEADER + function(f"f{n - 1}", [])
    for i in range(n - 2, -1, -1):
        text += function(f"f{i}", [f"f{i + 1}"])
    return text + kernel("k", "s", ["f0"])


def deep(n):
    names = [f"f{i}" for i in range(n)]
    text = HEADER + declarations(names)
    for i in range(n - 1):
        text += (f".func f{i}(.param .b32 f{i}_a)\n{{\n\t.reg .b32 %r<4>;\n"
                 f"\tld.param.b32 %r1, [f{i}_a];\n" + call(f"f{i + 1}", "%r1") + "\tret;\n}\n")
    return text + function(f"f{n - 1}", []) + kernel("k", "s", ["f0"])


def tree(n):
    text = HEADER
    for i in range(n - 1, -1, -1):
        text += function(f"f{i}", [f"f{j}" for j in (2 * i + 1, 2 * i + 2) if j < n])
    return text + kernel("k", "s", ["f0"])


def cycle(n):
    names = [f"f{i}" for i in range(n)]
    text = HEADER + declarations(names)
    for i in range(n):
        text += function(names[i], [names[(i + 1) % n]])
    return text + kernel("k", "s", ["f0"])


def callers(n):
    return HEADER + function("f", []) + "".join(kernel(f"k{i}", f"s{i}", ["f"]) for i in range(n))


def fans(n):
    text = HEADER
    for i in range(n // 10):
        names = [f"f{i}_{j}" for j in range(10)]
        text += "".join(function(name, []) for name in names) + kernel(f"k{i}", f"s{i}", names)
    return text


def accesses(n):
    text = HEADER + ".visible .entry k(.param .u64 k_p)\n{\n\t.shared .align 4 .b8 s[32768];\n"
    text += BODY.format(array="s", name="k")
    for i in range(n):
        text += f"\tst.shared.u32 [%r4+{4 * (i % 1024)}], %r5;\n"
        text += f"\tld.shared.u32 %r5, [%r4+{4 * (i * 7 % 1024)}];\n"
    return text + "\tst.global.u32 [%rd1], %r5;\n\tret;\n}\n"


def straight(n):
    text = HEADER + ".visible .entry k(.param .u64 k_p)\n{\n\t.shared .align 4 .b8 s[32768];\n"
    text += f"\t.reg .b32 %a<{n + 1}>;\n\t.reg .b32 %v<{n + 1}>;\n"
    text += BODY.format(array="s", name="k")
    for i in range(n):
        text += f"\tadd.u32 %a{i}, %r3, {4 * (i % 1024)};\n"
        text += f"\tst.shared.u32 [%a{i}], %r5;\n\tld.shared.u32 %v{i}, [%a{i}+16];\n"
        text += f"\tadd.u32 %r5, %r5, %v{i};\n"
    return text + "\tst.global.u32 [%rd1], %r5;\n\tret;\n}\n"


def arrays(n):
    text = HEADER + ".visible .entry k(.param .u64 k_p)\n{\n\t.reg .b32 %x<4>;\n"
    text += "".join(f"\t.shared .align 4 .b8 a{i}[4];\n" for i in range(n))
    text += "\t.shared .align 4 .b8 s[4096];\n" + BODY.format(array="s", name="k")
    for i in range(n):
        text += f"\tmov.u32 %x1, a{i};\n\tst.shared.u32 [%x1], %r5;\n"
    return text + "\tret;\n}\n"


def globals_(n):
    text = HEADER + "".join(f".global .align 4 .b8 g{i}[16];\n" for i in range(n))
    return text + kernel("k", "s")


def labels(n):
    text = HEADER + ".visible .entry k(.param .u64 k_p)\n{\n\t.shared .align 4 .b8 s[4096];\n"
    text += "\t.reg .pred %p<2>;\n" + BODY.format(array="s", name="k")
    for i in range(n):
        text += f"\tsetp.eq.u32 %p1, %r5, {i};\n\t@%p1 bra L{i};\n"
        text += f"\tst.shared.u32 [%r4], %r5;\nL{i}:\n"
    return text + "\tret;\n}\n"


def registers(n):
    text = HEADER + ".visible .entry k(.param .u64 k_p)\n{\n\t.shared .align 4 .b8 s[4096];\n"
    text += "".join(f"\t.reg .b32 v{i};\n" for i in range(n)) + BODY.format(array="s", name="k")
    text += "\tmov.u32 v0, %r5;\n"
    text += "".join(f"\tadd.u32 v{i}, v{i - 1}, 1;\n" for i in range(1, n))
    return text + f"\tst.global.u32 [%rd1], v{n - 1};\n\tret;\n}}\n"


SHAPES = {"kernels": kernels, "chain": chain, "deep": deep, "tree": tree, "cycle": cycle, "callers": callers,
          "fans": fans, "accesses": accesses, "straight": straight, "arrays": arrays,
          "globals": globals_, "labels": labels, "registers": registers}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    sys.stdout.write(SHAPES[sys.argv[1]](int(sys.argv[2])))


if __name__ == "__main__":
    main()
