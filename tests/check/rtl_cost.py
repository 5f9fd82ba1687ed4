#!/usr/bin/env python3
"""What hash units cost, counted in two ways: rtl_cost.py BUILD.

Gates and gate delays of hashes, as `convert` and the ladder of `solve` show them, against the gates
that yosys counts. Area and cells of units against yosys' own count of cells. Delays, the program's own and
those that it has from OpenSTA, against OpenSTA with a script of this check's own. The published order of the
families holds where it is said to hold. Status 77 without yosys or without the library of cells.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "bankfold")
LIBRARY = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"
SYNTHESIS = ("hierarchy -check -top {top}; proc; flatten; opt; techmap; opt; dfflibmap -liberty {library}; "
             "opt; abc -liberty {library}; opt_clean -purge; ")
# Without `opt`, which merges registers that hold the same, until they are cells.
SYNTHESIS_OF_COPIES = SYNTHESIS.replace("opt; techmap; opt;", "opt_expr; opt_clean; techmap; opt_expr; opt_clean;")
LOAD = 0.00890146  # pF: pin D of the library's first flip-flop, DFFNEGX1
FAULTS = []
UNITS = {}  # what `rtl cost` said of each unit that was checked, by name
# OpenSTA has loads for rising and falling edges of their own, and lets ways from the configuration, which
# end nowhere, have a say in slews.
SAME = 0.02
# Of two runs of OpenSTA: what digits in reports leave open.
EQUAL = 0.0001


def check(holds, text):
    if not holds:
        FAULTS.append(text)


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def bankfold(*arguments):
    return json.loads(run(PROGRAM, *arguments, "--json"))


def yosys(script, folder):
    return run("yosys", "-p", script, cwd=folder)


def statistics(folder, top):
    """What `stat -json` said of a module."""
    with open(os.path.join(folder, "stat.json"), encoding="utf-8") as file:
        return json.load(file)["modules"]["\\" + top]


# ---- Gates of hashes ----

def count_gates(folder, file, top, optimizes):
    """2-input gates and levels of a module. Optimizing shares gates and balances trees."""
    steps = "abc -g XOR,AND,OR; opt_clean; " if optimizes else ""
    text = yosys(f"read_verilog {file}; hierarchy -top {top}; proc; techmap; opt_clean; {steps}"
                 "tee -q -o stat.json stat -json; ltp -noff", folder)
    kinds = statistics(folder, top)["num_cells_by_type"]
    gates = sum(kinds.get(f"$_{name}_", 0) for name in ("XOR", "AND", "OR"))
    check(gates == sum(kinds.values()), f"{file}: other gates: {kinds}")
    levels = [int(n) for n in re.findall(r"Longest topological path in \S+ \(length=(\d+)\)", text)]
    return gates, max(levels + [0])


def random_rows(numbers, bits, banks):
    """A hash of full rank: every row has a bit that those before it do not have."""
    rows = []
    for i in range(banks):
        row = 1 << i
        for j in range(banks, bits):
            row |= (numbers.random() < 0.25) << j
        rows.append(row)
    return "rows:" + ",".join(f"{row:x}" for row in rows)


def check_hashes(folder):
    """XOR hashes: as written there are as many gates as counted. Optimized, they are no deeper, and
    no more. Adders: gates and levels of the unit with rippling carry, whose bank is that of `add`."""
    numbers = random.Random(1)
    hashes = ["fixed", "tma:128", "perm:4", "xor:0,4,14", "bits:0^5^7^9,1^6^8^10,2^7^9^11,3^8^10^12,4^9^11^13"]
    hashes += [random_rows(numbers, 14, 5) for _ in range(8)]
    for number, text in enumerate(hashes):
        cost = bankfold("convert", "--hash", text, "--address-bits", "14", "--banks", "32")["cost"]
        place = f"hash{number}"
        run(PROGRAM, "rtl", "--hash", text, "-o", os.path.join(folder, place), "--name", "h")
        gates, _ = count_gates(folder, f"{place}/h_place.v", "h_place", False)
        check(gates == cost["gates"], f"{text}: {cost['gates']} gates, yosys counts {gates}")
        gates, levels = count_gates(folder, f"{place}/h_place.v", "h_place", True)
        check(gates <= cost["gates"], f"{text}: {cost['gates']} gates, yosys needs {gates}")
        check(levels == cost["gate_depth"], f"{text}: {cost['gate_depth']} delays, yosys finds {levels}")


def check_adders(folder):
    """Banks and locks: nine XOR gates in one level; adders of 19 and 18 gates in eight levels. The
    document counts ten gates, one of them for a bit that has no partner, and nine levels, one of them
    for a carry that leaves the last bit."""
    add = bankfold("convert", "--hash", "add", "--address-bits", "14", "--banks", "32")["cost"]
    lock = bankfold("convert", "--hash", "add", "--address-bits", "9", "--banks", "32")["cost"]
    check((add["gates"], add["gate_depth"]) == (19, 8), f"add: {add}")
    for kind, expected in (("xor", (9, 1)), ("add", (add["gates"] + lock["gates"], add["gate_depth"]))):
        run(PROGRAM, "rtl", "--locks", kind, "-o", os.path.join(folder, kind))
        counted = count_gates(folder, f"{kind}/locks_{kind}_unit.v", f"locks_{kind}_unit", False)
        check(counted == expected, f"locks {kind}: expected {expected}, yosys counts {counted}")


def check_ladder():
    """The ladder shows for each step what `convert` says of its hash."""
    ladder = bankfold("solve", "examples/tile.trace")["ladder"]
    for step in ladder:
        cost = bankfold("convert", "--hash", step["hash"])["cost"]
        check((step["gates"], step["gate_delays"]) == (cost["gates"], cost["gate_depth"]), f"ladder: {step}")
    check(any(step["gates"] for step in ladder), "the ladder has no gates")


# ---- Units in standard cells ----

def synthesize(folder, options, name, top):
    """The netlist of a unit as Verilog in folder/netlist.v, made outside of the program; its area and
    cells by the kinds of cells that yosys counts."""
    place = os.path.join(folder, "unit")
    shutil.rmtree(place, ignore_errors=True)
    run(PROGRAM, "rtl", *options, "-o", place, "--vectors", "1", "--name", name)
    sources = f"{top}.v" if top != "u_clocked" else "u_unit.v u_clocked.v"
    steps = SYNTHESIS_OF_COPIES if "--copies" in options else SYNTHESIS
    yosys(f"read_verilog {sources}; " + steps.format(top=top, library=LIBRARY)
          + f"tee -q -o stat.json stat -json; write_verilog -noattr {folder}/netlist.v", place)
    cells = statistics(place, top)["num_cells_by_type"]
    with open(LIBRARY, encoding="ascii") as file:
        areas = dict(re.findall(r"cell \((\w+)\) \{.*?\barea : ([\d.]+);", file.read(), re.S))
    return sum(float(areas[name]) * count for name, count in cells.items()), sum(cells.values())


def opensta(folder, top, commands):
    """The longest way that OpenSTA finds, in ns: arrival, and setup time where it ends in a register."""
    script = os.path.join(folder, "sta.tcl")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"read_liberty {LIBRARY}\nread_verilog {folder}/netlist.v\nlink_design {top}\n" + commands
                   + "report_checks -digits 6\nexit\n")
    text = run("sta", "-no_splash", "-exit", script) if HAS_STA else ""
    arrival = re.findall(r"(-?[\d.]+) +data arrival time", text)
    setup = re.findall(r"(-?[\d.]+) +-?[\d.]+ +library setup time", text)
    return float(arrival[0]) - (float(setup[0]) if setup else 0)


def choices(folder):
    """The bits of ports that hold the configuration."""
    with open(os.path.join(folder, "netlist.v"), encoding="ascii") as file:
        ports = re.findall(r"^  input (?:\[(\d+):0\] )?(\w+);", file.read(), re.M)
    return [f"{name}[{bit}]" for high, name in ports if name not in ("word", "clk", "load")
            for bit in range(int(high or 0) + 1)]


def check_time(what, cost, key, expected):
    """A delay in ns: both of the program's numbers against that of OpenSTA."""
    check(abs(cost[key] - expected) < EQUAL * expected, f"{what}: {key} {cost[key]}, OpenSTA {expected}")
    own = cost["own_" + key]
    check(abs(own - expected) < SAME * expected, f"{what}: own {key} {own}, OpenSTA {expected}")


