/* Forms that touch memory: loads, stores, copies, addresses; and atomics. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Type of a load or store, the kind of its register, and its bytes. */
static const struct {
  const char *type, *kind;
  unsigned bytes;
} accesses[] = {{"b8", "b32", 1},  {"u8", "b32", 1},  {"s8", "b32", 1},  {"b16", "b16", 2},
                {"u16", "b32", 2}, {"s16", "b32", 2}, {"b32", "b32", 4}, {"u32", "b64", 4},
                {"s32", "b64", 4}, {"f32", "f32", 4}, {"b64", "b64", 8}, {"u64", "b64", 8},
                {"s64", "b64", 8}, {"f64", "f64", 8}};
enum { ACCESSES = sizeof accesses / sizeof *accesses };

/* A space: what stands behind ld or st, and the address of the thread's own place. */
static const struct {
  const char *name, *place;
} spaces[] = {{".global", "%m"}, {".shared", "%s"}, {"", "%m"}, {".local", "%t14"}};

/* The thread's place in local memory, where a body needs it. */
static const char local_place[] = ".local .align 16 .b8 own[16];\nmov.u32 %t14, own;\n";

static void put_local(char *text, size_t size, const char *space) {
  snprintf(text, size, "%s", strcmp(space, ".local") == 0 ? local_place : "");
}

/* Stores 8 bytes, overwrites some, and loads both the part and the whole. */
static void plain(case_list *list) {
  char kinds[60], own[80];
  for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++) {
    const char *space = spaces[s].name, *place = spaces[s].place;
    put_local(own, sizeof own, space);
    for (unsigned i = 0; i < ACCESSES; i++) {
      snprintf(kinds, sizeof kinds, "%s b64 > b64 %s", accesses[i].kind, accesses[i].kind);
      case_add(list, kinds,
               "%sst%s.b64 [%s], %%b;\nst%s.%s [%s+%u], %%a;\nld%s.b64 %%r0, [%s];\n"
               "ld%s.%s %%r1, [%s+%u];",
               own, space, place, space, accesses[i].type, place, 8 - accesses[i].bytes, space,
               place, space, accesses[i].type, place, 8 - accesses[i].bytes);
    }
  }
}

/* Vectors of two and four, and what the caches may be told. */
static void vectors(case_list *list) {
  static const char *const hints[] = {"ld.volatile.global",
                                      "ld.relaxed.gpu.global",
                                      "ld.acquire.cta.global",
                                      "ld.weak.global",
                                      "ld.global.ca",
                                      "ld.global.cg",
                                      "ld.global.cs",
                                      "ld.global.cv",
                                      "ld.global.lu",
                                      "ld.relaxed.sys",
                                      "ld.global.L1::no_allocate",
                                      "ld.global.L2::128B"};
  static const char *const store_hints[] = {
      "st.volatile.global", "st.relaxed.gpu.global", "st.release.cta.global", "st.weak.global",
      "st.global.wb",       "st.global.cg",          "st.global.cs",          "st.global.wt"};
  static const char *const widths[] = {"b8", "b16", "b32"};
  char own[80];
  for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++) {
    const char *space = spaces[s].name, *place = spaces[s].place;
    put_local(own, sizeof own, space);
    case_add(list, "b64 b64 > b64 b64",
             "%sst%s.v2.b64 [%s], {%%a, %%b};\nld%s.v2.u64 {%%r1, %%r0}, [%s];", own, space, place,
             space, place);
    EACH(width, widths) {
      bool half = strcmp(width, "b16") == 0;
      char kinds[60];
      snprintf(kinds, sizeof kinds,
               half ? "b16 b16 b16 b16 > b16 b16 b16 b16" : "b32 b32 b32 b32 > b32 b32 b32 b32");
      case_add(list, kinds,
               "%sst%s.v4.%s [%s], {%%a, %%b, %%c, %%d};\nst%s.v2.%s [%s], {%%d, %%a};\n"
               "ld%s.v4.%s {%%r0, %%r1, %%r2, %%r3}, [%s];",
               own, space, width, place, space, width, place, space, width, place);
    }
    case_add(list, "b32 b32 > b32 b32",
             "%sst%s.v2.u8 [%s], {%%a, %%b};\nld%s.v2.s8 {%%r0, %%r1}, [%s];", own, space, place,
             space, place);
    case_add(list, "f32 f32 > f32 f32",
             "%sst%s.v2.f32 [%s+8], {%%a, %%b};\nld%s.v2.f32 {%%r0, %%r1}, [%s+8];", own, space,
             place, space, place);
  }
  EACH(hint, hints)
  case_add(list, "b32 > b32", "st.global.b32 [%%m], %%a;\n%s.u32 %%r0, [%%m];", hint);
  EACH(hint, store_hints)
  case_add(list, "b32 > b32", "%s.b32 [%%m], %%a;\nld.global.u32 %%r0, [%%m];", hint);
  case_add(list, "b64 b64 > b64 b64",
           "{\n.reg .b128 %%q;\nmov.b128 %%q, {%%a, %%b};\nst.global.b128 [%%m], %%q;\n"
           "ld.global.b128 %%q, [%%m];\nmov.b128 {%%r1, %%r0}, %%q;\n}");
}

