"""The dashboard in headless Chromium: pages load without console errors, an update arrives by itself, the keyboard reaches
everything, axe-core finds nothing, at 375 and 1440 pixels, light and dark.

    python conformance/check_dashboard.py --taste target/debug/taste --chromium /usr/bin/chromium [--shots DIR]
"""

import argparse
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

DETECTOR = Path(__file__).resolve().parent.parent / "crates/serve/tests/fixtures/plane.onnx"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# The least distance of a card from what stands before it.
GAP = """() => {
  const gaps = [...document.querySelectorAll('main .card')].filter(c => c.previousElementSibling).map(c => {
    const [a, b] = [c.previousElementSibling.getBoundingClientRect(), c.getBoundingClientRect()];
    return Math.max(b.top - a.bottom, b.left - a.right);
  });
  return gaps.length ? Math.min(...gaps) : null;
}"""


def start(taste: Path, detector: Path, state: Path) -> tuple[subprocess.Popen, str]:
    command = [taste, "serve", f"plane={detector}", "--listen", "127.0.0.1:0", "--state", state, "--drain", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("listening on "):
            return process, line.split()[-1]
    raise SystemExit(f"the service did not start: {process.wait()}")


def send(base: str, rows: list[list[float]]) -> None:
    request = urllib.request.Request(f"{base}/v1/score", data=str(rows).encode(), method="POST")
    urllib.request.urlopen(request, timeout=30).read()


def walk(page: Page) -> list[str]:
    """What Tab reaches, in order, each with something to see where the focus is."""
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => { const e = document.activeElement; const s = getComputedStyle(e);"
            " return [e.tagName, (e.textContent || e.name || '').trim().slice(0, 30), s.outlineStyle] }"
        )
        if found[0] == "BODY":
            break
        assert found[2] != "none", f"the focus can't be seen on {found}"
        reached.append(f"{found[0]} {found[1]}")
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--shots", type=Path, help="where to leave screenshots")
    args = parser.parse_args()
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        process, base = start(args.taste.resolve(), DETECTOR, Path(folder) / "state")
        browser = playwright.chromium.launch(executable_path=args.chromium, args=FLAGS)
        try:
            check(browser, base, args.shots)
        finally:
            browser.close()
            process.terminate()
            process.wait(timeout=60)


def check(browser, base: str, shots: Path | None) -> None:
    problems: list[str] = []
    usual = [[0.1 * (i % 21) - 1, 0.13 * (i % 17) - 1] for i in range(200)]
    send(base, usual)
    for width, scheme in [(1440, "light"), (1440, "dark"), (375, "light"), (375, "dark")]:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        for name, path in [("monitors", "/"), ("monitor", "/monitors/plane"), ("samples", "/monitors/plane/samples"), ("service", "/health")]:
            page.goto(base + path)
            page.wait_for_selector("#live:not([hidden])")
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{path} is {wide} pixels wide at {width}"
            near = page.evaluate(GAP)
            assert near is None or near >= 8, f"two cards of {path} are {near} pixels apart at {width}"
            found = Axe().run(page)
            assert found.violations_count == 0, f"{path} at {width}, {scheme}:\n{found.generate_report()}"
            if shots:
                page.screenshot(path=shots / f"{name}-{width}-{scheme}.png", full_page=True)
        context.close()
    print("ok  pages: four at two widths, light and dark, without violations")

    page = browser.new_page()
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    page.goto(base + "/monitors/plane")
    page.wait_for_selector("#verdict.ok")
    send(base, [[7.0, 7.0]] * 60)
    page.wait_for_selector("#verdict.alarm", timeout=20_000)
    print("ok  an alarm arrives by itself")
    reached = walk(page)
    for wanted in ("INPUT by", "BUTTON Acknowledge", "BUTTON Begin anew", "FIGURE", "SUMMARY", "A Worst samples"):
        assert any(r.startswith(wanted) for r in reached), f"{wanted} can't be reached: {reached}"
    page.focus("#evidence")
    page.keyboard.press("End")
    assert "sample" in page.inner_text("#evidence + .readout")
    page.fill("input[name=by]", "Ada")
    page.press("input[name=by]", "Enter")
    page.wait_for_selector("#verdict.warning", timeout=20_000)
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") in ("dark", "light")
    print(f"ok  keyboard: {len(reached)} places, read-out, acknowledgement")
    assert not problems, problems
    print("ok  no console errors")


if __name__ == "__main__":
    main()
