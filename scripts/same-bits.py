#!/usr/bin/env python3
"""Compares the answers of two builds of batchbench, bit for bit.

    same-bits.py record  BATCHBENCH FOLDER   # answers of the old build
    same-bits.py compare BATCHBENCH FOLDER   # the same questions to the new build

`record` generates the pairs (every set of `batchbench generate`, and a set of all kinds
of shapes in all ordered pairs, which this script writes) and stores the answers of every
query x precision x method x back end as NPZ. `compare` asks the same of another build and
compares every column; the solver of a row is compared by name, as codes may change
between versions. It exits with 1 and lists the columns that differ. Only the standard
library is used. `--backends` restricts the back ends: ref, off, portable, avx2, avx512, vulkan.
"""

import argparse
import array
import json
import math
import random
import struct
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SETS = {
    "ellipsoids": 3000, "boxes": 3000, "capsule-cylinder-cone": 3000, "hull8": 3000, "hull32": 3000,
    "hull128": 1500, "hull512": 1000, "mixed": 6000, "adversarial": 4000,
}  # fmt: skip
KINDS_ROWS = 8  # poses of every ordered pair of the set of all kinds
QUERIES = ["distance", "collide", "penetration", "growth"]
COLUMNS = "distance,gap,normal,witness_a,witness_b,status,iterations,method"

# Codes of the method column before solvers had codes of their own.
OLD_SOLVERS = ["none", "gjk", "nesterov", "polyak", "rtr", "closed_form", "axes", "epa", "newton"]


def npy(values, typecode, shape):
    descr = {"i": "<i4", "d": "<f8"}[typecode]
    dims = "(" + "".join(f"{n}," for n in shape) + ")"
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {dims}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.array(typecode, values).tobytes()


def all_kinds():
    """Two shapes of every kind, one of them with a margin."""
    rnd = random.Random(12)
    angles = [0.1, 1.2, 2.0, 3.3, 4.1, 5.5]
    ring = [[0.3 * math.cos(t), 0.3 * math.sin(t), 0.2 * (-1) ** i] for i, t in enumerate(angles)]
    cloud = [[rnd.gauss(0, 0.25) for _ in range(3)] for _ in range(40)]
    shapes = []
    for margin in (0.0, 0.03):
        s = 1.0 + 7 * margin
        shapes += [
            {"kind": "sphere", "radius": 0.3 * s},
            {"kind": "capsule", "radius": 0.1 * s, "half_length": 0.4},
            {"kind": "cylinder", "radius": 0.3 * s, "half_length": 0.2},
            {"kind": "cone", "radius": 0.35 * s, "half_length": 0.3},
            {"kind": "frustum", "radius_bottom": 0.3 * s, "radius_top": 0.15, "half_length": 0.25},
            {"kind": "box", "half_extents": [0.2 * s, 0.3, 0.4]},
            {"kind": "ellipsoid", "semi_axes": [0.2, 0.3 * s, 0.45]},
            {"kind": "superquadric", "semi_axes": [0.3, 0.25 * s, 0.4], "exponents": [0.4 * s, 1.3]},
            {"kind": "smooth_hull", "vertices": ring + [[0, 0, 0.4 * s], [0, 0.05, -0.4]], "sharpness": 12 * s},
            {"kind": "smooth_revolution", "profile": [[0.3 * s, -0.2], [0.35, 0.1], [0.1, 0.4]],
             "sharpness": 10 * s, "flatness": 5},
            {"kind": "convex", "vertices": cloud if margin else ring},
            {"kind": "halfspace"},
        ]  # fmt: skip
        for shape in shapes[-12:]:
            shape["margin"] = margin
    return shapes


def write_kinds(folder):
    shapes = all_kinds()
    (folder / "kinds.json").write_text(json.dumps({"version": 1, "shapes": shapes}))
    rnd = random.Random(34)
    a, b, pa, pb, qa, qb = [], [], [], [], [], []
    for i in range(len(shapes)):
        for j in range(len(shapes)):
            if shapes[i]["kind"] == shapes[j]["kind"] == "halfspace":
                continue
            for k in range(KINDS_ROWS):
                a.append(i)
                b.append(j)
                spread = [0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 3.0][k % 8]
                at = [rnd.uniform(-2, 2) for _ in range(3)]
                pa += at
                pb += [x + rnd.gauss(0, spread) for x in at]
                qa += [rnd.gauss(0, 1) for _ in range(4)]
                qb += [rnd.gauss(0, 1) for _ in range(4)]
    with zipfile.ZipFile(folder / "kinds.npz", "w") as z:
        n = len(a)
        for name, v, t, shape in [
            ("shape_a", a, "i", (n,)), ("shape_b", b, "i", (n,)),
            ("position_a", pa, "d", (n, 3)), ("position_b", pb, "d", (n, 3)),
            ("rotation_a", qa, "d", (n, 4)), ("rotation_b", qb, "d", (n, 4)),
        ]:  # fmt: skip
            z.writestr(name + ".npy", npy(v, t, shape))


