"""Headless Chromium for the viewer's tests: WebGL in software, console messages kept."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 180.0
"""Of a browser that draws in software on a machine that has other work [s]."""
HARMLESS = ("GL Driver Message", "GPU stall due to ReadPixels", "THREE.Clock: This module has been deprecated")
"""What Chromium says of its own software renderer, and viser's client of its own parts."""


@contextmanager
def chromium(*, width: int = 640, height: int = 480) -> Iterator[Any]:
    """A browser, or a skipped test where there is none."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with chromedriver (Debian: apt-get install chromium chromium-driver)")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    with tempfile.TemporaryDirectory(prefix="kinema-chromium-") as profile:
        for flag in (
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
            "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
            "--disable-background-networking", "--disable-component-update", "--no-first-run", "--no-proxy-server",
            f"--window-size={width},{height}", f"--user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = selenium.Chrome(options=options, service=selenium.ChromeService(executable_path=DRIVER))
        browser.set_script_timeout(PATIENCE)
        browser.set_page_load_timeout(PATIENCE)
        try:
            yield browser
        finally:
            browser.quit()


def wait_for(condition: Callable[[], Any], what: str, *, seconds: float = PATIENCE) -> Any:
    """Until it holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds:g} s: {what}")


def picture(browser: Any) -> np.ndarray:
    """The page as [height, width, 3] bytes."""
    from selenium.common.exceptions import TimeoutException

    # The first frames wait for shaders to be compiled in software; the driver gives a screenshot ten seconds.
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            return np.asarray(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))
        except TimeoutException:
            continue
    raise AssertionError(f"the browser gives no picture within {PATIENCE:g} s")


def canvas(browser: Any) -> np.ndarray:
    """The 3D view, without the notice that this is drawn in software."""
    wait_for(lambda: browser.execute_script("return document.querySelector('canvas') !== null"), "a canvas")
    box = browser.execute_script(
        "for (const e of document.querySelectorAll('.mantine-Notification-root')) e.style.display = 'none';"
        "const r = document.querySelector('canvas').getBoundingClientRect();"
        "return [r.left, r.top, r.width, r.height, window.innerWidth]"
    )
    image = picture(browser)
    zoom = image.shape[1] / box[4]
    left, top, width, height = (round(zoom * value) for value in box[:4])
    return image[top : top + height, left : left + width]


def scene(browser: Any) -> np.ndarray:
    """The middle of the 3D view, where the character stands."""
    image = canvas(browser)
    height, width = image.shape[:2]
    return image[int(0.15 * height) : int(0.85 * height), int(0.1 * width) : int(0.9 * width)]


def off_centre(image: np.ndarray) -> float:
    """Distance of the character's centre from the picture's, as a share of the picture; 1 if it is not there."""
    body = np.ptp(image.astype(int), axis=-1) > 40
    if body.mean() < 0.005:
        return 1.0
    rows, columns = (np.flatnonzero(body.any(axis)) for axis in (1, 0))
    middle = [(seen[0] + seen[-1] + 1) / 2 for seen in (rows, columns)]
    return max(abs(at / whole - 0.5) for at, whole in zip(middle, image.shape[:2], strict=True))


@contextmanager
def busy_machine() -> Iterator[None]:
    """As many other processes as there are cores, none of which ever waits."""
    idle = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in idle:
            process.kill()
            process.wait()


def watch(browser: Any, seconds: float) -> list[float]:
    """How far off the centre the character is in each picture taken for so long.

    The pictures are kept in the folder that KINEMA_PICTURES names, for somebody to look at.
    """
    found, end, kept = [], time.monotonic() + seconds, os.environ.get("KINEMA_PICTURES")
    while time.monotonic() < end or len(found) < 3:
        image = canvas(browser)
        found.append(off_centre(image))
        if kept:
            Image.fromarray(image).save(f"{kept}/{os.getpid()}-{time.monotonic_ns() // 10**6}.png")
    return found


def coloured(image: np.ndarray) -> float:
    """Share of pixels with a colour of their own: ground, grid, shadow and background are grey."""
    return float((np.ptp(image.astype(int), axis=-1) > 40).mean())


def complaints(browser: Any) -> list[str]:
    """Errors of the console, and warnings that are not known."""
    said = [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    return [e["message"] for e in said if not any(harmless in e["message"] for harmless in HARMLESS)]


def press(browser: Any, label: str) -> None:
    """Click the button with this label."""
    from selenium.webdriver.common.by import By

    wait_for(lambda: browser.find_elements(By.XPATH, f"//button[normalize-space()='{label}']"), f"button {label!r}")
    button = browser.find_elements(By.XPATH, f"//button[normalize-space()='{label}']")[0]
    browser.execute_script("arguments[0].click()", button)


def tick(browser: Any, label: str) -> None:
    """Click the checkbox with this label."""
    from selenium.webdriver.common.by import By

    box = f"//label[normalize-space()='{label}']/following::input[@type='checkbox'][1]"
    browser.execute_script("arguments[0].click()", browser.find_element(By.XPATH, box))


def text(browser: Any) -> str:
    return str(browser.execute_script("return document.body.innerText"))
