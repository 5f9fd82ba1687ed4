"""A stand-in for NVIDIA's ncu_report, as far as tools/ncu touches it: two launches of a kernel whose second line has
conflicts, and one without lines."""


class Values:
    def __init__(self, values):
        self.values = values

    def as_uint64(self, i=None):
        return self.values[0 if i is None else i]


class Metric(Values):
    def __init__(self, total, by_address=None):
        super().__init__(list(by_address.values()) if by_address else [total])
        self.addresses, self.total = list(by_address or {}), total

    def has_correlation_ids(self):
        return bool(self.addresses)

    def correlation_ids(self):
        return Values(self.addresses)

    def num_instances(self):
        return len(self.addresses)

    def as_uint64(self, i=None):
        return self.total if i is None else self.values[i]


class Place:
    def __init__(self, line):
        self.number = line

    def file_name(self):
        return "/home/user/causes.cu"

    def line(self):
        return self.number


class Action:
    def __init__(self, name, metrics, lines):
        self.own, self.metrics, self.lines = name, metrics, lines

    def name(self):
        return self.own

    def metric_by_name(self, name):
        return self.metrics.get(name)

    def source_info(self, address):
        return Place(self.lines[address]) if address in self.lines else None

    def sass_by_pc(self, address):
        return "  LDS R%d, [R16]" % (address % 16)


def launch(name, times):
    executed = {0x10: 2 * times, 0x20: times, 0x30: times, 0x40: 0}
    wavefronts = {0x10: 2 * times, 0x20: 32 * times, 0x30: 32 * times, 0x40: 0}
    metrics = {"memory_l1_wavefronts_shared": Metric(66 * times, wavefronts),
               "memory_l1_wavefronts_shared_ideal": Metric(4 * times, executed),
               "inst_executed": Metric(4 * times, executed),
               "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": Metric(62 * times),
               "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": Metric(66 * times)}
    for what, sizes in (("block", (32, 8, 1)), ("grid", (times, 1, 1))):
        metrics.update({"launch__%s_dim_%s" % (what, d): Metric(size) for d, size in zip("xyz", sizes)})
    return Action(name, metrics, {0x10: 9, 0x20: 12, 0x30: 12})


class Report:
    actions = [launch("void ns::column<float, (int)32, (bool)1>(float *)", 1), launch("void ns::column<float, (int)32, (bool)1>(float *)", 3),
               Action("nothing()", {}, {})]

    def num_ranges(self):
        return 1

    def range_by_idx(self, i):
        return self

    def num_actions(self):
        return len(self.actions)

    def action_by_idx(self, i):
        return self.actions[i]


def load_report(path):
    with open(path) as file:
        if file.read(3) != "NVR":
            raise RuntimeError("not a report")
    return Report()
