/** The list of studies. */

import { Away, Refused, json, pause, visible } from "./api.js";
import { byId, count, element, moment, renew, verdictWords } from "./words.js";

const POLL = 2_000;

/**
 * Show the list and keep it up to date until the signal is aborted.
 *
 * @param {(error: Error) => void} onError Called with errors that end the list.
 * @param {(state: string) => void} onState Called with "live" or "away".
 */
export async function showStudies(onError, onState, signal) {
  while (!signal.aborted) {
    await visible(signal);
    try {
      const rows = await json("studies", { signal });
      if (signal.aborted) return;
      fill(rows);
      onState("live");
    } catch (error) {
      if (signal.aborted) return;
      const temporary = error instanceof Away || (error instanceof Refused && error.status >= 500);
      if (!temporary) return onError(error);
      onState("away");
    }
    await pause(POLL, signal);
  }
}

function fill(rows) {
  byId("loading").hidden = true;
  byId("studies").hidden = false;
  byId("no-studies").hidden = rows.length > 0;
  const table = byId("studies-table");
  table.hidden = rows.length === 0;
  const cell = (label, text, className = "") => {
    const made = element("td", { className }, text);
    made.dataset.label = label;
    return made;
  };
  const focused = document.activeElement?.closest?.("#studies-table a")?.textContent;
  renew(
    table.tBodies[0],
    ...rows.map((row) => {
      const link = element("a", { href: `#/study/${encodeURIComponent(row.name)}` }, row.name);
      const badge = element("span", { className: `badge ${row.status}` }, row.status);
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, link),
        cell("Status", badge),
        cell("Verdict", verdictWords(row.verdict, "–")),
        cell("Arms", count(row.arms), "number"),
        cell("Pulls", count(row.pulls), "number"),
        cell("Updated", moment(row.updated)),
      );
    }),
  );
  if (focused === undefined) return;
  for (const link of table.querySelectorAll("a")) if (link.textContent === focused) link.focus();
}
