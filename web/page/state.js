// What the page says besides the rows, from the list and from what went wrong: the notice above the rows, the quiet
// picture in their place, and the line below them. No DOM here.

import { clock, figure, windowWords } from "./words.js";

const again = (seconds) => (seconds > 0 ? `Trying again in ${seconds} s.` : "Trying again.");

/**
 * The notice above the list: {tone: "warn" | "off" | "info", text, again?}, or null. What counts down is apart, so
 * that a screen reader isn't made to read it every second.
 */
export function notice(list, problem, retryIn, now) {
  const from = list && clock(new Date(list.as_of), now);
  if (problem && list) {
    return { tone: "off", text: `${reach(problem)} This is the last list, from ${from}.`, again: again(retryIn) };
  }
  if (list?.stale) {
    return { tone: "warn", text: `Counting has stalled; this is the last good list, from ${from}.` };
  }
  if (list?.short === "warming_up" && list.top.length > 0) {
    const { phrase, seconds } = windowWords(list.window);
    return {
      tone: "info",
      text: seconds === Infinity
        ? "Warming up: counting has only just begun."
        : `Warming up: counting has not yet seen everything ${phrase}, so counts are still rising.`,
    };
  }
  return null;
}

function reach(problem) {
  if (problem.offline) return "You are offline.";
  return problem.status === 0 ? "Crest can't be reached." : "Crest has no answer right now.";
}

/** Whether the list is only a stand-in: the first one of its window has yet to be made. */
export const unmade = (list) => list.version === "";

/**
 * What stands in place of rows: {title, text, button?}, or null when there are rows. every is how many seconds pass
 * from one list of the window to the next.
 */
export function quiet(list, problem, retryIn, every) {
  if (list) {
    if (list.top.length > 0) return null;
    const { phrase } = windowWords(list.window);
    if (unmade(list)) {
      return { title: "Warming up", text: `Counting has begun. The first list is ready ${within(every)}.` };
    }
    if (list.short === "warming_up") {
      return { title: "Warming up", text: "Counting has only just begun, and nothing has been counted yet." };
    }
    return {
      title: "Still water",
      text: `Nothing was counted here ${phrase}. The list fills as soon as something is.`,
    };
  }
  if (!problem) return null;
  if (problem.code === "not_ready") return { title: "Starting", text: `Crest is getting ready. ${again(retryIn)}` };
  if (problem.status >= 400 && problem.status < 500) {
    return { title: "There is no such list", text: capitalised(problem.message), button: "Show what there is" };
  }
  const title = problem.offline ? "You are offline" : problem.status === 0 ? "Crest can't be reached" : "No answer right now";
  return { title, text: `The list appears as soon as there is an answer. ${again(retryIn)}`, button: "Try now" };
}

function within(seconds) {
  if (!(seconds > 0)) return "within moments";
  return seconds === 60 ? "within a minute" : seconds < 120 ? `within ${seconds} s` : `within ${Math.ceil(seconds / 60)} minutes`;
}

/** The line below the rows. */
export function tail(list) {
  const n = list.top.length;
  if (n === 0 || list.short !== "few_items") return "";
  const { phrase } = windowWords(list.window);
  return n === 1
    ? `That is all: nothing else was counted ${phrase}.`
    : `That is all: only ${figure(n)} were counted ${phrase}.`;
}

function capitalised(text) {
  const line = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(line) ? line : line + ".";
}
