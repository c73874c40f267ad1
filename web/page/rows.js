// The rows of the list. A row belongs to an item and lives as long as the item stays on the list, so that it can be
// seen to move. Ids, titles and addresses of pictures come from strangers: they are only ever set as text, or as the
// source of an image after a look at the scheme.

import { capital, interval, movement, tally, visible } from "./words.js";

const MOVE = { duration: 520, easing: "cubic-bezier(.22,.9,.28,1)" };
const LONG = 100; // rows, from which those out of sight aren't laid out
const ENTER = { duration: 420, easing: "ease-out" };

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const template = document.getElementById("row");

/** Shows a list's entries in ol. With moving set, rows travel from where they were. */
export function showRows(ol, list, moving) {
  const animate = moving && !calm.matches && !document.hidden;
  const before = animate ? positions(ol) : null;

  const kept = new Map();
  for (const li of ol.children) if (li.dataset.key !== undefined) kept.set(li.dataset.key, li);
  const field = list.id_field || "id";
  const scale = list.top.length > 0 ? list.top[0].count : 1;
  const pictures = list.top.some((e) => pictureURL(e.thumbnail));
  const known = list.top.some((e) => e.previous_rank != null); // otherwise there was no list before this one
  const seen = new Set();

  const rows = list.top.map((entry, i) => {
    const id = String(entry[field] ?? entry.id ?? "");
    const key = seen.has(id) ? `${id}\n${i}` : id;
    seen.add(id);
    const li = kept.get(key) ?? template.content.firstElementChild.cloneNode(true);
    li.dataset.key = key;
    fill(li, entry, id, { scale, pictures, known });
    li.classList.toggle("last-certain", i + 1 === list.proven && i + 1 < list.top.length);
    return li;
  });
  ol.classList.toggle("long", rows.length > LONG);
  place(ol, rows);
  if (animate) travel(rows, before);
}

/** Shows grey rows while the first list is on its way. */
export function showSkeleton(ol, count) {
  ol.replaceChildren(...Array.from({ length: count }, () => {
    const li = template.content.firstElementChild.cloneNode(true);
    li.classList.add("bones");
    li.setAttribute("aria-hidden", "true");
    return li;
  }));
}

function fill(li, entry, id, { scale, pictures, known }) {
  const part = (name) => li.querySelector("." + name);
  set(part("rank"), String(entry.rank));

  const move = known ? movement(entry.rank, entry.previous_rank) : { kind: "same", glyph: "", words: "" };
  li.dataset.move = move.kind;
  set(part("move-glyph"), move.glyph);
  set(li.querySelector(".move .hush"), move.words);

  const shown = visible(id);
  const title = entry.title && visible(entry.title) === entry.title ? entry.title : shown;
  set(part("title"), title);
  set(part("id"), title === shown ? "" : shown);
  part("name").title = title === shown ? shown : `${title}\n${shown}`;

  const words = tally(entry.count, entry.error);
  set(part("amount"), words.amount);
  set(part("join"), words.join);
  set(part("note"), words.note);
  part("tally").title = interval(entry.count, entry.error);
  part("tally").classList.toggle("exact", entry.error === 0);

  const bar = part("bar");
  bar.style.setProperty("--sure", String(share(entry.count - entry.error, scale)));
  bar.style.setProperty("--doubt", String(share(entry.error, scale)));

  showPicture(part("thumb"), entry, title, pictures);
}

const share = (n, scale) => (scale > 0 ? Math.min(1, Math.max(0, n / scale)) : 0);

function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The address of a picture that may be loaded, or "". */
function pictureURL(address) {
  if (!address) return "";
  try {
    const url = new URL(address, location.href);
    return ["https:", "http:"].includes(url.protocol) || url.href.startsWith("data:image/") ? url.href : "";
  } catch {
    return "";
  }
}

function showPicture(box, entry, title, pictures) {
  box.hidden = !pictures;
  if (!pictures) {
    box.replaceChildren();
    delete box.dataset.source;
    return;
  }
  const source = pictureURL(entry.thumbnail);
  if (box.dataset.source === source) return;
  box.dataset.source = source;
  const initial = () => {
    box.replaceChildren();
    box.dataset.initial = capital(firstLetter(title));
  };
  initial();
  if (!source) return;
  const img = document.createElement("img");
  img.alt = "";
  img.loading = "lazy";
  img.decoding = "async";
  img.referrerPolicy = "no-referrer";
  img.addEventListener("error", initial, { once: true });
  img.src = source;
  box.replaceChildren(img);
}

const firstLetter = (text) => (/[\p{L}\p{N}]/u.exec(text) ?? ["·"])[0];

/** Puts rows into ol in order, touching only what is out of place, so that focus and pictures survive. */
function place(ol, rows) {
  const wanted = new Set(rows);
  for (const li of [...ol.children]) if (!wanted.has(li)) li.remove();
  rows.forEach((li, i) => {
    if (ol.children[i] !== li) ol.insertBefore(li, ol.children[i] ?? null);
  });
}

function positions(ol) {
  const tops = new Map();
  for (const li of ol.children) {
    // A row that is still on its way starts its next way from where it is seen now.
    tops.set(li, li.getBoundingClientRect().top);
    for (const a of li.getAnimations()) a.cancel();
  }
  return tops;
}

function travel(rows, before) {
  const height = innerHeight;
  const inSight = (y) => y > -100 && y < height + 100;
  const plans = rows.map((li) => [li, before.get(li), li.getBoundingClientRect().top]); // read all, then write
  for (const [li, from, to] of plans) {
    if (from === undefined) {
      if (inSight(to)) li.animate([{ opacity: 0 }, { opacity: 1 }], ENTER);
      continue;
    }
    const by = Math.max(-height, Math.min(height, from - to));
    if (Math.abs(by) < 1 || !(inSight(from) || inSight(to))) continue;
    const above = by > 0 ? 2 : 1; // who rises passes in front
    li.animate([
      { transform: `translateY(${by}px)`, zIndex: above, background: "var(--paper)" },
      { transform: "none", zIndex: above, background: "var(--paper)" },
    ], MOVE);
  }
}
