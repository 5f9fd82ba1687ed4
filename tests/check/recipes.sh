#!/usr/bin/env bash
# The recipe of conda and the formula of Homebrew, without either: their steps are taken out of them and run in an empty prefix. What they would
# compile is there already, in build folder $1; with --full it is compiled as they say (ten minutes of a core). Their own tests run on what was installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
full=${2-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  [ ! -s "$work/log" ] || tail -n 10 "$work/log"
  faults=$((faults + 1))
}
[ -z "${SANITIZED-}" ] || { echo 'a build with sanitizers' && exit 77; }

# sources NAME: the project as it is in the repository.
sources() {
  mkdir "$work/$1" && git ls-files -z | xargs -0 cp --parents -t "$work/$1"
}

# step PREFIX COMMAND...: a step of building. Without --full a build folder is configured, but not compiled, and the program installed is
# that of the other build folder.
step() {
  local prefix=$1
  shift
  case $full$* in
  *'meson setup'* | --full*) "$@" >"$work/log" 2>&1 || complain "$*" ;;
  *'meson install'*)
    DESTDIR=$work/staged meson install -C "$build" --quiet --no-rebuild >"$work/log" 2>&1 || complain "$*"
    mkdir -p "$prefix" && cp -a "$work"/staged/usr/local/. "$prefix/" && rm -rf "$work/staged"
    ;;
  *'ninja'* | *'meson compile'*) ninja -C build -n >"$work/log" 2>&1 || complain "$*" ;;
  *) complain "a step that is not known: $*" ;;
  esac
}

# block FILE KEY: the lines of a list "- ..." below "KEY:" in a recipe.
block() {
  awk -v key="$2:" '$1 == key { depth = index($0, key); inside = 1; next }
    inside && index($0, $1) <= depth { exit } inside && sub(/^ *- /, "")' "$1"
}

recipe=packaging/conda/meta.yaml
version=$(awk '/define BF_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' include/bankfold.h)
grep -q "set version = \"$version\"" $recipe || complain "$recipe is not of version $version"
sources conda
prefix=$work/prefix
steps=0
cd "$work/conda" || exit 2
while read -r line; do
  read -ra words <<<"${line//\$PREFIX/$prefix}"
  step "$prefix" "${words[@]}"
  steps=$((steps + 1))
done < <(block packaging/conda/meta.yaml script)
[ $steps = 3 ] || complain "$steps steps in the recipe of conda"
while read -r line; do
  (cd / && PATH=$prefix/bin:$PATH bash -c "$line") >"$work/log" 2>&1 || complain "conda: $line"
done < <(block packaging/conda/meta.yaml commands)
"$prefix/bin/bankfold" exec "$PWD/tests/data/programs/transpose" >"$work/log" 2>&1 || complain 'conda: exec does not find its libraries'

# Homebrew: a stand-in for its Formula prints the steps, and runs the test.
if command -v ruby >/dev/null; then
  formula=packaging/homebrew/bankfold.rb
  ruby -c $formula >"$work/log" 2>&1 || complain "$formula is no Ruby"
  cat >"$work/brew.rb" <<'END'
class Formula
  def self.method_missing(*) = nil
  def self.test(&block) = @test = block
  def self.tested = @test
  def std_meson_args = ["--prefix=#{ENV.fetch("PREFIX")}", "--libdir=#{ENV.fetch("PREFIX")}/lib", "--buildtype=release", "--wrap-mode=nofallback"]
  def system(*words) = puts(words.join(" "))
  def bin = "#{ENV.fetch("PREFIX")}/bin"
  def lib = "#{ENV.fetch("PREFIX")}/lib"
  def include = "#{ENV.fetch("PREFIX")}/include"
  def shell_output(command) = `#{command}`.tap { raise "#{command} fails" unless $?.success? }
  def assert_match(wanted, text) = (raise "#{wanted} is not in #{text}" unless text.include?(wanted))
end
require ARGV[0]
ARGV[1] == "test" ? Bankfold.new.instance_exec(&Bankfold.tested) : Bankfold.new.install
END
  rm -rf build
  export PREFIX=$work/cellar
  ruby "$work/brew.rb" "$PWD/$formula" install >"$work/steps" 2>"$work/log" || complain 'the steps of the formula'
  [ "$(wc -l <"$work/steps")" = 3 ] || complain "$(wc -l <"$work/steps") steps in the formula"
  while read -ra words; do step "$PREFIX" "${words[@]}"; done <"$work/steps"
  ruby "$work/brew.rb" "$PWD/$formula" test >"$work/log" 2>&1 || complain 'the test of the formula'
else
  echo 'no ruby: the formula of Homebrew is not tried'
fi
[ $faults -eq 0 ]