def questions(backends, sets):
    for backend in backends:
        for name in sets:
            for query in QUERIES:
                for precision in ("single", "double"):
                    methods = ["auto", "gjk", "rtr"] + (["nesterov", "polyak"] if name == "kinds" else [])
                    if backend == "vulkan" and name != "kinds":
                        methods = ["auto"]
                    if query == "growth":  # has one method
                        methods = ["auto"]
                    if backend == "ref" and name not in ("kinds", "mixed", "adversarial"):
                        methods = ["auto"]
                    for method in methods:
                        yield backend, name, query, precision, method


def ask(binary, folder, out, question):
    backend, name, query, precision, method = question
    args = [binary, "score", "--shapes", folder / f"{name}.json", "--pairs", folder / f"{name}.npz", "--out", out,
            "--query", query, "--precision", precision, "--method", method, "--columns", COLUMNS]  # fmt: skip
    if backend in ("ref", "vulkan"):
        args += ["--backend", backend]
    else:
        args += ["--backend", "cpu", "--simd", backend]
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    # 2 with a file: rows without an answer by their input, as flat pairs without a growth distance.
    if done.returncode not in (0, 1, 2) or not out.exists():
        raise SystemExit(f"{' '.join(map(str, args))}\n{done.stdout}{done.stderr}")


def columns(path):
    out, meta = {}, {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            data = z.read(name)
            if data[:6] != b"\x93NUMPY":
                continue
            size = struct.unpack("<H", data[8:10])[0] + 10
            head = eval(data[10:size])  # noqa: S307, written by our own build
            (out if head["shape"] else meta)[name.removesuffix(".npy")] = (head["descr"], data[size:])
    return out, meta


def solver_names(meta):
    """The names of the codes of the method column: in the file, or those of old files."""
    for key, (descr, data) in meta.items():
        if "solver" in key:
            text = data.decode("utf-32-le") if descr.startswith("<U") else data.decode()
            pairs = (item.split("=") for item in text.strip("\0 ").replace(",", " ").split())
            return {int(code): name for code, name in (p if p[0].isdigit() else reversed(p) for p in pairs)}
    return dict(enumerate(OLD_SOLVERS))


def differences(old, new):
    a, ma = columns(old)
    b, mb = columns(new)
    wrong = sorted(set(a) ^ set(b))
    for name in sorted(set(a) & set(b)):
        (da, xa), (db, xb) = a[name], b[name]
        if name == "method":
            na, nb = solver_names(ma), solver_names(mb)
            if [na[c] for c in xa] != [nb[c] for c in xb]:
                wrong.append(name)
        elif (da, xa) != (db, xb):
            width = int(da[2:])
            rows = sum(xa[i : i + width] != xb[i : i + width] for i in range(0, len(xa), width)) if da == db else "all"
            wrong.append(f"{name} ({rows} values)")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("batchbench", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backends", default="ref,off,portable,avx2,avx512,vulkan")
    parser.add_argument("--sets", default="")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    folder, began = args.folder, time.time()
    folder.mkdir(parents=True, exist_ok=True)
    if args.what == "record":
        for name, pairs in SETS.items():
            command = [args.batchbench, "generate", "--set", name, "--pairs", pairs, "--seed", 7,
                       "--shapes", folder / f"{name}.json", "--out", folder / f"{name}.npz"]  # fmt: skip
            subprocess.run([str(a) for a in command], check=True, stdout=subprocess.DEVNULL)
        write_kinds(folder)
    sets = args.sets.split(",") if args.sets else [*SETS, "kinds"]
    todo = list(questions(args.backends.split(","), sets))

    def one(question):
        old = folder / ("answers-" + "-".join(question) + ".npz")
        if args.what == "record":
            ask(args.batchbench, folder, old, question)
            return []
        new = folder / ("new-" + "-".join(question) + ".npz")
        ask(args.batchbench, folder, new, question)
        wrong = differences(old, new)
        new.unlink()
        return wrong

    bad = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for question, wrong in zip(todo, pool.map(one, todo)):
            if wrong:
                bad += 1
                print("different:", *question, "|", "; ".join(wrong))
    print(f"{args.what}: {len(todo)} questions, {bad} with different answers, {time.time() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
