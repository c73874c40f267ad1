// A row of choices that works by mouse and by keyboard: one tab stop, arrow keys move and choose, Home and End jump.

/**
 * Keeps the row's buttons in step with items ([{value, label, hint?}]) and the chosen value.
 * The row's role says what it is: a tablist of tabs, or a radiogroup of radios.
 */
export function showChoice(row, items, chosen, choose) {
  const tabs = row.getAttribute("role") === "tablist";
  const state = tabs ? "aria-selected" : "aria-checked";
  const same = row.children.length === items.length && items.every((it, i) => row.children[i].dataset.value === String(it.value));
  if (!same) {
    const focused = row.contains(document.activeElement) ? document.activeElement.dataset.value : null;
    row.replaceChildren(...items.map((it) => {
      const b = document.createElement("button");
      b.type = "button";
      b.dataset.value = String(it.value);
      b.setAttribute("role", tabs ? "tab" : "radio");
      if (tabs) b.setAttribute("aria-controls", "panel");
      b.textContent = it.label;
      return b;
    }));
    if (focused !== null) [...row.children].find((b) => b.dataset.value === focused)?.focus();
  }
  let any = false;
  for (const b of row.children) {
    const on = b.dataset.value === String(chosen);
    any ||= on;
    b.setAttribute(state, String(on));
    b.tabIndex = on ? 0 : -1;
  }
  if (!any && row.firstElementChild) row.firstElementChild.tabIndex = 0;
  row.onclick = (e) => {
    const b = e.target.closest("button");
    if (b) choose(b.dataset.value);
  };
  row.onkeydown = (e) => {
    const to = target(row, e.key);
    if (!to) return;
    e.preventDefault();
    to.focus();
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
    choose(to.dataset.value);
  };
}

function target(row, key) {
  const all = [...row.children];
  const at = all.indexOf(document.activeElement);
  if (at < 0) return null;
  switch (key) {
    case "ArrowRight": case "ArrowDown": return all[(at + 1) % all.length];
    case "ArrowLeft": case "ArrowUp": return all[(at - 1 + all.length) % all.length];
    case "Home": return all[0];
    case "End": return all[all.length - 1];
  }
  return null;
}
