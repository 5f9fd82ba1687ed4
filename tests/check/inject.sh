#!/usr/bin/env bash
# The injection library of build folder $1 under a program that loads device code in every way, with
# a driver that checks its calls: what is rewritten is, what cannot be is passed on untouched, and
# the program notices nothing. Most is tested with a rewriter that only marks its output
# (tests/inject/fake_rewrite.c); the true one comes last.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
parts=$build/tests/inject
[ -e "$parts/libbankfold-inject-test.so" ] || { echo "no $parts/libbankfold-inject-test.so" && exit 77; }
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
  timeout 60 env LD_LIBRARY_PATH="$parts" LD_PRELOAD="$library" BANKFOLD_HASH=fixed \
    XDG_CACHE_HOME="$work/cache" BANKFOLD_LOG="$work/log" STUB_LOG="$work/calls" "${settings[@]}" \
    "$parts/$program" "$@" >"$work/out" 2>"$work/err"
  status=$?
  [ $status = 42 ] || complain "$*: status $status: $(cat "$work/out" "$work/err")"
  [ "$(tail -n 1 "$work/out")" = 'done' ] || complain "$*: another output"
  [ ! -s "$work/err" ] || complain "$*: prints $(cat "$work/err")"
  ! grep -h FAULT "$work/calls" || complain "$*: the driver complains"
  cat "$work/calls" >>"$work/all_calls"
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

# The second version of the kernel, which stands beside it.
second=twice__bankfold_1

# Ways to find the driver.
for way in linked dlsym proc proc11 thread; do
  forget
  app $way data "$work/dynamic.ptx"
  called 'cuModuleLoadData: rewritten PTX' 1
  form=
  [ $way = thread ] && form=_ptsz
  called "^cuLaunchKernel$form: $second, 1024 bytes" 2
  called "^cuLaunchKernelEx$form: $second, 1024 bytes" 2
  called "^cuLaunchCooperativeKernel$form: $second, 1024 bytes" 2
  called '^cuFuncSetAttribute: twice, attribute 8 = 1000' 2
  called "^cuFuncSetAttribute: $second, attribute 8 = 1024" 2
  called '^cuFuncSetAttribute: twice, attribute 9 = 50' 2
  called "^cuFuncSetAttribute: $second, attribute 9 = 50" 2
  called '^cuOccupancyMaxActiveBlocksPerMultiprocessor: twice, 64 threads, 1000 bytes' 2
  called '^cuLaunch[A-Za-z_]*: twice,' 0
  logged '2 of 2 kernels rewritten'
  logged 'twice, blocks of 120 threads: fixed'
  form=
  [ $way = proc ] || [ $way = thread ] && form=_v2
  for node in cuGraphAddKernelNode cuGraphKernelNodeSetParams cuGraphExecKernelNodeSetParams; do
    called "^$node$form: $second, 1024 bytes" 1
  done
done

app dlsym data "$work/dynamic.ptx"
logged "loaded into $parts/inject_app\$"
logged 'the driver is found through cuInit\|the driver is found through cuModuleLoadData'

# What is asked for less often.
for way in linked dlsym proc thread; do
  app $way rest "$work/dynamic.ptx"
  form=
  [ $way = proc ] || [ $way = thread ] && form=_v2
  for node in cuGraphAddNode$form cuGraphNodeSetParams cuGraphExecNodeSetParams; do
    called "^$node: $second, 1024 bytes" 1
  done
  for kernel in "twice, 1000" "$second, 1024"; do
    called "^cuFuncSetSharedSize: $kernel bytes" 1
    called "^cuFuncSetCacheConfig: ${kernel%,*}, 2" 1
    called "^cuFuncSetSharedMemConfig: ${kernel%,*}, 1" 1
  done
  called '^cuOccupancyMaxPotentialBlockSize: twice, 64 threads, 1000 bytes' 1
  called '^cuOccupancyMaxPotentialClusterSize: twice, 4 threads, 1000 bytes' 1
  grep -q 'left 1000' "$work/out" || complain 'less shared memory is left than can be had'
  app $way rest "$work/refused.ptx"
  called "$second" 0
done
called '^cuEvent' 0 # nothing is timed unless asked for

# Times of launches: of every kind, by every way; with the hash that the kernel has, or why it has none; the
# program notices nothing.
# timed FIELDS: the file of times has a row of kernel twice with these fields, which commas separate.
timed() {
  tr '\t' ',' <"$work/times" | grep -q "^launches,kernel=twice,$1,total_ns=" ||
    complain "no times $1: $(cat "$work/times")"
  [ "$(head -n 1 "$work/times") $(tail -n 1 "$work/times")" = 'bankfold times 1 end' ] ||
    complain "no file of times: $(cat "$work/times")"
}
for way in linked dlsym proc proc11 thread; do
  app BANKFOLD_TIMES="$work/times" $way data "$work/dynamic.ptx"
  timed 'hash=fixed,blocks=6,threads=120,launches=6'
  called '^cuEventCreate' 12
  called '^cuEventDestroy_v2' 12
