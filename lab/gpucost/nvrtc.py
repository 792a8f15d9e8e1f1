"""Compiles a CUDA source to PTX by NVRTC, which comes as a library alone.

nvrtc.py ROOT ARCH SOURCE PTX: ROOT holds the packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12, ARCH is
that of compute capabilities, as compute_90.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

# Every product and sum of the shaders is `precise`, so none may be contracted.
OPTIONS = ["--std=c++17", "-default-device", "-fmad=false", "-Dprecise=", "-w"]


def compile_ptx(root: Path, arch: str, source: bytes) -> bytes:
    """Return the PTX of a source."""
    nvrtc = ctypes.CDLL(str(root / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"))
    program = ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None):
        raise SystemExit("nvrtc.py: no program")
    options = [*OPTIONS, f"--gpu-architecture={arch}", f"-I{root / 'nvidia/cuda_runtime/include'}"]
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), words)
    size = ctypes.c_size_t()
    get = ("nvrtcGetProgramLogSize", "nvrtcGetProgramLog") if failed else ("nvrtcGetPTXSize", "nvrtcGetPTX")
    getattr(nvrtc, get[0])(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, get[1])(program, text)
    if failed:
        raise SystemExit(f"nvrtc.py: {text.value.decode()[:3000]}")
    return text.value


if __name__ == "__main__":
    root, arch, source, ptx = sys.argv[1:]
    Path(ptx).write_bytes(compile_ptx(Path(root), arch, Path(source).read_bytes()))
