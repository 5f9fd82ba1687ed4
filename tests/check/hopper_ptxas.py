#!/usr/bin/env python3
"""Forms of instructions that came with Hopper and of tcgen05: ptxas for sm_90a or sm_100a accepts every one of them, the parser reads
them, and the emulator runs them or, for those marked with !, refuses them with their line. Skipped without ptxas. Run as: hopper_ptxas.py BUILD_FOLDER"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

# r, s (shared address), q, g (global address), h, p, f, w: registers of 32, 32, 64, 64, 16, 1, 32, 128 bits.
FORMS = r"""
mbarrier.init.shared::cta.b64 [s], 1;
mbarrier.init.b64 [g], 1;
mbarrier.inval.shared.b64 [s];
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [s], 16;
mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [s], 16;
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [s], 16;
mbarrier.arrive.b64 q, [g];
mbarrier.arrive.shared::cta.b64 q, [s], 2;
mbarrier.arrive.release.cta.shared::cta.b64 q, [s], r;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [s], r;
mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [s];
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 q, [s], r;
mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [s], 16;
mbarrier.arrive.expect_tx.relaxed.cluster.b64 _, [g], 16;
mbarrier.arrive.noComplete.release.cta.shared::cta.b64 q, [s], 1;
mbarrier.arrive_drop.shared::cta.b64 q, [s];
mbarrier.arrive_drop.expect_tx.shared::cta.b64 q, [s], 4;
mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [s], 4;
mbarrier.arrive_drop.noComplete.shared::cta.b64 q, [s], 1;
mbarrier.test_wait.shared::cta.b64 p, [s], q;
mbarrier.test_wait.parity.shared::cta.b64 p, [s], 1;
mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [s], r;
mbarrier.test_wait.parity.relaxed.cluster.shared::cta.b64 p, [s], r;
mbarrier.try_wait.shared::cta.b64 p, [s], q, 1000;
mbarrier.try_wait.parity.shared::cta.b64 p, [s], r, r;
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [s], r;
mbarrier.try_wait.parity.b64 p, [g], r;
mbarrier.pending_count.b64 r, q;
cp.async.mbarrier.arrive.shared::cta.b64 [s];
cp.async.mbarrier.arrive.noinc.b64 [g];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], r, [s];
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [s];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], r, [s], h;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [s], [g], r, [s], q;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [s], [g], r, [s], h, q;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s], [s], r, [s];
cp.async.bulk.global.shared::cta.bulk_group [g], [s], r;
cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [g], [s], r, q;
cp.async.bulk.prefetch.L2.global [g], r;
cp.async.bulk.prefetch.L2.global.L2::cache_hint [g], r, q;
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 [s], [s], r, [s];
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [s], [s], r, [s];
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b32 [s], [s], r, [s];
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [g], [s], r;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [g], [s], r;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [g], [s], r;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [g], [s], r;
cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [g], [s], r;
cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [g], [s], r;
cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.xor.b64 [g], [s], r, q;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
cp.async.bulk.wait_group.read 3;
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g, {r}], [s];
cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [g, {r}], [s];
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [g, {r, 5}], [s];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g, {r, r}], [s], h;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [s], [g, {r, r}], [s], h, q;
cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [s], [g, {r, r, r}], [s], q;
cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [g, {r, r, r, r}], [s];
cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [s], [g, {r, r, r, r, r}], [s], {h, h, h}, h, q;
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [g, {r, r, r}], [s], {h};
cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [g, {r}], [s];
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [g, {r, r}], [s], q;
cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [g, {r, r, r, r}], [s];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [g, {r, r}], [s];
cp.reduce.async.bulk.tensor.3d.global.shared::cta.min.bulk_group [g, {r, r, r}], [s];
cp.reduce.async.bulk.tensor.4d.global.shared::cta.xor.im2col_no_offs.bulk_group [g, {r, r, r, r}], [s];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.inc.bulk_group.L2::cache_hint [g, {r, r}], [s], q;
cp.async.bulk.prefetch.tensor.2d.L2.global.tile [g, {r, r}];
cp.async.bulk.prefetch.tensor.2d.L2.global [g, {r, r}];
cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [g, {r, r, r, r}], {h, h};
cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint [g, {r, r}], q;
prefetch.tensormap [g];
prefetch.param.tensormap [pp];
prefetch.const.tensormap [cc];
fence.proxy.async;
fence.proxy.async.global;
fence.proxy.async.shared::cta;
fence.proxy.async.shared::cluster;
fence.proxy.alias;
fence.mbarrier_init.release.cluster;
fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [g], 128;
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
fence.acq_rel.cluster;
fence.sc.cluster;
fence.acquire.sync_restrict::shared::cluster.cluster;
fence.release.sync_restrict::shared::cta.cluster;
fence.acquire.cluster;
fence.release.gpu;
membar.proxy.alias;
barrier.cluster.arrive;
barrier.cluster.arrive.aligned;
barrier.cluster.arrive.release;
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait;
barrier.cluster.wait.acquire.aligned;
barrier.cta.sync.aligned 1, 64;
barrier.cta.arrive 1, 64;
barrier.cta.red.popc.u32 r, 1, p;
mapa.shared::cluster.u32 r, s, r;
mapa.shared::cluster.u32 r, sv, 1;
mapa.shared::cluster.u64 q, q, r;
mapa.u64 q, g, r;
mapa.shared::cluster.u32 r, sv+4, 1;
getctarank.shared::cluster.u32 r, s;
getctarank.shared::cluster.u32 r, sv;
getctarank.u64 r, g;
ld.shared::cluster.u32 r, [s];
ld.shared::cta.v4.u32 {r, r, r, r}, [s];
ld.relaxed.cluster.shared::cluster.u32 r, [s];
ld.acquire.cluster.global.u32 r, [g];
st.shared::cluster.v2.f32 [s], {f, f};
st.release.cluster.shared::cluster.u32 [s], r;
atom.shared::cluster.add.u32 r, [s], r;
atom.relaxed.cluster.shared::cluster.cas.b32 r, [s], r, r;
atom.acq_rel.cluster.shared::cluster.exch.b64 q, [s], q;
red.relaxed.cluster.shared::cluster.add.u32 [s], r;
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [s], r, [s];
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [s], {q, q}, [s];
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [s], {f, f, f, f}, [s];
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s64 [s], q, [s];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [s], r, [s];
red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.s32 [s], r, [s];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [s], r, [s];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [s], q, [s];
isspacep.shared::cluster p, g;
isspacep.shared::cta p, g;
cvta.shared::cluster.u64 q, q;
cvta.to.shared::cluster.u64 q, g;
cvta.shared::cta.u64 q, q;
setmaxnreg.inc.sync.aligned.u32 232;
setmaxnreg.dec.sync.aligned.u32 40;
elect.sync r|p, -1;
elect.sync _|p, r;
griddepcontrol.wait;
griddepcontrol.launch_dependents;
discard.global.L2 [g], 128;
applypriority.global.L2::evict_normal [g], 128;
createpolicy.fractional.L2::evict_last.b64 q, 0.5;
createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 q, [g], 128, 256;
createpolicy.cvt.L2.b64 q, 0x14f0000000000000;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [s], q;
tensormap.replace.tile.global_address.global.b1024.b64 [g], q;
tensormap.replace.tile.global_address.b1024.b64 [g], q;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [s], 2;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 0, r;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s], 1, r;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [s], 0, q;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [s], 0, r;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [s], 6;
tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [s], 0;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [s], 3;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [s], 1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [g], [s], 128;
wgmma.fence.sync.aligned;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f,f,f,f}, q, q, p, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f,f,f,f}, q, q, 1, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f,f,f,f}, {r,r,r,r}, q, p, -1, 1, 1;
wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {r,r}, q, q, p, 1, 1, 0, 1;
wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {f,f,f,f}, q, q, p, 1, 1;
wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e4m3 {r,r}, q, q, p, 1, 1;
wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {r,r,r,r}, q, q, p;
wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8.satfinite {r,r,r,r}, {r,r,r,r}, q, p;
wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {r,r,r,r}, q, q, p;
wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {f,f,f,f}, q, q, r, 0, p, 1, 1, 0, 0;
wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {f,f,f,f}, {r,r,r,r}, q, r, 1, p, 1, 1, 0;
wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 {f,f,f,f}, q, q, r, 0, p, 1, 1;
wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 {f,f,f,f}, q, q, r, 0, p, 1, 1;
wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {r,r,r,r}, q, q, r, 0, p;
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f,f,f,f}, {r,r}, {r,r}, {f,f,f,f}, r, 0x0;
mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f,f,f,f}, {r,r}, {r,r}, {f,f,f,f}, r, 0x0;
mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {f,f,f,f}, {r,r,r,r}, {r,r,r,r}, {f,f,f,f}, r, 0x0;
mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {r,r,r,r}, {r,r,r,r}, {r,r,r,r}, {r,r,r,r}, r, 0x0;
!multimem.ld_reduce.relaxed.sys.global.add.u32 r, [g];
!multimem.st.relaxed.sys.global.u32 [g], r;
!multimem.red.relaxed.sys.global.add.u32 [g], r;
stmatrix.sync.aligned.m8n8.x4.shared.b16 [s], {r,r,r,r};
redux.sync.add.u32 r, r, -1;
mov.u32 r, %cluster_ctarank;
mov.u32 r, %cluster_nctaid.y;
mov.u32 r, %clusterid.x;
mov.pred p, %is_explicit_cluster;
mov.u32 r, %aggr_smem_size;
ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {r,r,r,r}, [g], q;
st.global.L2::cache_hint.u32 [g], r, q;
ld.global.nc.L1::evict_last.L2::256B.u32 r, [g];
red.global.v4.f32.add [g], {f,f,f,f};
atom.global.v2.f16x2.add.noftz {r,r}, [g], {r,r};
ld.global.b128 w, [g];
atom.global.cas.b128 w, [g], w, w;
nanosleep.u32 20;
bar.warp.sync -1;
cp.async.cg.shared.global.L2::cache_hint [s], [g], 16, q;
"""

# The same of Blackwell.
BLACKWELL = r"""
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 64;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], r;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 r, 64;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
tcgen05.mma.cta_group::1.kind::f16 [r], q, q, r, p;
tcgen05.mma.cta_group::1.kind::f16 [r], q, q, r, {r, r, r, r}, p;
tcgen05.mma.cta_group::1.kind::f16 [r], q, q, r, p, 2;
tcgen05.mma.cta_group::1.kind::f16 [r], [r], q, r, !p;
tcgen05.mma.cta_group::1.kind::tf32 [r], q, q, r, p;
tcgen05.mma.cta_group::1.kind::f8f6f4 [r], [r], q, r, p;
tcgen05.mma.cta_group::1.kind::i8 [r], q, q, r, p;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [r], q, q, r, [r], [r], p;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [r], q, q, r, [r], [r], p;
tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [r], q, q, r, p;
tcgen05.mma.ws.cta_group::1.kind::f16 [r], q, q, r, p;
tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [r], q, q, r, p;
!tcgen05.mma.ws.cta_group::1.kind::tf32 [r], [r], q, r, p, q;
!tcgen05.mma.sp.cta_group::1.kind::f16 [r], q, q, [r], r, p;
tcgen05.mma.cta_group::2.kind::f16 [r], q, q, r, p;
tcgen05.mma.cta_group::2.kind::f16 [r], q, q, r, {r,r,r,r,r,r,r,r}, p;
tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale [r], q, q, r, [r], [r], p;
tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [r], q, q, r, [r], [r], p;
tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [r], q, q, r, [r], [r], p;
tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [r], q, q, r, [r], [r], p;
tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [s], 64;
tcgen05.alloc.cta_group::1.sync.aligned.b32 [g], 64;
tcgen05.dealloc.cta_group::2.sync.aligned.b32 r, 64;
tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [s], h;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [s];
tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [g];
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [s], h;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [r];
tcgen05.ld.sync.aligned.32x32b.x4.b32 {r, r, r, r}, [r+4];
tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {r, r}, [r];
tcgen05.ld.sync.aligned.16x128b.x1.b32 {r, r}, [r];
tcgen05.ld.sync.aligned.16x256b.x1.b32 {r, r, r, r}, [r];
tcgen05.ld.sync.aligned.16x64b.x1.b32 {r}, [r];
tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {r}, [r], 4;
tcgen05.ld.sync.aligned.16x32bx2.x2.pack::16b.b32 {r,r}, [r], 4;
tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32 [r], {r,r};
tcgen05.st.sync.aligned.16x32bx2.x2.b32 [r], 2, {r,r};
tcgen05.st.sync.aligned.32x32b.x2.b32 [r], {r, r};
tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [r], {r, r};
tcgen05.st.sync.aligned.16x256b.x1.b32 [r], {r, r, r, r};
tcgen05.wait::ld.sync.aligned;
tcgen05.wait::st.sync.aligned;
tcgen05.fence::before_thread_sync;
tcgen05.fence::after_thread_sync;
tcgen05.cp.cta_group::1.128x256b [r], q;
tcgen05.cp.cta_group::1.128x128b [r], q;
tcgen05.cp.cta_group::1.32x128b.warpx4 [r], q;
!tcgen05.cp.cta_group::1.4x256b [r], q;
tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [r], q;
tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [r], q;
tcgen05.cp.cta_group::2.128x256b [r], q;
!tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b6x16_p32 [r], q;
tcgen05.shift.cta_group::1.down [r];
tcgen05.shift.cta_group::2.down [r];
cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [s], [g, {r,r}], [s], q;
cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [s], [g, {r,r,r}], [s], h;
cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [s], [g, {r,r,r,r,r}], [s];
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [g, {r,r,r,r,r}], [s];
cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [s], [g, {r,r,r}], [s], {h,h};
cp.async.bulk.tensor.5d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes.multicast::cluster [s], [g, {r,r,r,r,r}], [s], {h,h}, h;
cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w [g, {r,r,r,r}], {h,h};
fma.rn.f32x2 q, q, q, q;
add.rz.ftz.f32x2 q, q, q;
sub.f32x2 q, q, q;
mul.rn.f32x2 q, q, q;
ld.global.nc.L1::no_allocate.L2::256B.v8.b32 {r,r,r,r,r,r,r,r}, [g];
st.global.v4.b64 [g], {q,q,q,q};
redux.sync.max.f32 f, f, -1;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s], [s];
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [s], [s];
clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [g], [g];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, w;
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {r, r, r, _}, w;
clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 r, w;
"""

HEAD = """.version 9.0
.target ARCH
.address_size 64
.extern .shared .align 16 .b8 sv[];
.const .align 64 .b8 cc[128];
"""


def kernel(form, number):
    """A kernel with the form in it."""
    text = re.sub(r"(?<![\w.%:])([rsqhpgfw])(?![\w.:])", r"%\1", form)
    return f""".visible .entry k{number}(.param .u64 gp, .param .align 64 .b8 pp[128]) {{
.reg .b32 %r, %s; .reg .b64 %q, %g; .reg .b16 %h; .reg .pred %p; .reg .f32 %f; .reg .b128 %w;
ld.param.u64 %g, [gp]; mov.u32 %s, 0; mov.u32 %r, 0; mov.u64 %q, 0; mov.u16 %h, 1; setp.eq.u32 %p, 1, 1;
mov.f32 %f, 0f00000000; mov.b128 %w, {{%q, %q}};
{text}
ret;
}}
"""


def refusal(program, folder, number, form, arch):
    """What the emulator says where it does not run a form, else nothing."""
    path, launch = os.path.join(folder, f"{number}.ptx"), os.path.join(folder, f"{number}.launch")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD.replace("ARCH", arch) + kernel(form, number).replace(".param .align 64 .b8 pp[128]", ".param .u64 pp"))
    with open(launch, "w", encoding="utf-8") as file:
        file.write(f"buffer g u32 65536 zero\nlaunch k{number} grid 1 block 128 with g g\n")
    run = subprocess.run([program, "profile", path, "--launch", launch, "--workers", "1"], capture_output=True, text=True,
                         check=False, timeout=60)
    found = re.search(r"(does not run.*|error: .*operands.*)", run.stderr)
    return found.group(0) if found else ""


def compare(program, ptxas, arch, forms):
    """What ptxas, the parser and the emulator do otherwise than the list says."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD.replace("ARCH", arch) + "".join(kernel(form.lstrip("!"), i) for i, form in enumerate(forms)))
        judged = subprocess.run([ptxas, "-arch=" + arch, path, "-o", os.devnull], capture_output=True, text=True, check=False)
        faults += [line for line in judged.stderr.split("\n") if "error" in line]
        parsed = subprocess.run([program, "ptx", "kernels", path], capture_output=True, text=True, check=False)
        if parsed.returncode:
            faults.append(parsed.stderr)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda i: refusal(program, folder, i, forms[i].lstrip("!"), arch), range(len(forms))))
    for form, text in zip(forms, said):
        if bool(text) != form.startswith("!"):
            faults.append(f"{form}: {text or 'not refused'}")
        elif text and "(line " not in text:
            faults.append(f"{form}: refused without a line: {text}")
    return faults


def main():
    """Compares ptxas, the parser and the emulator on all forms."""
    program = os.path.join(sys.argv[1], "bankfold")
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not ptxas:
        print("no ptxas")
        sys.exit(77)
    lists = {"sm_90a": FORMS.strip().split("\n"), "sm_100a": BLACKWELL.strip().split("\n")}
    faults = [fault for arch, forms in lists.items() for fault in compare(program, ptxas, arch, forms)]
    print("\n".join(faults + [f"{sum(map(len, lists.values()))} forms, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