done
app BANKFOLD_TIMES="$work/times" proc library $data/plain.fatbin
timed 'hash=fixed,blocks=6,threads=120,launches=9'
app BANKFOLD_TIMES="$work/times" BANKFOLD_HASH=none dlsym data $data/twice.cubin
timed 'reason=it is no fat binary or PTX that can be read,blocks=6,threads=120,launches=6'
app BANKFOLD_TIMES="$work/times" dlsym data $data/machine_code.fatbin
timed 'reason=no PTX that runs on sm_90a in module 1; there is machine code for sm_90,blocks=6,threads=120,launches=6'
app BANKFOLD_TIMES="$work/times" BANKFOLD_HASH= dlsym data "$work/refused.ptx"
timed 'blocks=6,threads=120,launches=6'
forget
for way in dlsym linked; do # the second from the cache
  app BANKFOLD_TIMES="$work/times" $way data "$work/refused.ptx"
  timed 'reason=it says so,blocks=6,threads=120,launches=6'
  called "$second" 0
done
logged 'nothing to rewrite: from the cache'
app BANKFOLD_TIMES="$work/times" dlsym data "$work/unloved.ptx"
timed 'reason=the driver refuses the rewritten PTX,blocks=6,threads=120,launches=6'
called '1024' 0
app BANKFOLD_TIMES="$work/times" proc threads "$work/dynamic.ptx"
timed 'hash=fixed,blocks=6,threads=120,launches=480'
app BANKFOLD_TIMES=/proc/self/none/times proc data "$work/dynamic.ptx"
logged 'cannot write /proc/self/none/times'
[ "$(find "$work" -name '.bankfold-*' | wc -l)" = 0 ] || complain 'a temporary file of times is left'

# Learning: both versions take turns on launches until one is faster beyond noise; the next run knows it.
# learn FIRST SECOND JITTER LAUNCHES: what both take, in nanoseconds, and the percentage that varies.
learn() {
  printf '%s * %s 0\ntwice * %s 0\n' $second "$2" "$1" >"$work/table"
  app STUB_TIMES="$work/table" STUB_JITTER="$3" BANKFOLD_LEARN=1 LAUNCHES="$4" dlsym learn "$work/dynamic.ptx"
}
# at_last VERSION: what the last launch got.
at_last() {
  grep '^cuLaunchKernel:' "$work/calls" | tail -n 1 | grep -q ": $1," || complain "$1 is not what is launched at last"
}
forget
learn 20000 15000 5 100
at_last $second
logged 'learnt from [0-9]* and [0-9]* launches: fixed'
events=$(grep -c '^cuEventRecord' "$work/calls")
[ "$events" -lt 60 ] || complain "$events events for a difference that is easy to see"
[ "$(grep -c '^cuEventCreate' "$work/calls")" -le 12 ] || complain 'events are not used again'
learn 20000 15000 5 100 # again: known from the start
called '^cuEvent' 0
called '^cuLaunchKernel: twice,' 0
called "^cuLaunchKernel: $second," 100
learnt=$(find "$work/cache/bankfold" -name 'learnt-*')
[ "$(head -n 1 "$learnt") $(tail -n 1 "$learnt")" = 'bankfold learnt 1 end' ] || complain "no file: $(cat "$learnt")"
grep -q 'kernel=twice.*gpu=stub 0.*block_x=4.*faster=hashed' "$learnt" || complain "not learnt: $(cat "$learnt")"
echo 'nonsense' >"$learnt" # is not used, and written anew
learn 20000 15000 5 100
logged 'is not used: line'
at_last $second
grep -q 'faster=hashed' "$learnt" || complain "not written again: $(cat "$learnt")"
forget
learn 15000 20000 5 100 # the second version is slower
at_last twice
logged 'launches: as it is'
learn 15000 20000 5 100
called "^cuLaunchKernel: $second," 0
called '^cuEvent' 0
app STUB_TIMES="$work/table" BANKFOLD_TIMES="$work/times" BANKFOLD_LEARN=1 LAUNCHES=50 dlsym learn "$work/dynamic.ptx"
called "^cuLaunchKernel: $second," 0 # what was learnt is used where times are taken
forget
learn 20000 20000 30 400 # noise decides nothing, and is not measured for ever
logged 'no difference beyond noise'
events=$(grep -c '^cuEventRecord' "$work/calls")
[ "$events" -le 270 ] || complain "$events events for noise"
grep -q 'faster=unknown' "$(find "$work/cache/bankfold" -name 'learnt-*')" || complain 'noise decides'
at_last $second # what the user named
learn 20000 20000 30 100 # nor again in the next run
called '^cuEventRecord' 0
called "^cuLaunchKernel: $second," 100
forget
for _ in 1 2 3 4; do learn 20000 15000 5 16; done # short runs learn together
at_last $second
forget
app STUB_TIMES="$work/table" STUB_JITTER=5 BANKFOLD_LEARN=1 proc learnthreads "$work/dynamic.ptx"
at_last $second
echo "$second * 119 80 0 1 0" >"$work/functions" # what cannot be launched is not tried
forget
app STUB_TIMES="$work/table" STUB_FUNCTIONS="$work/functions" BANKFOLD_LEARN=1 dlsym learn "$work/dynamic.ptx"
called "$second, [0-9]* bytes" 0
called '^cuEvent' 0
echo "$second * 1024 40 0 2 701" >"$work/functions" # nor what the driver refuses, again
app STUB_TIMES="$work/table" STUB_FUNCTIONS="$work/functions" BANKFOLD_LEARN=1 dlsym learn "$work/dynamic.ptx"
called "$second, [0-9]* bytes, refused" 1
# Another process has written meanwhile: its rows stay.
forget
learn 20000 15000 5 100
learnt=$(find "$work/cache/bankfold" -name 'learnt-*')
sed -i 's/kernel=twice/kernel=other/' "$learnt"
learn 20000 15000 5 100
[ "$(grep -c 'kernel=other\|kernel=twice' "$learnt")" = 2 ] || complain "rows are lost: $(cat "$learnt")"
forget

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
called "Launch[A-Za-z]*: $second, 1000 bytes" 9 # nothing dynamic in it: no size is rounded
called "^cuKernelSetCacheConfig: $second, 2, device 3" 1
called "^cuKernelSetAttribute: $second, attribute 8 = 1000, device 3" 1
app dlsym data $data/plain.fatbin
called ": $second, 1000 bytes" 9

