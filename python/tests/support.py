"""What the tests share."""
import importlib.util
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent

# A block of 32 x 32 threads transposes a tile: line 5 writes rows of shared memory, line 7 reads columns.
TRANSPOSE = """.version 8.0
.target sm_90
.address_size 64
.file 1 "transpose.cu"
.visible .entry transpose(.param .u64 in, .param .u64 out)
{REQUIRED}
{{
  .reg .b32 %r<10>;
  .reg .b64 %d<10>;
  .shared .align 4 .b8 tile[4096];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, tile;
  mad.lo.u32 %r4, %r2, 32, %r1;
  mul.wide.u32 %d1, %r4, 4;
  ld.param.u64 %d2, [in];
  add.u64 %d3, %d2, %d1;
  ld.global.b32 %r5, [%d3];
  shl.b32 %r6, %r4, 2;
  add.u32 %r7, %r3, %r6;
  .loc 1 5 3
  st.shared.b32 [%r7], %r5;
  bar.sync 0;
  mad.lo.u32 %r4, %r1, 32, %r2;
  shl.b32 %r6, %r4, 2;
  add.u32 %r8, %r3, %r6;
  .loc 1 7 3
  ld.shared.b32 %r9, [%r8];
  ld.param.u64 %d4, [out];
  add.u64 %d5, %d4, %d1;
  st.global.b32 [%d5], %r9;
  ret;
}}
"""


def transpose(required=""):
    return TRANSPOSE.format(REQUIRED=required)


# out[i] = a * x + y[i] for i < n: numbers of several types.
SAXPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n, .param .f64 more, .param .u16 short)
{
  .reg .b32 %r<10>;
  .reg .f32 %f<10>;
  .reg .f64 %g<4>;
  .reg .b64 %d<10>;
  .reg .b16 %h<4>;
  .reg .pred %p<2>;
  mov.u32 %r1, %tid.x;
  ld.param.u32 %r2, [n];
  setp.ge.u32 %p1, %r1, %r2;
  @%p1 ret;
  mul.wide.u32 %d1, %r1, 4;
  ld.param.u64 %d2, [x];
  ld.param.u64 %d3, [y];
  add.u64 %d2, %d2, %d1;
  add.u64 %d3, %d3, %d1;
  ld.global.f32 %f1, [%d2];
  ld.global.f32 %f2, [%d3];
  ld.param.f32 %f3, [a];
  fma.rn.f32 %f4, %f3, %f1, %f2;
  ld.param.f64 %g1, [more];
  cvt.rn.f32.f64 %f5, %g1;
  add.f32 %f4, %f4, %f5;
  ld.param.u16 %h1, [short];
  cvt.rn.f32.u16 %f6, %h1;
  add.f32 %f4, %f4, %f6;
  st.global.f32 [%d3], %f4;
  ret;
}
"""


FOREVER = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry forever()\n{\nAGAIN:\nbra.uni AGAIN;\n}\n"

HELLO = """.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry hello()
{
  .reg .b64 %d<4>;
  mov.u64 %d1, text;
  cvta.global.u64 %d1, %d1;
  mov.u64 %d2, 0;
  {
    .param .b64 a;
    .param .b64 b;
    .param .b32 r;
    st.param.b64 [a], %d1;
    st.param.b64 [b], %d2;
    call.uni (r), vprintf, (a, b);
  }
  ret;
}
"""

FAKES = str(TESTS / "fake")


def is_installed(name):
    """Whether a package is there, and not only its stand-in, which Python finds last."""
    if FAKES not in sys.path:
        sys.path.append(FAKES)
    found = importlib.util.find_spec(name)
    return not found.origin.startswith(FAKES)


def write_program(path, text):
    pathlib.Path(path).write_text(text)
    os.chmod(path, 0o755)
    return str(path)


def header():
    """The public header of the checkout: BANKFOLD_ROOT, or the one that the tests lie in; None where there is none."""
    for root in (os.environ.get("BANKFOLD_ROOT"), TESTS.parents[1]):
        if root and (pathlib.Path(root) / "include" / "bankfold.h").exists():
            return pathlib.Path(root) / "include" / "bankfold.h"
    return None
