"""The page of a scene description, and what it shows in headless Chromium, driven by its protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import missing
from test_show import scene_of

import clearance as cl
from clearance import _describe as doc
from clearance._result import STATUSES

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-angle=swiftshader"),
    *("--enable-unsafe-swiftshader", "--proxy-server=127.0.0.1:9", "--force-device-scale-factor=1"),
    "--remote-debugging-pipe",
)


def program() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium is installed: apt-get install chromium to run this test")


class Browser:
    """A browser with one page and no network. Everything that the page prints to its console is in ``said``."""

    def __init__(self, profile: Path, size: tuple[int, int] = (1280, 800), *flags: str) -> None:
        (to, self._write), (self._read, said) = os.pipe(), os.pipe()
        # The protocol is read from descriptor 3 and written to 4 of the browser, which these must not be themselves.
        given = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to, said)]
        command = [program(), *_FLAGS, *flags, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        shell = ["bash", "-c", f'exec "$@" 3<&{given[0]} 4>&{given[1]}', "bash", *command]
        self.process = subprocess.Popen(
            shell, pass_fds=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for end in given:
            os.close(end)
        os.close(to)
        os.close(said)
        self._left, self._number, self._session = b"", 0, ""
        self.said: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._session = ""
        try:
            self.call("Browser.close")
        except OSError:
            pass  # it has closed the pipe before it answered
        finally:
            os.close(self._write)
            os.close(self._read)
            self.process.wait(60)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            data = os.read(self._read, 1 << 20)
            if not data:
                raise OSError("the browser has closed its pipe")
            self._left += data
        text, self._left = self._left.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(message["params"]))
        return message

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str) -> None:
        """Load a page and wait until its script has ended."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        wait = (
            "new Promise((done) => { const t = setInterval(() => { if (document.readyState === 'complete' &&"
            "document.documentElement.dataset.ready !== undefined) { clearInterval(t); done(1) } }, 20);"
            "setTimeout(() => done(0), 120000) })"
        )
        assert self.ask(wait) == 1, f"the page has not become ready: {self.said}"

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, a promise's once it has one."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


HOSTILE = "</script><script>document.title='EXECUTED'</script><img src=x onerror=\"document.title='EXECUTED'\">"

pytestmark = pytest.mark.usefixtures("page_without_script")
browsers = pytest.mark.skipif(missing() != "", reason=missing())


def pairs() -> tuple[Any, ...]:
    """Five pairs: separated, penetrating, a half-space, curved shapes."""
    lib = cl.Library()
    box, ball, floor = lib.box([1, 1, 1], name="crate"), lib.sphere(0.8, name=HOSTILE), lib.halfspace()
    egg = lib.ellipsoid([1, 0.5, 0.3], name="egg")
    quat = np.tile([1.0, 0, 0, 0], (5, 1))
    quat[4] = [0.9, 0.3, 0.2, 0.1]
    pos_b = np.array([[2.5, 0, 0], [1.2, 0.4, 0.3], [0, 0, 3], [1.5, 0.2, 0.9], [1.6, 0.2, 0.5]])
    return lib, [box, box, floor, egg, egg], [ball, ball, box, ball, box], np.zeros((5, 3)), quat, pos_b, quat


def approach() -> tuple[cl.Scene, Any]:
    """A wall, and the way points [1,3,2,7] of a ball that comes to it."""
    scene = cl.Scene()
    ball, box = scene.library.sphere(0.5), scene.library.box([1, 1, 1])
    scene.add(box, name="wall")
    scene.add(ball, name="comes")
    scene.pairs = [(0, 1)]
    poses = np.zeros((1, 3, 2, 7))
    poses[..., 3] = 1
    poses[0, :, 1, 0] = [5, 3, -1]
    return scene, poses


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def keep(picture: Path) -> None:
    """Copy a picture to where documents have theirs, if CLEARANCE_PICTURES names that folder."""
    folder = os.environ.get("CLEARANCE_PICTURES")
    if folder:
        (Path(folder) / picture.name).write_bytes(picture.read_bytes())


def pixels(picture: Path) -> Any:
    image: Any = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    return np.asarray(image.open(picture).convert("RGB")).astype(int)