# Dynamic shared memory in a fat binary, by text of the same length.
LC_ALL=C sed "s/ld.param.u64 %rd1, .twice_param_0.;/$(printf %-35s '\/\/ .extern .shared')  /" \
  $data/plain.fatbin >"$work/dynamic.fatbin"
[ "$(stat -c %s "$work/dynamic.fatbin")" = "$(stat -c %s $data/plain.fatbin)" ] ||
  complain 'the size of the fat binary has changed'
app dlsym kernels "$work/dynamic.fatbin"
called "^cuLaunchKernel: $second, 1024 bytes" 1

# Second versions are not shown, and cannot be asked for.
app dlsym list $data/plain.fatbin
diff - "$work/out" <<'END' || complain 'other kernels are shown'
function twice
function thrice
kernel twice
kernel thrice
result 500
result 500
done
END

# Launches that the second version cannot do, or not as well, get the first; the log says why, once.
# needs THREADS REGISTERS LOCAL BLOCKS ERROR: what the second version needs; the first needs 32 registers.
needs() {
  echo "$second * $*" >"$work/functions"
  app STUB_FUNCTIONS="$work/functions" BANKFOLD_HASH="${hash-fixed}" dlsym data "$work/dynamic.ptx"
}
# gets VERSION COUNT: launches, cooperative ones, and nodes.
gets() {
  called "^cuLaunchKernel: $1, [0-9]* bytes\$" "$2"
  called "^cuLaunchCooperativeKernel: $1, [0-9]* bytes\$" "$2"
  called "^cuLaunchKernelEx: $1, [0-9]* bytes\$" "$2"
  called "^cuGraphAddKernelNode: $1, [0-9]* bytes\$" $((($2 + 1) / 2))
}
needs 1024 40 0 2 0
gets $second 2
needs 119 80 0 1 0 # too many registers for blocks of 120 threads
gets twice 2
called ', refused' 0
logged 'twice, blocks of 120 threads: as it is: with 80 registers, blocks of 120 threads cannot'
[ "$(grep -c 'as it is' "$work/log")" = 1 ] || complain "not one reason: $(cat "$work/log")"
for most in 3 4; do # blocks that a second version is not for; the program's have 4 threads in x
  { cat "$work/dynamic.ptx" && echo "// threads in x: $most"; } >"$work/limited.ptx"
  app dlsym data "$work/limited.ptx"
  gets "$([ $most = 3 ] && echo twice || echo "$second")" 2
  app BANKFOLD_LEARN=1 dlsym data "$work/limited.ptx"
  [ $most = 4 ] || gets twice 2
