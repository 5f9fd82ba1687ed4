#!/usr/bin/env bash
# The completion scripts of build folder $1 complete what they should; zsh and fish only where installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
# shellcheck disable=SC1091 # made by the build
source "$build/bankfold.bash"
faults=0

# completes "WORD..." EXPECTED: completing the last word offers EXPECTED, among others.
completes() {
  local offered
  read -ra COMP_WORDS <<<"$1"
  [ "${1: -1}" = ' ' ] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _bankfold
  offered=" ${COMPREPLY[*]} "
  case $offered in
  *" $2 "*) ;;
  *)
    echo "bash: '$1' offers$offered, not $2"
    faults=1
    ;;
  esac
}

# Every command and every option that the program has is offered.
while read -r command option; do
  completes 'bankfold ' "$command"
  completes "bankfold $command --" "--$option"
done < <("$build/bankfold" help --json | python3 -c '
import json, sys
for command in json.load(sys.stdin)["commands"]:
    for option in command["options"]:
        print(command["name"], option["name"])')
completes 'bankfold che' check
completes 'bankfold ptx ext' extract
completes 'bankfold check --machine ' hopper
completes 'bankfold check --machine = hop' hopper
completes 'bankfold check --color a' always
completes 'bankfold solve --method e' exact
completes 'bankfold check exam' examples
completes 'bankfold help dra' draw
completes 'bankfold help --man b' bankfold
completes 'bankfold machines fer' fermi
completes 'bankfold machines gtx5' gtx580
completes 'bankfold sim --benchmark fft' fft512
completes 'bankfold sim --lock-hash ' xor

if command -v zsh >/dev/null; then
  zsh -n "$build/_bankfold" || faults=1
fi
if command -v fish >/dev/null; then
  fish --no-execute "$build/bankfold.fish" || faults=1
  offered=$(fish --no-config -c "source $build/bankfold.fish; complete -C 'bankfold check --machine hop'")
  case $offered in
  *hopper*) ;;
  *) echo "fish: --machine offers '$offered'" && faults=1 ;;
  esac
fi
exit $faults
