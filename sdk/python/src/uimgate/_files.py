"""Files that only their owner can read."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ._errors import FileError

_POLL = 0.01  # seconds between attempts to get a lock


def read_private(path: Path, most: int) -> bytes | None:
    """Reads a file of at most most bytes; None if it does not exist. A file that others can read is an error."""
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if os.name == "posix" and mode & 0o077:
                raise FileError(f"{path}: other users can access it (mode {mode:04o}): run chmod 600 on it or, better, create a new key")
            data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    if len(data) > most:
        raise FileError(f"{path}: it is larger than {most} bytes")
    return data


def write_private(path: Path, data: bytes, *, new: bool = False) -> None:
    """Creates or replaces a file, atomically and durably. With new, a file that exists is an error."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)  # 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if new:
                os.link(name, path)  # fails if the file exists
            else:
                os.replace(name, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except FileExistsError:
        raise FileError(f"{path}: the file already exists, and a lost key cannot be recovered") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None


@contextlib.contextmanager
def locked(path: Path, wait: float = 10.0) -> Iterator[None]:
    """Holds an exclusive lock on a file, as the programs of uimgate do. The lock ends with the process, so a crash leaves nothing
    behind."""
    import fcntl  # not on Windows

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise FileError(f"{path}: another process has held the lock for {wait:.0f} s") from None
                time.sleep(_POLL)
        yield
    finally:
        os.close(handle)
