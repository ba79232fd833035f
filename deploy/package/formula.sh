#!/usr/bin/env bash
# Prints the formula of a release for Homebrew.
#
#   deploy/package/formula.sh v0.1.0 dist/SHA256SUMS
set -euo pipefail
version=${1:?the version, such as v0.1.0}
sums=${2:?the file of checksums}
archive() { # the platform
  local name=uimgate-$version-$1.tar.gz sum
  sum=$(awk -v name="$name" '$2 == name { print $1 }' "$sums")
  [ -n "$sum" ] || { echo "$0: $sums has no checksum of $name" >&2; exit 1; }
  printf '      url "https://github.com/uimgate/uimgate/releases/download/%s/%s"\n      sha256 "%s"\n' "$version" "$name" "$sum"
}
cat << FORMULA
class Uimgate < Formula
  desc "Gateway that makes a web service's API usable by AI agents"
  homepage "https://github.com/uimgate/uimgate"
  version "${version#v}"
  license "Apache-2.0"

  on_macos do
    on_arm do
$(archive darwin-arm64)
    end
    on_intel do
$(archive darwin-amd64)
    end
  end

  on_linux do
    on_arm do
$(archive linux-arm64)
    end
    on_intel do
$(archive linux-amd64)
    end
  end

  def install
    bin.install "uimgate"
    man1.install Dir["man/*"]
    bash_completion.install "completions/uimgate.bash" => "uimgate"
    zsh_completion.install "completions/uimgate.zsh" => "_uimgate"
    fish_completion.install "completions/uimgate.fish"
  end

  service do
    run [opt_bin/"uimgate", "serve", "-c", etc/"uimgate/uimgate.yaml", "--data", var/"uimgate"]
    keep_alive crashed: true
    error_log_path var/"log/uimgate.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/uimgate version")
  end
end
FORMULA
