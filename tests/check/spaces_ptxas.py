#!/usr/bin/env python3
"""Accesses by the name of a variable, without a state space: what ptxas makes of them must be what it makes of them with
the variable's space, byte for byte, and `analyze` of build folder $1 must tell of both the same. What ptxas refuses, or
makes otherwise, is in a table here. Skipped where there is no ptxas."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "merge"))
import sass_shared

# @ is the space, $ the address.
FORMS = [
    "ld@.u32 %r0, $", "ld@.u8 %r0, $", "ld@.u64 %d0, $", "ld@.v2.u32 {%r0, %r1}, $", "ld@.v2.u64 {%d0, %d1}, $",
    "ld@.v4.u32 {%r0, %r1, %r2, %r3}, $", "ld.weak@.u32 %r0, $", "ld.volatile@.u32 %r0, $",
    "ld.volatile@.v4.u32 {%r0, %r1, %r2, %r3}, $", "ld.relaxed.cta@.u32 %r0, $", "ld.relaxed.gpu@.u32 %r0, $",
    "ld.acquire.gpu@.u32 %r0, $", "ldu@.u32 %r0, $", "st@.u32 $, %r0", "st@.u8 $, %r0", "st@.v2.u32 $, {%r0, %r1}",
    "st@.v4.u32 $, {%r0, %r1, %r2, %r3}", "st.volatile@.u32 $, %r0", "st.relaxed.cta@.u32 $, %r0",
    "st.release.gpu@.u32 $, %r0", "atom@.add.u32 %r0, $, %r1", "atom@.add.f32 %r0, $, %r1", "atom@.inc.u32 %r0, $, %r1",
    "atom@.exch.b64 %d0, $, %d1", "atom@.cas.b32 %r0, $, %r1, %r2", "atom@.cas.b64 %d0, $, %d1, %d2",
    "red@.add.u32 $, %r1", "red@.add.f32 $, %r1", "red@.max.s32 $, %r1",
    "ldmatrix.sync.aligned.m8n8.x1@.b16 {%r0}, $", "ldmatrix.sync.aligned.m8n8.x4.trans@.b16 {%r0, %r1, %r2, %r3}, $",
    "stmatrix.sync.aligned.m8n8.x1@.b16 $, {%r0}",
    "mbarrier.init@.b64 $, %r0", "mbarrier.arrive@.b64 %d0, $",
    "wmma.load.a.sync.aligned.m16n16k16.row@.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, $",
    "wmma.store.d.sync.aligned.m16n16k16.row@.f16 $, {%r0, %r1, %r2, %r3}",
]
VARIABLES = {"s": ".shared", "m": ".shared", "x": ".shared", "g": ".global", "l": ".local", "c": ".const", "p": ".param"}

# How many forms ptxas takes of each without a space: of constants and parameters none.
EXPECTED = {"s": 36, "m": 36, "x": 36, "g": 34, "l": 25, "c": 0, "p": 0}

# Without a space ptxas computes a whole generic address for these, so that their code differs: they go to the same
# memory by other instructions (wmma: LD and ST), or have more arithmetic before the same instruction (matrices).
OTHER_CODE = {"ldmatrix", "stmatrix", "wmma"}

# Local memory has no atomics; ptxas dies of some of them.
NOT_LOCAL = {"atom", "red"}
# Not counted by analyze, which tells of accesses to data.
NOT_TOLD = {"mbarrier"}

HEAD = """.version 8.5
.target sm_90
.address_size 64
.shared .align 16 .b8 m[2048];
.extern .shared .align 16 .b8 x[];
.global .align 16 .b8 g[2048];
.const .align 16 .b8 c[2048];
"""
KERNEL = """.visible .entry NAME(.param .u64 memory, .param .align 16 .b8 p[128]) {
.shared .align 16 .b8 s[2048]; .local .align 16 .b8 l[2048]; .reg .b32 %r<12>; .reg .b64 %d<8>;
ld.param.u64 %d4, [memory];
cvta.to.global.u64 %d4, %d4;
mov.u64 %d5, l;
ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d4];
ld.global.v2.u64 {%d0, %d1}, [%d4+16];
cvt.u64.u32 %d6, %r3;
and.b64 %d6, %d6, 1023;
add.u64 %d5, %d5, %d6;
st.local.u8 [%d5], %r0;
ACCESS;
ld.local.u8 %r9, [%d5+1];
st.global.v4.u32 [%d4+32], {%r0, %r1, %r2, %r3};
st.global.v2.u64 [%d4+48], {%d0, %d1};
st.global.v4.u32 [%d4+64], {%r4, %r5, %r6, %r9};
ret;
}
"""


def opcode(form):
    """The first word of a form."""
    return re.match("[a-z]*", form)[0]


def module(kernels):
    """PTX of kernels {name: access}."""
    return HEAD + "".join(KERNEL.replace("NAME", name).replace("ACCESS", kernels[name]) for name in kernels)


def assemble(work, kernels):
    """{name: code} of the kernels that ptxas takes; those in whose lines it finds errors are dropped."""
    ptx, cubin, kernels = work / "a.ptx", work / "a.cubin", dict(kernels)
    while kernels:
        ptx.write_text(module(kernels))
        done = subprocess.run(["ptxas", "-w", "-arch=sm_90", ptx, "-o", cubin], capture_output=True, text=True)
        if done.returncode == 0:
            code = dict(sass_shared.sections(cubin.read_bytes()))
            return {name: code[".text." + name] for name in kernels}
        height, names = KERNEL.count("\n"), list(kernels)
        lines = {int(line) - HEAD.count("\n") - 1 for line in re.findall(r", line (\d+); error", done.stderr)}
        if not lines:
            sys.exit(f"ptxas fails: {done.stderr}")
        for line in lines:
            kernels.pop(names[line // height], None)
    return {}


def told(program, work, kernels):
    """{name: what analyze tells of its shared accesses}."""
    path = work / "b.ptx"
    path.write_text(module(kernels))
    answer = subprocess.run([program, "analyze", path, "--block", "32", "--json"], capture_output=True, check=True)
    return {kernel["name"]: [(site["op"], site["width"], site.get("formula")) for site in kernel["sites"]]
            for kernel in json.loads(answer.stdout)["kernels"]}


def accesses(variable, space):
    """{name: access}: kn without and wn with the space, for form number n."""
    kernels = {}
    for i, form in enumerate(FORMS):
        if space == ".local" and opcode(form) in NOT_LOCAL:
            continue
        access = form.replace("$", f"[{variable}+64]")
        kernels[f"k{i}"] = access.replace("@", "")
        # Only ld names the space; ldu is the same for it.
        kernels[f"w{i}"] = access.replace("@", space).replace("ldu.shared", "ld.shared").replace("ldu.local", "ld.local")
    return kernels


def compare(form, space, pair, sites):
    """What is wrong with an access of that form, from its code and sites with and without the space; or None."""
    is_same = opcode(form) not in OTHER_CODE
    if pair[1] is None:
        # .local refuses an order of accesses, which names of local variables may have.
        return "ptxas refuses it only with its space" if is_same and space != ".local" else None
    if is_same and pair[0] != pair[1]:
        return "ptxas makes something else of it without its space"
    if sites[0] != sites[1]:
        return f"analyze tells of {sites[1]} with its space, and without of {sites[0]}"
    if space == ".shared" and not sites[0] and opcode(form) not in NOT_TOLD:
        return "analyze does not see it"
    return None


def main():
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if subprocess.run(["sh", "-c", "command -v ptxas"], stdout=subprocess.DEVNULL).returncode:
        print("no ptxas")
        sys.exit(77)
    program, faults, taken = os.path.join(sys.argv[1], "bankfold"), 0, {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for variable, space in VARIABLES.items():
            kernels = accesses(variable, space)
            code = assemble(work, kernels)
            sites = told(program, work, {name: kernels[name] for name in code}) if code else {}
            taken[variable] = sum(name[0] == "k" for name in code)
            for i, form in enumerate(FORMS):
                both = f"k{i}", f"w{i}"
                fault = both[0] in code and compare(form, space, *[[of.get(name) for name in both] for of in (code, sites)])
                if fault:
                    print(f"{form} of {variable} ({space}): {fault}")
                    faults += 1
    if taken != EXPECTED:
        print(f"ptxas takes others than expected: {taken}")
        faults += 1
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
