#!/usr/bin/env bash
# The Verilog of hash units: test benches pass under Icarus Verilog, Verilator finds nothing to warn
# about, and a unit with a single fault is caught by its test bench.
#   tests/check/rtl.sh BUILD-FOLDER
# Families get 100000 random configurations and words for each kind of configuration, fixed units and
# those of banks and locks every word. Prints PASS, FAIL or SKIP for each part.
# shellcheck disable=SC2317 # functions are called through part
set -u
program=$(readlink -f "$1")/bankfold
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

command -v iverilog >/dev/null || { echo 'SKIP: no iverilog' && exit 77; }

failed=0
# part NAME COMMAND...: runs it; quiet unless it fails.
part() {
  local name=$1
  shift
  if "$@" >log 2>&1; then
    echo "PASS $name"
  else
    echo "FAIL $name: $*"
    tail -n 40 log
    failed=1
  fi
}

families='bit-vector-perm bit-vector-xor bitwise-perm bitwise-xor'

# simulate FOLDER: runs the test bench in it; prints what it prints, and fails unless that is PASS.
simulate() {
  (cd "$1" && iverilog -g2001 -Wall -o bench ./*.v 2>warnings && [ ! -s warnings ] &&
    vvp bench >result && cat result && grep -q '^PASS' result)
}

# lint FOLDER: every module but the test bench, with all warnings; the unit between registers together with these.
lint() {
  (cd "$1" && for file in *.v; do
    case $file in
    *_test.v) continue ;;
    *_unit.v) [ ! -e "${file%_unit.v}_clocked.v" ] || continue ;;
    esac
    if ! verilator --lint-only -Wall -Wno-fatal -y . "$file" >lint.log 2>&1 || [ -s lint.log ]; then
      cat lint.log
      exit 1
    fi
  done)
}

# unit FOLDER OPTION...: writes, simulates and lints a unit.
unit() {
  local folder=$1
  shift
  "$program" rtl "$@" -o "$folder" && simulate "$folder" &&
    { [ -z "$linter" ] || lint "$folder"; }
}

linter=$(command -v verilator) || echo 'SKIP lint: no verilator'
for family in $families; do
  for config in encoded one-hot; do
    part "$family, $config: 100000 vectors" unit "$family-$config" --family "$family" \
      --config "$config" --vectors 100000
  done
done

# Other sizes: the smallest there are, powers of two, long addresses.
other_sizes() {
  for family in $families; do
    for config in encoded one-hot; do
      for size in '2 2' '4 3' '8 8' '16 16' '32 17' '1024 32' '64 7'; do
        read -r banks bits <<<"$size"
        unit "size-$family-$config-$banks-$bits" --family "$family" --config "$config" \
          --banks "$banks" --address-bits "$bits" --vectors 300 || return
      done
    done
  done
}
part 'other sizes' other_sizes

# Several registers for the word: two, as many as bank bits, and numbers between that leave a rest.
copies() {
  for family in $families; do
    for config in encoded one-hot; do
      for size in '32 14 2' '32 14 5' '16 6 3' '4 5 2' '1024 32 7'; do
        read -r banks bits copies <<<"$size"
        unit "copies-$family-$config-$banks-$copies" --family "$family" --config "$config" \
          --banks "$banks" --address-bits "$bits" --copies "$copies" --vectors 300 || return
      done
    done
  done
}
part 'several registers for the word' copies

fixed_hashes() {
  for hash in none fixed add perm:4 xor:0,5,31 xor:3,0,21 tma:128 cute:3,4,3 mod:31 pad:32+1 \
    bits:0^5^7,1^6^8,2^9,3,4 rows:21,42,84,108,210; do
    unit "hash-$hash" --hash "$hash" || return
  done
  unit hash-16 --hash fixed --address-bits 16 --banks 64 &&
    unit hash-5 --hash add --address-bits 5 --banks 8 &&
    unit hash-1 --hash none --address-bits 4 --banks 1
}
part 'fixed hashes: every word' fixed_hashes
part 'banks and locks, XOR: every word' unit locks-xor --locks xor
part 'banks and locks, ADD: every word' unit locks-add --locks add
part 'banks and locks of other sizes' unit locks-small --locks add --banks 8 --address-bits 7

# ---- Faults ----

# caught FROM TO: what is in mutant passes; with FROM replaced by TO once it fails, and says where.
caught() {
  simulate mutant >/dev/null || { echo 'the unit fails before it is changed' && return 1; }
  local file
  file=$(grep -lF -- "$1" mutant/*.v | grep -v '_test\.v$' | tail -n 1)
  [ -n "$file" ] || { echo "nothing is '$1'" && return 1; }
  cp "$file" original
  awk -v from="$1" -v to="$2" '{ at = done ? 0 : index($0, from) }
    at { done = 1; $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) }
    { print }' original >"$file"
  simulate mutant
  cp original "$file"
  grep -q '^FAIL vector [0-9]' mutant/result
}

# mutants OPTIONS FROM TO ...
mutants() {
  local options
  read -ra options <<<"$1"
  shift
  rm -rf mutant
  "$program" rtl "${options[@]}" --vectors 2000 -o mutant || return
  while [ $# -gt 1 ]; do
    caught "$1" "$2" || { echo "not caught: $1 -> $2" && return 1; }
    shift 2
  done
}

all_mutants() {
  mutants '--family bit-vector-perm --config one-hot' 'word[9:0]' 'word[10:1]' '|(' '&(' &&
    mutants '--family bit-vector-perm' 'if (load)' 'if (1)' 'if (load)' 'if (0)' 'held_word <= word' \
      'held_word <= ~word' 'bank <= found_bank' 'bank <= bank' &&
    mutants '--family bit-vector-perm' '+: 5' '-: 5' 'offset}' '~offset}' &&
    mutants '--family bit-vector-xor' 'high & mask' 'high | mask' 'low ^' 'low &' &&
    mutants '--family bit-vector-xor --config one-hot' 'second[13:0]' 'second[12:0]' &&
    mutants '--family bitwise-perm' 'first[3:0]' 'first[7:4]' &&
    mutants '--family bitwise-xor --config one-hot' ' ^ ' ' | ' 'first[13:0]' 'first[12:0]' &&
    mutants '--hash fixed' 'word[5]' 'word[6]' ' ^ ' ' | ' 'row[8] = word[13]' 'row[8] = word[12]' &&
    mutants '--hash add' ' + ' ' - ' &&
    mutants '--locks add' 'carry1)' 'carry2)' ' | ' ' & ' &&
    mutants '--locks xor' 'word[13]' 'word[12]'
}
part 'faults are caught' all_mutants

# A vector file that is cut short is a failure, not a pass.
short_vectors() {
  "$program" rtl --hash fixed -o short || return
  head -n 100 short/hash_vectors.hex >first && mv first short/hash_vectors.hex
  (cd short && iverilog -g2001 -o bench ./*.v && vvp bench | grep -q '^FAIL vector 100 is missing')
}
part 'missing vectors are seen' short_vectors
exit $failed
