/* The verifier on small kernels: what is known of bits, which array an address lies in, which
 * values hold where paths meet, and generic accesses that are left alone. Lines of a body that
 * start with '-' belong to the original only, with '+' to the rewritten form only; what stands
 * before a line '=' is what the function `use` does with its parameter in %r1. */
#include "verify.h"

/* A kernel between its first and last lines. */
typedef struct form {
  const char *name, *hashes;
  const char *body;
  const char *message; /* NULL: accepted */
} form;

/* The hash `fixed` of a register of 32 bits. */
#define HASH(to, from)                                                                             \
  "+shr.u32 %t, " from ", 5;\n+and.b32 %t, %t, 124;\n+xor.b32 " to ", " from ", %t;\n"
/* An access that is hashed right before it. */
#define STORE(address)                                                                             \
  HASH("%h9", address) "-st.shared.u32 [" address "], 1;\n+st.shared.u32 [%h9], 1;\n"

/* Threads store their index times 4 behind a; then what is 128 bytes behind that offset is hashed
 * by an XOR, which needs to know that the offset is less than 128. */
#define THREADS                                                                                    \
  "mov.u32 %r4, %tid.x;\nshl.b32 %r2, %r4, 2;\nmov.u32 %r5, a;\nadd.s32 %r6, %r5, %r2;\n"
#define LAST_ROW(guard, offset)                                                                    \
  "+shr.u32 %t, %r6, 5;\n+add.s32 %t, %t, 124;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r6, %t;\n"   \
  "-" guard "st.shared.u32 [%r6+" offset "], 1;\n+" guard "st.shared.u32 [%h1+" offset "], 1;\n"
#define NEXT_ROW                                                                                   \
  HASH("%h2", "%r2")                                                                               \
  "+xor.b32 %h3, %h2, 132;\n-st.shared.u32 [%r2+128], 1;\n+st.shared.u32 [%h3], 1;\n"
/* An XOR for the word behind the address in %r2, of which the lowest bits must be 0. */
#define NEXT_WORD                                                                                  \
  HASH("%h1", "%r2")                                                                               \
  "+xor.b32 %h2, %h1, 4;\n-st.shared.u32 [%r2+4], 1;\n+st.shared.u32 [%h2], 1;\n"

