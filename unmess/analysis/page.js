"use strict";

// A click on a column's head sorts by it: numbers downwards at first, texts upwards.
for (const head of document.querySelectorAll("th")) {
  head.addEventListener("click", () => {
    const column = head.cellIndex;
    const table = head.closest("table");
    const body = table.tBodies[0];
    const before = head.getAttribute("aria-sort");
    const isNumber = head.classList.contains("n");
    const down = before ? before === "ascending" : isNumber;
    const key = (row) => {
      const cell = row.cells[column];
      return isNumber ? Number(cell.dataset.v) : cell.textContent.trim();
    };
    const compare = (a, b) =>
      isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true });
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    body.append(...rows.map(([, row]) => row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  });
}

// A filter keeps the rows that contain all its words.
for (const input of document.querySelectorAll(".filter")) {
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    const table = input.parentElement.querySelector("table");
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// Of the trees of modules one is shown.
for (const card of document.querySelectorAll(".trees")) {
  const buttons = [...card.querySelectorAll("button")];
  const trees = [...card.querySelectorAll(".tree")];
  buttons.forEach((button, chosen) =>
    button.addEventListener("click", () => {
      buttons.forEach((each, index) => each.setAttribute("aria-pressed", index === chosen));
      trees.forEach((each, index) => (each.hidden = index !== chosen));
    })
  );
}
