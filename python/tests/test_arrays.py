"""Arrays of callers: what is used as it is, what is copied, what is refused, and by what name."""

from __future__ import annotations

import array
import resource
from typing import Any, cast

import numpy as np
import pytest
from conftest import NO_TORCH, Pairs, every_kind, run_python
from test_answers import matrices

import clearance as cl
from clearance import _arrays

ARGUMENTS = ("a", "b", "pos_a", "quat_a", "pos_b", "quat_b")


class Interface:
    """An object that has only the array interface."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


class Capsule:
    """An object that has only DLPack."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class OnDevice(Capsule):
    """A tensor of a device that NumPy cannot read."""

    def __dlpack_device__(self) -> Any:
        return (2, 0)


def call(engine: cl.Engine, pairs: Pairs, **changes: Any) -> cl.Result:
    arguments = dict(zip(ARGUMENTS, pairs.arrays()[1:], strict=True))
    options = {k: changes.pop(k) for k in ("copy", "out", "columns") if k in changes}
    arguments |= changes
    return engine.distance(pairs.library, *arguments.values(), quat="wxyz", **options)


@pytest.fixture(scope="module")
def small() -> Pairs:
    return Pairs(every_kind(), 64, seed=4)


def test_no_copy(engine: cl.Engine, small: Pairs) -> None:
    """Arrays that fit pass with copy=False, whatever protocol hands them over, also if they are read-only."""
    want = call(engine, small, copy=False)
    frozen = small.pos_a.copy()
    frozen.flags.writeable = False
    for value in (
        frozen,
        Interface(small.pos_a),
        Capsule(small.pos_a),
        memoryview(small.pos_a),  # type: ignore[arg-type]
        np.concatenate([small.pos_a, small.pos_a])[: len(small.a)],
    ):
        assert call(engine, small, copy=False, pos_a=value).distance.tobytes() == want.distance.tobytes()


def test_one_copy(engine: cl.Engine, small: Pairs) -> None:
    """Arrays of another type or layout are copied once, and refused with copy=False."""
    want = call(engine, small)
    wide = np.zeros((len(small.a), 5))
    wide[:, :3] = small.pos_a
    for name, value in {
        "pos_a": wide[:, :3],
        "pos_b": np.asfortranarray(small.pos_b),
        "quat_a": small.quat_a.astype(">f8"),
        "a": small.a.astype(np.int64),
        "b": small.b.tolist(),
        "quat_b": small.quat_b.tolist(),
    }.items():
        assert call(engine, small, **{name: value}).distance.tobytes() == want.distance.tobytes()
        with pytest.raises(cl.CopyError) as error:
            call(engine, small, copy=False, **{name: value})
        assert error.value.array == name
    single = call(engine, small, pos_a=small.pos_a.astype(np.float32))
    assert np.abs(single.distance - want.distance).max() < 1e-5
    whole = call(engine, small, a=array.array("i", small.a.tolist()), copy=False)
    assert whole.distance.tobytes() == want.distance.tobytes()


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("pos_a", lambda v: v[:, :2], r"\[64, 2\], want \[64, 3\]"),
        ("pos_b", lambda v: v[:-1], r"\[63, 3\], want \[64, 3\]"),
        ("quat_a", lambda v: v.ravel(), r"want \[64, 4\]"),
        ("b", lambda v: v[:, None], r"want \[64\]"),
        ("a", lambda v: v.astype(float), "want integers"),
        ("pos_a", lambda v: v.astype(complex), "want real numbers"),
        ("pos_a", lambda v: np.full(v.shape, "x"), "want real numbers"),
        ("quat_b", lambda v: [[1, 2], [3]], "inhomogeneous"),
    ],
)
def test_refused(engine: cl.Engine, small: Pairs, name: str, change: Any, reason: str) -> None:
    with pytest.raises(cl.ArrayError, match=reason) as error:
        call(engine, small, **{name: change(getattr(small, name))})
    assert error.value.array == name


def test_index_beyond_int32(engine: cl.Engine, small: Pairs) -> None:
    big = small.a.astype(np.int64)
    big[7] = 1 << 40
    with pytest.raises(cl.ArrayError) as error:
        call(engine, small, a=big)
    assert (error.value.array, error.value.row) == ("a", 7)


