#!/usr/bin/env bash
# gpu/build.sh builds with a compiler alone, and what it builds works as far as it can without a GPU:
# hashes are chosen as committed, bad files are refused, and docs/results.md shows what the committed
# measurements say.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() {
  echo "$*"
  failed=1
}

NVCC='' CFLAGS='-O0 -Wall -Werror' gpu/build.sh "$work/out" 2>"$work/err" || {
  cat "$work/err"
  exit 1
}
out=$work/out

"$out/choose" gpu/corpus.scales transpose32 | grep -v '^#' >"$work/chosen"
[ -s "$work/chosen" ] || complain 'nothing is chosen'
# The counts behind the hashes are those of the day they were measured with.
names() { awk '/^transpose32 / { print $1, $2, $3, $4 }' "$1"; }
diff <(names gpu/corpus.hashes) <(names "$work/chosen") || complain 'other hashes are chosen'

printf 'transpose32 xor transpose32 nonsense\n' >"$work/bad"
"$out/measure" gpu/corpus.scales "$work/bad" >/dev/null 2>"$work/err" && complain 'a bad hash is accepted'
grep -q "$work/bad:1: " "$work/err" || complain 'a bad hash has no place'
"$out/measure" gpu/corpus.scales "$work/missing" >/dev/null 2>&1 && complain 'a missing file is accepted'
printf 'transpose32 0\n' >"$work/bad"
"$out/choose" "$work/bad" >/dev/null 2>"$work/err" && complain 'a bad scale is accepted'
grep -q "$work/bad:1: " "$work/err" || complain 'a bad scale has no place'
if ! command -v nvidia-smi >/dev/null; then
  "$out/measure" gpu/corpus.scales gpu/corpus.hashes transpose32 >/dev/null 2>"$work/err" &&
    complain 'measured without a GPU'
  grep -q 'driver' "$work/err" || complain 'no reason is given'
fi

times=$(sed -n 's/.*(\(\.\.\/bench\/results\/[^)]*-h200-hashed-times.csv\)).*/\1/p' docs/results.md | head -n 1)
times=${times#../}
mkdir "$work/img"
"$out/results" "$times" "${times%times.csv}wavefronts.csv" "$work/img" >"$work/tables" ||
  complain 'no tables are made'
sed -n '/^<!-- results -->$/,/^<!-- end -->$/p' docs/results.md | sed '1d;$d' |
  diff - "$work/tables" || complain 'docs/results.md shows other tables'
for picture in speedup conflicts; do
  cmp "$work/img/$picture.svg" "docs/img/results/$picture.svg" || complain "$picture.svg differs"
done
exit $failed