@pytest.mark.parametrize("method", ["auto", "gjk", "nesterov", "polyak", "rtr"])
def test_traces(method: Any) -> None:
    """The trace of a row ends at the stored answer of the back end ref, whose rows are solved by the same method."""
    arrays = pairs()
    r = cl.Engine(backend="ref").distance(*arrays, quat="wxyz", precision="double", method=method)
    scene = scene_of(cl.show(r, *arrays, quat="wxyz", rows=[4], trace=[0, 1, 2, 3, 4], method=method))
    rows = doc.unpacked(scene["rows"]["row"]).tolist()
    assert sorted(rows) == [0, 1, 2, 3, 4] and rows[0] == 4, "rows that are traced are shown"
    assert [rows[t["row"]] for t in scene["traces"]] == [0, 1, 2, 3, 4]
    for i, t in enumerate(scene["traces"]):
        last = t["steps"][-1]
        assert last["solver"] == "answer" and (last["lower"], last["upper"]) == (t["lower"], t["upper"])
        gap = np.float32(max(t["upper"] - r.distance[i], r.distance[i] - t["lower"]))
        assert r.gap[i] in (gap, np.nextafter(gap, np.float32(1))), "the gap is rounded up"
        assert t["status"] == STATUSES[r.status[i]] and last["witnesses"]["a"] == r.witness_a[i].tolist()
        assert len(t["steps"]) == t["evaluations"] + 1 == r.iterations[i] + 1 if r.iterations is not None else True


def test_growth_traces() -> None:
    """The trace of a growth distance ends at the stored factor, and the best bounds of its steps are those of it."""
    arrays = pairs()
    r = cl.Engine(backend="ref").growth(*arrays, quat="wxyz", precision="double")
    scene = scene_of(cl.show(r, *arrays, quat="wxyz", trace=range(5)))
    rows = doc.unpacked(scene["rows"]["row"]).tolist()
    solvers = set()
    for t in scene["traces"]:
        i, steps, last = rows[t["row"]], t["steps"][:-1], t["steps"][-1]
        assert (t["method"], t["radius"], last["solver"]) == ("growth", 0, "answer")
        assert t["value"] == r.distance[i] and t["status"] == STATUSES[r.status[i]]
        assert (last["lower"], last["upper"]) == (t["lower"], t["upper"])
        assert max(s["lower"] for s in steps) == t["lower"]
        assert min(s["upper"] for s in steps if s["upper"] != "inf") == t["upper"]
        gap = np.float32(max(t["upper"] - t["value"], t["value"] - t["lower"]))
        assert r.gap[i] in (gap, np.nextafter(gap, np.float32(1))), "the gap is rounded up"
        assert last["witnesses"]["a"] == r.witness_a[i].tolist() and t["evaluations"] == len(steps)
        solvers |= {s["solver"] for s in steps}
    assert solvers == {"formula", "growth", "newton"}


def test_refused_traces(engine: cl.Engine) -> None:
    arrays = pairs()
    r = engine.distance(*arrays, quat="wxyz")
    for bad, reason in (
        ([5], "trace: 5, want rows from 0 to 4"),
        ([0.5], "trace: .*want indices of rows"),
        (range(1001), "trace: 1001, want at most 1000"),
    ):
        with pytest.raises(cl.ClearanceError, match=reason):
            cl.show(r, *arrays, quat="wxyz", trace=bad)
    with pytest.raises(cl.OptionError, match="method: 'newton'"):
        cl.show(r, *arrays, quat="wxyz", trace=[0], method="newton")
    grown = engine.growth(*arrays, quat="wxyz")
    with pytest.raises(cl.OptionError, match="trace: row 0: query growth: method gjk, want auto"):
        cl.show(grown, *arrays, quat="wxyz", trace=[0], method="gjk")
    lib, _, *rest = arrays
    wrong = engine.distance(lib, [0, 0, 0, 0, 99], *rest, quat="wxyz")
    with pytest.raises(cl.OptionError, match="trace: row 4 has no pair of shapes"):
        cl.show(wrong, lib, [0, 0, 0, 0, 99], *rest, quat="wxyz", trace=[4])


