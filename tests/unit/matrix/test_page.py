"""The page of a matrix: its contents, and its controls in a real browser."""

import json
import re

import pytest

from unmess.__main__ import main
from unmess.matrix.cells import Shard, cell_of
from unmess.matrix.folder import opened
from unmess.matrix_report.coverage import by_family, by_operator
from unmess.matrix_report.page import page
from unmess.row import Row

EVIL = "<script>alert(1)</script><b>&\"'"
COLUMNS = ("reference via linalg", "iree-cpu via linalg")


def row(model, runner="reference", stage="done", **more):
    return Row(model, runner, stage == "done", stage, via="linalg", **more)


def rows(repro=None):
    seconds = {"capture": 1.0, "run": 0.02, "eager": 0.01}
    measured = {"seconds": seconds, "peak_rss_mb": 500.0}
    return [
        row("hf:bert", max_rel_error=2e-7, operators=["aten.mm.default"], **measured),
        row("hf:bert", "iree-cpu", max_rel_error=3e-6, operators=["aten.mm.default"], **measured),
        row("torchvision:vgg11", operators=["aten.mm.default", "aten.exp.default"], **measured),
        row(
            *("torchvision:vgg11", "iree-cpu", "compile"),
            error=f"no {EVIL}",
            where="net.py:7",
            source=f"return x  # {EVIL}",
            hint="another",
            repro=repro,
            operators=["aten.mm.default", "aten.exp.default"],
            versions={"torch": "2.13"},
        ),
        row(f"{EVIL}.py:f", stage="source", error="no such thing"),
    ]


@pytest.fixture
def folder(tmp_path):
    repro = tmp_path / "cached.mlir"
    repro.write_text(f"// repro {EVIL}\n")
    with opened(tmp_path / "matrix", Shard(), {}) as folder:
        for each in rows(str(repro)):
            folder.add(each)
    return tmp_path / "matrix"


def results(found):
    return {cell_of(each): each for each in found}


@pytest.fixture
def shown(browser, folder):
    assert main(["report", str(folder)]) == 0
    address = (folder / "report.html").as_uri()
    browser.open(address)
    yield browser
    assert browser.messages == []
    # The browser requests only the page itself. The icon is a data URL in the page.
    assert [each for each in browser.requests if not each.startswith("data:")] == [address]


def models(browser):
    return browser.evaluate(
        "[...document.querySelectorAll('.models tbody tr')].filter(row => row.checkVisibility())"
        ".map(row => row.cells[0].textContent)"
    )


def enter(browser, selector, value):
    browser.evaluate(
        f"(() => {{ const input = document.querySelector({json.dumps(selector)});"
        f"input.value = {json.dumps(value)}; input.dispatchEvent(new Event('input')) }})()"
    )


def test_filters_keep_the_rows_that_fulfill_all_of_them(shown):
    assert models(shown) == ["hf:bert", "torchvision:vgg11", f"{EVIL}.py:f"]
    enter(shown, "[name=states]", "compile")
    assert models(shown) == ["torchvision:vgg11"]
    assert shown.evaluate("document.querySelector('.count').textContent") == "1 of 3"
    enter(shown, "[type=search]", "bert")
    assert models(shown) == []
    enter(shown, "[name=states]", "matches everywhere")
    assert models(shown) == ["hf:bert"]
    enter(shown, "[type=search]", "")
    enter(shown, "[name=states]", "")
    enter(shown, "[name=family]", "other models")
    assert models(shown) == [f"{EVIL}.py:f"]


def test_columns_sort_by_error_and_then_by_stage(shown):
    head = "document.querySelectorAll('.models th')[3].click()"
    shown.evaluate(head)
    assert models(shown) == ["torchvision:vgg11", "hf:bert", f"{EVIL}.py:f"]
    shown.evaluate(head)
    assert models(shown) == [f"{EVIL}.py:f", "hf:bert", "torchvision:vgg11"]