done
needs 1024 80 0 0 0 # no block fits
gets twice 2
called ', refused' 0
needs 1024 40 0 1 0 # fewer blocks at once: what the user names is done
gets $second 2
hash=auto needs 1024 40 0 1 0 # and what is proposed is not
gets twice 2
logged '1 in place of 2 blocks fit into a multiprocessor'
hash=auto needs 1024 40 8 2 0
gets twice 2
logged '8 in place of 0 bytes of registers are kept in memory'
hash=auto needs 1024 40 0 2 0
gets $second 2
needs 1024 40 0 2 701 # the driver refuses it nevertheless: once for each kind of handle
gets twice 2
called '^cuLaunchKernel: twice__bankfold_1, 1024 bytes, refused' 1
called ', refused' 1
logged 'the driver refuses the second version (error 701)'
# A cooperative launch of 6 blocks needs them all at once.
printf '%s * 1024 40 0 0 0\ntwice * 1024 32 0 1 0\n' $second >"$work/functions"
app STUB_FUNCTIONS="$work/functions" dlsym data "$work/dynamic.ptx"
called '^cuLaunchCooperativeKernel: twice, 1000 bytes$' 2
# A limit that cannot be set for the second version.
app STUB_LIMITED=$second dlsym data "$work/dynamic.ptx"
gets twice 2
logged 'what the program has set for it could not be set for the second version'
# Where the first version cannot be launched either, the program is told so.
echo '* * 100 80 0 1 0' >"$work/functions"
timeout 60 env LD_LIBRARY_PATH="$parts" LD_PRELOAD="$library" BANKFOLD_HASH=fixed XDG_CACHE_HOME="$work/cache" \
  STUB_FUNCTIONS="$work/functions" "$parts/inject_app" dlsym data "$work/dynamic.ptx" >"$work/out"
grep -q 'cuLaunchKernel fails with 701' "$work/out" || complain "another error: $(cat "$work/out")"
# What is left alone goes where the program sent it.
app dlsym file "$work/refused.ptx"
called '^cuModuleLoad$' 1
app dlsym libraryfile "$work/refused.ptx"
called '^cuLibraryLoadFromFile$' 1
app dlsym fatbin $data/lto.fatbin
called '^cuModuleLoadFatBinary: fat binary' 1

# Linking: PTX from memory and files, alone or in a fat binary; machine code is none of ours. What the
# driver refuses, it gets as the program gave it.
for input in $data/twice.ptx $data/plain.fatbin $data/lineinfo.fatbin; do
  for way in dlsym proc; do
    app $way link "$input"
    form=
    [ $way = proc ] && form=_v2
    called "^cuLinkAddData$form: rewritten PTX of type 1 called input" 1
    called "^cuLinkAddData$form: rewritten PTX of type 1 called $input" 1
    called '^cuLinkAddFile' 0
    called 'cuModuleLoadData: cubin' 1
  done
done
for input in "type 0 $data/twice.cubin" "type 2 $data/lto.fatbin" "type 1 $work/refused.ptx"; do
  for way in dlsym proc; do
    app $way link "${input:7}"
    called "^cuLinkAddData.*: [a-zA-Z ]* of ${input:0:6} called input" 1
    called "^cuLinkAddFile.*: ${input:0:6} called ${input:7}" 1
    called 'rewritten' 0
  done
done
app dlsym link "$work/unloved.ptx"
called '^cuLinkAddData: rewritten PTX of type 1 .*, refused' 2
called '^cuLinkAddData: PTX of type 1 called input' 1
called '^cuLinkAddFile: type 1 called' 1

# The table of old runtimes is the driver's own: newer ones check its address.
for old in '' 0; do
  app BANKFOLD_OLD_RUNTIME=$old dlsym table "$work/dynamic.fatbin"
  called 'rewritten' 0
  called '^table 1: wrapper' 2
  called '^table 9: twice, 1000 bytes' 2
done
# A copy of it, where asked for. A function in it with options that are not known gets what the program
# gave; so does one of a table that is shorter, or that has no size.
for way in linked dlsym proc11; do
  app BANKFOLD_OLD_RUNTIME=1 $way table "$work/dynamic.fatbin"
  called '^cuModuleLoadData: rewritten PTX' 6
  called '^table 1:' 0
  called '^table 6: wrapper' 2
  called '^table 8: fat binary' 2
  called "^table 9: $second, 1024 bytes" 2
done
app BANKFOLD_OLD_RUNTIME=1 dlsym tables $data/plain.fatbin
called '^cuModuleLoadData: rewritten PTX' 24
app BANKFOLD_OLD_RUNTIME=1 STUB_TABLE=56 dlsym table $data/plain.fatbin
called '^cuModuleLoadData: rewritten PTX' 4
app BANKFOLD_OLD_RUNTIME=1 STUB_TABLE=16 dlsym table $data/plain.fatbin
called '^cuModuleLoadData: rewritten PTX' 2
for size in 12 8 0 2000 2147483647; do
  app BANKFOLD_OLD_RUNTIME=1 STUB_TABLE=$size dlsym table $data/plain.fatbin
  called 'rewritten' 0
  called '^table 1: wrapper' 2
  logged 'has another form'