def check_unit(folder, options):
    """Area, cells and delays of one unit."""
    cost = bankfold("rtl", "cost", *options, "--name", "u")["units"][0]
    UNITS.setdefault(cost["unit"], cost)
    family = options[0] == "--family"
    top = "u_unit" if options[0] in ("--family", "--locks") else "u_place"
    area, cells = synthesize(folder, options, "u", top)
    check(abs(cost["gates_area_um2"] - area) < 0.5, f"{options}: area {cost['gates_area_um2']}, yosys {area}")
    check(cost["gates"] == cells, f"{options}: {cost['gates']} cells, yosys {cells}")
    if HAS_STA:
        delay = opensta(folder, top, "create_clock -name virtual -period 10\n"
                        f"set_input_transition 0.06 [all_inputs]\nset_load {LOAD} [all_outputs]\n"
                        "set_input_delay 0 -clock virtual [get_ports word*]\n"
                        + "".join(f"set_false_path -from [get_ports {{{port}}}]\n" for port in choices(folder)) +
                        "set_output_delay 0 -clock virtual [all_outputs]\n")
        check_time(options, cost, "delay_ns", delay)
    if not family:
        return
    area, cells = synthesize(folder, options, "u", "u_clocked")
    check(abs(cost["area_um2"] - area) < 0.5, f"{options}, clocked: area {cost['area_um2']}, yosys {area}")
    check(cost["cells"] == cells, f"{options}, clocked: {cost['cells']} cells, yosys {cells}")
    if HAS_STA:
        period = opensta(folder, "u_clocked", "create_clock -name clock -period 10 [get_ports clk]\n"
                         "set_clock_transition 0.06 [get_clocks clock]\n"
                         f"set_input_transition 0.06 [all_inputs]\nset_load {LOAD} [all_outputs]\n"
                         + register_paths(folder))
        check_time(options, cost, "period_ns", period)


