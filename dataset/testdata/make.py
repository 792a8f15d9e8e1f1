"""Writes the golden files of this folder: python make.py (needs numpy and pyarrow).

Every file holds the same eleven pairs, see TestGolden, in another form.
"""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N = 11
rows = np.arange(N)


def vectors(width, start):
    return start + rows[:, None] + np.arange(width) / 8


columns = {
    "shape_a": rows,
    "shape_b": 100 - rows,
    "position_a": vectors(3, 0.5),
    "position_b": vectors(3, -20),
    "rotation_a": vectors(4, 1),
    "rotation_b": vectors(4, -7.25),
}


def cast(index, real):
    return {k: v.astype(index if k.startswith("shape") else real) for k, v in columns.items()}


np.savez("stored.npz", **cast("<i4", "<f8"))
np.savez_compressed("deflated_big_endian.npz", **cast(">i8", ">f4"))
for version in [(2, 0), (3, 0)]:
    with zipfile.ZipFile(f"version{version[0]}.npz", "w", zipfile.ZIP_DEFLATED) as z:
        for name, v in cast("<i8", ">f8").items():
            b = io.BytesIO()
            np.lib.format.write_array(b, v, version=version)
            z.writestr(name + ".npy", b.getvalue())


def table(kind, index, real, nullable):
    arrays, fields = [], []
    for name, v in cast(index, real).items():
        t = pa.from_numpy_dtype(v.dtype)
        if v.ndim > 1:
            t = pa.list_(pa.field("item", t, nullable), *([v.shape[1]] if kind == "fixed" else []))
        arrays.append(pa.array(v.tolist(), t))
        fields.append(pa.field(name, t, nullable))
    return pa.table(arrays, pa.schema(fields))


pq.write_table(table("list", "i8", "f4", True), "lists.parquet", row_group_size=4, compression="zstd")
pq.write_table(table("fixed", "i4", "f8", False), "fixed.parquet", data_page_version="2.0", compression="snappy")
pq.write_table(
    table("fixed", "i4", "f8", True), "fixed_gzip.parquet", row_group_size=3, compression="gzip", use_dictionary=False
)
