#!/usr/bin/env bash
# The libraries of build folder $1 need no C++ library, and show none of the parts that they take from one
# (src/ptx/demangle.c). What libbankfold-inject.so needs and shows is checked by inject.sh.
set -u
build=$1
faults=0
for library in "$build"/libbankfold.so "$build"/runtime/libcudart.so.1? "$build"/runtime/libcuda.so.1; do
  if readelf -d "$library" | grep 'NEEDED.*lib\(stdc++\|supc++\|c++\|gcc_s\)'; then
    echo "$library needs a library of C++"
    faults=1
  fi
  if nm -D --defined-only "$library" | grep ' \(_Z\|__cxa_\|__gcclibcxx\|cplus_\)'; then
    echo "$library shows parts of libsupc++"
    faults=1
  fi
done
exit $faults