def register_paths(folder):
    """Ways that begin in registers of the configuration are none: they do not change."""
    with open(os.path.join(folder, "netlist.v"), encoding="ascii") as file:
        text = file.read()
    registers = re.findall(r"DFF\w+ (\S+) \(\s*\.CLK\(clk\),\s*\.D\(([^)]*)\),\s*\.Q\(([^)]*)\)", text)
    still = [name for name, data, net in registers if not data.startswith("word") and not net.startswith("bank")]
    return "".join(f"set_false_path -from [get_cells {{{name}}}]\n" for name in still)


# ---- The published table ----

def check_published():
    """With registers, one-hot configuration has the published order of area and power, each step apart;
    encoded, bit-vector XOR and bitwise permutation are alike. Without registers the order is another in
    both."""
    names = ["bit-vector-perm", "bit-vector-xor", "bitwise-perm", "bitwise-xor"]
    of = {kind: [UNITS[f"{name}, {kind}"] for name in names] for kind in ("encoded", "one-hot")}
    for key in ("area_mm2_gpu", "power_w_gpu"):
        values = [unit[key]["value"] for unit in of["one-hot"]]
        check(all(b > 1.3 * a for a, b in zip(values, values[1:])), f"one-hot {key}: {values}")
        values = [unit[key]["value"] for unit in of["encoded"]]
        check(0.9 < values[2] / values[1] < 1.15, f"encoded {key}: {values}")
    for kind in of:
        gates = [unit["gates_area_um2"] for unit in of[kind]]
        check(gates[1] > 1.2 * gates[2], f"{kind}, gates alone: {gates}")
    for unit in of["one-hot"]:
        area = unit["area_mm2_gpu"]
        check(area["low"] <= 1.15 * unit["published_mm2"] and area["high"] >= 0.95 * unit["published_mm2"],
              f"{unit['unit']}: published {unit['published_mm2']} mm2, ours {area}")


def check_delay_target(folder):
    """abc's own delay target, which docs/rtl.md says makes no difference: the same cells for any."""
    run(PROGRAM, "rtl", "--family", "bit-vector-xor", "--config", "one-hot", "-o", os.path.join(folder, "target"),
        "--vectors", "1", "--name", "u")
    counts = []
    for picoseconds in (1, 300, 3000):
        yosys("read_verilog target/u_unit.v; " + SYNTHESIS.format(top="u_unit", library=LIBRARY).replace(
            "abc ", f"abc -D {picoseconds} ") + "tee -q -o stat.json stat -json", folder)
        counts.append(statistics(folder, "u_unit")["num_cells_by_type"])
    check(all(count == counts[0] for count in counts), f"abc -D makes a difference: {counts}")


