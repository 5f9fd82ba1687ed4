"""CuTe."""
