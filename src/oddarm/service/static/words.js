/** How numbers and times are written, and how elements are made from text. */

const grouped = new Intl.NumberFormat("en");
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const moments = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A whole number with commas. */
export const count = (value) => grouped.format(Math.round(value));

/** A number with about `digits` digits; a dash for null. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(decimals, 9));
}

/** Seconds since 1970 as a local date and time. */
export const moment = (seconds) => moments.format(new Date(seconds * 1000));

/** Seconds since 1970 as a local date, and a time with its seconds. */
export const second = (seconds) => exact.format(new Date(seconds * 1000));

const VERDICTS = {
  none: "no outliers",
  scattered: "too many lie apart",
  budget: "the budget ended first",
  rows: "the rewards ended first",
};

/** A verdict in words; `unsettled` if there is none yet. */
export const verdictWords = (verdict, unsettled) =>
  verdict === "running" ? unsettled : (VERDICTS[verdict] ?? verdict);

/** Odds, rounded down; null if they say nothing. */
export function odds(evidence) {
  if (evidence === null || evidence < 1.1) return null;
  if (evidence > 1e6) return "over 1,000,000 : 1";
  const digits = evidence >= 10 || Number.isInteger(evidence) ? 1 : 10;
  return `${grouped.format(Math.floor(evidence * digits) / digits)} : 1`;
}

/** The smallest of 1, 2, 5, 10, … that is at least `least`. */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((k) => k * power >= least * (1 - 1e-9)) * power;
}

/** "1 pull", "2 pulls". */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** An element with properties and children; text is text, never markup. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/**
 * Give an element new children. Nodes that are equal stay, so that focus, selected text and a press
 * in progress are not lost; a link or button is replaced and never turned into another one.
 */
export function renew(target, ...children) {
  updateChildren(target, element(target.tagName, {}, ...children));
}

function updateChildren(old, made) {
  const wanted = [...made.childNodes];
  for (const node of [...old.childNodes].slice(wanted.length)) node.remove();
  wanted.forEach((node, k) => {
    const existing = old.childNodes[k];
    if (existing === undefined) old.append(node);
    else if (existing.isEqualNode(node)) return;
    else if (existing.nodeName !== node.nodeName || existing.matches?.("a, button")) existing.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) existing.data = node.data;
    else {
      for (const { name } of [...existing.attributes]) if (!node.hasAttribute(name)) existing.removeAttribute(name);
      for (const { name, value } of node.attributes) existing.setAttribute(name, value);
      updateChildren(existing, node);
    }
  });
}

/** The element of an id. */
export const byId = (id) => document.getElementById(id);

/** Show an error sentence in an element, or hide it. */
export function say(target, sentence) {
  target.textContent = sentence ?? "";
  target.hidden = !sentence;
}
