
// A click on a cell opens its details.
const dialog = document.getElementById("cell");
const codes = new Set(["source line", "run it again", "reduce it", "its first lines", "in full"]);
let details = null;
document.querySelector(".models").addEventListener("click", (event) => {
  const button = event.target.closest("button[data-number]");
  if (!button) return;
  details ??= JSON.parse(document.getElementById("details").textContent);
  const { title, rows } = details[Number(button.dataset.number)];
  dialog.querySelector("h3").textContent = title;
  dialog.querySelector("dl").replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = name;
      const inner = codes.has(name) ? text.appendChild(document.createElement("pre")) : text;
      inner.textContent = value;
      return [term, text];
    })
  );
  dialog.showModal();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
