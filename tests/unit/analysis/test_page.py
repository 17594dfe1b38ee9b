"""The HTML page: it is self-contained, and its controls work in a real browser."""

import re

import pytest

from pipelines.analysis.analysis import analyze_module
from unmess.analysis.page import page
from unmess.core.ir.parsing import parse

# A layer with HTML in its name, a layer with more FLOPs, and code with only a source line.
MODULE = """
#first = loc(fused<{class = "<b>Linear", layer = "block.<script>alert(1)</script>"}>["net.py":1:0])
#second = loc(fused<{class = "Act", layer = "block.act"}>["net.py":2:0])
#third = loc("net.py":3:0)
func.func @main(
    %x: tensor<8x4xf32> {unmess.input = "x"},
    %w: tensor<4x64xf32> {unmess.weight = "block.act.weight"}) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32> loc(#third)
  %2 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x64xf32>)
                     outs(%1 : tensor<8x64xf32>) -> tensor<8x64xf32> loc(#second)
  %3 = arith.negf %2 : tensor<8x64xf32> loc(#first)
  return %3 : tensor<8x64xf32>
}
"""
DYNAMIC = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.negf %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
TORCH = """
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
"""


def html(text, stage="linalg"):
    return page(analyze_module(parse(text, "test"), "a <model>", stage))


@pytest.fixture
def opened(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(html(MODULE))
    browser.open(file.as_uri())
    yield browser
    assert browser.messages == []
    # The browser requests only the page itself. The icon is a data URL in the page.
    assert [each for each in browser.requests if not each.startswith("data:")] == [file.as_uri()]


def column(browser, table, number):
    return browser.evaluate(
        f"[...document.querySelectorAll('{table} tbody tr')].filter(row => !row.hidden)"
        f".map(row => row.cells[{number}].textContent.trim())"
    )


def click(browser, selector, index=0):
    browser.evaluate(f"document.querySelectorAll('{selector}')[{index}].click()")


def test_tables_sort_when_their_heads_are_clicked(opened):
    flops = 3
    names = ["block.act", "block.<script>alert(1)</script>", "net.py:3"]
    assert column(opened, ".layers", 0) == names
    assert column(opened, ".layers", flops) == ["4.1 k", "512", ""]
    click(opened, ".layers th", flops)
    click(opened, ".layers th", flops)
    assert column(opened, ".layers", flops) == ["", "512", "4.1 k"]
    click(opened, ".layers th", 0)
    assert column(opened, ".layers", 0) == [names[1], names[0], names[2]]
    sorted_by = "document.querySelectorAll('.layers th[aria-sort]').length"
    assert opened.evaluate(sorted_by) == 1


def test_a_filter_keeps_the_rows_with_all_its_words(opened):
    opened.evaluate(
        "(() => { const input = document.querySelector('#main-layers .filter');"
        "input.value = 'BLOCK act'; input.dispatchEvent(new Event('input')) })()"
    )
    assert column(opened, ".layers", 0) == ["block.act"]
    assert len(column(opened, ".lines", 0)) == 3


def test_plots_are_there_and_visible(opened):
    for plot, parts in {".icicle": "rect", ".scatter": "circle", ".timeline": "path"}.items():
        size = f"document.querySelector('{plot} {parts}').getBoundingClientRect()"
        assert opened.evaluate(f"{size}.width * {size}.height > 0"), plot
    assert opened.evaluate("document.querySelectorAll('.body .graph').length") == 2


def test_another_tree_is_shown_when_it_is_chosen(opened):
    shown = "[...document.querySelectorAll('.tree')].map(tree => tree.checkVisibility())"
    assert opened.evaluate(shown) == [True, False, False, False]
    click(opened, ".choice button", 2)
    assert opened.evaluate(shown) == [False, False, True, False]
    assert opened.evaluate("document.querySelector('[aria-pressed=true]').textContent") == "weights"


def test_dark_mode_has_light_text_on_a_dark_background(opened):
    opened.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    colors = (
        "[...getComputedStyle(document.querySelector('.card')).{}.matchAll(/\\d+/g)].map(Number)"
    )
    background = opened.evaluate(colors.format("backgroundColor"))
    text = opened.evaluate(colors.format("color"))
    assert max(background[:3]) < 64 and min(text[:3]) > 192
    assert opened.screenshot().startswith(b"\x89PNG")


@pytest.mark.parametrize(("module", "stage"), [(DYNAMIC, "linalg"), (TORCH, "torch")])
def test_a_page_without_numbers_to_draw(browser, tmp_path, module, stage):
    file = tmp_path / "page.html"
    file.write_text(html(module, stage))
    browser.open(file.as_uri())
    assert browser.messages == []
    assert browser.evaluate("document.querySelectorAll('.icicle, .scatter').length") == (
        0 if stage == "linalg" else 1
    )
    assert browser.evaluate("document.querySelectorAll('.layers tbody tr').length") == 1


def test_nothing_is_fetched_and_names_are_escaped():
    text = html(MODULE)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
    assert "url(" not in text and "@import" not in text
    assert "<script>alert" not in text and "<b>Linear" not in text
    assert "a &lt;model&gt;" in text
