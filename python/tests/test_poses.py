"""Forms of poses: matrices, pairs, objects, positions with quaternions. All of them have the bits of four arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from conftest import NO_TORCH, every_kind

import clearance as cl
from clearance._kinematics import converted, quaternions
from clearance._poses import read

N = 48
COLUMNS = ("distance", "gap", "normal", "witness_a", "witness_b", "status")


def rotations(n: int, seed: int) -> Any:
    """Rotation matrices [n,3,3]: those of quaternions, to rounding."""
    q = np.random.default_rng(seed).normal(size=(n, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)


def homogeneous(position: Any, rotation: Any) -> Any:
    matrix = np.zeros((*position.shape[:-1], 4, 4))
    matrix[..., :3, 3], matrix[..., :3, :3], matrix[..., 3, 3] = position, rotation, 1
    return matrix


class Setup:
    """Pairs, their rotations as matrices and as quaternions."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.library = every_kind()
        self.a, self.b = (rng.integers(0, len(self.library), N, dtype=np.int32) for _ in range(2))
        self.pos = [rng.normal(0, 2, (N, 3)) for _ in range(2)]
        self.rotation = [rotations(N, s) for s in (1, 2)]
        self.matrix = [homogeneous(p, r) for p, r in zip(self.pos, self.rotation, strict=True)]
        self.quat = [quaternions(r) for r in self.rotation]

    def four(self) -> tuple[Any, ...]:
        return self.pos[0], self.quat[0], self.pos[1], self.quat[1]


@pytest.fixture(scope="module")
def pairs() -> Setup:
    return Setup()


