// The read API, as the page needs it.

const MIN_WAIT = 1_000;
const MAX_WAIT = 60_000;
const TIMEOUT = 10_000;

/** A request that got no list: no answer at all (status 0), or an answer with an error. */
export class Unavailable extends Error {
  constructor(status, detail) {
    super(detail?.message ?? `status ${status}`);
    this.status = status;
    this.code = detail?.code ?? "";
  }
}

/**
 * Gets JSON. The browser's cache holds the last body with its ETag; "no-cache" makes it ask whether that still holds,
 * so an unchanged list costs a 304 without a body.
 * Returns the body, milliseconds until it is worth asking again, and the server's clock less ours.
 */
export async function get(url, signal = new AbortController().signal) {
  const timeout = AbortSignal.timeout(TIMEOUT);
  let response, body;
  try {
    response = await fetch(url, {
      cache: "no-cache", headers: { Accept: "application/json" }, signal: AbortSignal.any([signal, timeout]),
    });
    body = await response.json().catch((err) => {
      if (err instanceof SyntaxError) return null;
      throw err;
    });
  } catch (err) {
    if (signal.aborted) throw err;
    throw new Unavailable(0);
  }
  if (!response.ok) throw new Unavailable(response.status, body?.error);
  if (body === null || typeof body !== "object") throw new Unavailable(response.status, { message: "not a list" });
  return { body, wait: wait(response.headers), skew: skew(response.headers) };
}

/** How long the answer stays good by its Cache-Control, within 1 to 60 seconds. */
function wait(headers) {
  const m = /(?:^|[\s,])max-age=(\d+)/.exec(headers.get("Cache-Control") ?? "");
  const age = Number(headers.get("Age") ?? 0) || 0;
  const ms = m ? (Number(m[1]) - age) * 1000 : 10_000;
  return Math.min(MAX_WAIT, Math.max(MIN_WAIT, ms));
}

/** The Date header has whole seconds, so a difference below two of them means nothing. */
function skew(headers) {
  const date = Date.parse(headers.get("Date") ?? "");
  if (Number.isNaN(date)) return 0;
  const difference = date + (Number(headers.get("Age") ?? 0) || 0) * 1000 - Date.now();
  return Math.abs(difference) < 2_000 ? 0 : difference;
}

/** The address of a view's list. */
export function topURL(view) {
  const query = new URLSearchParams();
  if (view.type) query.set("type", view.type);
  if (view.window) query.set("window", view.window);
  if (view.k) query.set("k", String(view.k));
  for (const [dimension, value] of Object.entries(view.narrow)) query.set(dimension, value);
  const text = query.toString();
  return "/v1/top" + (text && "?" + text);
}