/* Memory that is only read. */
static void read_only(case_list *list) {
  case_add(list, "b32 > b32", "ld.global.nc.u32 %%r0, [%%in];");
  case_add(list, "b32 > b32", "ld.global.nc.s16 %%r0, [%%in];");
  case_add(list, "> b32", "ld.param.u64 %%l0, [in];\nldu.global.u32 %%r0, [%%l0];");
  case_add(list, "> b32", "ld.const.u32 %%r0, [table+8];");
  case_add(list, "> b32", "ld.const.s8 %%r0, [table+9];");
  case_add(list, "place > b32",
           "mov.u64 %%l0, table;\nmad.wide.u32 %%l0, %%a, 2, %%l0;\nld.const.u16 %%r0, [%%l0];");
  case_add(list, "place > b32",
           "mov.u64 %%l0, table;\ncvta.const.u64 %%l0, %%l0;\nmad.wide.u32 %%l0, %%a, 1, %%l0;\n"
           "ld.u8 %%r0, [%%l0];");
  case_add(list, "> b64 b64", "ld.const.v2.u64 {%%r0, %%r1}, [table+16];");
  case_add(list, "> b64", "ld.global.u64 %%r0, [answer];");
  case_add(list, "> b32", "mov.u64 %%l0, answer;\nld.global.u32 %%r0, [%%l0+4];");
}

/* cvta, isspacep and accesses through generic addresses. */
static void addresses(case_list *list) {
  case_add(list, "b32 > b32",
           "cvt.u64.u32 %%l0, %%s;\ncvta.shared.u64 %%l1, %%l0;\nst.u32 [%%l1], %%a;\n"
           "ld.shared.u32 %%r0, [%%s];");
  case_add(list, "b32 > b32 b32",
           "cvt.u64.u32 %%l0, %%s;\ncvta.shared.u64 %%l1, %%l0;\ncvta.to.shared.u64 %%l2, %%l1;\n"
           "st.shared.u32 [%%l2], %%a;\nld.u32 %%r0, [%%l1];\ncvt.u32.u64 %%t1, %%l2;\n"
           "sub.u32 %%r1, %%t1, %%s;");
  case_add(list, "b32 > b32",
           ".local .b32 own;\nmov.u64 %%l0, own;\ncvta.local.u64 %%l1, %%l0;\nst.u32 [%%l1], %%a;\n"
           "ld.local.u32 %%r0, [%%l0];");
  case_add(list, "b32 > b32",
           "cvta.global.u64 %%l0, %%m;\nst.u32 [%%l0], %%a;\ncvta.to.global.u64 %%l1, %%l0;\n"
           "ld.global.u32 %%r0, [%%l1];");
  case_add(list, "> pred pred pred",
           "isspacep.global %%r0, %%m;\nisspacep.shared %%r1, %%m;\nisspacep.local %%r2, %%m;");
  case_add(list, "> pred pred pred",
           "mov.u64 %%l0, sh;\ncvta.shared.u64 %%l0, %%l0;\nisspacep.global %%r0, %%l0;\n"
           "isspacep.shared %%r1, %%l0;\nisspacep.local %%r2, %%l0;");
  case_add(list, "> pred pred pred",
           ".local .b32 own;\nmov.u64 %%l0, own;\ncvta.local.u64 %%l0, %%l0;\n"
           "isspacep.global %%r0, %%l0;\nisspacep.shared %%r1, %%l0;\nisspacep.local %%r2, %%l0;");
}

