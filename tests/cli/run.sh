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
# Every transcript runs in an empty folder of its own, in which golden, data, examples, kernels and machines
# lead to the project's folders. A command that ends with status 2 must leave the folder as it was.
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

# run_transcript FILE: prints the transcript as it came out this time.
run_transcript() {
  local line before status
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '$ '*)
      printf '%s\n' "$line"
      before=$(listing)
      bash -c "${line#\$ }" >"$work/out" 2>"$work/err" </dev/null
      status=$?
      prefixed '|' "$work/out"
      prefixed '!' "$work/err"
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

passed=0 failed=0 skipped=0
for file in "$@"; do
  [ -e "$file" ] || continue
  file=$(readlink -f "$file")
  if [ -n "${SANITIZED-}" ] && grep -q '^# skip when sanitized' "$file"; then
    skipped=$((skipped + 1))
    continue
  fi
  mkdir "$work/run"
  ln -s "$root/tests/golden" "$root/tests/data" "$root/examples" "$root/machines" "$root/kernels" "$work/run"
  (cd "$work/run" && run_transcript "$file") >"$work/actual"
  rm -rf "$work/run"
  if [ -n "$update" ]; then
    cmp -s "$work/actual" "$file" || { cp "$work/actual" "$file" && echo "updated ${file#"$root"/}"; }
    passed=$((passed + 1))
  elif diff -u "$file" "$work/actual" >"$work/diff"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED ${file#"$root"/}"
    tail -n +3 "$work/diff" | head -n 40
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
