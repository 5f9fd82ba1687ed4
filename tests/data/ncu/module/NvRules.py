"""A stand-in for what ncu gives to its rules. As a program it applies our rule to the first launch of the stand-in
report as ncu does: ncu's own Python has no module subprocess (seen with Nsight Compute 2025.3.1)."""
import os
import sys

import ncu_report


class MsgType:
    WARNING = "WRN"


class Context(ncu_report.Report):
    def frontend(self):
        return self

    def message(self, kind, text, name):
        print(kind, name)
        print(text, end="")


def get_context(_handle):
    return Context()


if __name__ == "__main__":
    sys.modules["subprocess"] = None
    sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../../tools/ncu"))
    import BankfoldSharedMemory
    BankfoldSharedMemory.apply(None)
