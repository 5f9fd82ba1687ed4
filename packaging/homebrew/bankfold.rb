# Homebrew on Linux: brew install --HEAD ./packaging/homebrew/bankfold.rb
# macOS: not yet. The library needs no more than POSIX and the BSDs have (tests/check/portable.sh), but the program asks Linux for what it
# starts (memfd_create, /proc), and exec and run stand in for libraries of CUDA, which macOS has not got (docs/install.md).
class Bankfold < Formula
  desc "Finds, explains and removes bank conflicts in GPU shared memory"
  homepage "https://example.org/bankfold"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git, branch: "main"
  license "Apache-2.0"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkg-config" => :build
  depends_on "gcc"
  depends_on "libpng"
  depends_on :linux
  depends_on "zstd"

  def install
    system "meson", "setup", "build", *std_meson_args
    system "meson", "compile", "-C", "build"
    system "meson", "install", "-C", "build"
  end

  test do
    assert_match "32 wavefronts", shell_output("#{bin}/bankfold explain 'a[lane][0]' --type 'float[32][32]'")
  end
end
