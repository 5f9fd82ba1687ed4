#!/usr/bin/env bash
# Links between the pages of the documentation lead to files that exist. Code is no link: `[](auto i)`.
# shellcheck disable=SC2016 # backquotes are those of the pages
set -u
cd "$(dirname "$0")/../.." || exit 2
faults=0
for page in *.md docs/*.md; do
  while read -r target; do
    case $target in http*:* | '#'*) continue ;; esac
    if [ ! -e "$(dirname "$page")/${target%%#*}" ]; then
      echo "$page: no file for the link $target"
      faults=1
    fi
  done < <(awk '/^ *```/ { code = !code } !code' "$page" | sed 's/`[^`]*`//g' |
    grep -o ']([^)]*)' | sed 's/^](\(.*\))$/\1/')
done
exit $faults
