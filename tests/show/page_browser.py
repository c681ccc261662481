"""A real browser without a window, for tests of pages, which are skipped where there is none."""

import io
import json
import shutil

import numpy as np
import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --use-angle=swiftshader "
    "--enable-unsafe-swiftshader --window-size=1100,800 --force-device-scale-factor=1"
)


class Browser:
    """What the tests ask of a browser."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, url, *, network=True):
        self.log("performance")
        self.log("browser")
        conditions = {"offline": not network, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
        self.driver.get(url)

    def log(self, name):
        return self.driver.get_log(name)

    def errors(self):
        return [entry["message"] for entry in self.log("browser") if entry["level"] == "SEVERE"]

    def requests(self):
        """Addresses that pages requested since the last opening."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, seconds=60):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, poll_frequency=0.1).until(lambda _: condition())

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def picture(self, selector):
        """Pixels of an element (height x width x 3)."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.find(selector).screenshot_as_png)).convert("RGB")).astype(int)

    @staticmethod
    def coloured(pixels):
        """Share of pixels that are neither white nor grey: those of the robot."""
        return float(np.mean(np.ptp(pixels, axis=2) > 40))

    @staticmethod
    def differing(a, b):
        """Share of pixels that differ between two pictures."""
        return float(np.mean(np.abs(a - b).max(axis=2) > 24))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium with chromedriver on this machine (Debian: apt-get install chromium chromium-driver)")
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    made.set_page_load_timeout(60)
    yield Browser(made)
    made.quit()