def latency(unit):
    """What a target is about."""
    return unit["period_ns"] if unit["flip_flops"] else unit["delay_ns"]


def check_targets(options, clocks):
    """A tighter target never gets a slower or smaller unit. One that is reached is; the fastest unit of those
    that do not reach theirs is the same for all."""
    before, missed = None, None
    for clock in clocks:
        given = bankfold("rtl", "cost", *options, "--clock", str(clock))
        unit, target = given["units"][0], given["target_ns"]
        check(abs(target * clock - (1 if "--liberty" in options else 2.66 * 45 / 40)) < 1e-6, f"{clock} GHz: {target} ns")
        check(unit["reached"] == (latency(unit) <= target), f"{options} {clock} GHz: {unit}")
        if before:
            check(latency(unit) <= latency(before) and unit["area_um2"] >= before["area_um2"],
                  f"{options}: {clock} GHz has {unit}, a looser target has {before}")
        if missed:
            check(unit == missed, f"{options}: a target out of reach gets {unit}, another one {missed}")
        before, missed = unit, missed or (None if unit["reached"] else unit)
    return before


def check_copies(options, bits):
    """Registers of the word are copied as often as is said, and no copy is lost."""
    one = bankfold("rtl", "cost", *options)["units"][0]
    fast = check_targets(options, (1, 100, 1000))
    check(not fast["reached"] and latency(fast) < latency(one), f"{options}: the fastest is {fast}")
    check(fast["word_copies"] > 1 and fast["flip_flops"] - one["flip_flops"] == bits * (fast["word_copies"] - 1),
          f"{options}: {fast} has other registers than {one}")


def check_page(folder):
    """The tables in docs/rtl.md are what the commands above them print, with the versions of tools that made them.
    The first of them also writes charts, whole ones and nothing else; the scratch folder of yosys is removed."""
    place, scratch_place = os.path.join(folder, "charts"), os.path.join(folder, "tmp")
    os.mkdir(scratch_place)
    with open("docs/rtl.md", encoding="utf-8") as file:
        tables = re.findall(r"^```\n\$ bankfold (rtl cost.*)\n((?:.*\n)*?)```", file.read(), re.M)
    check(len(tables) == 2, f"docs/rtl.md has {len(tables)} tables of costs")
    for command, table in tables:
        charts = [] if os.path.exists(place) else ["-o", place]
        printed = run(PROGRAM, *command.split(), *charts, env={**os.environ, "TMPDIR": scratch_place})
        if printed.split("\n", 1)[0] == table.split("\n", 1)[0] and run("yosys", "-V").startswith("Yosys 0.23 "):
            check(printed == table, f"docs/rtl.md has another table of {command} than this:\n{printed}")
        else:
            print("SKIP a table of docs/rtl.md: made with other versions of tools")
    check(sorted(os.listdir(place)) == ["area.svg", "power.svg"], f"charts: {os.listdir(place)}")
    for name in os.listdir(place):
        with open(os.path.join(place, name), encoding="utf-8") as file:
            check(file.read().rstrip().endswith("</svg>"), f"{name} is cut")
    check(not os.listdir(scratch_place), f"left behind: {os.listdir(scratch_place)}")


def check_other_library(folder):
    """The same library under another name, one that needs care: the same costs, and nothing is scaled."""
    other = os.path.join(folder, "my 'own' cells.lib")
    shutil.copy(LIBRARY, other)
    own = bankfold("rtl", "cost", "--hash", "fixed")["units"][0]
    given = bankfold("rtl", "cost", "--hash", "fixed", "--liberty", other)["units"][0]
    check("area_mm2_gpu" not in given, "costs of a library of unknown technology are scaled")
    check(all(own[key] == value for key, value in given.items()), f"{given} differs from {own}")


def fails(folder, options, says, **environment):
    """`rtl cost` is an error with a message, and leaves nothing behind."""
    place = tempfile.mkdtemp(dir=folder)
    result = subprocess.run([PROGRAM, "rtl", "cost", "--hash", "fixed", *options], capture_output=True, text=True,
                            check=False, env={**os.environ, "TMPDIR": place, **environment})
    check(result.returncode == 2 and says in result.stderr and not result.stdout,
          f"{options} {environment}: status {result.returncode}, {result.stderr}")
    check(not os.listdir(place), f"left behind: {os.listdir(place)}")


