"""Files and folders of a cluster: under paths that all machines share, or where a filesystem of pyarrow reaches.

The native library reads and writes local files. An object is therefore copied to one, of a Parquet file the row groups
of the rows alone, each byte at its place in a file of the same size with holes; and a result is uploaded beside its
name and then moved to it, so that it is there complete or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import fnmatch
import glob
import hashlib
import io
import os
import re
import secrets
import socket
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

import clearance as cl

from ._errors import FileError

# Names that begin with _ are no parts of a table.
LOCK: Final = "_driver.lock"
_UPLOAD: Final = "_uploading-"
_BLOCK: Final = 1 << 24
# Stores that set the time of change of an object themselves, by their names in pyarrow.
_STORES: Final = ("s3", "gcs", "abfs")


def place(name: str | os.PathLike[str], filesystem: Any = None) -> Local | Remote:
    """A file or a folder: of a filesystem, of the one that a URI names, or under a path."""
    text = os.fspath(name)
    if filesystem is not None:
        return Remote(_of_pyarrow(filesystem), text, text)
    if "://" not in text:
        return Local(text)
    from pyarrow import fs

    try:
        found, path = fs.FileSystem.from_uri(text)
    except (ValueError, OSError, NotImplementedError) as e:
        raise FileError(f"{text}: {e}") from e
    return Remote(found, path, text)


def last_part(name: str) -> str:
    """The last part of a path, or of a URI without its query (s3://bucket/a.parquet?region=x)."""
    return PurePosixPath(name.partition("?")[0] if "://" in name else name).name


def file_order(path: str) -> Any:
    """The key by which files of a pattern are sorted, which is the order in which folders of parts are read: names by
    their bytes, but runs of digits by their numbers, folder by folder."""
    return [_name_order(name) for name in os.fsencode(path).split(b"/")], path


def _name_order(name: bytes) -> list[tuple[int, int, bytes]]:
    tokens = re.findall(rb"[0-9]+|[^0-9]", name, re.DOTALL)
    digits = [t.lstrip(b"0") for t in tokens]
    return [(b"0"[0], len(d), d) if t.isdigit() else (t[0], 0, b"") for t, d in zip(tokens, digits, strict=True)]


def _of_pyarrow(filesystem: Any) -> Any:
    from pyarrow import fs

    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem))


