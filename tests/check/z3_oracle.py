#!/usr/bin/env python3
"""The exact search against Z3: is there an XOR hash without conflicts?

Random small workloads are written as traces for `bankfold solve --method exact` and as bit-vector
formulas for Z3: rows r_0..r_{m-1} such that every two different words of an access differ in the
parity of some r_j. Both must agree on every workload. Run as: z3_oracle.py BUILD_FOLDER
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

CASES = 60
ADDRESS_BITS, BANK_BITS, LANES = 7, 3, 8


def workload(rng):
    """A few accesses: strides with some noise, so that both answers occur."""
    accesses = []
    for _ in range(rng.randint(1, 4)):
        stride, noise = rng.randint(1, 12), rng.randint(1, 4)
        limit = 1 << ADDRESS_BITS
        accesses.append([(lane * stride + rng.randrange(noise)) % limit for lane in range(LANES)])
    return accesses


def trace(accesses):
    mask = f"{(1 << LANES) - 1:x}"
    return "".join(f"ld 4 {mask} {' '.join(str(4 * w) for w in a)}\n" for a in accesses)


def parity(expression):
    bits = [f"((_ extract {i} {i}) {expression})" for i in range(ADDRESS_BITS)]
    result = bits[0]
    for bit in bits[1:]:
        result = f"(bvxor {result} {bit})"
    return result


def formula(accesses):
    lines = ["(set-logic QF_BV)"]
    lines += [f"(declare-const r{j} (_ BitVec {ADDRESS_BITS}))" for j in range(BANK_BITS)]
    differences = {a ^ b for words in accesses for a in words for b in words if a != b}
    for d in sorted(differences):
        apart = " ".join(f"(= {parity(f'(bvand r{j} (_ bv{d} {ADDRESS_BITS}))')} #b1)"
                         for j in range(BANK_BITS))
        lines.append(f"(assert (or {apart}))")
    return "\n".join(lines + ["(check-sat)"])


def main():
    if not shutil.which("z3"):
        print("z3 is not installed")
        return 77
    program = os.path.join(sys.argv[1], "bankfold")
    rng = random.Random(1)
    seen = {"sat": 0, "unsat": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "random.trace")
        for case in range(CASES):
            accesses = workload(rng)
            with open(path, "w", encoding="ascii") as out:
                out.write(trace(accesses))
            solved = json.loads(subprocess.run(
                [program, "solve", path, "--method", "exact", "--json", "--banks",
                 str(1 << BANK_BITS), "--lanes", str(LANES), "--address-bits", str(ADDRESS_BITS)],
                check=True, capture_output=True, text=True).stdout)
            answer = subprocess.run(["z3", "-in"], input=formula(accesses), check=True,
                                    capture_output=True, text=True).stdout.strip()
            seen[answer] += 1
            if (answer == "sat") != (solved["conflicts_after"] == 0) or not solved["proven"]:
                print(f"case {case}: z3 says {answer}, bankfold leaves {solved}")
                print(trace(accesses))
                return 1
    print(f"{CASES} workloads: {seen['sat']} without conflicts, {seen['unsat']} not")
    return 0 if min(seen.values()) > 0 else 1


sys.exit(main())