/* A block is a cluster of its own. */
static void clusters(case_list *list) {
  case_add(list, "b32 > b32",
           "mapa.shared::cluster.u32 %%t1, %%s, 0;\nst.shared::cluster.u32 [%%t1], %%a;\n"
           "ld.shared::cta.u32 %%r0, [%%s];");
  case_add(list, "> b32", "getctarank.shared::cluster.u32 %%r0, %%s;");
  case_add(list, "> b32", "mov.u32 %%r0, %%cluster_nctarank;");
}

/* cp.async: whole, with a shorter source, and through an mbarrier. */
static void copies(case_list *list) {
  static const char *const sizes[] = {"4", "8", "16"};
  EACH(size, sizes) {
    case_add(list, "b64 b64 few > b64 b64",
             "st.global.v2.b64 [%%m], {%%a, %%b};\nst.shared.v2.b64 [%%s], {%%b, %%a};\n"
             "cp.async.ca.shared.global [%%s], [%%m], %s;\ncp.async.commit_group;\n"
             "cp.async.wait_group 0;\nld.shared.v2.b64 {%%r0, %%r1}, [%%s];",
             size);
    case_add(list, "b64 b64 few > b64 b64",
             "st.global.v2.b64 [%%m], {%%a, %%b};\nst.shared.v2.b64 [%%s], {%%b, %%a};\n"
             "cp.async.ca.shared.global [%%s], [%%m], %s, %%c;\ncp.async.wait_all;\n"
             "ld.shared.v2.b64 {%%r0, %%r1}, [%%s];",
             size);
  }
  case_add(list, "b64 b64 pred > b64 b64",
           "st.global.v2.b64 [%%m], {%%a, %%b};\nst.shared.v2.b64 [%%s], {%%b, %%a};\n"
           "@%%c cp.async.cg.shared.global [%%s], [%%m], 16;\ncp.async.commit_group;\n"
           "cp.async.wait_group 0;\nld.shared.v2.b64 {%%r0, %%r1}, [%%s];");
  case_add(list, "b32 > b32",
           "{\n.shared .align 8 .b64 gate;\n.reg .pred %%first;\nsetp.eq.u32 %%first, %%lane, 0;\n"
           "@%%first mbarrier.init.shared.b64 [gate], %u;\nbar.sync 0;\n"
           "st.shared.u32 [%%s], %%a;\nmbarrier.arrive.shared.b64 %%l0, [gate];\n"
           "waiting:\nmbarrier.test_wait.shared.b64 %%p1, [gate], %%l0;\n@!%%p1 bra waiting;\n"
           "xor.b32 %%t1, %%s, 16;\nld.shared.u32 %%r0, [%%t1];\nbar.sync 0;\n"
           "@%%first mbarrier.inval.shared.b64 [gate];\n}",
           CASE_LANES);
  case_add(
      list, "b32 > b32",
      "{\n.shared .align 8 .b64 gate;\n.reg .pred %%first;\nsetp.eq.u32 %%first, %%lane, 0;\n"
      "@%%first mbarrier.init.shared::cta.b64 [gate], %u;\nbar.sync 0;\n"
      "st.global.u32 [%%m], %%a;\ncp.async.ca.shared.global [%%s], [%%m], 4;\n"
      "cp.async.mbarrier.arrive.noinc.shared.b64 [gate];\n"
      "waiting:\nmbarrier.try_wait.parity.shared::cta.b64 %%p1, [gate], 0;\n@!%%p1 bra waiting;\n"
      "xor.b32 %%t1, %%s, 16;\nld.shared.u32 %%r0, [%%t1];\n}",
      CASE_LANES);
}

