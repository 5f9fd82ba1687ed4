#!/usr/bin/env bash
# The injection library of build folder $1 under a program that loads device code in every way, with
# a driver that checks its calls: what is rewritten is, what cannot be is passed on untouched, and
# the program notices nothing. Most is tested with a rewriter that only marks its output
# (tests/inject/fake_rewrite.c); the true one comes last.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
parts=$build/tests/inject
[ -e "$parts/libbankfold-inject-test.so" ] || exit 77
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
faults=0
library=$parts/libbankfold-inject-test.so
data=tests/data/fatbin

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# app [VARIABLE=VALUE...] WAY JOB FILE: runs the program with the library; its output, status and
# calls must be good, and go to $work.
app() {
  local settings=() program=inject_app status
  while [[ $1 == *=* ]]; do settings+=("$1") && shift; done
  [ "$1" = linked ] && program=inject_app_linked
  rm -f "$work/calls" "$work/log"
  env LD_LIBRARY_PATH="$parts" LD_PRELOAD="$library" BANKFOLD_HASH=fixed \
    XDG_CACHE_HOME="$work/cache" BANKFOLD_LOG="$work/log" STUB_LOG="$work/calls" "${settings[@]}" \
    "$parts/$program" "$@" >"$work/out" 2>"$work/err"
  status=$?
  [ $status = 42 ] || complain "$*: status $status: $(cat "$work/out" "$work/err")"
  [ "$(tail -n 1 "$work/out")" = 'done' ] || complain "$*: another output"
  [ ! -s "$work/err" ] || complain "$*: prints $(cat "$work/err")"
  ! grep -h FAULT "$work/calls" || complain "$*: the driver complains"
}

# called WHAT COUNT: how many calls of the last run look like that.
called() {
  local count
  count=$(grep -c -- "$1" "$work/calls")
  [ "$count" = "$2" ] || {
    complain "$count calls look like '$1', not $2:"
    cat "$work/calls" "$work/log"
  }
}

# logged WHAT: the library said so.
logged() { grep -q -- "$1" "$work/log" || complain "the log does not say '$1': $(cat "$work/log")"; }

# forget: an empty cache.
forget() { rm -rf "$work/cache"; }

# A kernel with dynamic shared memory, and PTX that is refused by the rewriter and by the driver.
sed '/^.address_size/a .extern .shared .align 16 .b8 dynamic[];' $data/twice.ptx >"$work/dynamic.ptx"
{ cat "$work/dynamic.ptx" && echo '// refuse this'; } >"$work/refused.ptx"
{ cat "$work/dynamic.ptx" && echo '// driver refuses'; } >"$work/unloved.ptx"

# Ways to find the driver.
for way in linked dlsym proc proc11 thread; do
  forget
  app $way data "$work/dynamic.ptx"
  called 'cuModuleLoadData: rewritten PTX' 1
  launch=cuLaunchKernel
  [ $way = thread ] && launch=cuLaunchKernel_ptsz
  called "^$launch: twice, 1024 bytes" 2
  called '^cuLaunchKernelEx: twice, 1024 bytes' 2
  called '^cuLaunchCooperativeKernel: twice, 1024 bytes' 2
  called '^cuFuncSetAttribute: twice, attribute 8 = 1024' 2
  called '^cuFuncSetAttribute: twice, attribute 9 = 50' 2
  called '^cuOccupancyMaxActiveBlocksPerMultiprocessor: twice, 64 threads, 1024 bytes' 2
  called '1000' 0
  logged '2 of 2 kernels rewritten'
done
called '^cuEvent' 0 # nothing is timed unless asked for
app proc data "$work/dynamic.ptx"
called '^cuGraphAddKernelNode_v2: twice, 1024 bytes' 1
called '^cuGraphAddNode_v2: twice, 1024 bytes' 1
app proc11 data "$work/dynamic.ptx"
called '^cuGraphAddKernelNode: twice, 1024 bytes' 1

# Times of launches: of every kind, by every way; with the hash that the kernel has; the program
# notices nothing.
# timed LINE: the file of times has a line that starts so, with commas for tabs.
timed() { tr '\t' ',' <"$work/times" | grep -q "^$1," || complain "no times $1: $(cat "$work/times")"; }
for way in linked dlsym proc proc11 thread; do
  app BANKFOLD_TIMES="$work/times" $way data "$work/dynamic.ptx"
  timed 'twice,fixed,6,120,6'
  called '^cuEventCreate' 12
  called '^cuEventDestroy_v2' 12
