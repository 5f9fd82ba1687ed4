#!/usr/bin/env bash
# A room includes only its own headers and those of the rooms it may know. Libraries know nothing of
# cli; the public header knows nothing at all.
set -u
cd "$(dirname "$0")/../.." || exit 2

# may_know ROOM: the rooms below it in the building.
may_know() {
  case $1 in
  base | gf2) echo '' ;;
  hash) echo 'base gf2' ;;
  ptx | image | vote) echo 'base' ;;
  access) echo 'base gf2 hash' ;;
  memory) echo 'base gf2 hash access' ;;
  search) echo 'base gf2 hash access memory' ;;
  analyze | emu) echo 'base gf2 hash access memory ptx' ;;
  sim) echo 'base gf2 hash access memory ptx emu' ;;
  rgpu) echo 'base gf2 hash access memory ptx emu sim' ;;
  kernels) echo 'base emu sim' ;;
  reproduce) echo 'base gf2 hash access memory search ptx emu sim rgpu vote kernels report rtl' ;;
  apply) echo 'base gf2 hash access memory search ptx' ;;
  report) echo 'base gf2 hash access memory search' ;;
  rtl) echo 'base gf2 hash access memory apply' ;;
  esac
}

faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

# room_of FILE INCLUDED: the room that an #include "..." in FILE leads to.
room_of() {
  case $2 in
  */*) echo "${2%%/*}" ;;
  *) if [ -e "$(dirname "$1")/$2" ]; then basename "$(dirname "$1")"; else echo "$2"; fi ;;
  esac
}

for directory in src/*/ kernels/ kernels/*/ reproduce/ reproduce/*/; do
  room=$(basename "$directory")
  case $directory in kernels/* | reproduce/*) room=${directory%%/*} ;; esac
  allowed=" $room bankfold.h $(may_know "$room") "
  while IFS=: read -r file line included; do
    target=$(room_of "$file" "$included")
    case $allowed in
    *" $target "*) ;;
    *) complain "$file:$line: room $room must not include \"$included\"" ;;
    esac
  done < <(grep -Hn '^ *# *include *"' "$directory"*.[ch] |
    sed 's/^\([^:]*:[^:]*\):.*"\(.*\)".*/\1:\2/')
done
if grep -n '^ *# *include *"' include/*.h; then
  complain 'include: public headers must not include headers of the project'
fi
[ $faults = 0 ]
