# SPDX-License-Identifier: Apache-2.0
"""Makes the moving picture of the README: the chunk of the example, step by step, in the view of `check --html`.

`python tools/record_picture.py` needs `chromium` and the packages of development.
"""

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright import sync_api

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "pictures" / "rejection.webp"
CHECK = "check swing.csv --robot franka_panda --state measured.json --world table.json --html"
FRAME_MS, LAST_MS = 220, 2500
# So often the camera comes nearer, from where all of the table is seen.
NEARER = 4


def main() -> None:
    """Writes the picture."""
    with tempfile.TemporaryDirectory() as folder, sync_api.sync_playwright() as playwright:
        page_file = Path(folder) / "view.html"
        command = [Path(sys.executable).parent / "lastgate", *CHECK.split(), page_file]
        subprocess.run(
            command, cwd=ROOT / "examples" / "files", check=False, capture_output=True, timeout=120
        )
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        page = browser.new_page(viewport={"width": 1320, "height": 620}, color_scheme="dark")
        page.goto(page_file.as_uri())
        page.locator("#scene").focus()
        for _ in range(NEARER):
            page.keyboard.press("+")
        rejected = int(page.locator("#step").input_value())
        frames = []
        for step in range(rejected + 1):
            page.locator("#step").fill(str(step))
            page.wait_for_timeout(900)
            frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize((990, 465)))
        browser.close()
    frames[0].save(
        TARGET, save_all=True, append_images=frames[1:], loop=0, quality=70, method=6,
        duration=[FRAME_MS] * (len(frames) - 1) + [LAST_MS],
    )  # fmt: skip
    print(f"{TARGET.relative_to(ROOT)}: {len(frames)} frames, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