def test_long_lists() -> None:
    """Lists are read as they were written, short and long, of every type."""
    rng = np.random.default_rng(1)
    for count in (0, 3, 64, 65, 1000):
        for values in (
            rng.normal(size=count),
            rng.normal(size=count).astype(np.float32),
            rng.integers(-9, 9, count),
            rng.integers(0, 200, count).astype(np.uint8),
        ):
            text = json.dumps(doc.packed(values))
            np.testing.assert_array_equal(doc.unpacked(json.loads(text)), values)
    assert doc.packed([np.nan, 1.5]) == [None, 1.5] and np.isnan(doc.unpacked([None, 1.5])[0])


@browsers
def test_names_are_text(browser: Browser, engine: cl.Engine, tmp_path: Path) -> None:
    """A hostile name is shown as it is, runs nothing, and no connection is opened."""
    arrays = pairs()
    r = engine.distance(*arrays, quat="wxyz")
    page = tmp_path / "rows.html"
    cl.show(r, *arrays, quat="wxyz", path=page)
    browser.open(page.as_uri())
    assert browser.ask("document.title") == "distance, single precision: 5 of 5 rows"
    assert HOSTILE.split("'")[0] in browser.ask("document.getElementById('facts').textContent")
    assert browser.ask("document.scripts.length") == 2 and browser.ask("document.images.length") == 0
    # The policy of the page would stop a script even if some text became one.
    ran = browser.ask(
        "new Promise((done) => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s); setTimeout(() => done(window.ran === undefined), 100) })"
    )
    assert ran is True
    assert browser.ask("performance.getEntriesByType('resource').length") == 0


WHY = "Array.from(document.querySelectorAll('.why'), (p) => p.textContent)"


@browsers
def test_undrawn(browser: Browser, engine: cl.Engine, tmp_path: Path) -> None:
    """Where there is no Minkowski difference to draw the pane says why, and only there."""
    arrays = pairs()
    cl.show(engine.distance(*arrays, quat="wxyz"), *arrays, quat="wxyz", path=tmp_path / "rows.html")
    browser.open((tmp_path / "rows.html").as_uri() + "#row=2")
    assert browser.ask(WHY) == ["", "A − B is not drawn: body A is a half-space, so it is unbounded."]
    browser.ask("clearanceView.show(clearanceView.scene.rows.row.indexOf(0))")
    assert browser.ask(WHY) == ["", ""]
    assert not any("exceptionDetails" in said for said in browser.said)


@browsers
def test_without_webgl(engine: cl.Engine, tmp_path: Path) -> None:
    """Without WebGL the table and the numbers stay, and both panes say why they are empty."""
    arrays = pairs()
    cl.show(engine.distance(*arrays, quat="wxyz"), *arrays, quat="wxyz", path=tmp_path / "rows.html")
    with Browser(tmp_path / "profile", (1280, 800), "--disable-3d-apis") as bare:
        bare.open((tmp_path / "rows.html").as_uri() + "#row=1")
        assert bare.ask(WHY) == 2 * [
            "This browser has no WebGL, so shapes are not drawn. The table and the numbers are complete."
        ]
        assert bare.ask("document.querySelectorAll('#body .rows > div').length") == 5
        assert "distance -0.6" in bare.ask("document.getElementById('facts').textContent")
        assert not any("exceptionDetails" in said for said in bare.said)


def told(text: str) -> tuple[int, str, float, float]:
    """Number, solver and bounds of a step, as the page says them."""
    first, lower, upper, *_ = text.splitlines()
    number, solver = first.removeprefix("step ").split(" of ", 1)
    return int(number), solver.split(": ")[1].split(",")[0], float(lower.split()[1]), float(upper.split()[1])


