"""Settings: read from the environment whenever they are asked for, unless they were set."""
import os
import subprocess


class Tool:
    def __init__(self, path):
        self.path = path
        self.version = subprocess.run([path, "--version"], check=True, capture_output=True, text=True).stdout


class ToolSetting:
    def __init__(self, name, variable, default):
        self.name, self.variable, self.default = name, variable, default

    def __get__(self, owner, kind):
        if owner is None:
            return self
        return Tool(owner.__dict__.get(self.name) or os.environ.get(self.variable) or os.environ[self.default])

    def __set__(self, owner, value):
        owner.__dict__[self.name] = value


class Nvidia:
    ptxas = ToolSetting("ptxas", "TRITON_PTXAS_PATH", "FAKE_PTXAS")
    ptxas_blackwell = ToolSetting("ptxas_blackwell", "TRITON_PTXAS_BLACKWELL_PATH", "FAKE_PTXAS_BLACKWELL")


nvidia = Nvidia()
