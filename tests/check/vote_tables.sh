#!/usr/bin/env bash
# docs/vote_tables.md is what tools/vote_tables.py makes of the project's results, and wrong results
# of a GPU are refused.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || { echo 'no python3' && exit 77; }
tools/vote_tables.py --check || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
heads=table,method,image,layout,copies,threads,blocks_per_sm,shared_bytes,median_us,result
row='3.6,shared atomics,natural,bin by bin,32,1024,2,65536,5.00'
printf '# a comment\n%s\n%s,right\n' "$heads" "$row" >"$work/right.csv"
printf '%s\n%s,wrong\n' "$heads" "$row" >"$work/wrong.csv"
message=$(H200=$work/wrong.csv tools/vote_tables.py --check 2>&1) && exit 1
[[ $message == *'1 of 1 results are wrong'* ]] || {
  echo "$message"
  exit 1
}
# With a measurement the page would be another one.
message=$(H200=$work/right.csv tools/vote_tables.py --check 2>&1) && exit 1
[[ $message == *'is not what'* ]] || {
  echo "$message"
  exit 1
}
