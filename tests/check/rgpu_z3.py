#!/usr/bin/env python3
"""The mapper of rgpu against Z3: does a graph fit, and on how few lanes?

Random graphs, some with cycles, are written for `bankfold rgpu map` and as formulas: a slot for each
node; writers before readers, or behind them where a result goes round the end of the ring; at every
slot no more results than lanes. Z3 must say that the lanes found do, and that one less does not;
where the mapper says that a graph does not fit, Z3 must agree, and there must be a reason. Small graphs
come with two copies, which are to Z3 one graph in two parts. Run as: rgpu_z3.py BUILD_FOLDER
"""
import json
import os
import random
import shutil
import subprocess
import sys

CASES = 120
CASES_OF_TWO = 30
CORES, UNITS = 9, 4


def random_graph(rng, most):
    """Nodes as (is_unit, inputs), inputs as (node, initial values); nodes read earlier ones, and some
    later ones after an initial value."""
    nodes = []
    count = rng.randint(3, most)
    for index in range(count):
        is_unit = index > 0 and rng.random() < 0.3
        most_inputs = (1 if is_unit else 3) if index else 0
        inputs = {rng.randrange(max(0, index - 5), index) for _ in range(rng.randint(0, most_inputs))}
        if is_unit and not inputs:
            inputs = {index - 1}
        nodes.append((is_unit, [(source, 0) for source in sorted(inputs)]))
    for index in range(count):
        is_unit, inputs = nodes[index]
        if not is_unit and len(inputs) < 3 and index + 1 < count and rng.random() < 0.06:
            inputs.append((rng.randrange(index + 1, count), 1))
    return nodes


def text(nodes):
    lines = []
    for index, (is_unit, inputs) in enumerate(nodes):
        words = [f"n{source}" + (" after [0]" if initial else "") for source, initial in inputs]
        if is_unit:
            lines.append(f"n{index} = ld.u32 [{words[0]}]")
        else:
            lines.append(f"n{index} = mad.u32 " + ", ".join((words + ["1", "1", "1"])[:3]))
    return "\n".join(lines) + "\n"


def copied(nodes, copies):
    """All copies as one graph."""
    return [(is_unit, [(source + copy * len(nodes), initial) for source, initial in inputs])
            for copy in range(copies) for is_unit, inputs in nodes]


def reach(nodes):
    """reach[v]: nodes that results of v come to."""
    readers = {index: set() for index in range(len(nodes))}
    for index, (_, inputs) in enumerate(nodes):
        for source, _ in inputs:
            readers[source].add(index)
    found = {}
    for start in readers:
        seen, left = set(), list(readers[start])
        while left:
            node = left.pop()
            if node not in seen:
                seen.add(node)
                left += readers[node]
        found[start] = seen
    return found


def formula(nodes, lanes):
    """Is there a placement with at most so many results at every slot?"""
    far = reach(nodes)
    lines = ["(set-logic QF_LIA)"]
    for index, (is_unit, _) in enumerate(nodes):
        lines.append(f"(declare-const s{index} Int)")
        if is_unit:
            places = " ".join(f"(= s{index} {1 + 2 * unit})" for unit in range(UNITS))
            lines.append(f"(assert (or {places} false))")
        else:
            lines.append(f"(assert (and (>= s{index} 0) (< s{index} {CORES})))")
    for kind in (False, True):
        same = " ".join(f"s{index}" for index, node in enumerate(nodes) if node[0] == kind)
        if same.count("s") > 1:
            lines.append(f"(assert (distinct {same}))")
    written = [f"s{index}" if is_unit else f"(+ s{index} 1)" for index, (is_unit, _) in enumerate(nodes)]
    holds = {index: [] for index in range(len(nodes))}
    for reader, (_, inputs) in enumerate(nodes):
        for source, initial in inputs:
            forward = f"(<= {written[source]} s{reader})"
            if not (initial and source in far[reader]):
                lines.append(f"(assert {forward})")
            holds[source].append((reader, forward))
    for slot in range(CORES):
        here = []
        for source, readers in holds.items():
            ways = [f"(ite {forward} (and (<= {written[source]} {slot}) (<= {slot} s{reader}))"
                    f" (or (<= {written[source]} {slot}) (<= {slot} s{reader})))" for reader, forward in readers]
            if ways:
                here.append(f"(ite (or {' '.join(ways)} false) 1 0)")
        lines.append(f"(assert (<= (+ 0 0 {' '.join(here)}) {lanes}))")
    return "\n".join(lines + ["(check-sat)"])


def fits(nodes, lanes):
    answer = subprocess.run(["z3", "-in"], input=formula(nodes, lanes), check=True, capture_output=True, text=True)
    return answer.stdout.strip() == "sat"


def mapped(program, nodes, copies, lanes):
    result = subprocess.run(
        [program, "rgpu", "map", "-", "--json", "--copies", str(copies), "--cores", str(CORES), "--units", str(UNITS),
         "--lanes", str(lanes)], input=text(nodes), capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        raise SystemExit(f"rgpu map failed: {result.stderr}{text(nodes)}")
    return json.loads(result.stdout)


def agrees(answer, nodes, lanes, has_loop):
    """Whether Z3 says the same: what fits does so on the lanes found and not on fewer; what does not has a reason."""
    if fits(nodes, lanes) != answer["fits"]:
        return False
    if not answer["fits"]:
        return bool(answer["reason"])
    if not fits(nodes, answer["lanes"]):
        return False
    if not answer["lanes_proven"]: # results that go round may need a lane more than there are at any slot
        return has_loop
    return answer["lanes"] == 0 or not fits(nodes, answer["lanes"] - 1)


def main():
    if not shutil.which("z3"):
        print("z3 is not installed")
        return 77
    program = os.path.join(sys.argv[1], "bankfold")
    rng = random.Random(1)
    seen = {"fits": 0, "does not": 0, "loops": 0, "twice": 0, "not twice": 0}
    for case in range(CASES + CASES_OF_TWO):
        copies = 1 if case < CASES else 2
        graph = random_graph(rng, 10 if copies == 1 else 5)
        lanes = rng.randint(1, 4)
        answer = mapped(program, graph, copies, lanes)
        has_loop = any(initial for _, inputs in graph for _, initial in inputs)
        if copies == 2:
            seen["twice" if answer["fits"] else "not twice"] += 1
        else:
            seen["fits" if answer["fits"] else "does not"] += 1
            seen["loops"] += has_loop
        if not agrees(answer, copied(graph, copies), lanes, has_loop):
            print(f"case {case}: Z3 and the mapper disagree about {copies} copies: {answer}\n{text(graph)}")
            return 1
    print(f"{CASES} graphs: {seen['fits']} fit, {seen['does not']} do not; {seen['loops']} have cycles; "
          f"of {CASES_OF_TWO} more, {seen['twice']} fit twice, {seen['not twice']} do not")
    return 0 if min(seen.values()) > 4 else 1


if __name__ == "__main__":
    sys.exit(main())