done
app BANKFOLD_OLD_RUNTIME=1 BANKFOLD_HASH= dlsym table $data/plain.fatbin
called 'rewritten' 0

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
rmdir "$entry" && mkfifo "$entry" # nobody writes to it, and nobody waits for that
app dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
# A cache that others could have written to: said once, not read, and nothing is left there.
forget
app dlsym data "$work/dynamic.ptx"
chmod 777 "$work/cache/bankfold"
app dlsym loads "$work/dynamic.ptx"
called 'rewritten PTX' "$(grep -c 'cuModuleLoadData:' "$work/calls")"
[ "$(grep -c 'is not used: it belongs to another user, or others can write to it' "$work/log")" = 1 ] ||
  complain "a folder for all is used: $(cat "$work/log")"
chmod 700 "$work/cache/bankfold"
chmod 666 "$(find "$work/cache/bankfold" -type f)"
app dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
logged 'belongs to another user, or others can write to it; it is not used'
app dlsym data "$work/dynamic.ptx"
logged 'rewritten image from the cache' # the file was replaced
# Another build of the same version, which is this one but for a bit of its id, has entries of its own.
build_id=$(readelf -n "$library" | sed -n 's/.*Build ID: //p')
mkdir "$work/other_build"
python3 - "$library" "$work/other_build/${library##*/}" "$build_id" <<'END'
import sys
id_ = bytes.fromhex(sys.argv[3])
library = open(sys.argv[1], "rb").read()
assert library.count(id_) == 1
open(sys.argv[2], "wb").write(library.replace(id_, bytes([id_[0] ^ 1]) + id_[1:]))
END
own_library=$library
library=$work/other_build/${own_library##*/}
app dlsym data "$work/dynamic.ptx"
called 'rewritten PTX' 1
! grep 'from the cache' "$work/log" || complain 'an image of another build is used'
app dlsym data "$work/dynamic.ptx"
logged 'rewritten image from the cache'
library=$own_library
app dlsym data "$work/dynamic.ptx"
logged 'rewritten image from the cache'
[ "$(find "$work/cache/bankfold" -type f | wc -l)" = 2 ] || complain 'two builds have not an entry each'
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
called "cuLaunchKernel: $second, 1024 bytes" 160
forget
app proc fork "$work/dynamic.ptx"
called 'cuModuleLoadData: rewritten PTX' 181
forget
app proc exec "$work/dynamic.ptx"
called 'cuModuleLoadData: rewritten PTX' 3
[ "$(grep -c 'loaded into' "$work/log")" = 3 ] || complain 'not loaded into what a program becomes or starts'
[ "$(grep -c 'from the cache' "$work/log")" = 2 ] || complain 'the cache is not used by what a program starts'
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
called 'cuLibraryLoadData' 0
# The driver gets the program's image, and for kernels that are launched what rewrite writes, each apart.
"$build/bankfold" rewrite --hash fixed --output - $tile | grep '%bf_place' | sort -u >"$work/offline"
for kernel in _Z9transposeILi16EEvPfPKf _Z9transposeILi32EEvPfPKf; do
  app KERNEL=$kernel STUB_SAVE="$work/saved" dlsym data $tile
  called 'cuModuleLoadData: PTX' 1
  called 'cuLibraryLoadData: PTX' 1
  called "^cuLaunchKernel: ${kernel}__bankfold_1" 1
  grep '\.entry' "$work/saved" | grep -v "${kernel}__bankfold_1" && complain 'the driver gets more than one kernel'
  cat "$work/saved" >>"$work/all_saved"
done
grep '%bf_place' "$work/all_saved" | sed 's/__bankfold_1//' | sort -u | cmp - "$work/offline" ||
  complain 'the driver gets other code than rewrite writes'
app BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym data $tile
logged '3 of 3 kernels rewritten'
called '^cuLaunchKernel: rotate__bankfold_1, 1024 bytes' 1
# What was set before it was there is set then.
called '^cuFuncSetAttribute: rotate__bankfold_1, attribute 8 = 1024' 1
called '^cuFuncSetAttribute: rotate__bankfold_1, attribute 9 = 50' 1
for way in proc thread; do
  app KERNEL=_Z7limitedPfPKf $way library $data/limited.fatbin
  called '^cuLaunchKernel[_a-z]*: _Z7limitedPfPKf__bankfold_1' 3
  called '^cuKernelSetAttribute: _Z7limitedPfPKf__bankfold_1, attribute 8 = 1000, device 0' 1
  called '^cuKernelSetCacheConfig: _Z7limitedPfPKf__bankfold_1, 2' 1
  called 'cuLibraryLoadData: PTX' 1
done
# Versions take turns through whatever handle of a kernel.
for _ in 1 2 3; do
  app BANKFOLD_HASH=auto BANKFOLD_LEARN=1 KERNEL=_Z7limitedPfPKf proc library $data/limited.fatbin
  called ', refused' 0
done
# Who asks for a kernel again and again does not make the library look up its second version each time.
app KERNEL=_Z7limitedPfPKf proc again $data/limited.fatbin
called '^cuLaunchKernel: _Z7limitedPfPKf__bankfold_1' 10
called '^cuKernelGetFunction' 12
# Where an earlier run has learnt that the program's own kernel serves, the second version is not even loaded.
# relearn FIRST SECOND LAUNCHES: as learn, with a second version that is loaded apart.
relearn() {
  printf 'rotate__bankfold_1 * %s 0\nrotate * %s 0\n' "$2" "$1" >"$work/table"
  app STUB_TIMES="$work/table" STUB_JITTER=2 BANKFOLD_LEARN=1 BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate LAUNCHES="$3" \
    dlsym learn $tile
}
forget
relearn 15000 20000 100
called 'cuLibraryLoadData: PTX' 1
logged 'launches: as it is'
relearn 15000 20000 100
called 'cuLibraryLoadData' 0
called '^cuEvent' 0
called '^cuLaunchKernel: rotate, ' 100
logged 'as it is: it is faster, as was learnt before'
relearn 20000 15000 131400 # by now the second version is faster, which is found when it is looked at again
called 'cuLibraryLoadData: PTX' 1
at_last rotate__bankfold_1
relearn 20000 15000 100
called '^cuLaunchKernel: rotate__bankfold_1, ' 100
called '^cuEvent' 0
forget
# Nor where its times could not be told apart from the others and nothing is predicted of it.
undecided() {
  app REST_MS=200 BANKFOLD_LEARN=1 BANKFOLD_HASH=auto KERNEL=stepped LAUNCHES=30 dlsym learn tests/data/inject/stepped.ptx
}
undecided
called 'cuLibraryLoadData: PTX' 1
times=$(seq -s, 1000 10 1630) # 64 of each, whose medians are 2% apart
others=$(seq -s, 1030 10 1660)
learnt=$(find "$work/cache/bankfold" -name 'learnt-*')
sed -i "s/faster=[^\t ]*/faster=unknown/; s/own_ns=[^\t ]*/own_ns=$times/; s/hashed_ns=[^\t ]*/hashed_ns=$others/" "$learnt"
undecided
called 'cuLibraryLoadData' 0
called '^cuEvent' 0
called '^cuLaunchKernel: stepped, ' 30
logged 'as it is: times do not tell both versions apart, as was learnt before'
forget
# What takes long to compile comes later, and neither the process nor a context ends meanwhile.
app STUB_COMPILE_MS=1500 BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym data $tile
logged 'rotate: its second version is compiled while the program goes on'
called '^cuLaunchKernel: rotate, 1000 bytes' 1
called '__bankfold_1' 0
app STUB_COMPILE_MS=200 BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym data $tile
called '^cuLaunchKernel: rotate__bankfold_1, 1024 bytes' 1
# A launch that only learns does not wait at all, neither for the compiler nor until predictions are prepared.
app REST_MS=200 STUB_COMPILE_MS=1000 BANKFOLD_LEARN=1 BANKFOLD_HASH=auto KERNEL=stepped LAUNCHES=30 dlsym learn tests/data/inject/stepped.ptx
logged 'stepped: its second version is compiled while the program goes on'
called '^cuLaunchKernel: stepped, ' 30
forget
app STUB_COMPILE_MS=1200 BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym contexts $tile
called '^cuLaunchKernel: rotate, 1000 bytes' 1
called '^cuLaunchKernel: rotate__bankfold_1, 1024 bytes' 1
# Where times are taken, every launch waits for it.
app STUB_COMPILE_MS=1200 BANKFOLD_TIMES="$work/times" BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym data $tile
called '^cuLaunchKernel: rotate__bankfold_1, 1024 bytes' 1
# A kernel that shares variables with others stays in its module, as do the others.
sed '0,/^\.address_size.*/s//&\n.global .align 4 .b8 common[64];/; s/bar.sync.*;/& st.global.u32 [common], 1;/' \
  $tile >"$work/shares.ptx"
app BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate STUB_SAVE="$work/saved" dlsym data "$work/shares.ptx"
called 'cuLibraryLoadData' 0
called '^cuLaunchKernel: rotate__bankfold_1, 1024 bytes' 1
[ "$(grep -c '\.entry' "$work/saved")" = 6 ] || complain 'the driver does not get both versions of all kernels'
# Values of parameters decide, however they are passed: with a stride of 32 words all lanes meet in a bank, with 11 none do.
for _ in 1 2; do # the second time from the cache
  app BANKFOLD_HASH=auto KERNEL=stepped VALUES='32 32 11 32 11 11' dlsym values tests/data/inject/stepped.ptx
  called '^cuLaunchKernel: stepped__bankfold_1' 3
  called '^cuLaunchKernel: stepped, ' 3
  [ "$(grep -c 'stepped, blocks of' "$work/log")" = 2 ] || complain 'values are predicted more than once'
done
# Values that change at each launch are looked at a few times, and then no more.
app BANKFOLD_HASH=auto KERNEL=stepped VALUES="$(seq -s' ' 33 2 2033)" dlsym values tests/data/inject/stepped.ptx
[ "$(grep -c 'stepped, blocks of' "$work/log")" = 33 ] || complain 'too many values are predicted'
called '^cuLaunchKernel: stepped, ' 1001
# A kernel that shares variables is rewritten where the program's code is short. Long machine code is not compiled anew for it, but for who asks.
# with_code NAME NUMBERS: stepped with a variable of so many numbers, as PTX beside machine code.
with_code() {
  python3 - "$data" "$work/$1" "$2" <<'END'
import struct, sys
data, out, numbers = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open("tests/data/inject/stepped.ptx", encoding="ascii") as file:
    text = file.read()
text = text.replace(".address_size 64\n", ".address_size 64\n.global .align 1 .b8 common[%d] = {%s};\n" % (
    numbers, ", ".join(["7"] * numbers)), 1).replace("\tret;", "\tst.global.u8 [common], 1;\n\tret;").encode() + b"\0"
text += b"\0" * (-len(text) % 8)
with open(data + "/limited.fatbin", "rb") as file:
    code = file.read()[16:]
code = code[:64 + struct.unpack("<Q", code[8:16])[0]]
with open(data + "/plain.fatbin", "rb") as file:
    header = file.read()[16:]
header = header[:struct.unpack("<I", header[4:8])[0]]
entries = code + header[:8] + struct.pack("<Q", len(text)) + header[16:] + text
with open(out, "wb") as file:
    file.write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries)
END
}
with_code short.fatbin 8 && with_code long.fatbin 30000
app BANKFOLD_HASH=auto KERNEL=stepped VALUES=32 dlsym values "$work/short.fatbin"
called '^cuLaunchKernel: stepped__bankfold_1' 1
called 'cuModuleLoadData: PTX' 1
app BANKFOLD_HASH=auto KERNEL=stepped VALUES=32 dlsym values "$work/long.fatbin"
logged 'stepped: left alone: it shares variables with the program'
called '^cuLaunchKernel: stepped, ' 1
called 'cuModuleLoadData: PTX' 0
app BANKFOLD_HASH=fixed KERNEL=stepped VALUES=32 dlsym values "$work/long.fatbin"
called '^cuLaunchKernel: stepped__bankfold_1' 1
# A rewritten kernel that needs so many registers that 120 threads cannot be launched.
echo '* %bf_place 119 80 0 1 0' >"$work/functions"
app BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate STUB_FUNCTIONS="$work/functions" dlsym data $tile
called '^cuLaunchKernel: rotate, 1000 bytes' 1
called ', refused' 0
# Machine code that was limited to 40 registers: so is what the driver compiles. Without a
# limit and far from one there is none.
forget
app STUB_SAVE="$work/saved" KERNEL=_Z7limitedPfPKf dlsym data $data/limited.fatbin
[ "$(grep -c '^.maxnreg 40$' "$work/saved")" = 1 ] || complain "not limited: $(grep -A9 entry "$work/saved")"
logged '2 kernels are limited to the registers'
if command -v ptxas >"$work/out"; then
  ptxas -arch=sm_90 -o "$work/cubin" "$work/saved" || complain 'ptxas refuses limits'
