/* What the rewriter refuses: for its own test, and for that of the verifier, which must reject all
 * of it in a module that somebody rewrote nevertheless. */
#ifndef TEST_REFUSALS_H
#define TEST_REFUSALS_H

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

/* A module behind HEAD, whose last kernel, k, is refused the hash called fixed. */
typedef struct refusal {
  const char *text;
  unsigned line;        /* behind the head, which has 3; 0: the kernel as a whole */
  const char *obstacle; /* the first one */
} refusal;

#define KERNEL(body)                                                                               \
  ".entry k()\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p; .shared .b32 a[64];\n"         \
  "ld.shared.u32 %r1, [a];\n" body "\nret;\n}\n"

#define TILE_IS_HASHED                                                                             \
  "wmma on shared memory that is hashed: it has one address and one stride for all lines of a "    \
  "tile, which a hash moves apart"

static const refusal refusals[] = {
    {KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %r0;"),
     5, TILE_IS_HASHED},
    {KERNEL("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%rd1], "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, %r0;"),
     5, TILE_IS_HASHED},
    {KERNEL("cvta.shared.u64 %rd0, %rd1;\nwmma.load.a.sync.aligned.row.m16n16k16.f16 "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %r0;"),
     6, TILE_IS_HASHED},
    {KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd2], "
            "%r1, [%rd3];"),
     5, "a bulk copy of shared memory that is hashed"},
    {KERNEL("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], "
            "[%rd2, {%r1}], [%rd3];"),
     5, "a bulk copy of shared memory that is hashed"},
    {KERNEL("wgmma.fence.sync.aligned;"), 5,
     "wgmma reads matrices in shared memory by descriptors"},
    {KERNEL("tcgen05.fence::before_thread_sync;"), 5, "tcgen05 reads shared memory by descriptors"},
    {KERNEL("mapa.shared::cluster.u64 %rd1, %rd2, %r1;"), 5,
     "mapa: shared memory of other blocks of a cluster"},
    {KERNEL("getctarank.shared::cluster.u64 %r1, %rd2;"), 5,
     "getctarank: shared memory of other blocks of a cluster"},
    {KERNEL("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rd1], %r1, [%rd2];"),
     5, "shared memory of other blocks of a cluster"},
    {KERNEL("ld.shared::cluster.u32 %r1, [%rd1];"), 5,
     "shared memory of other blocks of a cluster"},
    {KERNEL("mov.u32 %r1, %reserved_smem_offset_begin;"), 5,
     "the shared memory that the system reserves"},
    {KERNEL("mov.u32 %r1, %dynamic_smem_size;"), 5,
     "the size of shared memory, which padding changes"},
    {KERNEL("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd1], %rd2;"), 5,
     "an instruction on shared memory that is not understood"},
    {KERNEL("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r0];"), 5,
     "an access of unknown width"},
    {KERNEL("cvta.shared.u64 %rd0, %rd1;\nld.u32 %r1, [4240];"), 6,
     "a generic access that names its address"},
    {KERNEL("mov.u64 %rd1, k;\ncall %rd1, ();"), 6, "a call through a register"},
    {".extern .func other();\n" KERNEL("call other, ();"), 6,
     "a call of other, which is not in the module"},
    {".extern .func free();\n" KERNEL("cvta.shared.u64 %rd0, %rd1;\ncall free, ();"), 7,
     "a call of free, which may be given shared memory"},
    {".weak .func f()\n{\n.reg .b32 %r;\nld.shared.u32 %r, [%r];\nret;\n}\n" KERNEL("call f, ();"),
     1, "function f may be replaced by another module's"},
    {".extern .shared .b32 e[32];\n" KERNEL("ld.shared.u32 %r1, [e];"), 1,
     "shared variable e is defined elsewhere"},
    {".shared .b8 e[48800];\n.shared .b8 f[10];\n" KERNEL(
         "ld.shared.u8 %r1, [e];\nld.shared.u8 %r1, [f];"),
     0, "49280 bytes of shared memory, padded to rows, are more than 49152"},
    {KERNEL("ld.shared.v2.u32 {%r1, %r2}, [a];"), 5,
     "an access of 8 bytes, of which the hash keeps 4 together"},
    {".entry k() .explicitcluster\n{\n.shared .b32 a;\n.reg .b32 %r;\nld.shared.u32 %r, [a];\n}\n",
     1, "a kernel of a cluster (.explicitcluster)"},
    {".entry k(.param .u64 .ptr .shared .align 4 p)\n{\n.reg .b64 %r;\nld.param.u64 %r, [p];\n"
     "ld.shared.u64 %r, [%r];\n}\n",
     1, "parameter p points to shared memory"},
    {KERNEL("ld.shared.u32 %r1, [a+6];"), 5,
     "an access that is not aligned to its width of 4 bytes"},
    {KERNEL("shl.b32 %r2, %r1, 3;\nst.shared.u16 [%r2+5], %r1;"), 6,
     "an access that is not aligned to its width of 2 bytes"},
    {KERNEL("mbarrier.init.shared.b64 [%rd1], %r1;"), 5,
     "mbarrier objects that cannot be told from data"},
    {KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
            "[a], %r0;"),
     5, TILE_IS_HASHED},
    {KERNEL("cvta.shared.u64 %rd0, %rd1;\nwmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], "
            "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, %r0;"),
     6, TILE_IS_HASHED},
    {KERNEL("ldu.u32 %r1, [a];"), 5,
     "an access to a shared variable in a form that .shared does not have"},
    {KERNEL("ld.L2::128B.u32 %r1, [a];"), 5,
     "an access to a shared variable in a form that .shared does not have"},
    {KERNEL("prefetch.L1 [a];"), 5, "an instruction on shared memory that is not understood"},
    {KERNEL("discard.L2 [a], 128;"), 5, "an instruction on shared memory that is not understood"},
    {KERNEL("st.async.weak.mbarrier::complete_tx::bytes.u32 [%rd1], %r1, [%rd2];"), 5,
     "an asynchronous store to shared memory"},
    {KERNEL("cvta.shared.u64 %rd0, %rd1;\n"
            "tensormap.replace.tile.global_address.b1024.b64 [%rd1], %rd2;"),
     6, "tensormap by a generic address"},
    {KERNEL("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd1];"), 5,
     "a matrix by a generic address that the kernel did not make"},
    {KERNEL("st.bulk.weak.shared::cta [%rd1], %rd2, 0;"), 5, "an access of unknown width"},
    {KERNEL("ld.shared.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%r0];"), 5,
     "an access of unknown width"},
    {KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%rd1], [%rd2], 16, [%rd3], 1;"),
     5, "cp.async.bulk on shared memory"},
    {KERNEL("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;"), 5,
     "a bulk copy of shared memory that is hashed"},
    {KERNEL("mov.u64 %rd1, {%r1, %total_smem_size};"), 5,
     "the size of shared memory, which padding changes"},
    {".entry q()\n{\nret;\n}\n" KERNEL("call q, ();"), 9, "a call of kernel q"},
    {".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n" KERNEL(
         "cvta.shared.u64 %rd0, %rd1;\n{ .param .b64 f; .param .b64 v; .param .b32 r;\n"
         "st.param.b64 [f], %rd0; st.param.b64 [v], %rd0;\ncall.uni (r), vprintf, (f, v);\n}"),
     9, "a call of vprintf, which may be given shared memory"},
    {".extern .shared .align 128 .b8 e[];\n.extern .shared .align 128 .b8 d[];\n" KERNEL(
         "mbarrier.init.shared.b64 [e], 1;\nst.shared.u32 [d], %r1;"),
     7, "mbarrier objects that cannot be told from data"},
    {".shared .align 8 .b8 e[64];\n" KERNEL(
         "mbarrier.init.shared.b64 [e], 1;\nst.shared.u32 [e+32], %r1;"),
     6, "mbarrier objects that cannot be told from data"},
    {".shared .b32 e[33];\n.entry q()\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, e;\n"
     "mov.u32 %r1, %total_smem_size;\nret;\n}\n" KERNEL("ld.shared.u32 %r1, [e];"),
     1, "shared variable e, padded, changes the size that q asks for"},
    {".shared .b32 e[33];\n.visible .func q()\n{\n.reg .b32 %r;\nmov.u32 %r, %dynamic_smem_size;\n"
     "ret;\n}\n" KERNEL("ld.shared.u32 %r1, [e];"),
     1, "shared variable e, padded, changes the size that q asks for"},
    {".weak .shared .b32 e[33];\n.entry q()\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, e;\n"
     "mov.u32 %r1, %total_smem_size;\nret;\n}\n" KERNEL("ld.shared.u32 %r1, [e];"),
     1, "shared variable e, padded, changes the size that q asks for"},
    {".weak .shared .b32 e[33];\n.visible .func q()\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, e;\n"
     "ret;\n}\n" KERNEL("ld.shared.u32 %r1, [e];"),
     1, "shared variable e may be replaced by another module's"},
    {".shared .b8 e[100];\n.shared .b8 f[49050];\n.entry q()\n{\n.reg .b32 %r;\nmov.u32 %r, e;\n"
     "mov.u32 %r, f;\nret;\n}\n" KERNEL("ld.shared.u8 %r1, [e];"),
     1, "shared variable e, padded, makes kernel q too large"},
};

#endif