# ---- Whose timing ----

def path_without_sta(folder):
    """A folder for PATH that has all programs but OpenSTA."""
    place = os.path.join(folder, "programs")
    os.mkdir(place)
    for source in filter(os.path.isdir, os.environ["PATH"].split(":")):
        for name in set(os.listdir(source)) - set(os.listdir(place)) - {"sta"}:
            os.symlink(os.path.join(source, name), os.path.join(place, name))
    return place


def check_choice(folder):
    """OpenSTA where it is found and not forbidden; the program's own timing is always given beside it."""
    path = path_without_sta(folder)
    command = [PROGRAM, "rtl", "cost", "--family", "bit-vector-perm", "--config", "one-hot"]
    own = bankfold(*command[1:], "--timing", "own")
    check(own["timing"] == "bankfold", f"own timing is called {own['timing']}")
    for unit in own["units"]:
        check(unit["delay_ns"] == unit["own_delay_ns"] and unit["period_ns"] == unit["own_period_ns"] > 0, f"{unit}")
    without = {**os.environ, "PATH": path}
    without.pop("BANKFOLD_STA", None)
    check(json.loads(run(*command, "--json", env=without)) == own, "without OpenSTA, not its own timing")
    check("; timing by bankfold\n" in run(*command, env=without), "the text does not say that timing is its own")
    fails(folder, ["--timing", "opensta"], "apt-get install opensta", PATH=path, BANKFOLD_STA="")
    fails(folder, [], "apt-get install opensta", BANKFOLD_STA=os.path.join(folder, "nowhere"))
    if not HAS_STA:
        return
    given = bankfold(*command[1:])
    version = "OpenSTA " + run("sta", "-version").strip()
    check(given["timing"] == version, f"timing is called {given['timing']}, not {version}")
    check(f"; timing by {version}\n" in run(*command), "the text does not say that timing is OpenSTA's")
    check(bankfold(*command[1:], "--timing", "opensta") == given, "OpenSTA is not what is chosen where it is present")
    named = {**without, "BANKFOLD_STA": shutil.which("sta")}
    check(json.loads(run(*command, "--json", env=named)) == given, "BANKFOLD_STA makes a difference")
    named["BANKFOLD_STA"] = os.path.relpath(shutil.which("sta"))
    check(json.loads(run(*command, "--json", env=named)) == given, "a path from this folder makes a difference")
    keys = [key for key in given["units"][0] if not key.startswith(("delay_ns", "period_ns"))]
    check(all(given["units"][0][key] == own["units"][0][key] for key in keys), "timing changes more than delays")


def program(folder, text):
    """A shell script to be run in place of OpenSTA."""
    handle, path = tempfile.mkstemp(dir=folder)
    with open(handle, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o700)
    return path


def check_bad_opensta(folder):
    """An OpenSTA that fails, says nothing, speaks of something else, or stops early is refused."""
    last = "; echo 'bankfold: end of report'"
    says = "OpenSTA does not time the unit: "
    fails(folder, [], says + "it ended without a message", BANKFOLD_STA="/bin/false")
    fails(folder, [], says + "it ended without a message", BANKFOLD_STA=program(folder, "kill -9 $$"))
    for text in ("true", "echo hello", "echo OpenSTA 2.0; echo ' 9.9 slack (MET)'", "echo ' 9.9 slack (MET)'" + last,
                 "echo OpenSTA 2.0; echo ' 11 slack (MET)'" + last, "echo OpenSTA 2.0; echo ' x slack (MET)'" + last,
                 "mkdir -p deep/er; touch deep/er/file", "head -c 3000000 /dev/urandom"):
        fails(folder, [], says + "its report cannot be read", BANKFOLD_STA=program(folder, text))
    fails(folder, [], says + "it finds no way", BANKFOLD_STA=program(folder, "echo OpenSTA 2.0; echo No paths found." + last))
    fails(folder, [], says + "Error: netlist.v, 1", BANKFOLD_STA=program(folder, "echo 'Error: netlist.v, 1'"))
    fails(folder, ["--timing", "opensta"], says, BANKFOLD_STA="/bin/false")
    bankfold("rtl", "cost", "--hash", "fixed", "--timing", "own")


