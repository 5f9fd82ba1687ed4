"""A rule of Nsight Compute: what Bankfold says about the shared memory of a kernel, inside ncu's own report.

Put this folder where ncu looks for sections (ncu --section-folder FOLDER, or Documents/NVIDIA Nsight Compute/VERSION/
Sections), and have bankfold in PATH, or its path in the variable BANKFOLD. BANKFOLD_PTX may name the PTX or the program
whose conflicts are predicted beside. docs/ncu.md says more.

As a program it prints the same page of all kernels of reports, through NVIDIA's module ncu_report, for `bankfold ncu`.
"""
import csv
import glob
import os
import shutil
import sys
import tempfile

WAVEFRONTS = "memory_l1_wavefronts_shared"
IDEAL = "memory_l1_wavefronts_shared_ideal"
EXECUTED = "inst_executed"
COUNTERS = ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]


def get_identifier():
    return "BankfoldSharedMemory"


def get_name():
    return "Bank conflicts by Bankfold"


def get_description():
    return "Says which wavefronts of shared memory are bank conflicts, line by line, and what else counters mix in."


def get_section_identifier():
    return "BankfoldSharedMemory"


def instances(action, name):
    """Values of a metric by the address of the instruction."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return {}
    ids = metric.correlation_ids()
    return {ids.as_uint64(i): metric.as_uint64(i) for i in range(metric.num_instances())}


def size(action, what):
    """Block or grid as ncu prints it: (32, 8, 1)."""
    metrics = [action.metric_by_name("launch__%s_dim_%s" % (what, d)) for d in "xyz"]
    return None if None in metrics else "(%s)" % ", ".join(str(metric.as_uint64()) for metric in metrics)


def place(action, address):
    """Where an instruction stands: (address, file, line), the address only where the line is not known; and its text."""
    info = action.source_info(address)
    has_line = info is not None and info.line() > 0
    key = ("", info.file_name(), info.line()) if has_line else (hex(address), "", 0)
    return key, action.sass_by_pc(address).strip()


def write_page(action, file):
    """The page that `bankfold ncu` reads. Returns whether there is anything of shared memory on it."""
    wavefronts, ideal, executed = (instances(action, name) for name in (WAVEFRONTS, IDEAL, EXECUTED))
    page = csv.writer(file, quoting=csv.QUOTE_ALL)
    page.writerow(["Launch", "one"])
    page.writerow(["Kernel Name", action.name()])
    for title, what in (("Block Size", "block"), ("Grid Size", "grid")):
        if size(action, what):
            page.writerow([title, size(action, what)])
    for name in COUNTERS:
        metric = action.metric_by_name(name)
        if metric is not None:
            page.writerow([name, metric.as_uint64()])
    page.writerow(["#", "Address", "Source", "File", "Line", "Instructions Executed", "L1 Wavefronts Shared",
                   "L1 Wavefronts Shared Ideal"])
    rows = {}
    for address in sorted(address for address in wavefronts if wavefronts[address]):
        key, text = place(action, address)
        row = rows.setdefault(key, [[], 0, 0, 0])
        row[0].append(text)
        for i, counts in enumerate((executed, wavefronts, ideal), 1):
            row[i] += counts.get(address, 0)
    for number, ((address, file_name, line), row) in enumerate(rows.items()):
        more = " and %d more" % (len(row[0]) - 1) if len(row[0]) > 1 else ""
        page.writerow([number, address, row[0][0] + more, file_name, line] + row[1:])
    return bool(rows)


def run(command, output):
    """Runs a program with all that it prints in a file; returns its exit status. ncu's own Python has no subprocess."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [(os.POSIX_SPAWN_OPEN, 1, output, flags, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    return os.waitpid(child, 0)[1] >> 8


def warn(frontend, text):
    """A message of the kind that stands out; versions of ncu name it in two ways."""
    import NvRules
    kinds = getattr(NvRules, "MsgType", None)
    kind = kinds.WARNING if kinds else NvRules.IFrontend.MsgType_MSG_WARNING
    frontend.message(kind, text, "Shared memory")


def apply(handle):
    import NvRules
    context = NvRules.get_context(handle)
    action = context.range_by_idx(0).action_by_idx(0)
    with tempfile.TemporaryDirectory() as folder:
        page, answer = (os.path.join(folder, name) for name in ("page.csv", "answer.txt"))
        with open(page, "w", newline="") as file:
            if not write_page(action, file):
                return
        command = [os.environ.get("BANKFOLD", "bankfold"), "ncu", page]
        if os.environ.get("BANKFOLD_PTX"):
            command += ["--program", os.environ["BANKFOLD_PTX"]]
        try:
            run(command, answer)
            with open(answer) as file:
                text = file.read()
        except OSError as error:
            text = "bankfold was not run: %s" % error
    warn(context.frontend(), text)


def load_module():
    """NVIDIA's module: installed, or where Nsight Compute has it, newest first."""
    places = ["/opt/nvidia/nsight-compute/*", "/usr/local/cuda*/nsight-compute*", "/usr/lib/nsight-compute"]
    program = shutil.which("ncu")
    if program:
        places.insert(0, os.path.dirname(os.path.realpath(program)))
        places.insert(1, os.path.join(places[0], "../.."))
    for place in places:
        sys.path += sorted(glob.glob(os.path.join(place, "extras/python")), reverse=True)
    import ncu_report
    return ncu_report


def main(reports):
    try:
        module = load_module()
    except ImportError:
        sys.exit(3)
    for report in reports:
        try:
            context = module.load_report(report)
        except Exception as why:  # of a type of NVIDIA's own
            sys.exit("%s" % why)
        for i in range(context.num_ranges()):
            for k in range(context.range_by_idx(i).num_actions()):
                write_page(context.range_by_idx(i).action_by_idx(k), sys.stdout)
                print()


if __name__ == "__main__":
    main(sys.argv[1:])