def printable(text: str) -> str:
    """A text that every encoding takes: names of files that are not UTF-8 have escapes for their bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


def sha256(path: str) -> str:
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _owner() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


class Local:
    """A file or a folder under a path that all machines share."""

    def __init__(self, path: str) -> None:
        self.path = self.name = path

    def __truediv__(self, name: str) -> Local:
        return Local(os.path.join(self.path, name))  # noqa: PTH118, "./x" stays what it is

    def is_parent(self, of: Local | Remote) -> bool:
        return isinstance(of, Local) and Path(self.path).resolve() == Path(of.path).resolve().parent

    @property
    def key(self) -> str:
        """The same for two names of a file."""
        return os.path.realpath(self.path)

    def make(self) -> None:
        with self._errors():
            Path(self.path).mkdir(parents=True, exist_ok=True)

    def find(self) -> list[Local]:
        """The files of a pattern, itself if it is none."""
        if not glob.has_magic(self.path) or self.exists():  # a name that is there is no pattern
            return [self]
        return [Local(p) for p in sorted(glob.glob(self.path), key=file_order)]  # noqa: PTH207

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def names(self) -> list[str]:
        """What is in the folder."""
        with self._errors():
            return sorted(p.name for p in Path(self.path).iterdir())

    def version(self) -> str:
        """A text that differs after a change of the file, as far as the file system tells: its size and its times. The
        time of change can be set, that of its entry cannot, but changes with names and modes, too."""
        with self._errors():
            about = Path(self.path).stat()
        return f"{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}"

    def identity(self) -> str:
        """A text that differs after a change of the file: its size, its time of change, and its SHA-256."""
        before = self.version()
        with self._errors():
            digest = sha256(self.path)
        if self.version() != before:
            raise FileError(f"{self.name} has changed while it was read")
        return f"{before.rpartition(':')[0]}:{digest}"

    def rows(self) -> int:
        return cl.pair_rows(self.path)

    def groups(self) -> list[int]:
        """The rows of each row group, if it is a Parquet file."""
        if not self.path.endswith(".parquet"):
            return []
        with self._errors(), open(self.path, "rb") as f:  # of which pyarrow takes no name that is not UTF-8
            return _groups(f)

    def stamp(self, digest: str) -> str:
        """The identity of a result with this SHA-256 for the manifest: empty, since its digest is compared."""
        return ""

    def holds(self, row: dict[str, Any]) -> bool:
        """Whether the file is the result that a row of the manifest lists."""
        with self._errors():
            return bool(sha256(self.path) == row["sha256"])

    @contextlib.contextmanager
    def reading(self, lo: int, hi: int, head: int = 0) -> Iterator[str]:
        """A local file that has these rows, and the first ones, at their places."""
        yield self.path

    @contextlib.contextmanager
    def writing(self) -> Iterator[str]:
        """The name of a local file, which the caller writes complete or not at all; there is none after an error."""
        try:
            yield self.path
        except BaseException:
            Path(self.path).unlink(missing_ok=True)
            raise

    def get(self) -> bytes:
        with self._errors():
            return Path(self.path).read_bytes()

    def put(self, data: bytes) -> None:
        """Write a small file beside its name, and rename it."""
        path = PurePosixPath(self.path)
        beside = path.with_name(f"{_UPLOAD}{path.name}-{secrets.token_hex(4)}")
        try:
            with self._errors():
                with open(beside, "xb") as f:
                    f.write(data)
                    f.flush()
                    os.fsync(f.fileno())
                Path(beside).replace(self.path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise

    @contextlib.contextmanager
    def only_driver(self) -> Iterator[None]:
        """Hold the lock of a folder of results, which the kernel releases with the process."""
        with self._lock() as lock:
            for name in self.names():  # what drivers left that were killed
                if name.startswith(_UPLOAD):
                    Path(self.path, name).unlink(missing_ok=True)
            lock.truncate(0)
            lock.write(_owner().encode())
            lock.flush()
            yield

    def _lock(self) -> BinaryIO:
        """The lock file of the folder, locked. A file that is none is kept as it is."""
        path = os.path.join(self.path, LOCK)  # noqa: PTH118
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as e:
            raise FileError(f"{path}: {'a link' if e.errno == errno.ELOOP else e.strerror}, but no lock") from e
        lock, held = os.fdopen(number, "ab"), b""
        try:
            about = os.fstat(number)
            held = os.pread(number, 200, 0) if stat.S_ISREG(about.st_mode) else b""
            if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1 or (held and not held.startswith(b"process ")):
                raise FileError(f"{path}: a link, or no lock of a driver; remove it")
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            lock.close()
            if e.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise FileError(f"{path}: {e.strerror}") from e
            who = held.decode(errors="replace").strip()
            raise FileError(f"{self.name}: another driver writes here: {who or 'unknown'}") from e
        except BaseException:
            lock.close()
            raise
        return lock

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the system name the file. A name that no file can have is a ValueError."""
        try:
            yield
        except cl.ClearanceError:
            raise
        except (OSError, ValueError) as e:
            raise FileError(f"{self.name}: {getattr(e, 'strerror', None) or e}") from e


