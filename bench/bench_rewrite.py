#!/usr/bin/env python3
"""Processor time and peak memory of commands on large modules (bench/big_modules.py):

    bench/bench_rewrite.py [--limit SECONDS] BANKFOLD N... [SHAPE...]

prints a line of JSON for each shape, N and command. A run that takes longer than the limit (60 seconds) is stopped,
and its line says so."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import big_modules  # noqa: E402

COMMANDS = {
    "ptx show": ["ptx", "show", "{module}"],
    "rewrite --explain": ["rewrite", "--explain", "{module}"],
    "rewrite --hash fixed": ["rewrite", "--hash", "fixed", "--output", "{output}", "{module}"],
    "analyze": ["analyze", "{module}", "--block", "32"],
}


def measure(program, arguments, limit_seconds):
    """Processor seconds, peak MB and exit status of a run."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (limit_seconds, limit_seconds))

    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=limit)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def main():
    """Runs all commands on all modules that the command line names."""
    words = sys.argv[1:]
    limit_seconds = 60
    if words[:1] == ["--limit"]:
        limit_seconds = int(words[1])
        words = words[2:]
    if not words:
        sys.exit(__doc__)
    sizes = [int(word) for word in words[1:] if word.isdigit()] or [1000, 10000]
    shapes = [word for word in words[1:] if not word.isdigit()] or list(big_modules.SHAPES)
    with tempfile.TemporaryDirectory() as folder:
        place = {"module": f"{folder}/module.ptx", "output": f"{folder}/output.ptx"}
        for shape in shapes:
            for size in sizes:
                pathlib.Path(place["module"]).write_text(big_modules.SHAPES[shape](size))
                for name, words_of in COMMANDS.items():
                    arguments = [word.format(**place) for word in words_of]
                    seconds, megabytes, status = measure(words[0], arguments, limit_seconds)
                    print(json.dumps({"shape": shape, "n": size, "command": name, "cpu_seconds": round(seconds, 2),
                                      "peak_mb": round(megabytes), "status": status}), flush=True)


if __name__ == "__main__":
    main()
