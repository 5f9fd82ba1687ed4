#!/usr/bin/env bash
# Builds the explorer: the program as WebAssembly, and one page that holds it.
#   web/build.sh FOLDER [JOBS]     FOLDER is a build folder of meson's; the results are in FOLDER/web
# Exit status 77, with the reason, where what it needs is missing.
set -eu
cd "$(dirname "$0")/.."
folder=$1 jobs=${2:-$(nproc)}
out=$folder/web

# needs WHAT CHECK...: ends with status 77 unless the check succeeds.
needs() {
  local what=$1
  shift
  "$@" >/dev/null 2>&1 || { echo "the explorer is not built: $what is missing" && exit 77; }
}
has() { command -v "$1"; }
needs clang has clang
needs 'wasm-ld (Debian: lld)' has wasm-ld
needs 'wasi-libc' test -e /usr/lib/wasm32-wasi/libc.a
needs 'libc++abi for WebAssembly (Debian: libc++abi-14-dev-wasm32)' test -e /usr/lib/wasm32-wasi/libc++abi.a
needs 'the runtime of clang for WebAssembly (Debian: libclang-rt-14-dev-wasm32)' \
  test -e "$(clang --target=wasm32-wasi -print-libgcc-file-name)"
needs ninja has ninja
needs "$folder/embedded_machines.c" test -e "$folder/embedded_machines.c"

