#!/usr/bin/env bash
# Some of the programs with the toolkit's headers (tests/headers), because compiling all takes long: build folder $1.
# tests/headers/run.sh BUILD tries all of them.
exec "$(dirname "$0")/../headers/run.sh" "$1" cub_block_scan groups_reduce
