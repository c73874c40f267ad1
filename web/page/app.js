// The page: keeps one view's list on the screen and up to date.

import { get, topURL, Unavailable } from "./api.js";
import { showChoice } from "./choice.js";
import { facts, showFacts } from "./facts.js";
import { gradeOf, refreshGrade } from "./grades.js";
import { showRows, showSkeleton } from "./rows.js";
import { notice, quiet, tail, unmade } from "./state.js";
import { Catalogue, fromAddress, narrowing, toAddress } from "./view.js";
import { ago, capital, clock, figure, windowWords } from "./words.js";

const CATALOGUE_EVERY = 30_000;
const CATALOGUE_SOON = 3_000; // while something of it is still missing
const CATALOGUE_GRACE = 400; // a list waits no longer for the choices around it
const SKELETON_AFTER = 150;
const REMEMBERED = 32;

const at = (id) => document.getElementById(id);
const dom = Object.fromEntries([
  "pulse", "updated", "heading", "types", "windows", "narrow", "sizes", "size-choice", "panel", "list", "quiet",
  "quiet-title", "quiet-text", "quiet-button", "tail", "notice", "notice-text", "notice-again", "facts", "fact-list", "key", "source", "version",
].map((id) => [id, at(id)]));

let view = fromAddress(location.search);
let catalogue = new Catalogue({ lists: [] });
let catalogueAt = -Infinity;
let list = null; // of this view, or null while there is none
let problem = null; // why the last request brought no list
let failures = 0;
let nextAt = 0; // when to ask again, by performance.now()
let skew = 0; // the server's clock less ours, ms
let asking = null; // AbortController of the request on its way
let timer = 0;
const remembered = new Map(); // lists of other views, shown while theirs is fetched

// --- asking ---------------------------------------------------------------------------------------------------------

async function ask() {
  clearTimeout(timer);
  asking?.abort();
  const mine = (asking = new AbortController());
  const url = topURL(view);
  let wait;
  try {
    const catalogueKnown = refreshCatalogue();
    const answer = await get(url, mine.signal);
    await Promise.race([catalogueKnown, new Promise((done) => setTimeout(done, CATALOGUE_GRACE))]);
    if (mine.signal.aborted) return;
    if (!isList(answer.body)) throw new Unavailable(200, { message: "not a list" });
    ({ wait, skew } = answer);
    failures = 0;
    problem = null;
    accept(answer.body);
  } catch (err) {
    if (mine.signal.aborted) return;
    if (!(err instanceof Unavailable)) reportError(err); // and go on: a page that stops asking helps nobody
    failures++;
    wait = Math.min(60_000, 1000 * 2 ** Math.min(failures, 6)) * (0.8 + 0.4 * Math.random());
    problem = { status: err.status ?? 200, code: err.code, message: err.message, offline: navigator.onLine === false };
    if (err.status === 404 || err.status === 400) list = null;
    render();
  }
  asking = null;
  nextAt = performance.now() + wait;
  schedule();
}

/** Whether a body is a list, and not what a proxy says in its place. */
const isList = (b) => typeof b.board === "string" && Array.isArray(b.top) && typeof b.as_of === "string";

function schedule() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(ask, Math.max(0, nextAt - performance.now()));
}

async function refreshCatalogue() {
  const every = catalogue.complete(view.type) ? CATALOGUE_EVERY : CATALOGUE_SOON;
  if (performance.now() - catalogueAt < every) return;
  try {
    const { body } = await get("/v1/lists");
    if (!Array.isArray(body.lists)) return;
    catalogue = new Catalogue(body);
    catalogueAt = performance.now();
    renderChoices();
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err; // the list itself says what is wrong
  }
}

function accept(fresh) {
  // The server fills in what the address left out.
  view = { type: fresh.type, window: fresh.window, k: fresh.k, narrow: narrowing(fresh.board) };
  const moving = list !== null && list.board === fresh.board && list.window === fresh.window;
  list = fresh;
  const url = topURL(view);
  remembered.delete(url);
  remembered.set(url, fresh);
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value);
  render(moving);
  if (!unmade(fresh)) refreshGrade(fresh).then((changed) => changed && renderFacts(), reportError);
}

// --- choosing -------------------------------------------------------------------------------------------------------

function choose(change) {
  const next = { ...view, ...change };
  if (toAddress(next) === toAddress(view)) return;
  history.pushState(null, "", toAddress(next));
  show(next);
}

function show(next) {
  view = next;
  problem = null;
  failures = 0;
  list = remembered.get(topURL(view)) ?? null;
  if (list) {
    render();
  } else {
    dom.panel.setAttribute("aria-busy", "true");
    renderChoices();
    const waitingFor = view;
    setTimeout(() => {
      if (list === null && problem === null && view === waitingFor) render();
    }, SKELETON_AFTER);
  }
  ask();
}

function chooseNarrowing(dimension, value) {
  const narrow = { ...view.narrow };
  if (value) narrow[dimension] = value;
  else delete narrow[dimension];
  // A combination that no list exists for gives way to what was just chosen.
  choose({ narrow: catalogue.has(view.type, narrow) ? narrow : value ? { [dimension]: value } : {} });
}

// --- showing --------------------------------------------------------------------------------------------------------

const serverNow = () => new Date(Date.now() + skew);
const retryIn = () => Math.max(0, Math.ceil((nextAt - performance.now()) / 1000));

