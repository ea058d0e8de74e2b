/** How numbers and times are written, and how elements are made from text. */

const grouped = new Intl.NumberFormat("en");
const moments = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A whole number with commas. */
export const count = (value) => grouped.format(Math.round(value));

/** A number with about `digits` digits; a dash for none. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(decimals, 9));
}

/** Seconds since 1970 as a date and time of day, here. */
export const moment = (seconds) => moments.format(new Date(seconds * 1000));

/** "1 pull", "2 pulls". */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** An element with properties and children; text is text, never markup. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The element of an id. */
export const byId = (id) => document.getElementById(id);

/** Show an error sentence in an element, or hide it. */
export function say(target, sentence) {
  target.textContent = sentence ?? "";
  target.hidden = !sentence;
}