done
app BANKFOLD_TIMES="$work/times" proc library $data/plain.fatbin
timed 'twice,fixed,6,120,9'
app BANKFOLD_TIMES="$work/times" BANKFOLD_HASH=none dlsym data $data/twice.cubin
timed 'twice,none,6,120,6'
app BANKFOLD_TIMES="$work/times" BANKFOLD_HASH= dlsym data "$work/refused.ptx"
timed 'twice,none,6,120,6'
app BANKFOLD_TIMES="$work/times" proc threads "$work/dynamic.ptx"
timed 'twice,fixed,6,120,480'
app BANKFOLD_TIMES=/proc/self/none/times proc data "$work/dynamic.ptx"
logged 'cannot write /proc/self/none/times'
[ "$(find "$work" -name 'times.*' | wc -l)" = 0 ] || complain 'a temporary file of times is left'

# Ways to load.
for job in 'dataex cuModuleLoadDataEx' 'fatbin cuModuleLoadData' 'file cuModuleLoadData' \
  'libraryfile cuLibraryLoadData' 'library cuLibraryLoadData'; do
  read -r name function <<<"$job"
  for packing in plain lz4 lineinfo; do # lineinfo is packed with zstd
    app dlsym "$name" $data/$packing.fatbin
    called "^$function: rewritten PTX" 1
    called '^cu[A-Z][a-zA-Z]*Load' 1
  done
done
app dlsym file "$work/dynamic.ptx"
called '^cuModuleLoadData: rewritten PTX' 1
app dlsym library $data/plain.fatbin
called ': twice, 1000 bytes' 9 # nothing dynamic in it: no size is rounded
app dlsym data $data/plain.fatbin
called ': twice, 1000 bytes' 7

# The PTX of what the driver would take, and of nothing else.
app dlsym data $data/many.fatbin
called 'rewritten PTX' 1
app STUB_ARCH=75 dlsym data $data/many.fatbin
called 'rewritten PTX' 1
app STUB_ARCH=70 dlsym data $data/many.fatbin
called 'cuModuleLoadData: fat binary' 1
app STUB_ARCH=90,90 dlsym data $data/many.fatbin
called 'rewritten PTX' 1
app STUB_ARCH=90,75 dlsym data $data/many.fatbin
called 'fat binary' 1
logged 'devices take different code'
app STUB_CUDA=12080 dlsym data $data/plain.fatbin
called 'fat binary' 1
logged 'version 9.0, and the driver compiles up to 8.7'
for file in lto.fatbin machine_code.fatbin; do
  app dlsym data $data/$file
  called 'cuModuleLoadData: fat binary' 1
done
app dlsym data $data/twice.cubin
called 'cuModuleLoadData: cubin' 1

# Refusals: of the rewriter, of the driver, for want of a hash.
for _ in 1 2; do # the second time from the cache
  app dlsym data "$work/refused.ptx"
  called 'cuModuleLoadData: PTX' 1
  called 'rewritten' 0
  called '1024' 0
done
logged 'nothing to rewrite'
app dlsym data "$work/unloved.ptx"
called 'cuModuleLoadData: rewritten PTX, refused' 1
called 'cuModuleLoadData: PTX' 1
called '1024' 0
app dlsym dataex "$work/unloved.ptx"
called 'cuModuleLoadDataEx: PTX' 1
app BANKFOLD_HASH= dlsym data "$work/dynamic.ptx"
called 'cuModuleLoadData: PTX' 1
app BANKFOLD_HASH=nonsense dlsym data "$work/dynamic.ptx"
called 'cuModuleLoadData: PTX' 1
logged "unknown hash 'nonsense'"
printf 'twice fixed\n' >"$work/hashes"
app BANKFOLD_HASH= BANKFOLD_HASHES="$work/hashes" dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
app BANKFOLD_HASHES="$work/none" dlsym data "$work/dynamic.ptx"
called 'cuModuleLoadData: PTX' 1

# What the program sees is what the driver gives.
app dlsym errors "$work/dynamic.ptx"
diff - "$work/out" <<'END' || complain 'other errors'
errno kept
result 301
result 200
done
END

# Images that lie: the driver gets each, and nothing crashes.
for file in plain.fatbin many.fatbin; do
  app dlsym hostile $data/$file
done

# The cache: one entry, used again, and by whoever comes second; other hashes are other entries.
forget
app dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
[ "$(find "$work/cache/bankfold" -type f | wc -l)" = 1 ] || complain 'not one entry in the cache'
app dlsym loads "$work/dynamic.ptx"
logged 'rewritten image from the cache'
[ "$(grep -c cache "$work/log")" = 1 ] || complain 'the cache is read again'
app BANKFOLD_HASH=xor:0,5,15 dlsym data "$work/dynamic.ptx"
[ "$(find "$work/cache/bankfold" -type f | wc -l)" = 2 ] || complain 'not two entries in the cache'
# Damage of every kind: cut off, changed, emptied, a folder in its place.
forget
app dlsym data "$work/dynamic.ptx"
entry=$(find "$work/cache/bankfold" -type f)
cp "$entry" "$work/entry"
for size in 0 1 16 17 60 100 500 $(($(stat -c %s "$entry") - 1)); do
  head -c "$size" "$work/entry" >"$entry"
  app dlsym data "$work/dynamic.ptx"
  called 'rewritten PTX' 1
  logged 'is damaged'
  cmp "$work/entry" "$entry" || complain 'a damaged entry was not replaced'