fi
app STUB_SAVE="$work/saved" KERNEL=_Z7limitedPfPKf dlsym data $data/unlimited.fatbin
! grep '^.maxnreg' "$work/saved" || complain 'a limit that nobody asked for'
# Code that was rewritten before runs as it is, and standard error says so, once; from the cache as well.
"$build/bankfold" rewrite --hash fixed --output "$work/before.ptx" $tile >"$work/out"
for _ in 1 2; do
  timeout 60 env LD_LIBRARY_PATH="$parts" LD_PRELOAD="$library" BANKFOLD_HASH=fixed XDG_CACHE_HOME="$work/cache" \
    STUB_SAVE="$work/saved" "$parts/inject_app" dlsym loads "$work/before.ptx" >"$work/out" 2>"$work/err"
  echo 'bankfold: warning: an image: it was rewritten before, and runs as it is' | cmp - "$work/err" ||
    complain "what was rewritten before: $(cat "$work/err")"
  cmp "$work/before.ptx" "$work/saved" || complain 'what was rewritten before was changed'
done
printf 'rotate cute:3,4,3\ntranspose<16> none\n' >"$work/hashes"
app BANKFOLD_HASHES="$work/hashes" dlsym data $tile
logged '2 of 3 kernels rewritten'
logged '_Z9transposeILi16EEvPfPKf: left alone'
logged '_Z9transposeILi32EEvPfPKf: fixed'
# A file is read once, so that it may be a pipe; lines in a variable are the same.
app BANKFOLD_CACHE="$work/lists" BANKFOLD_HASH= BANKFOLD_HASHES="$work/hashes" dlsym data $tile
logged 'rotate: cute:3,4,3'
app BANKFOLD_CACHE="$work/lists" BANKFOLD_HASH= BANKFOLD_HASHES=<(cat "$work/hashes") dlsym data $tile
logged 'rewritten image from the cache'
app BANKFOLD_CACHE="$work/lists" BANKFOLD_HASH= BANKFOLD_HASHES_TEXT="$(cat "$work/hashes" && echo x)" dlsym data $tile
logged "nothing is rewritten: BANKFOLD_HASHES_TEXT: the hash of 'x' is missing"
lines=$(cat "$work/hashes")$'\n'
app BANKFOLD_CACHE="$work/lists" BANKFOLD_HASH= BANKFOLD_HASHES_TEXT="$lines" dlsym data $tile
logged 'rewritten image from the cache'
app BANKFOLD_HASH=mod:31 STUB_SAVE="$work/saved" dlsym data $tile
logged 'is left alone'
cmp $tile "$work/saved" || complain 'PTX was changed by a hash that cannot be used'