@browsers
@pytest.mark.parametrize(("method", "solver"), [("nesterov", "nesterov"), ("polyak", "polyak"), ("rtr", "rtr")])
def test_steps(browser: Browser, tmp_path: Path, method: Any, solver: str) -> None:
    """Each step is drawn where it was recorded, and its text has its values; the last one is the stored answer."""
    arrays = pairs()
    r = cl.Engine(backend="ref").distance(*arrays, quat="wxyz", precision="double", method=method)
    page = tmp_path / "steps.html"
    view = cl.show(r, *arrays, quat="wxyz", rows=[3, 4], trace=[3, 4], method=method, path=page)
    rows, seen = doc.unpacked(view.scene["rows"]["row"]).tolist(), []
    for trace in view.scene["traces"]:
        row, steps = rows[trace["row"]], trace["steps"]
        browser.open(page.as_uri() + f"#row={row}&step=1")
        for k, step in enumerate(steps):
            if k > 0:
                browser.key("ArrowRight")
            text = browser.ask("document.getElementById('bounds').textContent")
            assert told(text) == (k + 1, step["solver"], float(step["lower"]), float(step["upper"]))
            slope = re.search(r"gradient (\S+), region (\S+)", text)
            assert (slope is not None) == (step["gradient"] is not None) == (step["solver"] == "rtr")
            if slope is not None:
                assert [float(x) for x in slope.groups()] == pytest.approx([step["gradient"], step["region"]], rel=5e-3)
            drawn = browser.ask("clearanceView.dots('step')")
            found = [step["support"][s] for s in "ab"] if "support" in step else []
            assert drawn["pair"] == found and drawn["difference"] == ([np.subtract(*found).tolist()] if found else [])
            corners = [(v["a"], v["b"]) for v in step.get("simplex", [])]
            drawn = browser.ask("clearanceView.dots('simplex')")
            assert drawn["pair"] == (np.reshape(corners, (-1, 3)).tolist() if found else [])
            assert drawn["difference"] == [np.subtract(a, b).tolist() for a, b in corners]
            iterates = [step["iterate"]] if "iterate" in step else []
            assert browser.ask("clearanceView.dots('undecided').difference") == iterates
            if step["solver"] == solver and solver not in seen:
                x, y = browser.ask(f"clearanceView.screen({found[0]})")
                browser.picture(tmp_path / "step.png")
                red, green, blue = pixels(tmp_path / "step.png")[round(y), round(x)]
                assert green > red + 50 and green > blue + 20, "the vertex that was found is drawn"
            seen.append(step["solver"])
        last = steps[-1]
        assert last["solver"] == "answer" and last["lower"] <= r.distance[row] <= last["upper"]
        wide = max(last["upper"] - r.distance[row], r.distance[row] - last["lower"])
        assert np.float32(wide) <= r.gap[row] <= 1.000001 * wide, "the trace ends at the stored answer"
        witnesses = [r.witness_a[row].tolist(), r.witness_b[row].tolist()]
        assert browser.ask("clearanceView.dots('witness').pair") == witnesses
        assert last["witnesses"] == dict(zip("ab", witnesses, strict=True))
    assert seen.count(solver) > 3


@browsers
def test_rows_steps_and_contacts(browser: Browser, tmp_path: Path) -> None:
    """The table has the rows; a click, a key and a link choose one; a contact point is drawn where it is; the text of
    the bounds is that of the step, and the last one is that of the answer."""
    arrays = pairs()
    engine = cl.Engine(backend="ref")
    r = engine.distance(*arrays, quat="wxyz", precision="double")
    contacts = engine.contacts(*arrays, quat="wxyz", max_gap=0.1)
    page = tmp_path / "rows.html"
    view = cl.show(r, *arrays, quat="wxyz", trace=[1, 4], contacts=contacts, path=page)
    browser.open(page.as_uri())
    lines = "[...document.querySelectorAll('.rows > div:not([hidden])')]"
    assert browser.ask(f"{lines}.length") == 5
    order = browser.ask(f"{lines}.map((e) => e.firstChild.textContent)")
    assert order == [str(i) for i in np.argsort(r.distance, kind="stable")]
    facts, bounds = "document.getElementById('facts').textContent", "document.getElementById('bounds').textContent"
    assert browser.ask(facts).startswith("row 1: penetrating")
    spot = browser.ask(f"(() => {{ const b = {lines}[1].getBoundingClientRect(); return [b.x + 20, b.y + 9] }})()")
    browser.click(*spot)
    assert browser.ask(facts).startswith("row 4: penetrating") and browser.ask("location.hash") == "#row=4"
    traces = {t["row"]: t for t in view.scene["traces"]}
    rows = doc.unpacked(view.scene["rows"]["row"]).tolist()
    steps = traces[rows.index(4)]["steps"]

    shown = told(browser.ask(bounds))
    assert shown == (len(steps), "answer", steps[-1]["lower"], steps[-1]["upper"])
    wide = max(shown[3] - r.distance[4], r.distance[4] - shown[2])
    assert np.float32(wide) <= r.gap[4] <= 1.000001 * wide, "the trace ends at the stored answer"
    browser.key("ArrowLeft")
    shown = told(browser.ask(bounds))
    assert shown[0] == len(steps) - 1 and shown[1] == steps[-2]["solver"] == "epa"
    assert shown[2:] == (steps[-2]["lower"], steps[-2]["upper"])
    browser.open(page.as_uri() + "#row=4&step=3")
    shown = told(browser.ask(bounds))
    assert shown == (3, "gjk", steps[2]["lower"], steps[2]["upper"])
    browser.picture(tmp_path / "page-steps.png")
    keep(tmp_path / "page-steps.png")
    side = pixels(tmp_path / "page-steps.png")[:, 910:]
    solid = (side[..., 2] > side[..., 0] + 8) & (side[..., 0] > 120) & (side.max(-1) < 230)
    assert solid.mean() > 0.02, "the Minkowski difference is drawn beside the pair"
    assert (side.max(-1) < 60).any() or ((side[..., 1] > side[..., 0] + 60).any()), "with the step in it"
    browser.open(page.as_uri() + "#row=77")
    assert browser.ask("document.getElementById('missing').textContent") == "This page has no row 77."

    browser.open(page.as_uri() + "#row=1")
    assert "1 contact points" in browser.ask(facts)
    assert re.search(r"gap ±\S+\nerror ball drawn ×1e\+?\d+|error ball drawn ×\d+", browser.ask(facts))
    k = int(np.flatnonzero(contacts.pair == 1)[0])
    x, y = browser.ask(f"clearanceView.screen({contacts.position[k].tolist()})")
    browser.picture(tmp_path / "page-contact.png")
    keep(tmp_path / "page-contact.png")
    image = pixels(tmp_path / "page-contact.png")
    red, green, blue = image[round(y), round(x)]
    assert red > 200 and green < 40 and blue < 40, "the contact point is red where the contact is"
    left = image[:, 420:1000]
    assert ((left[..., 2] > left[..., 0] + 30).mean() > 0.02) and ((left[..., 0] > left[..., 2] + 30).mean() > 0.02)
    browser.ask("document.querySelector('[data-column=row]').click()")
    assert browser.ask(f"{lines}.map((e) => e.firstChild.textContent)") == list("01234")


