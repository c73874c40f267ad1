// How a list of each hour compared with the exact counts, which come later: the newest such grade, in words. No DOM here.

import { get, Unavailable } from "./api.js";
import { clock, figure, percent } from "./words.js";

const EVERY = 300_000; // grades come once an hour
const HOURS = 3; // the newest one may be missing
const REMEMBERED = 32;

const known = new Map(); // by address: when it was asked for, and the newest grade or null

const address = (list) => "/v1/grades?" + new URLSearchParams({ board: list.board, window: list.window, limit: HOURS });

/** The newest grade of a list's board and window, as far as it is known. */
export const gradeOf = (list) => known.get(address(list))?.grade ?? null;

/** Asks for the grade of a list if that has not been done lately. Returns whether there is another one now. */
export async function refreshGrade(list) {
  const url = address(list);
  const before = known.get(url);
  if (before && performance.now() - before.at < EVERY) return false;
  known.delete(url);
  known.set(url, { at: performance.now(), grade: before?.grade ?? null });
  if (known.size > REMEMBERED) known.delete(known.keys().next().value);
  try {
    const { body } = await get(url);
    const grade = Array.isArray(body.grades) ? (body.grades.find((g) => !g.missing) ?? null) : null;
    known.set(url, { at: performance.now(), grade });
    return grade?.as_of !== before?.grade?.as_of;
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err; // a list without a grade is a list all the same
    return false;
  }
}

/** A grade as a label: {name, text, note}; null when it says nothing. */
export function gradeFact(grade, now) {
  const { of = 0, found = 0 } = grade?.recall_100 ?? {};
  if (of === 0) return null;
  const right = found === of ? `All of the top ${figure(of)} found` : `${percent(found, of)} of the top ${figure(of)} found`;
  return { name: `Graded at ${clock(new Date(grade.as_of), now)}`, text: right, note: verdict(grade) };
}

function verdict(grade) {
  if (grade.faults.length > 0) return "It broke a promise, and that is a bug";
  const { count = 0, truth = 0, error = 0 } = grade.largest_overcount ?? {};
  if (grade.exact === grade.entries) return "Every count was exact";
  return `Largest over-count ${figure(Math.max(0, count - truth))} of ${figure(error)} certified`;
}
