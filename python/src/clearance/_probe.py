"""The child process that opens a Vulkan device first, since no process survives a driver that crashes.

It runs as a file in isolated mode and imports the standard library alone: nothing of the working directory or of
PYTHONPATH is executed. The arguments are the file of the native library, the index of the device, and the name of the
verdict.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

# The struct clearance_error: two integers, and the message.
_ERROR_BYTES, _MESSAGE_AT = 1024, 8


def command(library: Path) -> list[str]:
    """The command that tries a device, to which its index and the name of the verdict are appended."""
    if not sys.executable or os.environ.get("CLEARANCE_NO_PROBE"):
        return []
    # -I: neither the working directory, nor the folder of the file, nor PYTHON* variables; -S: no site packages.
    return [str(Path(sys.executable).absolute()), "-I", "-S", str(Path(__file__).absolute()), str(library.absolute())]


def main(library: str, index: str, name: str) -> int:
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # those of a group are meant for the parent
        signal.signal(s, signal.SIG_IGN)
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    failed = int(ctypes.CDLL(library).clearance_try_device(index.encode(), name.encode(), error))
    if failed:
        print(error.raw[_MESSAGE_AT:].split(b"\0", 1)[0].decode(errors="replace"), file=sys.stderr)
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
