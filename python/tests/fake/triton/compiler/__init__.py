from .compiler import ASTSource, CompiledKernel, compile  # pylint: disable=redefined-builtin
