"""Source is PTX behind a comment; what does not have it is refused."""
programs = {}


def createProgram(source, name, headers, includes):
    programs[len(programs) + 1] = [source, ()]
    return len(programs)


def compileProgram(program, options):
    programs[program][1] = options
    if ".version" not in programs[program][0]:
        raise RuntimeError("NVRTC_ERROR_COMPILATION")


def getProgramLog(program):
    return "kernel.cu(1): error: no such thing"


def getPTX(program):
    return programs[program][0].replace("// source\n", "").replace(".Target", ".target")


def destroyProgram(program):
    pass
