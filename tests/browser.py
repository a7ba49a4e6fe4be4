"""Pages opened in a browser, where one is installed."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000")
ELSEWHERE = r'url\((?!#|data:image/png;|"")'  # a style that asks for something


def told_by(page, probe, folder):
    """What ``probe``, a script at the end of a page, has put into its title, as JSON."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed, and no Python package brings a browser")
    file = folder / "probed.html"
    file.write_text(page.replace("</body>", f"<script>{probe}</script></body>"), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    arguments = [browser, *OPTIONS, profile, "--dump-dom", file.as_uri()]
    shown = subprocess.run(arguments, capture_output=True, timeout=1000, check=True).stdout.decode()
    title = re.search(r"<title>(.*?)</title>", shown, flags=re.DOTALL)
    return json.loads(unescape(title.group(1)))
