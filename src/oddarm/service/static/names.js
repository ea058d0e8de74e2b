/** Names cut to fit a width, so that they can still be told apart. */

const TELLING = 6; // letters to show, if there is room, from where names begin to differ

/**
 * Return a label for each name, none wider than the room, if that is wide enough for a few letters.
 *
 * A name that is too wide is cut at its end. Names that would then look the same have their common
 * beginning cut instead, up to where they differ: "annotator-2…17". Different names get different
 * labels.
 *
 * @param {string[]} names The names.
 * @param {(text: string) => number} widthOf How wide a text is.
 * @param {number} room How wide a label may be.
 */
export function labelsOf(names, widthOf, room) {
  const letters = names.map((name) => [...String(name)]);
  const labels = new Array(names.length);

  /** The beginning, then as much of the rest as fits, but at least a letter. */
  const cut = (head, rest) => {
    const whole = head + rest.join("");
    if (widthOf(whole) <= room) return whole;
    let [kept, tooMany] = [1, rest.length];
    while (tooMany - kept > 1) {
      const half = (kept + tooMany) >> 1;
      if (widthOf(`${head}${rest.slice(0, half).join("")}…`) <= room) kept = half;
      else tooMany = half;
    }
    return `${head}${rest.slice(0, kept).join("")}…`;
  };

  /** As much of the common beginning as leaves room for where the names differ. */
  const headOf = (arms, from) => {
    const telling = (arm) => letters[arm].slice(from, from + TELLING).join("");
    const wide = arms.reduce((most, arm) => Math.max(most, widthOf(telling(arm))), 0);
    let kept = Math.min(from - 1, Math.ceil(room / 3));
    const head = () => `${letters[arms[0]].slice(0, kept).join("")}…`;
    while (kept > 1 && widthOf(`${head()}…`) + wide > room) kept -= 1;
    return head();
  };

  /** Label arms whose names begin alike, up to a letter; `head` stands for that beginning. */
  const label = (arms, head, from) => {
    for (const [text, same] of grouped(arms, (arm) => cut(head, letters[arm].slice(from)))) {
      const differ = sharedLetters(same.map((arm) => letters[arm]));
      if (same.length > 1 && differ > from) label(same, headOf(same, differ), differ);
      else for (const arm of same) labels[arm] = text;
    }
  };

  label(names.map((_, arm) => arm), "", 0);
  // Names that differ at several places may look the same still.
  for (const [text, same] of grouped(names.map((_, arm) => arm), (arm) => labels[arm])) {
    if (same.length > 1) same.forEach((arm) => (labels[arm] = `${[...text].slice(0, 4).join("")}…#${arm + 1}`));
  }
  return labels;
}

/** The arms by what a function returns for them. */
function grouped(arms, keyOf) {
  const groups = new Map();
  for (const arm of arms) {
    const key = keyOf(arm);
    if (groups.has(key)) groups.get(key).push(arm);
    else groups.set(key, [arm]);
  }
  return groups;
}

/** How many letters all words begin with. */
function sharedLetters(words) {
  const [first] = words;
  let shared = first.length;
  for (const word of words) {
    let k = 0;
    while (k < shared && k < word.length && word[k] === first[k]) k += 1;
    shared = k;
  }
  return shared;
}
