"""The command uimgate. It runs the program in the wheel for this platform, for example: uvx uimgate mcp shop.example."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def program() -> str | None:
    """Returns the path of the program: in this package, or installed beside it."""
    inside = Path(__file__).parent / "bin" / "uimgate"
    if inside.is_file():
        return str(inside)
    own = Path(sys.argv[0]).resolve()
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("uimgate", path=directory) if directory else None
        if found and Path(found).resolve() != own and not Path(found).resolve().read_bytes()[:2] == b"#!":
            return found
    return None


def main() -> None:
    """Replaces this process with the program."""
    path = program()
    if path is None:
        sys.exit(
            "uimgate: this wheel has no program for your platform: install uimgate from its releases, or use a wheel for linux or macOS"
        )
    os.execv(path, [path, *sys.argv[1:]])  # noqa: S606


if __name__ == "__main__":
    main()