# The rooms of the library, and the program without what starts other programs.
sources() {
  ls src/{base,gf2,hash,access,memory,search,ptx,analyze,emu,sim,emit,verify,rewrite,source,exchange,tune,report,layout}/*.c \
    src/api/text.c cli/*.c cli/{find,remove,use,look,learn}/*.c web/*.c |
    grep -vE '_(avx2|avx512|gfni)\.c$|^cli/(bankfold|open|library)\.c$|^src/(sim/sweep_file|search/together|base/zstd_open)\.c$' |
    grep -vE '^cli/look/(exec|ncu|corpus|scan|sweep)\.c$|^cli/use/(cicc|compile|nvcc|ptxas|run|tune|wrap|rtl)\.c$|^cli/learn/reproduce\.c$'
  echo "$folder/embedded_machines.c" "$folder/embedded_gpus.c" | tr ' ' '\n'
}

# write_ninja OUT FLAGS LINK: the program in OUT, with more flags for compiling and for linking. One rule a kind of file; the emulator's arithmetic must be what is written (meson.build).
write_ninja() {
  local out=$1 flags=$2 link=$3 ccache='' source object objects=''
  has ccache >/dev/null && ccache='ccache '
  cat <<END
builddir = $out
flags = --target=wasm32-wasi -std=gnu11 -O2 -msimd128 -D_GNU_SOURCE -D_WASI_EMULATED_MMAN -DBF_OPEN_ZSTD $
  -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS -Iinclude -Isrc -I. -isystem web/system -ffunction-sections -w $flags
rule compile
  command = ${ccache}clang \$flags \$more -MMD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  deps = gcc
rule archive
  command = rm -f \$out && llvm-ar-14 rcs \$out \$in
rule link
  command = clang --target=wasm32-wasi \$in -o \$out -Wl,--gc-sections,--strip-all,--stack-first,-z,stack-size=8388608$link $
    -lwasi-emulated-mman -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lc++abi -lm
END
  while read -r source; do
    object=$out/objects/${source//\//_}.o
    echo "build $object: compile $source"
    case $source in src/emu/run_*.c)
      echo '  more = -O3 -DBF_EMU_ISA=plain -fwrapv -fno-strict-aliasing -ffp-contract=off -fno-math-errno -fno-trapping-math -mllvm -unroll-full-max-count=8' ;;
    src/emu/*.c | src/memory/*.c) echo '  more = -O3' ;;
    web/memory.c) echo '  more = -fno-builtin' ;;
    esac
    [ "$source" = web/entry.c ] || objects="$objects $object"
  done < <(sources)
  echo "build $out/libbankfold.a: archive$objects"
  echo "build $out/bankfold.wasm: link $out/objects/web_entry.c.o $out/libbankfold.a"
}

# build OUT FLAGS LINK: the same, built.
build() {
  mkdir -p "$1"
  write_ninja "$@" >"$1/build.ninja.new"
  cmp -s "$1/build.ninja.new" "$1/build.ninja" || cp "$1/build.ninja.new" "$1/build.ninja"
  ninja --quiet -f "$1/build.ninja" -j "$jobs" "$1/bankfold.wasm"
}
build "$out" '' ''
# The same with threads, for pages that may share memory between workers; those load it from beside them. wasi-libc was built
# without them: its memory is guarded (web/threads.c), and only the first thread reads and writes files.
wrapped=''
for name in malloc calloc realloc free aligned_alloc posix_memalign; do wrapped=$wrapped,--wrap=$name; done
build "$out/threads" '-pthread -DBF_WEB_THREADS -D_Thread_local=' \
  ",--shared-memory,--import-memory,--initial-memory=134217728,--max-memory=2147483648,--no-check-features,--export=__stack_pointer$wrapped"
gzip -9 -n -c "$out/threads/bankfold.wasm" >"$out/threads.bin"

# ---- The page: styles, scripts, the worker and the compressed program in one file ----

# bundle FILE...: modules in the order of who needs whom, as one script.
bundle() { sed -E '/^import /d; s/^export //' "${@/%/.js}"; }

# hash_of FILE: as a content security policy names it.
hash_of() {
  printf "'sha256-%s'" "$(printf '%b' "$(sha256sum "$1" | cut -c 1-64 | sed 's/../\\x&/g')" | base64 -w 0)"
}

# json_string FILE: its text as a string of JSON that no tag can end.
json_string() { printf '"%s"' "$(sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g; s/</\\u003c/g' "$1" | awk '{ printf "%s\\n", $0 }')"; }

# assemble FOLDER: standard input with each @NAME@, one a line at most, replaced by the file NAME of the folder.
assemble() {
  awk -v folder="$1/" '
    match($0, /@[A-Z]+@/) {
      head = substr($0, 1, RSTART - 1)
      tail = substr($0, RSTART + RLENGTH)
      file = folder substr($0, RSTART + 1, RLENGTH - 2)
      printf "%s", head
      for (first = 1; (getline line < file) > 0; first = 0) printf "%s%s", first ? "" : "\n", line
      print tail
      next
    }
    { print }'
}

# part NAME: standard input without its last line break, as the page holds it.
part() { printf '%s' "$(cat)" >"$out/parts/$1"; }

# All modules share one scope in the page: a name belongs to one of them.
modules=(dom state export engine editor table picture remedy shapes access listing chains kernel time report examples main)
mkdir -p "$out/parts"
scripts=("${modules[@]/#/web/}")
twice=$(sed -nE 's/^(export )?(async )?(const|let|function|class) (\w+).*/\4/p' "${scripts[@]/%/.js}" | sort | uniq -d)
[ -z "$twice" ] || { echo "names of two modules: $twice" >&2 && exit 1; }
part STYLE <web/style.css
cat web/editor/codemirror.js - <<<'globalThis.editorKit = editorKit;' | part EDITOR
bundle "${scripts[@]}" | part SCRIPT
bundle web/wasi web/worker | part WORKER
gzip -9 -n -c "$out/bankfold.wasm" | base64 -w 0 | part PROGRAM
{
  printf '{"name": "transpose.ptx", "sourceName": "transpose.cu", "block": "32x8", "ptx": '
  json_string kernels/transpose/transpose.ptx
  printf ', "source": '
  json_string kernels/transpose/transpose.cu
  printf ', "launch": '
  json_string examples/transpose.launch
  printf '}'
} | part KERNEL
part POLICY <<END
default-src 'none'; script-src $(hash_of "$out/parts/EDITOR") $(hash_of "$out/parts/SCRIPT") 'wasm-unsafe-eval'; worker-src blob:; style-src $(hash_of "$out/parts/STYLE"); img-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'
END
assemble "$out/parts" <web/page.html >"$out/explorer.new"
mv "$out/explorer.new" "$out/explorer.html"
echo "$out/explorer.html: $(gzip -9 -c "$out/explorer.html" | wc -c) bytes compressed"
