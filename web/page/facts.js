// The labels of a list, in words: what it covers, how much there is, and how sure it is.

import { gradeFact } from "./grades.js";
import { about, atMost, certainty, clock, coverage, figure, percent } from "./words.js";

/** The labels as [{name, text, note?, share?}], in order of interest. grade is that of an earlier list, or null. */
export function facts(list, grade, now) {
  const shown = list.top.length;
  const listed = Math.max(0, list.total - list.other);
  const out = [{ name: "Covers", text: coverage(list, now), note: exactness(list, now) }];
  if (list.total > 0) {
    out.push({
      name: "Counted in all", text: figure(list.total),
      share: listed / list.total,
      note: list.other > 0
        ? `${percent(listed, list.total)} on this list, ${about(list.other)} elsewhere`
        : "All of it on this list",
    });
  }
  if (shown > 0) {
    out.push({ name: "Order", text: certainty(list.proven, shown), note: doubt(list.proven, shown) });
    out.push({
      name: "Counts",
      text: list.max_overcount === 0 ? "Every count is exact" : `At most ${atMost(list.max_overcount)} too high`,
      note: list.max_overcount === 0 ? "" : "Never too low",
    });
    if (list.cutoff > 0) out.push({ name: "Anything not listed", text: `At most ${atMost(list.cutoff)}` });
  }
  const graded = gradeFact(grade, now);
  if (graded) out.push(graded);
  const dropped = [];
  if (list.duplicates > 0) dropped.push(`${figure(list.duplicates)} sent twice, counted once`);
  if (list.late > 0) dropped.push(`${figure(list.late)} came too late for this window`);
  if (list.dedup === "partial") dropped.push("Some that were sent twice may be counted twice");
  if (dropped.length > 0) out.push({ name: "Set aside", text: dropped[0], note: dropped.slice(1).join(". ") });
  return out;
}

function exactness(list, now) {
  if (list.exact_until) return `Exact until ${clock(new Date(list.exact_until), now)}`;
  return list.since ? `Counting began at ${clock(new Date(list.since), now)}` : "";
}

function doubt(proven, shown) {
  if (proven >= shown) return "";
  return proven === 0 ? "Neighbours may be in the wrong order" : "After them, neighbours may be in the wrong order";
}

/** Writes the labels into dl. */
export function showFacts(dl, items) {
  dl.replaceChildren(...items.map((item) => {
    const group = document.createElement("div");
    const name = document.createElement("dt");
    const text = document.createElement("dd");
    name.textContent = item.name;
    text.textContent = item.text;
    group.append(name, text);
    if (item.share !== undefined) {
      const bar = document.createElement("span");
      bar.className = "share";
      bar.setAttribute("aria-hidden", "true");
      bar.style.setProperty("--share", String(item.share));
      text.append(bar);
    }
    if (item.note) {
      const note = document.createElement("dd");
      note.className = "fact-note";
      note.textContent = item.note;
      group.append(note);
    }
    return group;
  }));
}
