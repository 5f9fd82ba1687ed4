#!/usr/bin/env bash
# Emitted code compiles without warnings and agrees with the library on every address.
#   tests/check/emit.sh BUILD-FOLDER-OR-PROGRAM [SCRATCH-FOLDER]
# Prints PASS, FAIL or SKIP for each part: C with gcc and clang, C++ with g++ and clang++, CUDA with
# nvcc (on the device too where there is one), CuTe types, and Verilog with iverilog.
# shellcheck disable=SC2317 # functions are called through part
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/check/emit
folder=$(readlink -f "$1")
[ -d "$folder" ] || folder=$(dirname "$folder")
if [ -n "${2-}" ]; then
  scratch=$(readlink -f "$2")/emit
  rm -rf "$scratch" && mkdir -p "$scratch"
else
  scratch=$(mktemp -d)
fi
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2
PATH=$PATH:/usr/local/cuda/bin

failed=0
# part NAME COMMAND...: runs it; quiet unless it fails.
part() {
  local name=$1
  shift
  if "$@" >log 2>&1; then
    echo "PASS $name"
  else
    echo "FAIL $name: $*"
    head -n 40 log
    failed=1
  fi
}

# with TOOL NAME COMMAND...: the part, where the tool is there.
with() {
  if command -v "$1" >/dev/null; then
    part "${@:2}"
  else
    echo "SKIP $2: no $1"
  fi
}

# ---- The hashes: bank bits, address bits, bytes per word, hash ----

# random_rows SEED BANK-BITS ADDRESS-BITS: "rows:..." of full rank, for every row has a top bit of
# its own; with an odd seed the hash keeps rows of banks.
random_rows() {
  awk -v seed="$1" -v m="$2" -v n="$3" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) order[i] = i
    for (i = n - 1; i > 0 && seed % 2 == 0; i--) {
      j = int(rand() * (i + 1)); swap = order[i]; order[i] = order[j]; order[j] = swap
    }
    for (i = 0; i < m; i++) {
      row = 2 ^ order[i]
      for (j = 0; j < n; j++)
        if ((seed % 2 ? j >= m : j < order[i]) && rand() < 0.3) row += 2 ^ j
      printf "%s%x", i ? "," : "rows:", row
    }
  }'
}

for hash in none fixed add tma:32 tma:64 tma:128 perm:4 perm:11 xor:0,5,31 xor:3,0,21 xor:0,4,14 \
  cute:3,4,3 cute:2,5,-7 cute:3,2,3/4 mod:32 mod:31 mod:16 mod:1 pad:32+1 pad:17+3 pad:1+1 \
  pad:65536+9 bits:1,0,2,3,4 bits:4,3,2,1,0 bits:15,14,13,12,11 bits:0^5^7,1^6^8,2^9,3,4; do
  echo "5 16 4 $hash"
done >hashes
for seed in 1 2 3 4 5 6 7 8; do
  echo "5 16 4 $(random_rows $seed 5 16)"
  echo "4 12 8 $(random_rows $seed 4 12)"
done >>hashes
cat >>hashes <<'END'
0 6 4 none
0 6 4 add
0 6 4 bits:
5 5 4 add
1 2 16 bits:1
10 13 1 fixed
6 10 2 mod:63
END
# More address bits than 32-bit arithmetic or a simulation of every word allows.
cat hashes - >all <<'END'
5 40 4 fixed
5 40 4 add
5 40 4 mod:31
5 40 8 perm:30
5 30 4 tma:128
5 29 4 pad:536870912+536870912
5 40 4 pad:1+65536
5 40 4 rows:8000000001,4000010002,2100000004,1004000008,800080010
END

# emit NUMBER BANK-BITS ADDRESS-BITS WORD-BYTES HASH FORM OPTION...
emit() {
  "$folder/bankfold" emit --hash "$5" --as "$6" --name "h$1" --banks $((1 << $2)) \
    --address-bits "$3" --word-bytes "$4" "${@:7}"
}

# for_each FILE COMMAND...: with the number and the fields of each line of FILE; stops at the first
# that fails.
for_each() {
  local file=$1 number=0 bank_bits bits bytes hash
  shift
  while read -r bank_bits bits bytes hash; do
    "$@" $number "$bank_bits" "$bits" "$bytes" "$hash" ||
      { echo "fails: $hash ($bank_bits bank bits, $bits address bits)" && return 1; }
    number=$((number + 1))
  done <"$file"
}

