#!/usr/bin/env python3
"""Puts the program of one platform into a wheel, and writes the wheel with fixed times, so that two runs write the same bytes.

    wheel.py PURE.whl DIRECTORY [PROGRAM linux/amd64]

PURE.whl is the wheel that setuptools has built from sdk/python. Without a program, the wheel for all platforms is written.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile

TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
}


def build(pure, directory, program=None, platform=None):
    """Returns the path of the wheel that it writes."""
    with zipfile.ZipFile(pure) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    [record] = [name for name in files if name.endswith(".dist-info/RECORD")]
    info = record.rpartition("/")[0]
    tag = TAGS[platform] if platform else "any"
    lines = [line for line in files[f"{info}/WHEEL"].decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    lines += [f"Root-Is-Purelib: {'false' if program else 'true'}", *(f"Tag: py3-none-{one}" for one in tag.split("."))]
    files[f"{info}/WHEEL"] = ("\n".join(lines) + "\n").encode()
    modes = {}
    if program:
        with open(program, "rb") as file:
            files["uimgate/bin/uimgate"] = file.read()
        modes["uimgate/bin/uimgate"] = 0o755
    del files[record]
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(files.items())]
    files[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    path = os.path.join(directory, f"{info.removesuffix('.dist-info')}-py3-none-{tag}.whl")
    at = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(path, "w") as archive:
        for name in [*sorted(name for name in files if name != record), record]:
            entry = zipfile.ZipInfo(name, at)
            entry.external_attr = (0o100000 | modes.get(name, 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return path


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 5) or (len(sys.argv) == 5 and sys.argv[4] not in TAGS):
        sys.exit(__doc__)
    print(build(*sys.argv[1:]))