@browsers
def test_time_line(browser: Browser, engine: cl.Engine, tmp_path: Path) -> None:
    """A sweep and a rollout move along the time line, and play."""
    scene, poses = approach()
    page = tmp_path / "sweep.html"
    cl.show(engine.sweep(scene, poses, quat="wxyz"), scene, poses, quat="wxyz", path=page)
    browser.open(page.as_uri())
    clock = "document.getElementById('clock').textContent"
    assert browser.ask(clock) == "1.375 way points"
    for link, x in ((0, 5.0), (1, 3.0), (1.5, 1.0)):
        browser.open(page.as_uri() + f"#row=0&time={link}")
        assert browser.ask("clearanceView.state.time") == link
        at = browser.ask(f"clearanceView.screen([{x}, 0, 0])")
        browser.picture(tmp_path / "moved.png")
        red, _, blue = pixels(tmp_path / "moved.png")[round(at[1]), round(at[0])]
        assert red > blue + 30, f"the ball stands at {x} at the time {link}"
    browser.ask("document.getElementById('play').click()")
    moved = browser.ask("new Promise((done) => setTimeout(() => done(clearanceView.state.time), 400))")
    browser.ask("document.getElementById('play').click()")
    assert moved != 1.5 and 0 <= moved <= 2
    browser.picture(tmp_path / "page-sweep.png")
    keep(tmp_path / "page-sweep.png")

    steps = np.zeros((21, 2, 7))
    steps[..., 3] = 1
    steps[:, 1, 0] = np.linspace(4, 0, 21)
    r = engine.rollout(scene, worlds=21)(steps, quat="wxyz")
    page = tmp_path / "rollout.html"
    cl.show(r, scene, steps, quat="wxyz", dt=0.05, path=page)
    browser.open(page.as_uri() + "#row=0")
    facts = "document.getElementById('facts').textContent"
    assert browser.ask(facts).startswith("row 0: separated") and browser.ask(clock) == "0 s"
    browser.ask("(() => { const t = document.getElementById('time'); t.value = 0.8; t.oninput({ target: t }) })()")
    assert browser.ask(facts).startswith("row 16: penetrating")


