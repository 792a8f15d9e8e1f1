"""Headless Chromium, driven by its debugging protocol over a pipe: pages are loaded, asked and photographed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

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

    def __init__(self, profile: Path, size: tuple[int, int] = (1280, 800)) -> None:
        (to, self._write), (self._read, said) = os.pipe(), os.pipe()
        # The protocol is read from descriptor 3 and written to 4 of the browser, which these must not be themselves.
        given = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to, said)]
        command = [program(), *_FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
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
