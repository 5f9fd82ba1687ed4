"""docs/python.md and examples/python: runs every block of the page that starts with >>> as a doctest, in one session for each
section, and every example that needs no GPU. $1 is the checkout; the package is the one that Python finds."""
import doctest
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
NEEDS_GPU = {"triton_sort.py"}


def run_page():
    """Failures of the page."""
    text = (ROOT / "docs" / "python.md").read_text()
    parser, runner, tests = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), 0
    os.chdir(ROOT)
    for section in re.split(r"^## ", text, flags=re.M):
        title = section.split("\n")[0]
        blocks = re.sub(r"^```.*$", "", section, flags=re.M)
        test = parser.get_doctest(blocks, {}, title, "docs/python.md", 0)
        tests += len(test.examples)
        runner.run(test)
    if tests < 10:
        print(f"docs/python.md has {tests} examples")
        return 1
    return runner.failures


def run_examples():
    failures = 0
    for path in sorted((ROOT / "examples" / "python").glob("*.py")):
        if path.name in NEEDS_GPU:
            continue
        ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, cwd=ROOT)
        expected = path.with_suffix(".txt").read_text()
        if ran.returncode == 77:
            print(f"{path.name}: skipped: {ran.stdout.strip()}")
        elif ran.returncode or ran.stdout != expected:
            print(f"{path.name}: status {ran.returncode}, prints\n{ran.stdout}{ran.stderr}")
            failures += 1
    return failures


if __name__ == "__main__":
    sys.exit(1 if run_page() + run_examples() else 0)
