#!/usr/bin/env bash
# The project's scripts give shellcheck nothing to say.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v shellcheck >/dev/null || { echo 'no shellcheck' && exit 77; }
shellcheck -x run test bankfold .ci/run tools/*.sh kernels/*.sh tests/*/*.sh