function render(moving = false) {
  renderChoices();
  dom.panel.setAttribute("aria-busy", String(list === null && problem === null));
  if (list) {
    showRows(dom.list, list, moving);
  } else if (problem) {
    dom.list.replaceChildren();
  } else {
    showSkeleton(dom.list, Math.min(10, Number(view.k) || 10));
  }
  renderFacts();
  renderTexts();
}

function renderChoices() {
  const types = withChosen(catalogue.types, view.type);
  showChoice(dom.types, types.map((t) => ({ value: t, label: capital(t) })), view.type,
    (type) => choose({ type, narrow: {} }));

  const windows = withChosen(catalogue.windows(view.type), view.window)
    .sort((a, b) => windowWords(a).seconds - windowWords(b).seconds);
  showChoice(dom.windows, windows.map((w) => ({ value: w, label: windowWords(w).tab })), view.window,
    (window) => choose({ window }));

  const sizes = withChosen(catalogue.sizes(view.type).map(String), String(view.k)).sort((a, b) => a - b);
  dom.sizes.hidden = sizes.length < 2;
  showChoice(dom["size-choice"], sizes.map((k) => ({ value: k, label: figure(Number(k)) })), String(view.k),
    (k) => choose({ k }));

  renderNarrowing();
}

const withChosen = (values, chosen) => (chosen && !values.includes(chosen) ? [...values, chosen] : values);

function renderNarrowing() {
  const dimensions = catalogue.dimensions(view.type);
  dom.narrow.hidden = dimensions.length === 0;
  for (const [i, [name, values]] of dimensions.entries()) {
    const label = dom.narrow.children[i] ?? newSelector();
    const select = label.querySelector("select");
    const chosen = view.narrow[name] ?? "";
    const options = ["", ...withChosen(values, chosen)];
    label.querySelector("span").textContent = capital(name);
    if (JSON.stringify([...select.options].map((o) => o.value)) !== JSON.stringify(options)) {
      select.replaceChildren(...options.map((v) => new Option(v === "" ? "All" : v, v)));
    }
    select.value = chosen;
    select.onchange = () => chooseNarrowing(name, select.value);
    label.classList.toggle("narrowed", chosen !== "");
    if (!label.isConnected) dom.narrow.append(label);
  }
  while (dom.narrow.children.length > dimensions.length) dom.narrow.lastElementChild.remove();
}

function newSelector() {
  const label = document.createElement("label");
  label.append(document.createElement("span"), document.createElement("select"));
  return label;
}

function renderFacts() {
  dom.facts.hidden = list === null || unmade(list);
  if (dom.facts.hidden) return;
  showFacts(dom["fact-list"], facts(list, gradeOf(list), serverNow()));
  dom.key.hidden = list.max_overcount === 0;
  dom.source.href = topURL(view);
  dom.version.textContent = list.version;
}

/** Everything that changes with time alone. */
function renderTexts() {
  const now = serverNow();
  const words = windowWords(view.window);
  const named = [capital(view.type), ...Object.values(view.narrow)].filter(Boolean).join(", ");
  dom.heading.textContent = named ? `${named}: the top ${figure(Number(view.k) || 10)} ${words.phrase}` : "Crest";
  document.title = named ? `${named}, ${words.tab} \u00B7 Crest` : "Crest";

  setNotice(notice(list, problem, retryIn(), now));
  const q = quiet(list, problem, retryIn(), catalogue.refresh(view.window));
  dom.quiet.hidden = q === null;
  if (q) {
    dom["quiet-title"].textContent = q.title;
    dom["quiet-text"].textContent = q.text;
    dom["quiet-button"].textContent = q.button ?? "";
    dom["quiet-button"].hidden = !q.button;
  }
  const t = list ? tail(list) : "";
  dom.tail.textContent = t;
  dom.tail.hidden = t === "";
  renderPulse(now);
}

function setNotice(n) {
  dom.notice.hidden = n === null;
  if (!n) return;
  dom.notice.dataset.tone = n.tone;
  if (dom["notice-text"].textContent !== n.text) dom["notice-text"].textContent = n.text;
  dom["notice-again"].textContent = n.again ?? "";
}

function renderPulse(now) {
  const made = list !== null && !unmade(list);
  dom.pulse.dataset.state = problem ? "off" : !made ? "waiting" : list.stale ? "stale" : "live";
  if (!made) {
    dom.updated.textContent = list ? "No list yet" : !problem ? "Connecting" : problem.status === 0 ? "No connection" : "No list";
    dom.updated.removeAttribute("title");
    dom.updated.removeAttribute("datetime");
    return;
  }
  const asOf = new Date(list.as_of);
  dom.updated.textContent = `Updated ${ago(now - asOf)}`;
  dom.updated.dateTime = list.as_of;
  dom.updated.title = `As of ${clock(asOf, now, true)}`;
}

// --- living ---------------------------------------------------------------------------------------------------------

dom["quiet-button"].addEventListener("click", () => {
  if (problem && problem.status >= 400 && problem.status < 500) {
    choose({ type: "", window: "", k: "", narrow: {} });
  } else {
    ask();
  }
});
addEventListener("popstate", () => show(fromAddress(location.search)));
addEventListener("online", ask);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (performance.now() >= nextAt) ask();
  else schedule();
  renderTexts();
});
setInterval(() => {
  if (!document.hidden) renderTexts();
}, 1000);

render();
ask();