def test_device(engine: cl.Engine, small: Pairs) -> None:
    """A tensor on a device is not read behind the caller's back with copy=False."""
    with pytest.raises(cl.CopyError, match="device"):
        call(engine, small, pos_a=OnDevice(small.pos_a), copy=False)


def test_out(engine: cl.Engine, small: Pairs) -> None:
    """Outputs of the caller are filled where they lie; those that do not fit are refused by name."""
    first = call(engine, small)
    again = call(engine, small, out=first)
    assert again.distance is first.distance and again.status is first.status
    mine = np.empty(64, np.float32)
    assert call(engine, small, out={"distance": mine}, columns=["distance"]).distance is mine
    assert mine.tobytes() == first.distance.tobytes()
    frozen = mine.copy()
    frozen.flags.writeable = False
    for bad in (np.empty(63, np.float32), np.empty(64), np.empty(128, np.float32)[::2], frozen):
        with pytest.raises(cl.ArrayError, match=r"out\.distance"):
            call(engine, small, out={"distance": bad})


def test_nothing_is_copied() -> None:
    """A call with all arrays given takes no memory in proportion to its rows: less than one column of them."""
    code = """
import resource, numpy as np, clearance as cl
lib = cl.Library(); a = lib.sphere(0.5); b = lib.box([1, 1, 1])
def pairs(n):
    rng = np.random.default_rng(1); q = np.zeros((n, 4)); q[:, 0] = 1
    return (np.full(n, a, np.int32), np.full(n, b, np.int32), rng.normal(0, 3, (n, 3)), q, np.zeros((n, 3)), q.copy())
with cl.Engine("cpu") as eng:
    small = pairs(100_000)
    for _ in range(3):
        eng.distance(lib, *small, quat="wxyz", copy=False, out=eng.distance(lib, *small, quat="wxyz"))
    big = pairs(4_000_000)
    names = cl._result.COLUMNS[:7] + ("method",)
    out = {n: np.ones(cl._result.column_shape(n, (4_000_000,)), cl._result.column_type(n, "single")) for n in names}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    r = eng.distance(lib, *big, quat="wxyz", copy=False, out=out, columns=names)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert r.distance is out["distance"] and not r.failed.any()
    print((after - before) * 1024 / 4_000_000)
"""
    run = run_python(code)
    assert run.returncode == 0, run.stderr
    per_row = float(run.stdout)
    assert per_row < 4, f"{per_row} bytes per row; a column of float32 has 4"


def test_page_size_is_known() -> None:
    """ru_maxrss counts kilobytes on Linux, which the test above relies on."""
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1 << 10


def test_torch(engine: cl.Engine, small: Pairs) -> None:
    """Tensors in, tensors out, in shared memory."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    want = call(engine, small)
    tensors = {n: torch.from_numpy(getattr(small, n)) for n in ARGUMENTS}
    got = call(engine, small, copy=False, **tensors)
    assert isinstance(got.distance, torch.Tensor) and isinstance(got.lower, torch.Tensor)
    assert got.distance.numpy().tobytes() == want.distance.tobytes()
    assert got.hit.dtype == torch.bool
    tensors["pos_a"].requires_grad_(True)
    with pytest.raises(cl.ArrayError, match=r"pos_a: requires a gradient.*detach\(\)"):
        call(engine, small, **tensors)
    with torch.no_grad():
        got = call(engine, small, copy=False, **tensors)
    assert cast("Any", got.distance).numpy().tobytes() == want.distance.tobytes()
    tensors["pos_a"] = tensors["pos_a"].detach()
    mine = torch.empty(len(small.a))
    got = call(engine, small, out={"distance": mine}, **tensors)
    assert cast("Any", got.distance).data_ptr() == mine.data_ptr()
    assert mine.numpy().tobytes() == want.distance.tobytes()
    with pytest.raises(cl.ArrayError, match=r"out\.distance"):
        call(engine, small, out={"distance": mine.double()}, **tensors)


def test_jax(engine: cl.Engine, small: Pairs) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install jax to run this test")
    jax.config.update("jax_enable_x64", True)
    value = jax.numpy.asarray(small.pos_a)
    assert call(engine, small, pos_a=value, copy=False).distance.tobytes() == call(engine, small).distance.tobytes()


class OnlyArray:
    """An object that converts itself, perhaps by a copy."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.array, dtype)


