#!/usr/bin/env bash
# Room vote of build folder $1 gives what OpenCV gives, where definitions agree: tests/check/vote/opencv.cpp.
# Skipped without OpenCV's headers (Debian's libopencv-imgproc-dev).
set -u
cd "$(dirname "$0")/../.." || exit 2
folder=/usr/include/opencv4
{ [ -e "$folder/opencv2/imgproc.hpp" ] && [ -e "$1/libbankfold.a" ]; } || { echo "no opencv2/imgproc.hpp" && exit 77; }
command -v "${CXX:-c++}" >/dev/null || { echo "no ${CXX:-c++}" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CXX:-c++}" -std=c++17 -O1 -Wall -Wextra -Werror -isystem "$folder" -Iinclude tests/check/vote/opencv.cpp \
  "$1/libbankfold.a" -lopencv_imgproc -lopencv_core -lzstd -lsupc++ -lm -pthread -o "$work/compare" || exit 1
"$work/compare"