class Frame:
    """A pose whose rotation and translation are methods, as those of Drake."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def rotation(self) -> Any:
        return self.matrix[:3, :3]

    def translation(self) -> Any:
        return self.matrix[:3, 3]


def objects(matrices: Any) -> Any:
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")
    return [pin.SE3(m) for m in matrices]


def scipys(matrices: Any) -> Any:
    transform: Any = pytest.importorskip("scipy.spatial.transform", reason="SciPy is not installed")
    return transform.RigidTransform.from_matrix(matrices)


def xyzw(p: Any, q: Any) -> Any:
    return p, np.roll(q, -1, axis=-1)


# Forms of one side, of position, quaternion "wxyz", rotation matrix and homogeneous matrix; and what quat is.
FORMS: dict[str, tuple[Callable[[Any, Any, Any, Any], Any], Any]] = {
    "matrices": (lambda p, q, r, m: m, None),
    "nested lists": (lambda p, q, r, m: m.tolist(), None),
    "a list of matrices": (lambda p, q, r, m: list(m), None),
    "a pair": (lambda p, q, r, m: (p, q), "wxyz"),
    "a pair of lists": (lambda p, q, r, m: (p.tolist(), q.tolist()), "wxyz"),
    "a pair xyzw": (lambda p, q, r, m: xyzw(p, q), "xyzw"),
    "a pair with matrices": (lambda p, q, r, m: (p, r), None),
    "a list of pairs": (lambda p, q, r, m: list(zip(p, q, strict=True)), "wxyz"),
    "seven numbers": (lambda p, q, r, m: np.concatenate([p, q], axis=-1), "wxyz"),
    "SE3": (lambda p, q, r, m: objects(m), None),
    "an array of SE3": (lambda p, q, r, m: np.array([None, *objects(m)], object)[1:], None),
    "methods": (lambda p, q, r, m: [Frame(x) for x in m], None),
    "RigidTransform": (lambda p, q, r, m: scipys(m), None),
    "a list of RigidTransform": (lambda p, q, r, m: [scipys(x) for x in m], None),
}


def sides(pairs: Setup, name: str) -> list[Any]:
    form = FORMS[name][0]
    return [form(*x) for x in zip(pairs.pos, pairs.quat, pairs.rotation, pairs.matrix, strict=True)]


@pytest.mark.parametrize("name", FORMS)
def test_forms_have_the_same_bits(engine: cl.Engine, pairs: Setup, name: str) -> None:
    """Each form asks about the numbers of the four arrays; RigidTransform makes its matrices anew."""
    a, b = sides(pairs, name)
    quat = FORMS[name][1]
    given = read([a, b], {}, quat, True)
    want = [np.roll(x, -1, axis=-1) if i % 2 and given.order == "xyzw" else x for i, x in enumerate(pairs.four())]
    if "Rigid" in name:  # which orthonormalizes
        assert all(np.abs(x - y).max() < 4e-15 for x, y in zip(given.values, want, strict=True))
    else:
        assert all(np.asarray(x).tobytes() == y.tobytes() for x, y in zip(given.values, want, strict=True))
    got = engine.distance(pairs.library, pairs.a, pairs.b, a, b, quat=quat)
    four = engine.distance(pairs.library, pairs.a, pairs.b, *given.values, quat=cast("Any", given.order))
    for column in COLUMNS:
        assert getattr(got, column).tobytes() == getattr(four, column).tobytes(), column
    were_converted = quat is None
    assert (0 < got.report.rotation_error < 3e-14) == were_converted and (
        got.report.rotation_error == 0
    ) != were_converted


def test_every_query(engine: cl.Engine, pairs: Setup) -> None:
    """All queries of pairs, products, contact points and pages take all forms, and one form for each side."""
    lib, a, b = pairs.library, pairs.a, pairs.b
    ta, tb = pairs.matrix
    four = pairs.four()
    for query in ("distance", "collide", "penetration", "growth"):
        ask: Any = getattr(engine, query)
        want = ask(lib, a, b, *four, quat="wxyz")
        for got in (
            ask(lib, a, b, ta, tb),
            ask(lib, a, b, pose_a=ta, pose_b=tb),
            ask(lib, a, b, ta, pose_b=(four[2], four[3]), quat="wxyz"),
            ask(lib, a, b, xyzw(*four[:2]), tb, quat="xyzw"),
            ask(lib, a, b, *four[:2], pos_b=four[2], quat_b=four[3], quat="wxyz"),
            engine.query(cast("Any", query), lib, a, b, ta, tb),
        ):
            assert got.status.tobytes() == want.status.tobytes()
            assert got.distance is None or got.distance.tobytes() == want.distance.tobytes()
    g = engine.vjp("distance", lib, a, b, *four, quat="wxyz", distance=1.0)
    assert engine.vjp("distance", lib, a, b, ta, tb, distance=1.0).tobytes() == g.tobytes()
    twists = np.ones((N, 12))
    t = engine.jvp("distance", lib, a, b, *four, twists, quat="wxyz")
    for tangent in (
        engine.jvp("distance", lib, a, b, ta, tb, twists),
        engine.jvp("distance", lib, a, b, ta, tb, twists=twists),
    ):
        assert tangent.distance.tobytes() == t.distance.tobytes()
    points = engine.contacts(lib, a, b, ta, tb, max_gap=0.5)
    assert points.position.tobytes() == engine.contacts(lib, a, b, *four, quat="wxyz", max_gap=0.5).position.tobytes()
    assert 0 < points.report.rotation_error < 3e-14


def test_one_pose_for_all_rows(engine: cl.Engine, pairs: Setup) -> None:
    lib, a, b = pairs.library, pairs.a, pairs.b
    r = engine.distance(lib, a, b, np.eye(4), pairs.matrix[1])
    want = engine.distance(lib, a, b, [0, 0, 0], [1, 0, 0, 0], pairs.pos[1], pairs.quat[1], quat="wxyz")
    assert r.distance.tobytes() == want.distance.tobytes()
    single = engine.distance(lib, 0, 1, ((0.0, 0, 0), (0, 0, 0, 1.0)), ((3.0, 0, 0), (0, 0, 0, 1.0)), quat="xyzw")
    assert single.distance.shape == (1,)


def test_leading_axes(engine: cl.Engine, pairs: Setup) -> None:
    """Axes of length 1 are repeated, as NumPy has it, and gradients are added up along them."""
    lib = pairs.library
    ta, tb = pairs.matrix[0][:6].reshape(2, 1, 3, 4, 4), pairs.matrix[1][:4].reshape(4, 1, 4, 4)
    a, b = pairs.a[:3], pairs.b[:8].reshape(2, 4, 1)
    r = engine.distance(lib, a, b, ta, tb, grad=True)
    assert r.distance.shape == r.hit.shape == r.lower.shape == (2, 4, 3) and r.normal.shape == (2, 4, 3, 3)
    full = [np.ascontiguousarray(np.broadcast_to(x, (2, 4, 3, 4, 4))).reshape(24, 4, 4) for x in (ta, tb)]
    flat = [np.ascontiguousarray(np.broadcast_to(x, (2, 4, 3))).ravel() for x in (a, b)]
    want = engine.distance(lib, *flat, *full, grad=True)
    assert r.distance.tobytes() == want.distance.tobytes() and r.vjp(distance=1.0).shape == (2, 4, 3, 12)
    pose_a, pose_b = ((m[..., :3, 3], quaternions(m[..., :3, :3])) for m in (ta, tb))
    g = engine.distance(lib, a, b, pose_a, pose_b, quat="wxyz", grad=True).vjp(distance=1.0, wrt="poses")
    each = [(m[:, :3, 3], quaternions(m[:, :3, :3])) for m in full]
    rows = engine.distance(lib, *flat, *each, quat="wxyz", grad=True).vjp(distance=1.0, wrt="poses")
    assert g.pos_a.shape == (2, 1, 3, 3) and g.quat_b.shape == (4, 1, 4)
    # The same numbers are added up, in another order: 8 of at most 1e3.
    np.testing.assert_allclose(g.pos_a, rows.pos_a.reshape(2, 4, 3, 3).sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(g.quat_b, rows.quat_b.reshape(2, 4, 3, 4).sum(axis=(0, 2))[:, None], atol=1e-12)
    with pytest.raises(
        cl.ArrayError, match=r"pose_b: has the shape \[3, 1, 4, 4\], want \[2, 4, 3, 4, 4\], .*of pose_a"
    ):
        engine.distance(lib, a, b, np.tile(ta, (1, 4, 1, 1, 1)), tb[:3])
    bare = engine.distance(lib, a, b, ta, tb)
    with pytest.raises(cl.OptionError, match="free entries"):
        r.vjp(distance=1.0, wrt="poses")
    assert bare.smoothness is None


def exact(q: Any) -> list[list[Fraction]]:
    """The rotation matrix of a quaternion of any length, without rounding."""
    w, x, y, z = (Fraction(float(v)) for v in q)
    s = w * w + x * x + y * y + z * z
    rows = (
        (w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )
    return [[v / s for v in row] for row in rows]


def apart(matrix: Any, q: Any) -> float:
    """The Frobenius norm of the difference of a matrix from that of a quaternion, from exact numbers."""
    want = exact(q)
    squares = sum((Fraction(float(matrix[i, j])) - want[i][j]) ** 2 for i in range(3) for j in range(3))
    return math.sqrt(squares)


@pytest.mark.parametrize("spread", [0, 1e-12, 1e-7, 1e-4])
def test_the_error_of_matrices_is_bounded(spread: float) -> None:
    """What is reported bounds the difference, computed without rounding, and is not much more than it."""
    rng = np.random.default_rng(7)
    matrices = rotations(200, 3) + rng.uniform(-1, 1, (200, 3, 3)) * spread
    angles = 10.0 ** rng.uniform(-12, 0, 40)  # about half rotations and none, where formulas change
    for k, t in enumerate(np.concatenate([angles, np.pi - angles])):
        c, s = np.cos(t), np.sin(t)
        matrices[k] = np.roll([[1, 0, 0], [0, c, -s], [0, s, c]], (k % 3, k % 3), axis=(0, 1))
    q, bound = converted(matrices)
    largest = max(apart(m, x) for m, x in zip(matrices, q, strict=True))
    assert largest <= bound <= largest + 2e-14
    if spread == 0:
        assert bound < 2e-14
    assert converted(matrices[:1])[0].tobytes() == q[:1].tobytes()


def test_bounds_hold_for_the_matrices(engine: cl.Engine) -> None:
    """A box whose matrix is no rotation by 1e-4: its true distance lies within gap and rotation error times radius."""
    lib = cl.Library()
    box, ball = lib.box([1, 1, 1]), lib.sphere(0.1)
    stretched = np.eye(4)
    stretched[0, 0] = 1 + 1e-4  # the corners move by 1e-4, and so does the face toward the ball
    there = np.eye(4)
    there[0, 3] = 3
    r = engine.distance(lib, box, ball, stretched, there, precision="double")
    true, reach = 3 - 0.1 - (1 + 1e-4), math.sqrt(3)
    assert abs(r.distance[0] - true) > r.gap[0]  # it is that of the rotation
    assert 9e-5 < r.report.rotation_error < 2e-4
    assert abs(r.distance[0] - true) <= r.gap[0] + r.report.rotation_error * (reach + 0.1)
    assert "the matrices differ from rotations by 0.0001 at most" in repr(r)


def test_invalid_rows_are_named(engine: cl.Engine, pairs: Setup) -> None:
    """A matrix that is no rotation costs its row, whose error names argument, row and column."""
    lib = pairs.library
    changes: list[tuple[Callable[[Any], Any], str]] = [
        (lambda m: m.__setitem__((5, 0, 2), np.nan), "the rotation has nan in row 0, column 2"),
        (lambda m: m.__setitem__((5, slice(3), 1), 2 * m[5, :3, 1]), "R·Rᵀ differs from the identity by .* in row"),
        (lambda m: m.__setitem__((5, slice(3), 0), -m[5, :3, 0]), "determinant -1: it is a reflection"),
    ]
    for change, reason in changes:
        wrong = pairs.matrix[1].copy()
        change(wrong)
        r = engine.distance(lib, pairs.a, pairs.b, pairs.matrix[0], wrong)
        assert np.flatnonzero(r.failed).tolist() == [5] and r.hit[5]
        with pytest.raises(cl.RowError, match=reason) as e:
            r.raise_if_failed()
        assert (e.value.array, e.value.row) == ("pose_b", 5)
        grid = engine.distance(lib, 0, 1, pairs.matrix[0][:2, None], wrong[None])
        assert grid.report.error is not None and grid.report.error[:2] == ("pose_b", 5)
        with pytest.raises(cl.RowError, match=reason):
            grid.raise_if_failed()
        points = engine.contacts(lib, pairs.a, pairs.b, pairs.matrix[0], wrong, max_gap=0.1)
        assert points.report.error is not None and points.report.error[0] == "pose_b"
    with pytest.raises(cl.RowError, match=r"quat_a\[0\]: the rotation R is none"):
        engine.distance(lib, 0, 1, [0, 0, 0], 2 * np.eye(3), [3, 0, 0], np.eye(3), quat="matrix").raise_if_failed()
    moved = pairs.pos[0].copy()
    moved[3, 1] = np.inf
    r = engine.distance(lib, pairs.a, pairs.b, (moved, pairs.quat[0]), pairs.matrix[1], quat="wxyz")
    assert r.report.error is not None and r.report.error[:2] == ("pose_a.position", 3)


MISTAKES: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "no pose": (np.zeros((3, 7, 1)), None, cl.ArrayError, r"pose_a: has the shape \[3, 7, 1\], want \[..., 4, 4\], "),
    "3x4 matrices": (
        np.zeros((5, 3, 4)),
        None,
        cl.ArrayError,
        r"pose_a: has the shape \[5, 3, 4\], want \[..., 4, 4\]",
    ),
    "seven numbers without an order": (np.zeros((2, 7)), None, cl.OptionError, "quat: None, want .* of pose_a"),
    "a pair without an order": (([0, 0, 0], [1, 0, 0, 0]), None, cl.OptionError, "quat: None, want"),
    "quaternions as matrices": (([0, 0, 0], [1, 0, 0, 0]), "matrix", cl.OptionError, "quat: 'matrix', want"),
    "an order that is none": (np.eye(4), "zyxw", cl.OptionError, "quat: 'zyxw'"),
    "a rotation of three": (
        ([0, 0, 0], [1, 0, 0]),
        "wxyz",
        cl.ArrayError,
        r"pose_a.rotation: .*\[3\], want quaternions",
    ),
    "transposed": (np.eye(4) + np.eye(4)[3:].T * [[1, 1, 1, 0]], None, cl.ArrayError, r"pose_a\[0\]: the last row is"),
    "a scaled matrix": (2 * np.eye(4), None, cl.ArrayError, r"the last row is \[0.0, 0.0, 0.0, 2.0\]"),
    "matrices of texts": (np.full((4, 4), "x"), None, cl.ArrayError, "pose_a: is <U1, want real"),
    "rows that differ": (
        np.tile(np.eye(4), (3, 1, 1)),
        None,
        cl.ArrayError,
        r"pose_a: has the shape \[3, 4, 4\], want \[2, 4, 4\]",
    ),
    "a list of several kinds": ([Frame(np.eye(4)), 3], None, cl.ArrayError, r"pose_a\[1\]: is a int, want a pose like"),
    "lists of unequal lengths": (
        [[Frame(np.eye(4))], []],
        None,
        cl.ArrayError,
        r"pose_a\[1\]: is a nested list of unequal",
    ),
    "objects of several shapes": (
        [Frame(np.eye(4)), Frame(np.ones((3, 4, 4)))],
        None,
        cl.ArrayError,
        "the first one of",
    ),
    "no poses": ([], None, cl.ArrayError, r"pose_a: has the shape \[0\], want"),
    "nothing": (None, None, cl.ArrayError, "pose_a: "),
    "a broken object": (Frame(None), None, cl.ArrayError, "pose_a: is a Frame without a rotation"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(engine: cl.Engine, pairs: Setup, name: str) -> None:
    value, quat, kind, reason = MISTAKES[name]
    with pytest.raises(kind, match=reason):
        engine.distance(pairs.library, [0, 1], [1, 0], value, np.tile(np.eye(4), (2, 1, 1)), quat=quat)


def test_numbers_of_arguments(engine: cl.Engine, pairs: Setup) -> None:
    ask: Any = engine.distance
    t = np.eye(4)
    for poses, named in (
        ((t,), {}),
        ((t, t, t), {}),
        ((t,), {"pose_a": t}),
        ((), {"pose_a": t}),
        ((t, t), {"pos_b": 1}),
    ):
        with pytest.raises(TypeError, match="poses, want pose_a, pose_b, or pos_a"):
            ask(pairs.library, 0, 1, *poses, **named)
    for form in (np.eye(4), [Frame(np.eye(4))], ([0, 0, 0], np.eye(3))):
        with pytest.raises(cl.CopyError):
            ask(pairs.library, [0], [1], form, form, copy=False)


def test_torch(engine: cl.Engine, pairs: Setup) -> None:
    """Matrices as tensors: answers are tensors, and gradients pass through them to entries and positions."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    from clearance.torch import answers, distance

    lib, a, b = pairs.library, pairs.a, pairs.b
    ta, tb = (torch.from_numpy(m) for m in pairs.matrix)
    want = engine.distance(lib, a, b, *pairs.matrix, precision="double")
    plain = engine.distance(lib, a, b, ta, tb, precision="double")
    assert isinstance(plain.distance, torch.Tensor)
    assert cast("Any", plain.distance).numpy().tobytes() == want.distance.tobytes()
    ta.requires_grad_(True)
    with pytest.raises(cl.ArrayError, match="pose_a: requires a gradient"):
        engine.distance(lib, a, b, ta, tb)
    d, result = distance(engine, lib, a, b, ta, tb)
    d.sum().backward()
    np.testing.assert_allclose(d.detach().numpy(), want.distance, atol=1e-11)
    # Along a motion of A the gradient by the entries is that by the twist.
    twist = result.vjp(distance=1.0).numpy()
    w = np.array([0.3, -0.2, 0.5])
    cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    moved = np.zeros((N, 4, 4))
    moved[:, :3, :3] = cross @ pairs.rotation[0]
    np.testing.assert_allclose((ta.grad.numpy() * moved).sum(axis=(1, 2)), twist[:, 3:6] @ w, atol=1e-10)
    np.testing.assert_allclose(ta.grad[:, :3, 3].numpy(), twist[:, :3], atol=1e-12)
    p, q = (torch.from_numpy(x).requires_grad_(True) for x in pairs.four()[:2])
    for pose, order in (((p, q), "wxyz"), ((p, q[:, [1, 2, 3, 0]]), "xyzw"), (torch.cat([p, q], 1), "wxyz")):
        found = answers(engine, lib, a, b, pose, tb, quat=cast("Any", order))
        (g,) = torch.autograd.grad(found.distance.sum(), q)
        np.testing.assert_allclose(found.distance.detach().numpy(), want.distance, atol=1e-11)
        assert g.abs().max() > 0
    with pytest.raises(TypeError, match="3 arguments are poses"):
        distance(engine, lib, a, b, ta, tb, tb)
    with pytest.raises(cl.OptionError, match="quat: None"):
        distance(engine, lib, a, b, (p, q), tb)
