#!/usr/bin/env python3
"""What ptxas makes of kernels of the corpus as they are, padded by hand, and with longer rows by
`bankfold rewrite`: SASS instructions, those on shared memory, registers.

  padding_cost.py BUILD [--arch sm_90]

Needs ptxas. bench/rewrite_cost.py says how instructions are counted.
"""
import argparse
import subprocess
import tempfile
from pathlib import Path

import rewrite_cost

KERNELS = (
    ("softmax", "softmax", "softmax pad:64+1\n"),
    ("gemm_mma", "gemm_mma", "gemm_mma[left_tile] pad:16+4\ngemm_mma[right_tile] pad:32+4\n"),
    ("lavamd", "lavamd", "lavamd[mine] pad:4+1\nlavamd[other] pad:4+1\n"),
    ("lud", "lud_diagonal", "lud_diagonal pad:16+1\n"),
    ("lud", "lud_perimeter", "lud_perimeter pad:16+1\n"),
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    print("instructions, on shared memory, registers: as it is; by hand; longer rows")
    with tempfile.TemporaryDirectory() as folder:
        for name, kernel, hashes in KERNELS:
            source = root / "kernels" / name / f"{name}.ptx"
            listed, longer = Path(folder) / "hashes", Path(folder) / "longer.ptx"
            listed.write_text(hashes)
            subprocess.run([f"{options.build}/bankfold", "rewrite", str(source), "--kernel", kernel,
                            "--hash-file", str(listed), "--output", str(longer)], check=True,
                           capture_output=True)
            before = rewrite_cost.compile_ptx(source, options.arch, folder)
            after = rewrite_cost.compile_ptx(longer, options.arch, folder)
            texts = (f"{k['instructions']:5} {k['shared']:4} {k['registers']:3}"
                     for k in (before[kernel], before[kernel + "_padded"], after[kernel]))
            print(";  ".join(texts) + "  " + kernel)


if __name__ == "__main__":
    main()