# Linked with other code: kernels have second versions there too, which are found by their names, but for
# kernels that call functions of others.
app BANKFOLD_HASH=cute:3,4,3 KERNEL=rotate dlsym link $tile
called '^cuLaunchKernel: rotate__bankfold_1, 1024 bytes' 1
sed '0,/^\.address_size.*/s//&\n.visible .shared .align 4 .b8 common[64];/' $tile >"$work/common.ptx"
app BANKFOLD_HASH=fixed STUB_SAVE="$work/saved" dlsym link "$work/common.ptx"
logged '2 of 3 kernels rewritten'
grep -q '^.visible .shared .align 4 .b8 common.64.;' "$work/saved" || complain 'a variable of others was changed'
sed '0,/^\.address_size.*/s//&\n.extern .func elsewhere;/; s/bar.sync.*;/& call elsewhere;/' $tile >"$work/calls.ptx"
app BANKFOLD_HASH=fixed STUB_SAVE="$work/saved" dlsym link "$work/calls.ptx"
logged 'a call of elsewhere, which is not in the module'
cmp "$work/calls.ptx" "$work/saved" || complain 'kernels that call functions of others were changed'

# The library as docs/inject.md builds it, without a build system. zstd is opened when it is needed, and
# may be missing.
mkdir "$work/alone" "$work/no_zstd" && : >"$work/no_zstd/libzstd.so.1"
inject/build.sh "$work/alone/libbankfold-inject.so" >"$work/out" 2>&1 || complain "inject/build.sh: $(cat "$work/out")"
library=$work/alone/libbankfold-inject.so
forget
app dlsym data $data/lineinfo.fatbin
logged 'kernels rewritten'
forget
app LD_LIBRARY_PATH="$work/no_zstd:$parts" dlsym data $data/lineinfo.fatbin
logged 'is left alone: .*packed with zstd, and there is no libzstd.so.1'
called 'cuModuleLoadData: fat binary' 1
app LD_LIBRARY_PATH="$work/no_zstd:$parts" dlsym data $tile
logged '2 of 3 kernels rewritten'

