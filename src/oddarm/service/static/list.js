/** The list of studies, and the form that makes one. */

import { Away, Refused, json, pause, visible } from "./api.js";
import { byId, count, element, moment, renew, say, verdictWords } from "./words.js";

const POLL = 2_000;

const STOPS = {
  ranked: "every group must rank first",
  found: "one group is confirmed, or none can be",
  confirmed: "one is confirmed and no larger one can be, or none can be",
  budget: "the budget is spent on the best guess",
};

const USUAL_STOP = "found if the strategy can, else ranked";
const NUMBERS = [
  "max_outliers",
  "rho",
  "min_gap",
  "epsilon",
  "slack",
  "delta",
  "max_pulls",
  "expired_reward",
];

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

/** Make the form work; its choices come from the service's OpenAPI description. */
export function prepareForm(onError) {
  const form = byId("create");
  const opener = byId("new-study");
  const toggle = async (open) => {
    form.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (!open) return opener.focus();
    form.elements.name.focus();
    try {
      if (!form.elements.strategy.options.length) fillChoices(form, await json("openapi.json"));
    } catch (error) {
      onError(error);
    }
  };
  opener.addEventListener("click", () => toggle(form.hidden));
  byId("create-cancel").addEventListener("click", () => toggle(false));
  form.addEventListener("keydown", (event) => event.key === "Escape" && toggle(false));
  form.elements.rewards.addEventListener("change", () => {
    byId("range").hidden = form.elements.rewards.value !== "range";
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say(byId("create-error"), null);
    try {
      const made = await json("studies", { method: "POST", body: bodyOf(form.elements) });
      form.reset();
      byId("range").hidden = true;
      toggle(false);
      location.hash = `#/study/${encodeURIComponent(made.name)}`;
    } catch (error) {
      if (error instanceof Refused && error.status === 401) onError(error);
      else say(byId("create-error"), error.message);
    }
  });
}

function fillChoices(form, description) {
  const fields = description.components.schemas.CreateBody.properties;
  for (const name of ["strategy", "until"]) {
    const { anyOf, default: usual = null } = fields[name]; // OpenAPI leaves out a default of null
    const values = fields[name].enum ?? anyOf.find((kind) => kind.enum).enum;
    const choices = values.map((value) => {
      const words = name === "until" ? `${value}: ${STOPS[value] ?? ""}` : value;
      return element("option", { value, defaultSelected: value === usual }, words);
    });
    if (usual === null) choices.unshift(element("option", { value: "", defaultSelected: true }, USUAL_STOP));
    form.elements[name].replaceChildren(...choices);
  }
  form.elements.delta.defaultValue = fields.delta.default;
}

/** The form as the body of a request; an empty field is left out. */
function bodyOf(fields) {
  const lines = fields.arms.value.split("\n").map((line) => line.trim());
  const names = lines.filter((line) => line !== "");
  const number = names.length === 1 && /^\d+$/.test(names[0]);
  const body = {
    name: fields.name.value.trim(),
    arms: number ? Number(names[0]) : names,
    strategy: fields.strategy.value,
  };
  if (fields.until.value !== "") body.until = fields.until.value;
  for (const name of NUMBERS) {
    if (fields[name].value !== "") body[name] = Number(fields[name].value);
  }
  if (fields.rewards.value === "range") {
    body.rewards = [Number(fields.low.value), Number(fields.high.value)];
  }
  return body;
}