def test_a_cell_opens_its_stage_cause_line_and_reproducer(shown, folder):
    shown.evaluate("document.querySelectorAll('.models .bad')[0].click()")
    texts = shown.evaluate(
        "Object.fromEntries([...document.querySelectorAll('dialog dt')]"
        ".map(term => [term.textContent, term.nextSibling.textContent]))"
    )
    assert shown.evaluate("document.querySelector('dialog').open")
    title = shown.evaluate("document.querySelector('dialog h3').textContent")
    assert title == "torchvision:vgg11 on iree-cpu via linalg"
    assert texts["stage"] == "compile" and texts["cause"] == f"no {EVIL}"
    assert texts["at"] == "net.py:7" and texts["source line"] == f"return x  # {EVIL}"
    command = "unmess check torchvision:vgg11 --on iree-cpu --via linalg"
    assert texts["run it again"] == command
    assert texts["reduce it"] == command.replace("check", "triage")
    assert (folder / texts["reproducer"]).exists()
    assert texts["its first lines"] == f"// repro {EVIL}\n"
    shown.evaluate("document.querySelector('dialog form button').click()")
    assert not shown.evaluate("document.querySelector('dialog').open")


def test_a_long_table_grows_when_it_is_scrolled_to_the_end(browser, tmp_path):
    found = results(row(f"net{number}.py:f", max_rel_error=1e-7) for number in range(120))
    (tmp_path / "page.html").write_text(page(found, tmp_path))
    browser.open((tmp_path / "page.html").as_uri())
    names = [f"net{number}.py:f" for number in range(120)]
    assert models(browser) == names[:50]
    box = "document.querySelector('.models').closest('.scroll')"
    browser.evaluate(f"{box}.scrollTo(0, {box}.scrollHeight)")
    browser.wait_for("document.querySelectorAll('.models tbody tr').length === 100")
    # A filter and a sort work on all rows.
    enter(browser, "[type=search]", "net11")
    assert models(browser) == ["net11.py:f", *names[110:]]
    enter(browser, "[type=search]", "")
    browser.evaluate("document.querySelector('.models th').click()")
    browser.evaluate("document.querySelector('.models th').click()")
    assert models(browser) == names[:69:-1]
    assert browser.messages == []


def test_plots_are_there_and_visible(shown):
    for plot in (".curves path", ".scatter circle"):
        size = f"document.querySelector('{plot}').getBoundingClientRect()"
        assert shown.evaluate(f"{size}.width > 0 && {size}.height > 0"), plot
    assert shown.evaluate("document.querySelectorAll('.scatter circle').length") == 3


def test_a_phone_shows_the_page_without_scrolling_sideways(shown):
    shown.call(
        *("Emulation.setDeviceMetricsOverride",),
        **{"width": 375, "height": 700, "deviceScaleFactor": 2, "mobile": True},
    )
    assert shown.evaluate("innerWidth") == 375
    assert shown.evaluate("document.documentElement.scrollWidth") <= 375
    for control in shown.evaluate(
        "[...document.querySelectorAll('#matrix .filter')].map(each => {"
        "const box = each.getBoundingClientRect(); return [box.left, box.right, box.height] })"
    ):
        assert control[0] >= 0 and control[1] <= 375 and control[2] >= 30
    shown.evaluate("document.querySelectorAll('.models .bad')[0].click()")
    box = shown.evaluate(
        "(box => [box.left, box.right])(document.querySelector('dialog').getBoundingClientRect())"
    )
    assert box[0] >= 0 and box[1] <= 375


def test_nothing_is_fetched_and_text_is_escaped(folder):
    from unmess.matrix.folder import read_matrix

    text = page(read_matrix(folder), folder)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
    assert "url(" not in text and "@import" not in text
    assert "<script>alert" not in text and "<b>&" not in text


def test_files_outside_of_the_folder_are_not_shown(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("password")
    for repro in (str(secret), "../secret", "reproducers/../../secret"):
        text = page(results(rows(repro)), tmp_path / "matrix")
        assert "password" not in text


def test_coverage_counts_models_that_are_built():
    found = results(rows())
    shares = {
        group.name: [(share.matches, share.count) for share in group.shares]
        for group in by_operator(found, COLUMNS)
    }
    assert shares == {"aten.exp.default": [(1, 1), (0, 1)], "aten.mm.default": [(2, 2), (1, 2)]}
    assert {group.name.split(":")[0]: group.models for group in by_family(found, COLUMNS)} == {
        "hf": 1,
        "torchvision": 1,
        "other models": 1,
    }


def test_a_matrix_in_which_nothing_was_measured(tmp_path):
    text = page(results([row("hf:bert", stage="capture", error="no")]), tmp_path)
    assert "<svg" not in text and "By operator" not in text


def test_report_of_a_folder_without_results(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "has no results of a matrix" in capsys.readouterr().err


def test_a_page_that_cannot_be_written(folder, capsys):
    assert main(["report", str(folder), "-o", "/nowhere/page.html"]) == 2
    assert "cannot write /nowhere/page.html" in capsys.readouterr().err
