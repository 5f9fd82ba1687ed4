"""A stand-in for the driver's interface of cuda-python."""


def cuModuleLoadData(image):
    return (0 if image.endswith(b"\0") else 200), image.decode()
