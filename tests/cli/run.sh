#!/usr/bin/env bash
# Runs transcripts of command lines and compares what they print.
#
#   tests/cli/run.sh PROGRAM [--update] [FILE.test ...]
#
# A transcript is a list of
#   # a comment
#   $ a shell command
#   | a line of its standard output       (: the last line, where the newline is missing)
#   ! a line of its standard error
#   ? its exit status, where not 0
# Transcripts run beside each other, one for each core. Each has an empty folder of its own, in which golden, data,
# examples, kernels and machines lead to the project's folders. A command that ends with status 2 must leave the
# folder as it was.
# "# skip when sanitized" leaves a transcript out where $SANITIZED is set.
# --update writes what was printed into the transcripts.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(readlink -f "$1")
shift
update=''
if [ "${1-}" = --update ]; then
  update=yes
  shift
fi
[ $# -gt 0 ] || set -- "$root"/tests/cli/*.test "$root"/tests/golden/*.test

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/bankfold"
export PATH="$work/bin:$PATH" NO_COLOR=1 LC_ALL=C

listing() { find . -mindepth 1 -printf '%P %s\n' | sort; }

# prefixed MARK FILE: the lines of FILE behind MARK; a last line without newline behind ":".
prefixed() {
  [ -s "$2" ] || return 0
  if [ -n "$(tail -c 1 "$2")" ]; then
    sed -e "s/^/$1 /" -e "s/^$1 \$/$1/" -e "\$s/^$1/:/" "$2"
    echo
  else
    sed -e "s/^/$1 /" -e "s/^$1 \$/$1/" "$2"
  fi
}

# commands FILE OUTPUT ERRORS: prints the transcript as it came out this time.
commands() {
  local line before status
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '$ '*)
      printf '%s\n' "$line"
      before=$(listing)
      bash -c "${line#\$ }" >"$2" 2>"$3" </dev/null
      status=$?
      prefixed '|' "$2"
      prefixed '!' "$3"
      [ $status = 0 ] || echo "? $status"
      if [ $status = 2 ] && [ "$before" != "$(listing)" ]; then
        echo 'LEFT BEHIND:'
        diff <(echo "$before") <(listing)
      fi
      ;;
    '#'* | '') printf '%s\n' "$line" ;;
    esac
  done <"$1"
}

# transcript FILE FOLDER: runs it in FOLDER/run; what came out is in FOLDER/actual when it has ended.
transcript() {
  mkdir -p "$2/run"
  ln -s "$root/tests/golden" "$root/tests/data" "$root/examples" "$root/machines" "$root/kernels" "$2/run"
  (cd "$2/run" && commands "$1" "$2/out" "$2/err") >"$2/unfinished"
  rm -rf "$2/run"
  mv "$2/unfinished" "$2/actual"
}

# left_out FILE
left_out() { [ -n "${SANITIZED-}" ] && grep -q '^# skip when sanitized' "$1"; }

cores=$(nproc)
number=0
for file in "$@"; do
  number=$((number + 1))
  [ -e "$file" ] || { echo "no transcript $file" >&2 && exit 2; }
  left_out "$file" && continue
  while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n; done
  transcript "$(readlink -f "$file")" "$work/$number" &
done
wait

passed=0 failed=0 skipped=0 number=0
for file in "$@"; do
  number=$((number + 1))
  actual=$work/$number/actual
  if left_out "$file"; then
    skipped=$((skipped + 1))
    echo "skipped ${file#"$root"/}: a program with sanitizers cannot run what it runs"
  elif [ -n "$update" ]; then
    cmp -s "$actual" "$file" || { cp "$actual" "$file" && echo "updated ${file#"$root"/}"; }
    passed=$((passed + 1))
  elif diff -u "$file" "$actual" >"$work/diff" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED ${file#"$root"/}"
    tail -n +3 "$work/diff" | head -n 40
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
