"""Filesystems of fsspec that behave as object stores do. Workers of Ray's clusters import them, too."""

from __future__ import annotations

from typing import Any

from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem


class Tagged(DirFileSystem):  # type: ignore[misc]
    """A file system of fsspec whose files have ETags and no time of change, as those of object stores have."""

    def __init__(self, path: str) -> None:
        super().__init__(path=path, fs=LocalFileSystem())

    def info(self, path: str, **options: Any) -> Any:
        about = dict(super().info(path, **options))
        return {**about, "ETag": f"tag-{about.pop('mtime')}-{about['size']}"}


class Untagged(DirFileSystem):  # type: ignore[misc]
    """A file system of fsspec whose files have times of change that can be set, and no ETags."""

    def __init__(self, path: str) -> None:
        super().__init__(path=path, fs=LocalFileSystem())


class Failing(Tagged):
    """Uploads of parts, but for the first, end after a few kilobytes."""

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        f = super().open(path, mode, **options)
        if "w" in mode and "part-000000" not in path and "part-" in path:
            return _Short(f)
        return f


class _Short:
    """A file that fails in the middle, and whose end keeps what was written, as that of a multipart upload does."""

    def __init__(self, f: Any) -> None:
        self._f, self._left = f, 5000

    def __getattr__(self, name: str) -> Any:
        return getattr(self._f, name)

    def write(self, data: Any) -> int:
        block = bytes(data)[: self._left]
        self._left -= len(block)
        self._f.write(block)
        if len(block) < len(data):
            raise OSError(5, "the connection is gone")
        return len(block)