def check_orphan(folder):
    """OpenSTA ends with the program that has started it."""
    note = os.path.join(folder, "pid")
    slow = program(folder, f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 60")
    place = os.path.join(folder, "orphan")
    os.mkdir(place)
    parent = subprocess.Popen([PROGRAM, "rtl", "cost", "--hash", "fixed"], env={**os.environ, "BANKFOLD_STA": slow,
                                                                                "TMPDIR": place})
    wait_for(lambda: os.path.exists(note))
    parent.kill()
    parent.wait()
    with open(note, encoding="ascii") as file:
        child = file.read().strip()
    wait_for(lambda: not is_running(child))
    check(not is_running(child), "OpenSTA goes on without the program")


def wait_for(condition):
    """Up to ten seconds."""
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)


def is_running(process):
    """What has ended but was not waited for does not run."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def check_home(folder):
    """Settings in the user's home are not read, and nothing is written there."""
    home = os.path.join(folder, "home")
    os.mkdir(home)
    with open(os.path.join(home, ".sta"), "w", encoding="ascii") as file:
        file.write("puts {No paths found}\nexit 1\n")
    given = json.loads(run(PROGRAM, "rtl", "cost", "--hash", "fixed", "--json", env={**os.environ, "HOME": home}))
    check(given == bankfold("rtl", "cost", "--hash", "fixed"), "settings in the user's home make a difference")
    check(os.listdir(home) == [".sta"], f"left in the user's home: {os.listdir(home)}")


def check_units_of_time(folder):
    """A library whose times are in 100 ps and whose loads in 2000 fF: both ways of timing read the units alike.
    Slews of 60 ps are now at the far end of its tables, where the ways are further apart."""
    other = os.path.join(folder, "picoseconds.lib")
    with open(LIBRARY, encoding="ascii") as file:
        text = file.read()
    for old, new in (('time_unit : "1ns"', 'time_unit : "100ps"'), ("capacitive_load_unit (1,pf)", "capacitive_load_unit (2000,ff)")):
        check(old in text, f"the library has no '{old}'")
        text = text.replace(old, new)
    with open(other, "w", encoding="ascii") as file:
        file.write(text)
    unit = bankfold("rtl", "cost", "--family", "bit-vector-xor", "--liberty", other)["units"][0]
    for key in ("delay_ns", "period_ns"):
        check(unit[key] > 0 and abs(unit[key] - unit["own_" + key]) < 0.1 * unit[key], f"library in ps: {unit}")


if not shutil.which("yosys"):
    print("SKIP: no yosys")
    sys.exit(77)
if not os.path.exists(LIBRARY):
    print("SKIP: no library of standard cells (qflow-tech-osu018)")
    sys.exit(77)
HAS_STA = shutil.which("sta") is not None
if not HAS_STA:
    print("SKIP comparison of delays: no OpenSTA")
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
with tempfile.TemporaryDirectory() as scratch:
    check_hashes(scratch)
    check_adders(scratch)
    check_ladder()
    for family in ("bit-vector-perm", "bit-vector-xor", "bitwise-perm", "bitwise-xor"):
        for kind in ("encoded", "one-hot"):
            check_unit(scratch, ["--family", family, "--config", kind])
    for copies in ("2", "5"):
        check_unit(scratch, ["--family", "bit-vector-xor", "--config", "one-hot", "--copies", copies])
    check_delay_target(scratch)
    check_copies(["--family", "bitwise-perm", "--config", "one-hot", "--banks", "4", "--address-bits", "6"], 6)
    check_targets(["--family", "bitwise-xor", "--banks", "4", "--address-bits", "4", "--liberty", LIBRARY], (0.5, 2))
    check_targets(["--hash", "add"], (1, 100))
    for unit in (["--hash", "fixed"], ["--hash", "add"], ["--locks", "add"]):
        check_unit(scratch, unit)
    check_published()
    check_page(scratch)
    check_other_library(scratch)
    fails(scratch, [], "yosys does not synthesize the unit: it ended without a message", BANKFOLD_YOSYS="/bin/false")
    check_choice(scratch)
    check_bad_opensta(scratch)
    check_orphan(scratch)
    if HAS_STA:
        check_home(scratch)
        check_units_of_time(scratch)
for fault in FAULTS:
    print(fault)
sys.exit(bool(FAULTS))
