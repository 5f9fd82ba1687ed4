from . import nvrtc


class Device:
    compute_capability = "90"