static const char head[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".shared .align 128 .b8 a[4096];\n.shared .align 128 .b8 b[4096];\n"
    ".shared .align 128 .b8 c[4096];\n"
    ".shared .align 4096 .b8 f[4096];\n"
    ".extern .shared .align 128 .b8 d[];\n.extern .shared .align 128 .b8 e[];\n"
    ".global .align 8 .b8 memory[64];\n"
    ".func use(.param .b32 place)\n{\n.reg .b32 %r<3>;\n"
    "ld.param.u32 %r1, [place];\n";
static const char middle[] =
    "ret;\n}\n"
    ".visible .entry k(.param .u64 k_out, .param .u32 k_n)\n{\n.reg .pred %p<4>;\n"
    ".reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n+.reg .b32 %t;\n+.reg .b32 %h<10>;\n+.reg .b64 %w<4>;\n"
    "+.reg .pred %q<2>;\n";
static const char tail[] = "ret;\n}\n";

/* The hash bits:0,1^5,2^5,3,4 of %r2, which puts bit 7 of an address to bits 3 and 4, by a product.
 */
#define PRODUCT(mask, factor)                                                                      \
  "+and.b32 %t, %r2, " mask ";\n+mul.hi.u32 %t, %t, " factor ";\n+and.b32 %t, %t, 24;\n"           \
  "+xor.b32 %h1, %r2, %t;\n-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n"

static const form forms[] = {
    /* Products. */
    {"two copies of a bit", "k=bits:0,1^5,2^5,3,4", PRODUCT("128", "805306368"), NULL},
    {"the lower half of the product", "k=bits:0,1^5,2^5,3,4",
     "+and.b32 %t, %r2, 128;\n+mul.lo.u32 %t, %t, 805306368;\n+xor.b32 %h1, %r2, %t;\n"
     "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "a product that is not the upper half"},
    {"a signed product", "k=bits:0,1^5,2^5,3,4",
     "+and.b32 %t, %r2, 128;\n+mul.hi.s32 %t, %t, 805306368;\n+xor.b32 %h1, %r2, %t;\n"
     "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "a product that is not the upper half"},
    {"copies at other places", "k=bits:0,1^5,2^5,3,4", PRODUCT("128", "1610612736"), "the hash"},
    {"another bit", "k=bits:0,1^5,2^5,3,4", PRODUCT("256", "805306368"), "the hash"},
    {"copies that meet, and may carry", "k=bits:0,1^5,2^5,3,4", PRODUCT("384", "805306368"),
     "a product whose parts meet"},
    {"a product of all bits", "k=bits:0,1^5,2^5,3,4", PRODUCT("-1", "805306368"),
     "a product whose parts meet"},
    /* Bits that are always 0. */
    {"a field between zeros", "k=fixed",
     "and.b32 %r1, %r9, 31;\nshl.b32 %r2, %r1, 7;\n" HASH(
         "%h1", "%r2") "+xor.b32 %h2, %h1, 4100;\n-st.shared.u32 [%r2+4100], 1;\n+st.shared.u32 "
                       "[%h2], 1;\n",
     NULL},
    {"a field between zeros and an offset inside it", "k=fixed",
     "and.b32 %r1, %r9, 31;\nshl.b32 %r2, %r1, 7;\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 132;\n-st.shared.u32 [%r2+128], 1;\n+st.shared.u32 [%h2], 1;\n",
     "the hash at another offset"},
    {"an offset that carries out of zeros", "k=fixed",
     "and.b32 %r1, %r9, 3;\nshl.b32 %r2, %r1, 3;\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 8;\n-st.shared.u32 [%r2+8], 1;\n+st.shared.u32 [%h2], 1;\n",
     "the hash at another offset"},
    {"an offset added in two steps", "k=fixed",
     "shl.b32 %r2, %r9, 5;\n+add.s32 %h1, %r2, 8;\n" HASH(
         "%h2", "%h1") "+add.s32 %h3, %h2, 4096;\n-st.shared.u32 [%r2+4104], 1;\n+st.shared.u32 "
                       "[%h3], 1;\n",
     NULL},
    {"an offset that is taken back", "k=fixed",
     "+add.s32 %h1, %r2, 24;\n+add.s32 %h1, %h1, -16;\n" HASH(
         "%h2", "%h1") "-st.shared.u32 [%r2+8], 1;\n+st.shared.u32 [%h2], 1;\n",
     NULL},
    {"an addition behind an XOR", "k=fixed",
     "+xor.b32 %h1, %r2, 4;\n+add.s32 %h1, %h1, 4;\n" HASH(
         "%h2", "%h1") "-st.shared.u32 [%r2+8], 1;\n+st.shared.u32 [%h2], 1;\n",
     "carries are not known"},
    {"lanes and threads", "k=fixed",
     "mov.u32 %r1, %laneid;\nmov.u32 %r4, %tid.x;\nshl.b32 %r2, %r4, 7;\n"
     "mad.lo.s32 %r3, %r1, 131072, %r2;\n" HASH(
         "%h1",
         "%r3") "+xor.b32 %h2, %h1, 64;\n-st.shared.u32 [%r3+64], 1;\n+st.shared.u32 [%h2], 1;\n",
     NULL},
    {"threads by more than a row", "k=fixed",
     "mov.u32 %r4, %tid.x;\nshl.b32 %r2, %r4, 6;\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 64;\n-st.shared.u32 [%r2+64], 1;\n+st.shared.u32 [%h2], 1;\n",
     "the hash at another offset"},
    {"a register that another path fills", "k=fixed",
     "shl.b32 %r2, %r9, 7;\nsetp.eq.u32 %p1, %r9, 3;\n@%p1 mov.u32 %r2, %r8;\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 4;\n-st.shared.u32 [%r2+4], 1;\n+st.shared.u32 [%h2], 1;\n",
     "the hash at another offset"},
    {"a counter in steps of rows", "k=fixed",
     "mov.u32 %r2, 0;\nLOOP:\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 4;\n-st.shared.u32 [%r2+4], 1;\n+st.shared.u32 [%h2], 1;\n"
                "add.s32 %r2, %r2, 128;\nsetp.lt.u32 %p1, %r2, %r9;\n@%p1 bra LOOP;\n",
     NULL},
    {"a counter in steps of words", "k=fixed",
     "mov.u32 %r2, 0;\nLOOP:\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 4;\n-st.shared.u32 [%r2+4], 1;\n+st.shared.u32 [%h2], 1;\n"
                "add.s32 %r2, %r2, 4;\nsetp.lt.u32 %p1, %r2, %r9;\n@%p1 bra LOOP;\n",
     "the hash at another offset"},
    {"a signed shift", "k=fixed", "shr.s32 %r2, %r9, 4;\nst.shared.u32 [%r2], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"a sign in wide addresses", "k=fixed",
     "cvt.s64.s32 %rd1, %r9;\n+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n"
     "+xor.b64 %w1, %w1, %rd1;\n+xor.b64 %w2, %w1, 4294967296;\n"
     "-st.shared.u32 [%rd1+4294967296], 1;\n+st.shared.u32 [%w2], 1;\n",
     "the hash at another offset"},
    {"no sign in wide addresses", "k=fixed",
     "cvt.u64.u32 %rd1, %r9;\n+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n"
     "+xor.b64 %w1, %w1, %rd1;\n+xor.b64 %w2, %w1, 4294967296;\n"
     "-st.shared.u32 [%rd1+4294967296], 1;\n+st.shared.u32 [%w2], 1;\n",
     NULL},
    /* Stores of all threads bound their indices. */
    {"a store of all threads", "k=fixed", THREADS LAST_ROW("", "3968") NEXT_ROW, NULL},
    {"a store of all threads, later", "k=fixed", THREADS NEXT_ROW LAST_ROW("", "3968"), NULL},
    {"a store behind both sides of a branch", "k=fixed",
     THREADS "setp.eq.u32 %p1, %r9, 3;\n@%p1 bra JOIN;\nmov.u32 %r7, 1;\nJOIN:\n" LAST_ROW(
         "", "3968") NEXT_ROW,
     NULL},
    {"a store of all threads that leaves more room", "k=fixed",
     THREADS HASH("%h1", "%r6") "-st.shared.u32 [%r6], 1;\n+st.shared.u32 [%h1], 1;\n" NEXT_ROW,
     "the hash at another offset"},
    {"a store of some threads", "k=fixed",
     THREADS "setp.lt.u32 %p1, %r4, 32;\n" LAST_ROW("@%p1 ", "3968") NEXT_ROW,
     "the hash at another offset"},
    {"a store on one side of a branch", "k=fixed",
     THREADS "setp.eq.u32 %p1, %r9, 3;\n@%p1 bra JOIN;\n" LAST_ROW("", "3968") "JOIN:\n" NEXT_ROW,
     "the hash at another offset"},
    {"threads that leave before the store", "k=fixed",
     THREADS NEXT_ROW "setp.eq.u32 %p1, %r9, 3;\n@%p1 exit;\n" LAST_ROW("", "3968"),
     "the hash at another offset"},
    {"a store at an address that has changed", "k=fixed",
     THREADS "setp.eq.u32 %p1, %r9, 3;\n@%p1 mov.u32 %r6, a;\n" LAST_ROW("", "3968") NEXT_ROW,
     "the hash at another offset"},
    {"a load of all threads", "k=fixed",
     THREADS "+shr.u32 %t, %r6, 5;\n+add.s32 %t, %t, 124;\n+and.b32 %t, %t, 124;\n"
             "+xor.b32 %h1, %r6, %t;\n-ld.shared.u32 %r9, [%r6+3968];\n"
             "+ld.shared.u32 %r9, [%h1+3968];\n" NEXT_ROW,
     "the hash at another offset"},
    /* Remainders that are taken away. */
    {"a remainder taken away", "k=fixed",
     "and.b32 %r1, %r9, 31;\nsub.s32 %r2, %r9, %r1;\n" NEXT_WORD, NULL},
    {"a remainder of a rounded number", "k=fixed",
     "mov.u32 %r9, %tid.x;\nshr.s32 %r3, %r9, 31;\nadd.s32 %r4, %r9, %r3;\nand.b32 %r1, %r4, 31;\n"
     "sub.s32 %r2, %r9, %r1;\n" NEXT_WORD,
     NULL},
    {"a remainder of another number", "k=fixed",
     "shr.s32 %r3, %r9, 31;\nadd.s32 %r4, %r9, %r3;\nand.b32 %r1, %r4, 31;\n"
     "sub.s32 %r2, %r9, %r1;\n" NEXT_WORD,
     "the hash at another offset"},
    {"a remainder of what was there before", "k=fixed",
     "and.b32 %r1, %r9, 31;\nadd.s32 %r9, %r9, 4;\nsub.s32 %r2, %r9, %r1;\n" NEXT_WORD,
     "the hash at another offset"},
    {"a remainder that may not be taken", "k=fixed",
     "setp.eq.u32 %p1, %r8, 3;\n@%p1 and.b32 %r1, %r9, 31;\nsub.s32 %r2, %r9, %r1;\n" NEXT_WORD,
     "the hash at another offset"},
    {"a remainder from another round", "k=fixed",
     "and.b32 %r1, %r9, 31;\nLOOP:\nsub.s32 %r2, %r9, %r1;\n" NEXT_WORD
     "add.s32 %r9, %r9, 4;\nsetp.lt.u32 %p1, %r9, 64;\n@%p1 bra LOOP;\n",
     "the hash at another offset"},
    {"a remainder of fewer bits", "k=fixed",
     "and.b32 %r1, %r9, 28;\nsub.s32 %r2, %r9, %r1;\n" HASH(
         "%h1",
         "%r2") "+xor.b32 %h2, %h1, 1;\n-st.shared.u8 [%r2+1], 1;\n+st.shared.u8 [%h2], 1;\n",
     "the hash at another offset"},
    /* Whole rows that are added behind the hash. */
    {"rows behind the hash", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     NULL},
    {"rows behind the hash, in one lop3", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+lop3.b32 %h1, %t, 124, %r2, "
     "0x6a;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     NULL},
    {"rows behind the hash, less a row", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 8;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     "an addition whose carries are not known"},
    {"rows behind the hash that are not added", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+0], 1;\n",
     "an addition whose carries are not known"},
    {"rows behind the hash and some more", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+4480], 1;\n",
     "the hash at another offset"},
    {"rows behind the hash with the carry out", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 2147483772;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     "a mixture of two addresses"},
    {"rows behind the hash of another register", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r3, "
     "%t;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     "a mixture of two addresses"},
    {"parts of rows behind the hash", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 1;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2+32], 1;\n+st.shared.u32 [%h1+32], 1;\n",
     "a mixture of two addresses"},
    {"rows behind the hash that carry beyond a register", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 134217732;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "bits that were shifted in"},
    {"rows and words", "k=fixed",
     "shl.b32 %r2, %r9, 5;\n+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, "
     "124;\n+xor.b32 %h1, %r2, %t;\n+xor.b32 %h1, %h1, 8;\n-st.shared.u32 [%r2+392], "
     "1;\n+st.shared.u32 [%h1+384], 1;\n",
     NULL},
    {"rows and words that carry", "k=fixed",
     "shl.b32 %r2, %r9, 5;\n+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, "
     "124;\n+xor.b32 %h1, %r2, %t;\n+xor.b32 %h1, %h1, 32;\n-st.shared.u32 [%r2+416], "
     "1;\n+st.shared.u32 [%h1+384], 1;\n",
     "the hash at another offset"},
    {"rows and a bit of a row", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n+xor.b32 %h1, %h1, 128;\n-st.shared.u32 [%r2+512], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     "a mixture of two addresses"},
    {"a shift of an address with rows behind it", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+add.s32 %t, %t, 12;\n+and.b32 %t, %t, 124;\n+xor.b32 %h1, %r2, "
     "%t;\n+shl.b32 %h1, %h1, 0;\n-st.shared.u32 [%r2+384], 1;\n+st.shared.u32 [%h1+384], 1;\n",
     "a shift of bits that are not known"},
    /* Addresses that the hash leaves alone. */
    {"an address in the first row", "k=fixed",
     "and.b32 %r1, %r9, 31;\nshl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], 1;\n" STORE("%r8"), NULL},
    {"an address in the first two rows", "k=fixed",
     "and.b32 %r1, %r9, 63;\nshl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"an offset beyond the first row", "k=fixed",
     "and.b32 %r1, %r9, 31;\nshl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2+64], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"an address in rows that the hash does not read", "k=cute:1,4,3",
     "shl.b32 %r2, %r9, 8;\nst.shared.u32 [%r2+4], 1;\n", NULL},
    {"an alignment up to 1024 bytes", "k=cute:1,4,5",
     "mov.u32 %r1, f;\nst.shared.u32 [%r1+8], 1;\nst.shared.u32 [f], 1;\n+mov.b32 %t, 0;\n", NULL},
    {"an alignment beyond 1024 bytes", "k=cute:1,4,6",
     "mov.u32 %r1, f;\nst.shared.u32 [%r1+8], 1;\nst.shared.u32 [f], 1;\n+mov.b32 %t, 0;\n",
     "access to shared memory without the hash"},
    {"a remainder", "k=fixed",
     "rem.u32 %r1, %r9, 32;\nshl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], 1;\n" STORE("%r8"), NULL},
    {"a remainder with sign", "k=fixed",
     "rem.s32 %r1, %r9, 32;\nshl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"a quotient", "k=fixed",
     "and.b32 %r1, %r9, 1023;\ndiv.u32 %r2, %r1, 9;\nst.shared.u8 [%r2], 1;\n" STORE("%r8"), NULL},
    {"a quotient that is too large", "k=fixed",
     "and.b32 %r1, %r9, 1023;\ndiv.u32 %r2, %r1, 7;\nst.shared.u8 [%r2], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"a field of a register", "k=fixed",
     "bfe.u32 %r1, %r9, 3, 5;\nlop3.b32 %r2, %r1, 7, %r9, 0x80;\nmul.lo.s32 %r3, %r2, 4;\n"
     "st.shared.u32 [%r3], 1;\n" STORE("%r8"),
     NULL},
    {"bits put into a register", "k=fixed",
     "and.b32 %r1, %r9, 3;\nand.b32 %r2, %r8, 15;\nbfi.b32 %r3, %r2, %r1, 3, 4;\n"
     "st.shared.u8 [%r3], 1;\n" STORE("%r8"),
     NULL},
    {"bits put in that the hash reads", "k=fixed",
     "and.b32 %r1, %r9, 3;\nand.b32 %r2, %r8, 15;\nbfi.b32 %r3, %r2, %r1, 4, 4;\n"
     "st.shared.u8 [%r3], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"bits put beside those that stay", "k=fixed",
     "and.b32 %r1, %r9, 255;\nand.b32 %r2, %r8, 15;\nbfi.b32 %r3, %r2, %r1, 3, 4;\n"
     "st.shared.u8 [%r3], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"bits put at a place that is not known", "k=fixed",
     "and.b32 %r1, %r9, 3;\nand.b32 %r2, %r8, 15;\nbfi.b32 %r3, %r2, %r1, %r9, 4;\n"
     "st.shared.u8 [%r3], 1;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    {"a byte from memory", "k=cute:1,4,4",
     "ld.global.u8 %r1, [memory];\nst.shared.u8 [%r1], 1;\n+mov.b32 %t, 0;\n", NULL},
    {"a byte with sign from memory", "k=cute:1,4,4",
     "ld.global.s8 %r1, [memory];\nst.shared.u8 [%r1], 1;\n+mov.b32 %t, 0;\n",
     "access to shared memory without the hash"},
    {"an address that a loop moves", "k=fixed",
     "mov.u32 %r2, 0;\nLOOP:\nst.shared.u32 [%r2], 1;\nadd.s32 %r2, %r2, 4;\n"
     "setp.lt.u32 %p1, %r2, 64;\n@%p1 bra LOOP;\n" STORE("%r8"),
     "access to shared memory without the hash"},
    /* Values where paths meet. */
    {"a test of generic addresses in another block", "k=fixed",
     "cvta.shared.u64 %rd1, %rd2;\n"
     "+isspacep.shared %q1, %rd1;\nsetp.eq.u32 %p1, %r9, 3;\n@%p1 bra SKIP;\nmov.u32 %r1, 5;\n"
     "SKIP:\n+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n+selp.b64 %w1, %w1, 0, %q1;\n"
     "+xor.b64 %w1, %w1, %rd1;\n-ld.u32 %r2, [%rd1];\n+ld.u32 %r2, [%w1];\n",
     NULL},
    {"a generic address chosen in another block", "k=fixed",
     "cvta.shared.u64 %rd1, %rd2;\n+isspacep.shared %q1, %rd1;\n+mov.b64 %w3, %rd1;\n"
     "setp.eq.u32 %p1, %r9, 3;\n@%p1 bra SKIP;\nmov.u32 %r1, 5;\n"
     "SKIP:\n+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n+@%q1 xor.b64 %w3, %w1, %rd1;\n"
     "-ld.u32 %r2, [%rd1];\n+ld.u32 %r2, [%w3];\n",
     NULL},
    {"a test of an address under a guard", "k=fixed",
     "cvta.shared.u64 %rd1, %rd2;\n+@%p1 mov.b64 %w2, %rd1;\n+isspacep.shared %q1, %w2;\n"
     "+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n+selp.b64 %w1, %w1, 0, %q1;\n"
     "+xor.b64 %w1, %w1, %rd1;\n-ld.u32 %r2, [%rd1];\n+ld.u32 %r2, [%w1];\n",
     "did not write"},
    {"a test of a generic address that moves", "k=fixed",
     "cvta.shared.u64 %rd1, %rd2;\n"
     "+isspacep.shared %q1, %rd1;\nLOOP:\n+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n"
     "+selp.b64 %w1, %w1, 0, %q1;\n+xor.b64 %w1, %w1, %rd1;\n"
     "-ld.u32 %r2, [%rd1];\n+ld.u32 %r2, [%w1];\nadd.s64 %rd1, %rd1, 4;\n"
     "setp.lt.u32 %p1, %r2, 64;\n@%p1 bra LOOP;\n",
     "did not write"},
    {"a hash behind its use in a loop from the start", "k=fixed",
     "LOOP:\n-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n" HASH(
         "%h1", "%r2") "setp.lt.u32 %p1, %r9, 64;\n@%p1 bra LOOP;\n",
     "not every path has written"},
    {"a hash for a block that stands before it", "k=fixed",
     "bra START;\nBACK:\n-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\nadd.s32 %r9, %r9, 1;\n"
     "bra END;\nSTART:\nmov.u32 %r8, 3;\n" HASH(
         "%h1", "%r2") "bra BACK;\nEND:\n"
                       "-st.shared.u32 [%r2], 2;\n+st.shared.u32 [%h1], 2;\n",
     NULL},
    {"a hash over a call", "k=fixed",
     HASH("%h1", "%r2") "{\n.param .b32 at;\nst.param.b32 [at], %r9;\ncall use, (at);\n}\n"
                        "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     NULL},
    {"a hash over a branch by a table", "k=fixed",
     "TO: .branchtargets ONE, TWO;\n" HASH(
         "%h1", "%r2") "brx.idx %r9, TO;\nONE:\nadd.s32 %r8, %r8, 1;\nTWO:\n"
                       "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     NULL},
    {"an address changed behind a branch by a table", "k=fixed",
     "TO: .branchtargets ONE, TWO;\n" HASH(
         "%h1", "%r2") "brx.idx %r9, TO;\nONE:\nadd.s32 %r2, %r2, 4;\nTWO:\n"
                       "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "written since"},
    {"an address that half a loop changes", "k=fixed",
     HASH("%h1", "%r2") "LOOP:\n-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\nsetp.lt.u32 "
                        "%p1, %r9, 64;\n"
                        "@%p1 bra NEXT;\nadd.s32 %r2, %r2, 4;\nNEXT:\nadd.s32 %r9, %r9, 1;\n"
                        "setp.lt.u32 %p2, %r9, 99;\n@%p2 bra LOOP;\n",
     "written since"},
    {"an address that a guard changes", "k=fixed",
     HASH("%h1", "%r2") "@%p1 add.s32 %r2, %r2, 4;\nbra NEXT;\nNEXT:\n"
                        "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "written since"},
    {"an address loaded again", "k=fixed",
     HASH("%h1", "%r2") "ld.global.v2.u32 {%r1, %r2}, [memory];\n"
                        "-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "written since"},
    {"a guard that changes in a loop", "k=fixed",
     "LOOP:\n+shr.u32 %t, %r2, 5;\n+and.b32 %t, %t, 124;\n+@%p1 xor.b32 %h1, %r2, %t;\n"
     "setp.lt.u32 %p1, %r9, 64;\n-@%p1 st.shared.u32 [%r2], 1;\n+@%p1 st.shared.u32 [%h1], 1;\n"
     "@%p1 bra LOOP;\n",
     "under another guard"},
    {"a hash by two guards", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+@%p1 and.b32 %t, %t, 124;\n+@%p2 xor.b32 %h1, %r2, %t;\n"
     "-@%p2 st.shared.u32 [%r2], 1;\n+@%p2 st.shared.u32 [%h1], 1;\n",
     "under two conditions"},
    {"a hash by a guard and its opposite", "k=fixed",
     "+shr.u32 %t, %r2, 5;\n+and.b32 %t, %t, 124;\n+@%p1 xor.b32 %h1, %r2, %t;\n"
     "+@!%p1 xor.b32 %h1, %r2, %t;\n-st.shared.u32 [%r2], 1;\n+st.shared.u32 [%h1], 1;\n",
     "under another guard"},
    /* Which array an address lies in. */
    {"one array left alone", "k=fixed k/b=none k/c=none",
     "mov.u32 %r1, a;\nadd.s32 %r2, %r1, %r9;\nmov.u32 %r3, b;\nsub.s32 %r4, %r3, %r9;\n" STORE(
         "%r2") "st.shared.u32 [%r4], 1;\nld.shared.u32 %r5, [b+8];\nst.shared.u32 [c], 1;\n",
     NULL},
    {"a choice between arrays", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r3, b;\nselp.b32 %r4, %r1, %r3, %p1;\n" STORE("%r4"), "not proven"},
    {"a choice between offsets", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r3, b;\nst.shared.u32 [%r3], 2;\nselp.b32 %r4, 4, %r9, %p1;\n"
     "add.s32 %r5, %r1, %r4;\n" STORE("%r5"),
     NULL},
    {"arrays on two branches", "k=fixed k/b=none",
     "@%p1 bra ELSE;\nmov.u32 %r4, a;\nbra JOIN;\nELSE:\nmov.u32 %r4, b;\nJOIN:\n" STORE("%r4"),
     "not proven"},
    {"an array under a guard", "k=fixed k/b=none",
     "mov.u32 %r4, a;\n@%p1 mov.u32 %r4, b;\n" STORE("%r4"), "not proven"},
    {"the way from one array to another", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nsub.s32 %r3, %r2, %r1;\nadd.s32 %r4, %r1, %r3;\n" STORE(
         "%r4"),
     "not proven"},
    {"the way to another array by a loop", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, 0;\nLOOP:\nadd.s32 %r4, %r1, %r2;\n" STORE(
         "%r4") "mov.u32 %r2, b;\nsetp.lt.u32 %p1, %r9, 64;\n@%p1 bra LOOP;\n",
     "not proven"},
    {"an address in a number", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nst.shared.u32 [%r2], 2;\nmov.u32 %r4, 4096;\n" STORE("%r4"),
     "not proven"},
    {"a number as an address", "k=fixed k/b=none",
     "mov.u32 %r2, b;\nst.shared.u32 [%r2], 2;\nst.shared.u32 [64], 2;\n" STORE("a"), "not proven"},
    {"a pointer from memory", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nst.shared.u32 [%r2], 2;\nst.global.u32 [memory], %r1;\n"
     "ld.global.u32 %r4, [memory];\n" STORE("%r4"),
     "not proven"},
    {"an offset from memory", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nst.shared.u32 [%r2], 2;\nld.global.u32 %r3, [memory];\n"
     "add.s32 %r4, %r1, %r3;\n" STORE("%r4"),
     NULL},
    {"an offset from memory that holds another address", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nst.global.u32 [memory], %r2;\nld.global.u32 %r3, "
     "[memory];\n"
     "add.s32 %r4, %r1, %r3;\n" STORE("%r4"),
     "not proven"},
    {"an offset that is a parameter where an address is stored", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nst.global.u32 [memory], %r2;\nld.param.u32 %r3, [k_n];\n"
     "add.s32 %r4, %r1, %r3;\n" STORE("%r4"),
     NULL},
    {"an address from another lane", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nst.shared.u32 [%r2], 2;\n"
     "shfl.sync.idx.b32 %r4, %r1, 3, 31, -1;\n" STORE("%r4"),
     NULL},
    {"addresses of two arrays in a pair", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\nmov.b64 %rd1, {%r1, %r2};\nmov.b64 {%r4, %r5}, "
     "%rd1;\n" STORE("%r4"),
     "not proven"},
    {"an address handed to a function", "k=fixed k/b=none",
     "mov.u32 %r1, a;\nmov.u32 %r2, b;\n{\n.param .b32 at;\nst.param.b32 [at], %r2;\ncall use, "
     "(at);\n}\n"
     "ld.global.u32 %r3, [memory];\nadd.s32 %r4, %r1, %r3;\n" STORE("%r4"),
     "not proven"},
    {"an address that a function follows", "k=fixed k/b=none",
     "+.reg .b32 %t;\n+.reg .b32 %h<10>;\n" STORE(
         "%r1") "=\n"
                "mov.u32 %r1, a;\nst.shared.u32 [b], 2;\n{\n.param .b32 at;\nst.param.b32 [at], "
                "%r1;\n"
                "call use, (at);\n}\n",
     "not proven"},
    {"an address of its own that a function follows", "k=fixed k/b=none",
     "mov.u32 %r2, a;\n+.reg .b32 %t;\n+.reg .b32 %h<10>;\n" STORE(
         "%r2") "=\n"
                "st.shared.u32 [b], 2;\n{\n.param .b32 at;\nst.param.b32 [at], %r1;\ncall use, "
                "(at);\n}\n",
     NULL},
    {"two names of dynamic memory", "k=fixed k/b=none",
     "mov.u32 %r1, d;\nmov.u32 %r2, e;\nst.shared.u32 [b], 2;\nselp.b32 %r4, %r1, %r2, "
     "%p1;\n" STORE("%r4"),
     NULL},
    {"two hashes of dynamic memory", "k=fixed k/e=none",
     "mov.u32 %r1, d;\nst.shared.u32 [e], 2;\n" STORE("%r1"), "two hashes for dynamic"},
    {"a generic address", "k=fixed k/b=none",
     "mov.u64 %rd2, a;\ncvta.shared.u64 %rd1, %rd2;\nst.shared.u32 [b], 2;\n"
     "+isspacep.shared %q1, %rd1;\n+shr.u64 %w1, %rd1, 5;\n+and.b64 %w1, %w1, 124;\n"
     "+selp.b64 %w1, %w1, 0, %q1;\n+xor.b64 %w1, %w1, %rd1;\n"
     "-ld.u32 %r2, [%rd1];\n+ld.u32 %r2, [%w1];\n",
     "not proven"},
    {"a generic address that cannot be shared", "k=fixed k/b=none",
     "ld.param.u64 %rd1, [k_out];\nld.u32 %r3, [%rd1];\nst.shared.u32 [b], 2;\n" STORE("a"), NULL},
    {"the same hash for all arrays needs no proof", "k=fixed k/b=fixed",
     "mov.u32 %r1, a;\nmov.u32 %r3, b;\nselp.b32 %r4, %r1, %r3, %p1;\n" STORE("%r4"), NULL},
    {"a hash for arrays only", "k=none k/a=fixed",
     "mov.u32 %r1, a;\nmov.u32 %r3, b;\nst.shared.u32 [%r3], 2;\n" STORE("%r1"), NULL},
    {"a hash of an array that moves rows", "k=fixed k/b=perm:5",
     "mov.u32 %r1, a;\nmov.u32 %r3, b;\nst.shared.u32 [%r3], 2;\n" STORE("%r1"),
     "moves words to other rows"},
    {"a granule of an array that is too small", "k=cute:3,4,3 k/a=fixed k/c=none",
     "mov.u32 %r1, a;\nmov.u32 %r3, b;\nst.shared.u32 [c], 2;\n" HASH(
         "%h1",
         "%r1") "-st.shared.v2.u32 [%r1], {%r3, %r9};\n+st.shared.v2.u32 [%h1], {%r3, %r9};\n",
     "wider than the granule"},
};

/* Appends the lines from start to end that belong to a side. */
static void add_lines(const char *start, const char *end, char mark, char *text) {
  size_t size = strlen(text);
  while (start < end) {
    bool is_marked = *start == '-' || *start == '+';
    int length = (int)(strchr(start, '\n') - start) + 1;
    if (!is_marked || *start == mark)
      size += (size_t)snprintf(text + size, MOST_TEXT - size, "%.*s", length - is_marked,
                               start + is_marked);
    assert_true(size < MOST_TEXT);
    start += length;
  }
}

/* One side of a form. */
static void make_side(const char *body, char mark, char *text) {
  const char *cut = strstr(body, "=\n");
  *text = 0;
  add_lines(head, head + strlen(head), mark, text);
  if (cut)
    add_lines(body, cut, mark, text);
  add_lines(middle, middle + strlen(middle), mark, text);
  add_lines(cut ? cut + 2 : body, body + strlen(body), mark, text);
  add_lines(tail, tail + strlen(tail), mark, text);
}

static void test_forms(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    make_side(forms[i].body, '-', original);
    make_side(forms[i].body, '+', rewritten);
    bf_verify_result result = judge(original, rewritten, forms[i].hashes);
    const char *said = result.findings ? result.finding[0].text : "accepted";
    if (forms[i].message ? !strstr(said, forms[i].message) : !result.is_accepted) {
      wrong++;
      print_error("%s: %s\n", forms[i].name, said);
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