@browsers
def test_growth(browser: Browser, engine: cl.Engine, tmp_path: Path) -> None:
    """Of a growth distance the scaled shapes meet at the common point."""
    arrays = pairs()
    r = engine.growth(*arrays, quat="wxyz", columns=["distance", "gap", "status", "normal", "point"])
    page = tmp_path / "growth.html"
    view = cl.show(r, *arrays, quat="wxyz", rows=[0], trace=[0], path=page)
    assert view.scene["value"] == "factor" and abs(view.scene["rows"]["value"][0] - 2.5 / 1.8) < 1e-6
    browser.open(page.as_uri())
    bounds = "document.getElementById('bounds').textContent"
    first, lower, upper, *rest = browser.ask(bounds).splitlines()
    steps = view.scene["traces"][0]["steps"]
    assert first.split(": ")[1].startswith("answer,") and "OUTSIDE" not in "".join(rest)
    assert (float(lower.split()[1]), float(upper.split()[1])) == (steps[-1]["lower"], steps[-1]["upper"])
    browser.key("ArrowLeft")
    first, lower, *_ = browser.ask(bounds).splitlines()
    assert first.split(": ")[1].startswith(steps[-2]["solver"]) and float(lower.split()[1]) == steps[-2]["lower"]
    browser.key("ArrowRight")
    assert browser.ask("document.getElementById('facts').textContent").splitlines()[3].startswith("factor 1.38888")
    # A place of the scaled box before which nothing else stands, nor behind it.
    x, y = browser.ask(f"clearanceView.screen({[float(r.point[0][0]) - 0.05, 0, 1.25]})")
    browser.picture(tmp_path / "page-growth.png")
    keep(tmp_path / "page-growth.png")
    red, _, blue = pixels(tmp_path / "page-growth.png")[round(y), round(x)]
    assert blue > red + 15, "the scaled box reaches the common point"


@browsers
def test_many_rows(browser: Browser, tmp_path: Path) -> None:
    """100,000 rows: the table has as many elements as fit on the screen, and every row can be reached. The times of
    frames are printed, not judged."""
    count = 100_000
    lib = cl.Library()
    shapes = [lib.box([0.5, 0.5, 0.5]), lib.sphere(0.5)]
    rng = np.random.default_rng(1)
    a, b = (rng.choice(shapes, count).astype(np.int32) for _ in range(2))
    quat = np.tile([1.0, 0, 0, 0], (count, 1))
    arrays = (lib, a, b, np.zeros((count, 3)), quat, rng.normal(0, 1, (count, 3)), quat)
    with cl.Engine() as engine:
        r = engine.distance(*arrays, quat="wxyz")
    page = tmp_path / "many.html"
    cl.show(r, *arrays, quat="wxyz", most=count, path=page)
    browser.open(page.as_uri())
    least = int(np.argmin(r.distance))
    assert browser.ask("document.getElementById('facts').textContent").startswith(f"row {least}: ")
    assert browser.ask("document.documentElement.dataset.ready") == str(count)
    elements = browser.ask("document.querySelectorAll('.rows > div').length")
    assert elements < 100, "only rows in sight are elements"
    browser.ask("(() => { const b = document.getElementById('body'); b.scrollTop = b.scrollHeight; })()")
    last = browser.ask(
        "new Promise((done) => setTimeout(() => done([...document.querySelectorAll('.rows > div:not([hidden])')]"
        ".at(-1).firstChild.textContent), 100))"
    )
    assert int(last) == int(np.argsort(r.distance, kind="stable")[-1])
    frames = browser.ask(
        "new Promise((done) => { const b = document.getElementById('body'); const times = []; let k = 0;"
        "let before = performance.now(); const tick = (now) => { times.push(now - before); before = now;"
        "b.scrollTop = (k * 7919 * 20) % b.scrollHeight;"
        "if (++k < 120) requestAnimationFrame(tick); else done(times.slice(2)) }; requestAnimationFrame(tick) })"
    )
    sort = browser.ask(
        "(() => { const t = performance.now(); document.querySelector('[data-column=gap]').click();"
        "return performance.now() - t })()"
    )
    select = browser.ask(
        "(() => { const t = performance.now(); clearanceView.show(50000); return performance.now() - t })()"
    )
    print(
        f"frames {np.median(frames):.1f} ms, slowest {np.max(frames):.1f} ms; sort {sort:.0f} ms; row {select:.0f} ms"
    )
