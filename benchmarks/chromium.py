"""Drive headless Chromium by its DevTools protocol, for the benchmarks of pages."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tornado.websocket import WebSocketClientConnection, websocket_connect

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--hide-scrollbars",  # so that a window of 420 px shows 420 px of the page
    "--remote-debugging-port=0",
]
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
PAINT_SECONDS = 10


class Tab:
    """A tab of the browser: its answers, and the events that came between them."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self.n_calls = 0

    async def read(self) -> dict[str, Any]:
        """Return the next message, or fail after two minutes without one."""
        message = await asyncio.wait_for(self.socket.read_message(), timeout=120)
        if message is None:
            raise SystemExit("the browser closed the connection")
        read: dict[str, Any] = json.loads(message)
        if "method" in read:
            self.events.append(read)
        return read

    async def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self.n_calls += 1
        call = {"id": self.n_calls, "method": method, "params": params or {}}
        await self.socket.write_message(json.dumps(call))
        while True:
            read = await self.read()
            if read.get("id") == self.n_calls:
                if "error" in read:
                    raise SystemExit(f"{method}: {read['error']['message']}")
                result: dict[str, Any] = read["result"]
                return result

    async def evaluate(self, script: str) -> Any:
        """Return the value of an expression, after its promise."""
        params = {"expression": script, "awaitPromise": True, "returnByValue": True}
        result = await self.call("Runtime.evaluate", params)
        if "exceptionDetails" in result:
            raise SystemExit(f"a script of the benchmark failed: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def open(self, address: str) -> float:
        """Load a page, forget earlier events, and return milliseconds until its first paint."""
        await self.call("Page.navigate", {"url": "about:blank"})
        self.events.clear()
        await self.call("Page.navigate", {"url": address})
        while not any(each["method"] == "Page.loadEventFired" for each in self.events):
            await self.read()
        started = time.perf_counter()
        while (paint := await self.evaluate(PAINT)) is None:
            if time.perf_counter() - started > PAINT_SECONDS:
                raise SystemExit(f"the browser reported no paint of {address}")
            await asyncio.sleep(0.02)
        return float(paint)

    def complaints(self, address: str) -> list[str]:
        """What the browser said of the loaded page: requests, script errors, refused content."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                asked = params["request"]["url"].partition("#")[0]
                if asked != address.partition("#")[0] and not asked.startswith("data:"):
                    found.append(f"request: {asked}")
            elif event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                said = details.get("exception", {}).get("description", details["text"])
                found.append(f"script: {said}")
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(f"error: {params['entry']['text']}")
        return found


@asynccontextmanager
async def browser_tab(browser: str) -> AsyncIterator[Tab]:
    """A tab of a new browser with a fresh profile, which ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [browser, *OPTIONS, f"--user-data-dir={folder}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = await _port(Path(folder) / "DevToolsActivePort")
            request = Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
            with urlopen(request) as answer:
                address = json.load(answer)["webSocketDebuggerUrl"]
            tab = Tab(await websocket_connect(address, max_message_size=2**28))
            for domain in ("Page", "Runtime", "Log", "Network"):
                await tab.call(f"{domain}.enable")
            yield tab
            await tab.call("Browser.close")
        finally:
            process.terminate()
            process.wait()


async def _port(file: Path) -> int:
    for _ in range(600):
        if file.exists() and (lines := file.read_text().split()):
            return int(lines[0])
        await asyncio.sleep(0.05)
    raise SystemExit("the browser did not start")
