// Shows one of the trees of modules.
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
