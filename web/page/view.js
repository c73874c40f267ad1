// What the reader looks at: a type, a window, a size and a narrowing. It lives in the page's address, so that a view
// can be linked, reloaded, and gone back to.

const OWN = new Set(["type", "window", "k"]);

/** The view that the address asks for; what it leaves out is the server's choice. */
export function fromAddress(search) {
  const query = new URLSearchParams(search);
  const narrow = {};
  for (const [name, value] of query) if (!OWN.has(name) && value) narrow[name] = value;
  return { type: query.get("type") ?? "", window: query.get("window") ?? "", k: query.get("k") ?? "", narrow };
}

/** The address of a view, relative to the page. */
export function toAddress(view) {
  const query = new URLSearchParams();
  if (view.type) query.set("type", view.type);
  if (view.window) query.set("window", view.window);
  if (view.k) query.set("k", String(view.k));
  for (const [name, value] of Object.entries(view.narrow)) query.set(name, value);
  return "?" + query.toString();
}

/** The narrowing in a board's name: "article/category=sports/region=eu" has two. */
export function narrowing(board) {
  const narrow = {};
  for (const part of board.split("/").slice(1)) {
    const at = part.indexOf("=");
    if (at > 0) narrow[part.slice(0, at)] = part.slice(at + 1);
  }
  return narrow;
}

/** What there is to choose from, by the server's account of its lists. */
export class Catalogue {
  #lists;
  #refresh;
  #declared;

  /** body is the answer to GET /v1/lists. */
  constructor(body) {
    this.#lists = body.lists;
    this.#refresh = new Map((body.windows ?? []).map((w) => [w.name, w.refresh_seconds]));
    this.#declared = new Map((body.types ?? []).map((t) => [t.name, new Set((t.boards ?? []).flat())]));
  }

  get types() {
    return [...new Set(this.#lists.map((l) => l.type))];
  }

  windows(type) {
    return [...new Set(this.#lists.filter((l) => l.type === type).map((l) => l.window))];
  }

  /** How many seconds pass from one list of a window to the next; undefined when nobody says. */
  refresh(window) {
    return this.#refresh.get(window);
  }

  /** Dimension names, each with its values in order. */
  dimensions(type) {
    const found = new Map();
    for (const l of this.#lists) {
      if (l.type !== type) continue;
      for (const [name, value] of Object.entries(narrowing(l.board))) {
        if (!found.has(name)) found.set(name, new Set());
        found.get(name).add(value);
      }
    }
    return [...found].map(([name, values]) => [name, [...values].sort()]);
  }

  /** Whether there is anything to choose for a type, and a board for each of its dimensions. */
  complete(type) {
    const there = new Set(this.dimensions(type).map(([name]) => name));
    return this.types.includes(type) && [...(this.#declared.get(type) ?? [])].every((name) => there.has(name));
  }

  has(type, narrow) {
    const wanted = JSON.stringify(Object.entries(narrow).sort());
    return this.#lists.some((l) => l.type === type && JSON.stringify(Object.entries(narrowing(l.board)).sort()) === wanted);
  }

  sizes(type) {
    const list = this.#lists.find((l) => l.type === type);
    if (Array.isArray(list?.sizes) && list.sizes.length > 0) return list.sizes;
    const most = list?.max_k ?? 0;
    return [10, 25, 50, 100].filter((k) => k <= most);
  }
}