/* What changes no value. */
static void hints(case_list *list) {
  static const char *const texts[] = {
      "membar.cta;",
      "membar.gl;",
      "membar.sys;",
      "fence.acq_rel.cta;",
      "fence.sc.gpu;",
      "fence.acq_rel.sys;",
      "fence.proxy.async;",
      "prefetch.global.L1 [%m];",
      "prefetch.global.L2 [%m];",
      "prefetchu.L1 [%m];",
      "nanosleep.u32 20;",
      "pmevent 1;",
      "bar.warp.sync 0xffffffff;",
      "griddepcontrol.wait;",
      "griddepcontrol.launch_dependents;",
      "ld.param.u64 %l0, [scratch];\napplypriority.global.L2::evict_normal [%l0], 128;",
      ("createpolicy.fractional.L2::evict_last.b64 %l0, 1.0;\n"
       "st.global.L2::cache_hint.u32 [%m], %a, %l0;"),
      "barrier.cluster.arrive;\nbarrier.cluster.wait;",
  };
  EACH(text, texts)
  case_add(list, "b32 > b32", "st.global.u32 [%%m], %%a;\n%s\nld.global.u32 %%r0, [%%m];", text);
}

void case_memory_forms(case_list *list) {
  plain(list);
  vectors(list);
  read_only(list);
  addresses(list);
  clusters(list);
  copies(list);
  hints(list);
}

/* ---- Atomics ---- */

typedef struct atomic {
  const char *operation, *type, *kind;
} atomic;

static const atomic atomics[] = {
    {"add", "u32", "b32"},
    {"add", "s32", "b32"},
    {"add", "u64", "b64"},
    {"add", "f32", "f32"},
    {"add", "f64", "f64"},
    {"add.noftz", "f16", "f16"},
    {"add.noftz", "f16x2", "f16x2"},
    {"add.noftz", "bf16", "bf16"},
    {"add.noftz", "bf16x2", "bf16x2"},
    {"min", "u32", "b32"},
    {"min", "s32", "b32"},
    {"min", "u64", "b64"},
    {"min", "s64", "b64"},
    {"max", "u32", "b32"},
    {"max", "s32", "b32"},
    {"max", "u64", "b64"},
    {"max", "s64", "b64"},
    {"inc", "u32", "b32"},
    {"dec", "u32", "b32"},
    {"and", "b32", "b32"},
    {"or", "b32", "b32"},
    {"xor", "b32", "b32"},
    {"and", "b64", "b64"},
    {"or", "b64", "b64"},
    {"xor", "b64", "b64"},
};
enum { ATOMICS = sizeof atomics / sizeof *atomics };

static const struct {
  const char *name, *place;
} atomic_spaces[] = {{".global", "%m"}, {".shared", "%s"}, {"", "%m"}};

/* An atomic on the thread's own place: what it returns and what is left there. */
static void own_place(case_list *list, size_t s) {
  const char *space = atomic_spaces[s].name, *place = atomic_spaces[s].place;
  char kinds[60];
  for (unsigned i = 0; i < ATOMICS; i++) {
    const atomic *a = &atomics[i];
    const char *bits = strstr(a->type, "16x2")         ? "b32"
                       : strstr(a->type, "16")         ? "b16"
                       : strstr(a->type, "32") != NULL ? "b32"
                                                       : "b64";
    snprintf(kinds, sizeof kinds, "%s %s > %s %s", a->kind, a->kind, a->kind, a->kind);
    case_add(list, kinds, "st%s.%s [%s], %%a;\natom%s.%s.%s %%r0, [%s], %%b;\nld%s.%s %%r1, [%s];",
             space, bits, place, space, a->operation, a->type, place, space, bits, place);
    snprintf(kinds, sizeof kinds, "%s %s > %s", a->kind, a->kind, a->kind);
    case_add(list, kinds, "st%s.%s [%s], %%a;\nred%s.%s.%s [%s], %%b;\nld%s.%s %%r0, [%s];", space,
             bits, place, space, a->operation, a->type, place, space, bits, place);
  }
}