def test_objects_that_convert_themselves(engine: cl.Engine, small: Pairs) -> None:
    lib, a, b, pos_a, quat_a, pos_b, quat_b = small.arrays()
    want = engine.distance(lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
    arrays = (lib, a, b, OnlyArray(pos_a), quat_a, pos_b, quat_b)
    assert engine.distance(*arrays, quat="wxyz").distance.tobytes() == want.distance.tobytes()
    with pytest.raises(cl.CopyError, match=r"pos_a.*__array__"):
        engine.distance(*arrays, quat="wxyz", copy=False)


def test_options_are_not_ignored(engine: cl.Engine, small: Pairs) -> None:
    """A place for a column that the result does not have, and numbers that a C struct would cut, are errors."""
    n = len(small.a)
    out = {"distance": np.empty(n, np.float32), "distnace": np.empty(n, np.float32)}
    with pytest.raises(cl.OptionError, match="distnace"):
        engine.distance(*small.arrays(), quat="wxyz", out=out)
    with pytest.raises(cl.OptionError, match="normal"):
        engine.distance(*small.arrays(), quat="wxyz", columns=["gap"], out={"normal": np.empty((n, 3), np.float32)})
    with pytest.raises(cl.OptionError, match="max_distance"):
        engine.distance(*small.arrays(), quat="wxyz", cut_off=0.1)  # type: ignore[call-arg]
    with pytest.raises(cl.OptionError, match="max_factor"):
        engine.growth(*small.arrays(), quat="wxyz", cut_off=0.1)  # type: ignore[call-arg]
    for count in (1 << 32, -1, 1.5, True):
        with pytest.raises(cl.OptionError, match="max_iterations"):
            engine.distance(*small.arrays(), quat="wxyz", max_iterations=count)  # type: ignore[arg-type]
    with pytest.raises(cl.OptionError, match="workers"):
        cl.Engine("cpu", workers=(1 << 32) + 1)
    scene = cl.Scene()
    scene.add(scene.library.sphere(1))
    with pytest.raises(cl.OptionError, match="shape of a part"):
        scene.add(cl.Part(1 << 32))
    scene.add(0)
    scene.pairs = [(0, 1, 2)]  # type: ignore[list-item]
    with pytest.raises(cl.OptionError, match="pairs"):
        engine.rollout(scene, worlds=1)
    scene.pairs = [(0, 1 << 32)]
    with pytest.raises(cl.ArrayError, match=r"pairs\[0\]"):
        engine.rollout(scene, worlds=1)


class WithGradient(OnlyArray):
    """A tensor whose gradient is asked for."""

    requires_grad = True


def test_gradients_are_not_lost(engine: cl.Engine, small: Pairs) -> None:
    """A tensor that requires a gradient is refused wherever a call takes arrays, with what to do."""
    lib, a, b, pos_a, quat_a, pos_b, quat_b = small.arrays()
    advice = r"requires a gradient.*detach\(\)"
    for i, name in enumerate(ARGUMENTS):
        arrays = [a, b, pos_a, quat_a, pos_b, quat_b]
        order = (0, 1, 2, 3, 4, 5)
        arrays[order[i]] = WithGradient(arrays[order[i]])
        for copy in (True, False):
            with pytest.raises(cl.ArrayError, match=advice) as error:
                engine.distance(lib, *arrays, quat="wxyz", copy=copy)
            assert error.value.array == name
    with pytest.raises(cl.ArrayError, match=rf"out\.distance: {advice}"):
        call(engine, small, out={"distance": WithGradient(np.empty(64, np.float32))})
    scene = cl.Scene(lib, [cl.Body((cl.Part(0),)), cl.Body((cl.Part(1),))], [(0, 1)])
    poses = np.zeros((1, 2, 2, 7))
    poses[..., 3] = 1
    with engine.rollout(scene, worlds=1) as roll:
        with pytest.raises(cl.ArrayError, match=rf"poses: {advice}"):
            roll(WithGradient(poses[0, :1]), quat="wxyz")
        with pytest.raises(cl.ArrayError, match=rf"xpos: {advice}"):
            roll(xpos=WithGradient(poses[0, :1, :, :3]), xmat=np.tile(np.eye(3), (1, 2, 1, 1)))
    with pytest.raises(cl.ArrayError, match=rf"poses: {advice}"):
        engine.sweep(scene, WithGradient(poses), quat="wxyz")
    with pytest.raises(cl.ArrayError, match=rf"radius: {advice}"):
        lib.sphere(WithGradient(1.0))


def test_tracers_of_jax(engine: cl.Engine, small: Pairs) -> None:
    """What JAX traces has no numbers: the error says how to call."""
    kind = type("DynamicJaxprTracer", (OnlyArray,), {"__module__": "jax._src.interpreters.partial_eval"})
    with pytest.raises(cl.ArrayError, match=r"pos_a: is a DynamicJaxprTracer.*pure_callback"):
        call(engine, small, pos_a=kind(small.pos_a))


class Faulty:
    """An object whose conversion fails in its own way."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("not today")


def test_conversions_that_fail(engine: cl.Engine, small: Pairs) -> None:
    with pytest.raises(cl.ArrayError, match=r"pos_a: is a Faulty that is no array: not today"):
        call(engine, small, pos_a=Faulty())


def test_one_value_for_all_rows(engine: cl.Engine, small: Pairs) -> None:
    """An argument without the axis of rows is that of all rows; one of another length stays an error."""
    n = len(small.a)
    lib, a, b, pos_a, quat_a, pos_b, quat_b = small.arrays()
    full = engine.distance(
        lib,
        np.full(n, 3, np.int32),
        b,
        np.tile(pos_a[0], (n, 1)),
        np.tile(quat_a[0], (n, 1)),
        pos_b,
        quat_b,
        quat="wxyz",
    )
    one = engine.distance(lib, 3, b, pos_a[0], quat_a[0].tolist(), pos_b, quat_b, quat="wxyz")
    assert one.distance.tobytes() == full.distance.tobytes()
    rotated = engine.distance(lib, 3, b, pos_a[0], np.roll(quat_a[0], -1), pos_b, np.roll(quat_b, -1, 1), quat="xyzw")
    assert rotated.distance.tobytes() == full.distance.tobytes()
    single = engine.distance(lib, 3, int(b[0]), pos_a[0], quat_a[0], pos_b[0], quat_b[0], quat="wxyz")
    assert single.distance.tobytes() == full.distance[:1].tobytes()
    with pytest.raises(cl.CopyError, match="pos_a: is one for all rows"):
        engine.distance(lib, a, b, pos_a[0], quat_a, pos_b, quat_b, quat="wxyz", copy=False)
    with pytest.raises(cl.ArrayError, match=r"pos_a: has the shape \[1, 3\], want \[64, 3\]"):
        engine.distance(lib, a, b, pos_a[:1], quat_a, pos_b, quat_b, quat="wxyz")
    with pytest.raises(cl.ArrayError, match=r"pos_b: has the shape \[64, 3\], want \[63, 3\]"):
        engine.distance(lib, 0, 1, pos_a[:-1], quat_a[0], pos_b, quat_b, quat="wxyz")


def test_matrices(engine: cl.Engine, small: Pairs) -> None:
    """Rotation matrices, and homogeneous ones, in place of quaternions."""
    lib, a, b, pos_a, quat_a, pos_b, quat_b = small.arrays()
    want = call(engine, small, columns=["distance", "gap"])
    unit = [q / np.linalg.norm(q, axis=1, keepdims=True) for q in (quat_a, quat_b)]
    rot = [matrices(q) for q in unit]
    near = engine.distance(lib, a, b, pos_a, rot[0], pos_b, rot[1], quat="matrix")
    assert (np.abs(near.distance - want.distance) <= near.gap + want.gap + 1e-13).all()
    whole = [np.zeros((len(a), 4, 4)) for _ in "ab"]
    for t, r, p in zip(whole, rot, (pos_a, pos_b), strict=True):
        t[:, :3, :3], t[:, :3, 3], t[:, 3, 3] = r, p, 1
    same = engine.distance(lib, a, b, *cl.transforms(whole[0]), *cl.transforms(whole[1]), quat="wxyz")
    assert same.distance.tobytes() == near.distance.tobytes()
    one = engine.distance(lib, a, b, pos_a, rot[0][0], pos_b, rot[1], quat="matrix")
    assert one.distance[0] == near.distance[0]
    with pytest.raises(cl.ArrayError, match=r"quat_b: has the shape \[64, 4\], want \[N, 3, 3\]"):
        engine.distance(lib, a, b, pos_a, rot[0], pos_b, quat_b, quat="matrix")
    with pytest.raises(cl.CopyError, match="quat_a"):
        engine.distance(lib, a, b, pos_a, rot[0], pos_b, rot[1], quat="matrix", copy=False)
    with pytest.raises(cl.ArrayError, match=r"matrices\[0\]: the last row"):
        cl.transforms(np.swapaxes(whole[0], -1, -2))
    with pytest.raises(cl.ArrayError, match=r"matrices: has the shape \[64, 3, 3\]"):
        cl.transforms(rot[0])
    mirrored = rot[0].copy()
    mirrored[5] *= -1
    r = engine.distance(lib, a, b, pos_a, mirrored, pos_b, rot[1], quat="matrix")
    assert np.flatnonzero(r.failed).tolist() == [5]


def test_overlapping_arrays(engine: cl.Engine, small: Pairs) -> None:
    """An output that shares memory with an input or another output is refused before a row is written."""
    n = len(small.a)
    memory = np.zeros(8 * n)
    single = memory.view(np.float32)
    for out in (
        {"distance": single[:n], "gap": single[n - 1 : 2 * n - 1]},
        {"distance": single[:n], "normal": single[: 3 * n].reshape(n, 3)},
        {"status": memory.view(np.uint8)[3 : n + 3], "gap": single[:n]},
    ):
        with pytest.raises(cl.OptionError, match="overlap"):
            call(engine, small, out=out)
    memory[: 3 * n] = small.pos_a.ravel()
    for name in ("distance", "normal"):
        size = n if name == "distance" else 3 * n
        out = {name: single[size : 2 * size].reshape((n, 3) if size > n else (n,))}
        with pytest.raises(cl.OptionError, match=f"{name} and position_a overlap|position_a and {name} overlap"):
            call(engine, small, pos_a=memory[: 3 * n].reshape(n, 3), out=out)
    assert memory[: 3 * n].tobytes() == small.pos_a.tobytes()
    r = call(engine, small, pos_a=memory[: 3 * n].reshape(n, 3), out={"distance": single[6 * n : 7 * n]})
    assert r.distance.tobytes() == call(engine, small).distance.tobytes()
    scene = cl.Scene(small.library, [cl.Body((cl.Part(0),)), cl.Body((cl.Part(1),))], [(0, 1)])
    poses = np.zeros((32, 2, 7))
    poses[..., 3] = 1
    with engine.rollout(scene, worlds=32) as roll:
        parts = poses.view(np.int32).ravel()[:32].reshape(32, 1)
        with pytest.raises(cl.OptionError, match="overlap"):
            roll(poses, quat="wxyz", out={"part_a": parts})
        both = np.zeros(40, np.int32)
        with pytest.raises(cl.OptionError, match="part_a and part_b overlap"):
            roll(poses, quat="wxyz", out={"part_a": both[:32, None], "part_b": both[8:, None]})


def test_large_conversions() -> None:
    """What several threads copy has the values that NumPy's own conversions give; the first bad index is named."""
    rng = np.random.default_rng(8)
    rows = 600_001
    wide = rng.integers(0, 9, rows)
    np.testing.assert_array_equal(_arrays.fit("a", wide, np.int32, (), rows, True), wide.astype(np.int32))
    single = rng.normal(size=(rows, 3)).astype(np.float32)
    others = np.asfortranarray(single.astype(np.float64)), single.astype(">f8"), wide[:21].reshape(7, 3)
    for given in (single, *others):
        found = _arrays.fit("pos_a", given, np.float64, (3,), None, True)
        np.testing.assert_array_equal(found, given.astype(np.float64))
        assert found.flags.carray and found.dtype == np.dtype(np.float64)
    for shape, order in [((rows, 4), (3, 0, 1, 2)), ((rows // 9, 9, 7), (0, 1, 2, 6, 3, 4, 5)), ((4,), (3, 0, 1, 2))]:
        quat = rng.normal(size=shape)
        np.testing.assert_array_equal(_arrays.reordered(quat, order), quat[..., list(order)])
    wide[[400_000, 599_999]] = 1 << 40
    with pytest.raises(cl.ArrayError, match=r"1099511627776 is not an index") as e:
        _arrays.fit("a", wide, np.int32, (), rows, True)
    assert e.value.row == 400_000
