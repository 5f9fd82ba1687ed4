#!/usr/bin/env bash
# Makes the files of this folder from twice.cu, other.cu and limited.cu with nvcc: make.sh FOLDER
# Line information holds the path of the source, so sources are compiled in a place of fixed name.
set -eu
folder=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
place=${TMPDIR:-/tmp}/bankfold-fatbin
mkdir "$place" || exit
trap 'rm -rf "$place"' EXIT
cp "$here"/*.cu "$place"
cd "$place"
one=-gencode=arch=compute_90,code=compute_90
small=(-cudart none -Xcompiler -fPIC -Xlinker -s,-z,norelro,-z,noseparate-code,-nostdlib,--build-id=none)

nvcc "$one" --ptx twice.cu -o "$folder/twice.ptx"
nvcc -arch=sm_90 --cubin twice.cu -o "$folder/twice.cubin"
nvcc "$one" --fatbin -no-compress twice.cu -o "$folder/plain.fatbin"
nvcc "$one" --fatbin -compress-mode=speed twice.cu -o "$folder/lz4.fatbin"
nvcc "$one" --fatbin -lineinfo twice.cu -o "$folder/lineinfo.fatbin"
nvcc -gencode=arch=compute_75,code=compute_75 -gencode=arch=compute_90,code=[sm_90,compute_90] \
  -gencode=arch=compute_90a,code=compute_90a -gencode=arch=compute_100f,code=compute_100f \
  --fatbin -Xfatbin -compress-all twice.cu -o "$folder/many.fatbin"
nvcc -gencode=arch=compute_90,code=sm_90 --fatbin -Xfatbin -compress-all twice.cu \
  -o "$folder/machine_code.fatbin"
nvcc -gencode=arch=compute_90,code=lto_90 --fatbin other.cu -o "$folder/lto.fatbin"

both='-gencode=arch=compute_90,code=[sm_90,compute_90]'
nvcc "$both" --fatbin -maxrregcount=40 limited.cu -o "$folder/limited.fatbin"
nvcc "$both" --fatbin limited.cu -o "$folder/unlimited.fatbin"

nvcc "$one" -c twice.cu -o "$folder/object.o"
nvcc "$one" -rdc=true -c twice.cu -o "$folder/relocatable.o"
nvcc "$one" -shared "${small[@]}" twice.cu other.cu -o "$folder/library.so"

# The same library without section headers: e_shoff, e_shnum and e_shstrndx become 0.
cp "$folder/library.so" "$folder/headerless.so"
zero() { head -c "$2" /dev/zero | dd of="$folder/headerless.so" bs=1 seek="$1" conv=notrunc status=none; }
zero 40 8
zero 60 4
chmod -x "$folder"/*.so