done
for byte in 3 20 85 90 200; do
  cp "$work/entry" "$entry"
  printf '\377' | dd of="$entry" bs=1 seek=$byte conv=notrunc status=none
  app dlsym data "$work/dynamic.ptx"
  called 'rewritten PTX' 1
  logged 'is damaged'
done
rm "$entry" && mkdir "$entry"
app dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
logged 'cannot write'
[ "$(find "$work/cache/bankfold" -type f | wc -l)" = 0 ] || complain 'a temporary file was left'
# No cache that can be written: a file in its place, a folder for reading only, none at all.
forget
: >"$work/cache"
app dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
rm "$work/cache"
app HOME=/proc/1/nowhere XDG_CACHE_HOME= dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
app XDG_CACHE_HOME=/proc/self dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
app HOME= XDG_CACHE_HOME= dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
mkdir -p "$work/home/.cache" && chmod 500 "$work/home/.cache"
app HOME="$work/home" XDG_CACHE_HOME= dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1

# Threads, fork, and many processes with one cache.
forget
app proc threads "$work/dynamic.ptx"
called 'cuModuleLoadData: rewritten PTX' 160
called 'cuLaunchKernel: twice, 1024 bytes' 160
forget
app proc fork "$work/dynamic.ptx"
called 'cuModuleLoadData: rewritten PTX' 181
forget
for i in 1 2 3 4 5 6; do
  env LD_LIBRARY_PATH="$parts" LD_PRELOAD="$parts/libbankfold-inject-test.so" BANKFOLD_HASH=fixed \
    XDG_CACHE_HOME="$work/cache" STUB_LOG="$work/calls.$i" \
    "$parts/inject_app" dlsym loads "$work/dynamic.ptx" >"$work/out.$i" 2>&1 &
done
wait
for i in 1 2 3 4 5 6; do
  [ "$(cat "$work/out.$i")" = 'done' ] || complain "process $i: $(cat "$work/out.$i")"
  [ "$(grep -c 'rewritten PTX' "$work/calls.$i")" = 20 ] || complain "process $i: not all rewritten"
done
[ "$(find "$work/cache/bankfold" -type f | wc -l)" = 1 ] || complain 'six processes left more than one entry'

# Without the driver, and beside another library of the kind.
LD_PRELOAD=$parts/libbankfold-inject-test.so /bin/true || complain 'true fails'
[ "$(LD_LIBRARY_PATH=$parts LD_PRELOAD="$parts/libbankfold-inject-test.so $parts/libinject-next.so" \
  "$parts/inject_app" dlsym data "$work/dynamic.ptx")" = 'done' ] ||
  complain 'RTLD_NEXT is not the next library of who asks'

# The rewriter itself: two kernels with arrays of their own, and one that moves 16 bytes at a time in
# dynamic shared memory, which the second hash leaves together.
library=$build/inject/libbankfold-inject.so
tile=tests/data/ptx/tile.sm_90.ptx
app KERNEL=rotate STUB_SAVE="$work/saved" dlsym data $tile
logged '2 of 3 kernels rewritten'
logged 'rotate: left alone: line 134'
called '^cuLaunchKernel: rotate, 1000 bytes' 1
"$build/bankfold" rewrite --hash fixed --output - $tile >"$work/offline"
cmp "$work/offline" "$work/saved" || complain 'the driver gets other PTX than rewrite writes'
app BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym data $tile
logged '3 of 3 kernels rewritten'
called '^cuLaunchKernel: rotate, 1024 bytes' 1
printf 'rotate cute:3,4,3\ntranspose<16> none\n' >"$work/hashes"
app BANKFOLD_HASHES="$work/hashes" dlsym data $tile
logged '2 of 3 kernels rewritten'
logged '_Z9transposeILi16EEvPfPKf: left alone'
logged '_Z9transposeILi32EEvPfPKf: fixed'
app BANKFOLD_HASH=pad:32+1 STUB_SAVE="$work/saved" dlsym data $tile
logged 'is left alone'
cmp $tile "$work/saved" || complain 'PTX was changed by a hash that cannot be used'

# libc is all that it needs, and the driver's functions all that it shows.
for library in "$parts/libbankfold-inject-test.so" "$build/inject/libbankfold-inject.so"; do
  readelf -d "$library" | grep NEEDED | grep -v 'libc\.so\|ld-linux\|libpthread\|libdl' &&
    complain "$library needs more than libc"
  nm -D --defined-only "$library" | grep -v ' T cu[A-Z]\| T dlsym$' &&
    complain "$library shows more than the driver's functions"
done
echo "$faults faults"
[ $faults = 0 ]