/* exch and cas, of all widths. */
static void swaps(case_list *list, size_t s) {
  static const char *const widths[] = {"b16", "b32", "b64"};
  const char *space = atomic_spaces[s].name, *place = atomic_spaces[s].place;
  char kinds[60];
  EACH(width, widths) {
    snprintf(kinds, sizeof kinds, "%s %s > %s %s", width, width, width, width);
    if (strcmp(width, "b16") != 0)
      case_add(list, kinds,
               "st%s.%s [%s], %%a;\natom%s.exch.%s %%r0, [%s], %%b;\nld%s.%s %%r1, [%s];", space,
               width, place, space, width, place, space, width, place);
    snprintf(kinds, sizeof kinds, "%s %s %s > %s %s", width, width, width, width, width);
    case_add(list, kinds,
             "st%s.%s [%s], %%a;\natom%s.cas.%s %%r0, [%s], %%b, %%c;\nld%s.%s %%r1, [%s];", space,
             width, place, space, width, place, space, width, place);
  }
  case_add(
      list, "b64 b64 b64 > b64 b64 b64 b64",
      "{\n.reg .b128 %%q, %%n, %%o;\nst%s.v2.b64 [%s], {%%a, %%b};\nmov.b128 %%q, {%%b, %%b};\n"
      "mov.b128 %%n, {%%c, %%a};\natom%s.cas.b128 %%o, [%s], %%q, %%n;\n"
      "mov.b128 {%%r0, %%r1}, %%o;\nld%s.v2.b64 {%%r2, %%r3}, [%s];\n}",
      space, place, space, place, space, place);
  case_add(list, "b64 b64 b64 > b64 b64 b64 b64",
           "{\n.reg .b128 %%n, %%o;\nst%s.v2.b64 [%s], {%%a, %%b};\nmov.b128 %%n, {%%c, %%a};\n"
           "atom%s.exch.b128 %%o, [%s], %%n;\nmov.b128 {%%r0, %%r1}, %%o;\n"
           "ld%s.v2.b64 {%%r2, %%r3}, [%s];\n}",
           space, place, space, place, space, place);
}

/* All threads at one place, with operations whose order does not matter. */
static void shared_place(case_list *list) {
  static const atomic commutative[] = {
      {"add", "u32", "b32"}, {"min", "s32", "b32"}, {"max", "u32", "b32"}, {"and", "b32", "b32"},
      {"or", "b32", "b32"},  {"xor", "b32", "b32"}, {"inc", "u32", "b32"}};
  for (size_t i = 0; i < sizeof commutative / sizeof *commutative; i++) {
    const atomic *a = &commutative[i];
    const char *value = strcmp(a->operation, "inc") == 0 ? "37" : "%a";
    case_add(list, "b32 > b32",
             "st.shared.b32 [sh], 5;\nbar.sync 0;\natom.shared.%s.%s %%t1, [sh], %s;\nbar.sync 0;\n"
             "ld.shared.b32 %%r0, [sh];",
             a->operation, a->type, value);
    case_add(list, "b32 > b32",
             "ld.param.u64 %%l0, [scratch];\nred.global.%s.%s [%%l0], %s;\n"
             "bar.sync 0;\nld.volatile.global.b32 %%r0, [%%l0];",
             a->operation, a->type, value);
  }
}

/* What may stand between the opcode and the operation. */
static void orders(case_list *list) {
  static const char *const texts[] = {
      "atom.relaxed.gpu.global.add.u32", "atom.acquire.cta.global.add.u32",
      "atom.release.sys.global.add.u32", "atom.acq_rel.gpu.global.add.u32",
      "atom.cta.global.add.u32",         "atom.sys.add.u32"};
  EACH(text, texts)
  case_add(list, "b32 b32 > b32 b32",
           "st.global.b32 [%%m], %%a;\n%s %%r0, [%%m], %%b;\nld.global.b32 %%r1, [%%m];", text);
  case_add(list, "f32 f32 f32 f32 > f32 f32",
           "st.global.v2.f32 [%%m], {%%a, %%b};\nred.global.add.v2.f32 [%%m], {%%c, %%d};\n"
           "ld.global.v2.f32 {%%r0, %%r1}, [%%m];");
  case_add(list, "f32 f32 f32 f32 > f32 f32 f32 f32",
           "st.global.v2.f32 [%%m], {%%a, %%b};\natom.global.add.v2.f32 {%%r0, %%r1}, [%%m], "
           "{%%c, %%d};\nld.global.v2.f32 {%%r2, %%r3}, [%%m];");
}

void case_atomic_forms(case_list *list) {
  for (size_t s = 0; s < sizeof atomic_spaces / sizeof *atomic_spaces; s++) {
    own_place(list, s);
    swaps(list, s);
  }
  shared_place(list);
  orders(list);
}
