// Words and figures: everything that the page says about a number or a moment. No DOM here.

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = [[1e9, "B"], [1e6, "M"], [1e3, "k"]];

/** "912,345" */
export const figure = (n) => grouped.format(n);

/**
 * A count with its error. The truth lies in [count - error, count]. Digits that the error makes meaningless are not
 * shown: a count of 4,149 that can be 600 too high is "~4.1k".
 */
export function tally(count, error) {
  if (error === 0) return { amount: figure(count), join: " ", note: "exactly" };
  return { amount: "~" + rounded(count, error), join: ", ", note: `at most ${atMost(error)} too high` };
}

/** The interval behind a tally, for those who want the digits. */
export function interval(count, error) {
  if (error === 0) return `exactly ${figure(count)}`;
  return `counted ${figure(count)}; the truth is between ${figure(Math.max(0, count - error))} and ${figure(count)}`;
}

function rounded(count, error) {
  const step = 10 ** Math.floor(Math.log10(error));
  const value = Math.round(count / step) * step;
  for (const [size, letter] of UNITS) {
    if (value < size) continue;
    // Compact only where three digits say it all; otherwise the digits themselves are shorter to grasp.
    const decimals = Math.max(0, Math.round(Math.log10(size / step)));
    const most = value >= 100 * size ? 1 : 2;
    return decimals > most ? figure(value) : (value / size).toFixed(decimals) + letter;
  }
  return figure(value);
}

/** An upper bound in few digits, rounded up so that it stays one. */
export function atMost(n) {
  if (n < 10_000) return figure(n);
  const [size, letter] = UNITS.find(([s]) => n >= s);
  const decimals = n >= 100 * size ? 0 : n >= 10 * size ? 1 : 2;
  const scale = 10 ** decimals;
  return Number((Math.ceil((n / size) * scale) / scale).toFixed(decimals)) + letter;
}

/** A large number for orientation, "1.25B". */
export function about(n) {
  if (n < 10_000) return figure(n);
  const [size, letter] = UNITS.find(([s]) => n >= s);
  return Number((n / size).toPrecision(3)) + letter;
}

/** part of whole in percent, never "0%" for something and never "100%" for less than all. */
export function percent(part, whole) {
  const p = (100 * part) / whole;
  if (part === 0) return "0%";
  if (p < 1) return "less than 1%";
  return Math.min(Math.round(p), part < whole ? 99 : 100) + "%";
}

/** "8 s ago" */
export function ago(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 1) return "just now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 172_800) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86_400)} days ago`;
}

/** A moment in the reader's own time zone: "10:42" today, "29 Nov, 10:42" on another day. */
export function clock(date, now, seconds = false) {
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(seconds && { second: "2-digit" }) };
  if (date.toDateString() === now.toDateString()) return date.toLocaleTimeString("en-GB", time);
  const day = { day: "numeric", month: "short", ...(date.getFullYear() !== now.getFullYear() && { year: "numeric" }) };
  return `${date.toLocaleDateString("en-GB", day)}, ${date.toLocaleTimeString("en-GB", time)}`;
}

const SPANS = { s: ["s", "second"], m: ["min", "minute"], h: ["hour", "hour"], d: ["day", "day"] };

/** How a window is called: on its tab, in a sentence, and its length in seconds (Infinity for all time). */
export function windowWords(name) {
  const m = /^(\d+)([smhd])$/.exec(name);
  if (!m) {
    if (name === "all") return { tab: "All time", phrase: "of all time", seconds: Infinity };
    return { tab: name, phrase: `in ${name}`, seconds: Infinity };
  }
  const n = Number(m[1]);
  const [short, long] = SPANS[m[2]];
  const tab = `${n} ${short}${n > 1 && short === long ? "s" : ""}`;
  const phrase = n === 1 ? `in the last ${long}` : `in the last ${n} ${long}s`;
  return { tab, phrase, seconds: n * { s: 1, m: 60, h: 3600, d: 86_400 }[m[2]] };
}

/** From when to when a list counts. */
export function coverage(list, now) {
  const asOf = new Date(list.as_of);
  if (!list.from) return `Everything up to ${clock(asOf, now)}`;
  const from = new Date(list.from);
  const fine = asOf - from < 600_000;
  return `${clock(from, now, fine)} to ${clock(asOf, now, fine)}`;
}

/** Which ranks are certain, in words; count is how many entries are shown. */
export function certainty(proven, count) {
  if (count === 0) return "";
  if (proven >= count) return count === 1 ? "The first rank is certain" : `All ${figure(count)} ranks are certain`;
  if (proven === 0) return "No rank is certain";
  if (proven === 1) return "Rank 1 is certain";
  return `Ranks 1\u2013${figure(proven)} are certain`;
}

/** Movement since the previous list; previous is a rank, or null for an entry that was not on it. */
export function movement(rank, previous) {
  if (previous == null) return { kind: "new", glyph: "new", words: "new on the list" };
  const by = previous - rank;
  if (by > 0) return { kind: "up", glyph: `\u25B2${by}`, words: `up ${by}` };
  if (by < 0) return { kind: "down", glyph: `\u25BC${-by}`, words: `down ${-by}` };
  return { kind: "same", glyph: "\u2014", words: "unchanged" };
}

/** A name as declared in the configuration, with a capital. */
export function capital(name) {
  const [first = "", ...rest] = name;
  return first.toLocaleUpperCase("en") + rest.join("");
}

/** Text that can be seen: an id of nothing but invisible characters is shown as their code points. */
export function visible(text) {
  if (/[^\p{Z}\p{C}\p{M}\u115F\u1160\u2800\u3164\uFFA0]/u.test(text)) return text;
  return Array.from(text, (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")).join(" ");
}