# ---- C, C++ and CUDA ----

emit_c() { emit "$@" c --output "h$1.h"; }
emit_cuda() { emit "$@" cuda --output "h$1.h"; }
list_header() { echo "#include \"h$1.h\""; }
list_hash() { echo "HASH($1, \"$5\", $2, $3, $4)"; }
for_each all list_header >headers.inc
for_each all list_hash >hashes.inc
cp "$here/driver.c" driver.cpp
cp "$here/driver.c" driver.cu

warnings=(-Wall -Wextra -Werror)
library=(-L"$folder" -lbankfold "-Wl,-rpath,$folder")

# compile_and_run COMPILER STANDARD SOURCE
compile_and_run() {
  "$1" -std="$2" -O2 "${warnings[@]}" -I. -I"$root/include" "$3" "${library[@]}" -o "run-$1" &&
    "./run-$1"
}
cuda_compile() {
  nvcc -std=c++17 -O2 -Werror all-warnings -Xcompiler -Wall,-Wextra -I. -I"$root/include" \
    -c driver.cu -o driver.o
}
cuda_run() {
  nvcc driver.o -L"$folder" -lbankfold -Xlinker "-rpath,$folder" -o run-nvcc &&
    ON_DEVICE=yes ./run-nvcc
}

part 'every hash is emitted as C' for_each all emit_c
with gcc 'C with gcc' compile_and_run gcc c11 "$here/driver.c"
with clang 'C with clang' compile_and_run clang c11 "$here/driver.c"
part 'every hash is emitted as CUDA' for_each all emit_cuda
with gcc 'CUDA form as C with gcc' compile_and_run gcc c11 "$here/driver.c"
with g++ 'CUDA form as C++ with g++' compile_and_run g++ c++17 driver.cpp
with clang++ 'CUDA form as C++ with clang++' compile_and_run clang++ c++17 driver.cpp
with nvcc 'CUDA with nvcc' cuda_compile
if [ -e driver.o ] && nvidia-smi -L >log 2>&1; then
  part 'CUDA on the device' cuda_run
else
  echo 'SKIP CUDA on the device: no nvcc or no GPU'
fi

# ---- CuTe ----

cute_types() {
  mkdir -p cute && cp "$here/cute_swizzle.hpp" cute/swizzle.hpp &&
    emit 0 5 16 4 tma:128 cute --output cute0.hpp && emit 1 5 16 4 fixed cute --output cute1.hpp &&
    emit 2 5 16 4 none cute --output cute2.hpp &&
    emit 3 5 16 4 cute:1,2,-3 cute --output cute3.hpp &&
    "$1" -std=c++17 "${warnings[@]}" -I. "$here/cute.cpp" -o run-cute
}
with g++ 'CuTe types' cute_types g++

# ---- Verilog ----

# dump_module NUMBER ADDRESS-BITS: a module that prints the place of every word.
dump_module() {
  local bank row ports='' place=''
  bank=$(sed -n 's/.*output wire \(.*\) bank,*$/\1/p' "h$1.v")
  row=$(sed -n 's/.*output wire \(.*\) row$/\1/p' "h$1.v")
  [ -n "$row" ] && ports+=', .row(row)' && place=row
  [ -n "$bank" ] && ports+=', .bank(bank)' && place+=${place:+, }bank
  cat <<END
module dump;
  reg [$(($2 - 1)):0] word;
  wire ${bank:-[0:0]} bank;
  wire ${row:-[0:0]} row;
  integer i;
  h$1_place unit (.word(word)$ports);
  initial
    for (i = 0; i < $((1 << $2)); i = i + 1) begin
      word = i;
      #1;
      \$display("%0d", {$place});
    end
endmodule
END
}

# The emitted test bench passes, and the module agrees with the library on every word.
verilog_module() {
  emit "$@" verilog --testbench --output "h$1.v" &&
    iverilog -g2001 -Wall -s "h$1_place_test" -o bench "h$1.v" 2>warnings &&
    ! grep -v timescale warnings && [ "$(vvp -n bench)" = PASS ] &&
    dump_module "$1" "$3" >dump.v && iverilog -g2001 -s dump -o dump "h$1.v" dump.v &&
    vvp -n dump >places && ./run-gcc "$1" | cmp - places
}
if [ -x run-gcc ]; then
  with iverilog 'Verilog with iverilog' for_each hashes verilog_module
else
  echo 'SKIP Verilog with iverilog: no gcc'
fi
exit $failed
