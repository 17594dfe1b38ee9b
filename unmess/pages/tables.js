"use strict";

// For each table: all rows in their order, the rows that match the filters, and the number of these
// that are in the document. A long table has `data-most`, the number of rows to show until the user
// scrolls to the end: the layout of all rows would take most of a second.
const states = new Map();
for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies[0].rows];
  const most = Number(table.dataset.most || Infinity);
  states.set(table, { rows, matches: () => true, most, shown: most });
  if (most < rows.length) show(table);
}

function show(table) {
  const { rows, matches, shown } = states.get(table);
  const left = rows.filter(matches);
  table.tBodies[0].replaceChildren(...left.slice(0, shown));
  return left.length;
}

for (const table of document.querySelectorAll("table[data-most]")) {
  const box = table.closest(".scroll");
  const state = states.get(table);
  box.addEventListener("scroll", () => {
    if (state.shown < state.rows.length && box.scrollTop + 2 * box.clientHeight > box.scrollHeight) {
      state.shown += state.most;
      show(table);
    }
  });
}

// A click on the head of a column sorts by it: first descending for numbers, ascending for texts.
const collator = new Intl.Collator(undefined, { numeric: true });
for (const head of document.querySelectorAll("th")) {
  head.addEventListener("click", () => {
    const column = head.cellIndex;
    const table = head.closest("table");
    const before = head.getAttribute("aria-sort");
    const isNumber = head.classList.contains("n");
    const down = before ? before === "ascending" : isNumber;
    const key = (row) => {
      const cell = row.cells[column];
      return isNumber ? Number(cell.dataset.v) : cell.textContent.trim();
    };
    const compare = isNumber ? (a, b) => a - b : collator.compare;
    const state = states.get(table);
    const keyed = state.rows.map((row) => [key(row), row]);
    keyed.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    state.rows = keyed.map(([, row]) => row);
    state.shown = state.most;
    show(table);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  });
}

// Filters keep the rows that contain all words of the text and have the chosen values. A choice
// names an attribute of the rows, whose values are separated by "|".
const texts = new WeakMap();
function textOf(row) {
  if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
  return texts.get(row);
}
for (const input of document.querySelectorAll(".filter")) {
  input.addEventListener("input", () => {
    const card = input.closest("details, article");
    const controls = [...card.querySelectorAll(".filter")];
    const words = controls
      .filter((each) => each.matches("input"))
      .flatMap((each) => each.value.toLowerCase().split(/\s+/));
    const choices = controls.filter((each) => each.matches("select") && each.value);
    const table = card.querySelector("table");
    const state = states.get(table);
    state.matches = (row) =>
      choices.every((each) => row.dataset[each.name].split("|").includes(each.value)) &&
      words.every((word) => textOf(row).includes(word));
    state.shown = state.most;
    const left = show(table);
    const count = card.querySelector(".count");
    if (count) count.textContent = `${left} of ${state.rows.length}`;
  });
}
