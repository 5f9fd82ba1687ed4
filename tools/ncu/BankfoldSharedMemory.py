"""A rule of Nsight Compute: what Bankfold says about the shared memory of a kernel, inside ncu's own report.

Put this folder where ncu looks for sections (ncu --section-folder FOLDER, or Documents/NVIDIA Nsight Compute/VERSION/
Sections), and have bankfold in PATH, or its path in the variable BANKFOLD. BANKFOLD_PTX may name the PTX or the program
whose conflicts are predicted beside. docs/ncu.md says more.
"""
import csv
import os
import subprocess
import tempfile

import NvRules

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
    return "(%s)" % ", ".join(str(action.metric_by_name("launch__%s_dim_%s" % (what, d)).as_uint64()) for d in "xyz")


def write_page(action, path):
    """The page that `bankfold ncu` reads. Returns whether there is anything to read."""
    wavefronts, ideal, executed = (instances(action, name) for name in (WAVEFRONTS, IDEAL, EXECUTED))
    with open(path, "w", newline="") as file:
        page = csv.writer(file, quoting=csv.QUOTE_ALL)
        page.writerow(["Kernel Name", action.name()])
        try:
            page.writerow(["Block Size", size(action, "block")])
            page.writerow(["Grid Size", size(action, "grid")])
        except AttributeError:
            pass
        for name in COUNTERS:
            metric = action.metric_by_name(name)
            if metric is not None:
                page.writerow([name, metric.as_uint64()])
        page.writerow(["#", "Address", "Source", "File", "Line", "Instructions Executed", "L1 Wavefronts Shared",
                       "L1 Wavefronts Shared Ideal"])
        rows = 0
        for number, address in enumerate(sorted(wavefronts)):
            if wavefronts[address] == 0:
                continue
            info = action.source_info(address)
            page.writerow([number, address, action.sass_by_pc(address), info.file_name() if info else "",
                           info.line() if info else 0, executed.get(address, 0), wavefronts[address],
                           ideal.get(address, 0)])
            rows += 1
    return rows > 0


def apply(handle):
    context = NvRules.get_context(handle)
    action = context.range_by_idx(0).action_by_idx(0)
    frontend = context.frontend()
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.csv")
        if not write_page(action, page):
            return
        command = [os.environ.get("BANKFOLD", "bankfold"), "ncu", page]
        if os.environ.get("BANKFOLD_PTX"):
            command += ["--program", os.environ["BANKFOLD_PTX"]]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            text = run.stdout if run.returncode in (0, 1) else run.stderr
        except (OSError, subprocess.TimeoutExpired) as error:
            text = "bankfold was not run: %s" % error
    frontend.message(NvRules.IFrontend.MsgType_MSG_WARNING, text, "Shared memory")