# libc and libm are all that it needs, and the driver's functions all that it shows.
for library in "$parts/libbankfold-inject-test.so" "$build/inject/libbankfold-inject.so" \
  "$work/alone/libbankfold-inject.so"; do
  readelf -d "$library" | grep NEEDED | grep -v 'libc\.so\|libm\.so\|ld-linux\|libpthread\|libdl' &&
    complain "$library needs more than libc and libm"
  nm -D --defined-only "$library" | grep -v ' T cu[A-Z]\| T dlsym$' &&
    complain "$library shows more than the driver's functions"
done

# Nothing is replaced that was not tried.
while read -r name; do
  grep -q "^$name:\|^$name\$" "$work/all_calls" || complain "no test calls $name"
done < <(sed -n 's/^X(\([A-Za-z0-9_]*\),.*/\1/p' inject/driver.def)

# Where there is no driver, run says so, and which command does without one.
if ! ldconfig -p | grep -q 'libcuda\.so\.1' && [ -e "$build/inject/libbankfold-inject.so" ]; then
  "$build/bankfold" run --hash fixed tests/data/programs/transpose >"$work/out" 2>"$work/err"
  grep -q "there is no CUDA driver here, .*'bankfold exec' runs programs without one" "$work/err" ||
    complain "run without a driver does not say so: $(cat "$work/err")"
fi
echo "$faults faults"
[ $faults = 0 ]
