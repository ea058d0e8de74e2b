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

const VERDICTS = { none: "none stands apart", budget: "the budget ended first" };

/** A verdict in words; `unsettled` if there is none yet. */
export const verdictWords = (verdict, unsettled) =>
  verdict === "running" ? unsettled : (VERDICTS[verdict] ?? verdict);

/** "1 pull", "2 pulls". */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** An element with properties and children; text is text, never markup. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/**
 * Give an element other children. Nodes that are alike stay, so that focus, selected text and a
 * press under way are not lost; what can be pressed is never turned into something else.
 */
export function renew(target, ...children) {
  liken(target, element(target.tagName, {}, ...children));
}

function liken(old, made) {
  const wanted = [...made.childNodes];
  for (const node of [...old.childNodes].slice(wanted.length)) node.remove();
  wanted.forEach((node, k) => {
    const known = old.childNodes[k];
    if (known === undefined) old.append(node);
    else if (known.isEqualNode(node)) return;
    else if (known.nodeName !== node.nodeName || known.matches?.("a, button")) known.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) known.data = node.data;
    else {
      for (const { name } of [...known.attributes]) if (!node.hasAttribute(name)) known.removeAttribute(name);
      for (const { name, value } of node.attributes) known.setAttribute(name, value);
      liken(known, node);
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