class Remote:
    """An object, or what is a folder of objects, of a filesystem of pyarrow."""

    def __init__(self, fs: Any, path: str, name: str) -> None:
        self.fs, self.path, self.name = fs, path, name

    def _at(self, path: str) -> Remote:
        """Another path of the filesystem, named as this one is."""
        head, mark, query = self.name.partition("?") if "://" in self.name else (self.name, "", "")
        if not head.endswith(self.path):
            return Remote(self.fs, path, path)
        return Remote(self.fs, path, head[: len(head) - len(self.path)] + path + mark + query)

    def __truediv__(self, name: str) -> Remote:
        return self._at(f"{self.path.rstrip('/')}/{name}")

    def is_parent(self, of: Local | Remote) -> bool:
        return isinstance(of, Remote) and PurePosixPath(of.path).parent == PurePosixPath(self.path)

    @property
    def key(self) -> str:
        return self.path

    def make(self) -> None:
        with self._errors():
            self.fs.create_dir(self.path, recursive=True)

    def find(self) -> list[Remote]:
        if not glob.has_magic(self.path) or self.exists():
            return [self]
        from pyarrow import fs

        parts = self.path.split("/")
        plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
        about = fs.FileSelector("/".join(parts[:plain]), allow_not_found=True, recursive=len(parts) > plain + 1)
        with self._errors():
            found = [i.path for i in self.fs.get_file_info(about) if i.type == fs.FileType.File]

        def fits(path: str) -> bool:
            each = path.split("/")
            return len(each) == len(parts) and all(map(fnmatch.fnmatchcase, each, parts))

        return [self._at(path) for path in sorted(filter(fits, found), key=file_order)]

    def _info(self) -> Any:
        with self._errors():
            return self.fs.get_file_info(self.path)

    def exists(self) -> bool:
        return bool(self._info().is_file)

    def names(self) -> list[str]:
        from pyarrow import fs

        with self._errors():
            return sorted(info.base_name for info in self.fs.get_file_info(fs.FileSelector(self.path)))

    def version(self) -> str:
        """Its size, its time of change and its ETag."""
        info = self._info()
        if not info.is_file:
            raise FileError(f"{self.name}: no object has such a name")
        known = getattr(getattr(self.fs, "handler", None), "fs", None)  # one of fsspec
        with self._errors():
            about = known.info(self.path) if known is not None else {}
        return f"{info.size}:{info.mtime_ns}:{about.get('ETag') or about.get('etag') or ''}"

    def identity(self) -> str:
        """Its version, and its SHA-256 if it has no ETag and its time is not that of a store, which nobody can set."""
        version = self.version()
        if self._tells(version):
            return version
        digest = hashlib.sha256()
        with self._errors(), self.fs.open_input_file(self.path) as f:
            while block := f.read(_BLOCK):
                digest.update(block)
        return version + digest.hexdigest()

    def stamp(self, digest: str) -> str:
        """The identity of a result that was written with this SHA-256."""
        version = self.version()
        return version if self._tells(version) else version + digest

    def _tells(self, version: str) -> bool:
        """Whether a version differs after any change: it has an ETag, or the time of a store."""
        below = self.fs
        while (base := getattr(below, "base_fs", None)) is not None:
            below = base
        return not version.endswith(":") or below.type_name in _STORES

    def holds(self, row: dict[str, Any]) -> bool:
        return bool(self.identity() == row["stamp"])

    def rows(self) -> int:
        if not self.path.endswith(".npz"):
            with self.reading(0, 0) as local:
                return cl.pair_rows(local)
        import numpy as np

        try:
            with (
                self._errors(),
                self.fs.open_input_file(self.path) as f,
                zipfile.ZipFile(f) as z,
                z.open("shape_a.npy") as member,
            ):
                one = np.lib.format.read_magic(member) == (1, 0)
                read = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
                return int(read(member)[0][0])
        except (KeyError, IndexError, ValueError, zipfile.BadZipFile) as e:
            raise FileError(f"{self.name}: {e}") from e

    def groups(self) -> list[int]:
        if not self.path.endswith(".parquet"):
            return []
        with self._errors(), self.fs.open_input_file(self.path) as f:
            return _groups(f)

    @contextlib.contextmanager
    def reading(self, lo: int, hi: int, head: int = 0) -> Iterator[str]:
        """A local file that has these rows, and the first ones, at their places. Errors of what is done with it name
        the object."""
        with tempfile.TemporaryDirectory(prefix="clearance-") as folder:
            local = os.path.join(folder, PurePosixPath(self.path).name)  # noqa: PTH118
            with self._errors(), self.fs.open_input_file(self.path) as f, open(local, "wb") as out:
                size = f.size()
                out.truncate(size)
                for first, end in _parquet(f, size, lo, hi, head) if self.path.endswith(".parquet") else [(0, size)]:
                    f.seek(first)
                    out.seek(first)
                    for at in range(first, end, _BLOCK):
                        out.write(f.read(min(_BLOCK, end - at)))
            with self._named(local):
                yield local

    @contextlib.contextmanager
    def writing(self) -> Iterator[str]:
        """The name of a local file, which is uploaded after the caller wrote it."""
        with tempfile.TemporaryDirectory(prefix="clearance-") as folder:
            local = os.path.join(folder, PurePosixPath(self.path).name)  # noqa: PTH118
            with self._named(local):
                yield local
            with open(local, "rb") as f:
                self._upload(f, Path(local).stat().st_size)

    def get(self) -> bytes:
        with self._errors(), self.fs.open_input_file(self.path) as f:
            return bytes(f.read())

    def put(self, data: bytes) -> None:
        self._upload(io.BytesIO(data), len(data))

    def _upload(self, source: BinaryIO, size: int) -> None:
        """Upload beside the name, and move it there: the end of a stream that failed may complete a part of it."""
        path = PurePosixPath(self.path)
        beside = str(path.with_name(f"{_UPLOAD}{path.name}-{secrets.token_hex(4)}"))
        try:
            with self._errors():
                with self.fs.open_output_stream(beside) as out:
                    while block := source.read(_BLOCK):
                        out.write(block)
                have = self.fs.get_file_info(beside).size
                if have != size:
                    raise FileError(f"{self.name}: {have} bytes of {size} were uploaded")
                self.fs.move(beside, self.path)
        except BaseException:
            with contextlib.suppress(Exception):
                self.fs.delete_file(beside)
            raise

    @contextlib.contextmanager
    def only_driver(self) -> Iterator[None]:
        """Hold the lock object of a folder. One of a process of this machine that has ended is taken over.

        Object stores have no exclusive creation that pyarrow reaches: of two drivers that begin at the same moment the
        one whose object stays goes on.
        """
        lock = self / LOCK
        if lock.exists():
            held = lock.get().decode(errors="replace")
            words = held.split()
            if " ".join(words[2:4]) != f"on {socket.gethostname()}" or os.path.exists(f"/proc/{words[1]}"):
                raise FileError(f"{self.name}: another driver writes here: {held}. If it has ended, delete {lock.name}")
        mine = f"{_owner()} {secrets.token_hex(8)}"
        lock.put(mine.encode())
        if (now := lock.get().decode(errors="replace")) != mine:
            raise FileError(f"{self.name}: another driver writes here: {now}")
        try:
            self._tidy()
            yield
        finally:
            with contextlib.suppress(Exception):
                self.fs.delete_file(lock.path)

    def _tidy(self) -> None:
        """Delete what uploads left that were killed."""
        from pyarrow import fs

        with self._errors():
            for info in self.fs.get_file_info(fs.FileSelector(self.path)):
                if info.is_file and info.base_name.startswith(_UPLOAD):
                    self.fs.delete_file(info.path)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the filesystem name the object."""
        try:
            yield
        except cl.ClearanceError:
            raise
        except (OSError, ValueError) as e:  # pyarrow's ArrowInvalid is a ValueError
            raise FileError(f"{self.name}: {e}") from e

    @contextlib.contextmanager
    def _named(self, local: str) -> Iterator[None]:
        """Errors of the library name the object in place of its copy."""
        try:
            yield
        except FileError as e:
            raise FileError(str(e).replace(local, self.name)) from e


def _groups(source: Any) -> list[int]:
    """The rows of each row group of a Parquet file, none if pyarrow cannot read it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(source)
    except pa.ArrowException:
        return []
    return [about.row_group(i).num_rows for i in range(about.num_row_groups)]


def _parquet(f: Any, size: int, lo: int, hi: int, head: int) -> list[tuple[int, int]]:
    """The ranges of bytes of a Parquet file that hold the first rows and the rows [lo, hi): its magic, row groups and
    its footer."""
    import pyarrow.parquet as pq

    f.seek(max(size - 8, 0))
    footer = int.from_bytes(f.read(4), "little")
    f.seek(0)
    about = pq.read_metadata(f)
    ranges, row = [(0, 4)], 0
    for i in range(about.num_row_groups):
        group = about.row_group(i)
        if row < head or (row < hi and row + group.num_rows > lo):
            chunks = [group.column(k) for k in range(group.num_columns)]
            first = [c.dictionary_page_offset or c.data_page_offset for c in chunks]
            ends = [at + c.total_compressed_size for at, c in zip(first, chunks, strict=True)]
            ranges.append((min(first), max(ends)))
        row += group.num_rows
    return [*ranges, (max(size - 8 - footer, 0), size)]
