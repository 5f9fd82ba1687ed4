#!/usr/bin/env bash
# docs/reproduction.md shows the results of every reproduction that the program of build folder $1
# lists, and of no other.
set -u
cd "$(dirname "$0")/../.." || exit 2
page=docs/reproduction.md
faults=0
for name in $("$1/bankfold" reproduce | awk 'NR > 1 { print $1 }'); do
  if ! grep -qx "<!-- reproduce $name -->" $page; then
    echo "$page: no part about '$name'"
    faults=1
  elif ! awk -v mark="<!-- reproduce $name -->" '
      $0 == mark { on = 1 } $0 == "<!-- end -->" { on = 0 } on && /^\| claim / { found = 1 }
      END { exit !found }' $page; then
    echo "$page: no results of '$name'; tools/reproduction.sh writes them"
    faults=1
  fi
done
while read -r name; do
  "$1/bankfold" reproduce | awk 'NR > 1 { print $1 }' | grep -qx "$name" || {
    echo "$page: no reproduction '$name'"
    faults=1
  }
done < <(sed -n 's/^<!-- reproduce \(.*\) -->$/\1/p' $page)
exit $faults
