/** The form that makes a study: the question, asked in order. */

import { Refused, json } from "./api.js";
import { byId, element, say } from "./words.js";

const STOPS = {
  ranked: "every group must rank first",
  found: "one group is confirmed, or none can be",
  confirmed: "one is confirmed and no larger one can be, or none can be",
  budget: "the budget is spent on the best guess",
};
const USUAL_STOP = "found if the strategy can, else ranked";
const CHOICES = ["strategy", "until", "bound"]; // fields whose values the service names
const NUMBERS = [
  "max_outliers",
  "rho",
  "min_gap",
  "epsilon",
  "slack",
  "neighbours",
  "delta",
  "max_pulls",
  "max_cost",
  "seed",
  "expired_reward",
];

/** Make the form work; its choices and its help come from the service's OpenAPI description. */
export function prepareForm(onError) {
  const form = byId("create");
  const opener = byId("new-study");
  const toggle = async (open) => {
    form.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (!open) return opener.focus();
    form.elements.name.focus();
    try {
      if (!form.elements.strategy.options.length) describe(form, await json("openapi.json"));
    } catch (error) {
      onError(error);
    }
  };
  opener.addEventListener("click", () => toggle(form.hidden));
  byId("create-cancel").addEventListener("click", () => toggle(false));
  form.addEventListener("keydown", (event) => event.key === "Escape" && toggle(false));
  form.addEventListener("change", () => showWhatCounts(form));
  form.addEventListener("reset", () => setTimeout(() => showWhatCounts(form)));
  showWhatCounts(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say(byId("create-error"), null);
    try {
      const made = await json("studies", { method: "POST", body: bodyOf(form.elements) });
      form.reset();
      toggle(false);
      location.hash = `#/study/${encodeURIComponent(made.name)}`;
    } catch (error) {
      if (error instanceof Refused && error.status === 401) onError(error);
      else say(byId("create-error"), error.message);
    }
  });
}

/** Show the fields of the rule and of the rewards that are chosen; others do not count. */
function showWhatCounts(form) {
  const { rule, rewards, min_gap: gap, epsilon, neighbours } = form.elements;
  const relative = rule.value !== "min_gap";
  const asks = { min_gap: rule.value !== "epsilon", epsilon: relative, neighbours: relative };
  for (const field of [gap, epsilon, neighbours]) {
    field.closest(".field").hidden = field.disabled = !asks[field.name];
    field.required = field !== neighbours && asks.min_gap && asks[field.name];
  }
  byId("range").hidden = byId("range").disabled = rewards.value === "bernoulli";
}

/** Fill in the choices, the defaults, and a help beside each field. */
function describe(form, description) {
  const fields = description.components.schemas.CreateBody.properties;
  for (const name of CHOICES) {
    const { anyOf, default: usual = null } = fields[name]; // OpenAPI leaves out a default of null
    const values = fields[name].enum ?? anyOf.find((kind) => kind.enum).enum;
    const choices = values.map((value) => {
      const words = name === "until" ? `${value}: ${STOPS[value] ?? ""}` : value;
      return element("option", { value, defaultSelected: value === usual }, words);
    });
    if (usual === null) choices.unshift(element("option", { value: "", defaultSelected: true }, USUAL_STOP));
    form.elements[name].replaceChildren(...choices);
  }
  for (const name of ["delta", "seed"]) form.elements[name].defaultValue = fields[name].default;
  for (const [name, { description: help }] of Object.entries(fields)) {
    const field = form.elements[name];
    const id = `help-${name}`;
    const words = help.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part));
    field.closest(".field").append(element("p", { id, className: "help" }, ...words));
    field.setAttribute("aria-describedby", id);
  }
}

const linesOf = (field) => field.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");

/** The form as the body of a request; an empty field is left out. */
function bodyOf(fields) {
  const names = linesOf(fields.arms);
  const number = names.length === 1 && /^\d+$/.test(names[0]);
  const body = {
    name: fields.name.value.trim(),
    arms: number ? Number(names[0]) : names,
    strategy: fields.strategy.value,
    bound: fields.bound.value,
  };
  if (fields.until.value !== "") body.until = fields.until.value;
  if (fields.strict.checked) body.strict = true;
  for (const name of NUMBERS) {
    if (!fields[name].disabled && fields[name].value !== "") body[name] = Number(fields[name].value);
  }
  const [low, high] = [Number(fields.low.value), Number(fields.high.value)];
  if (fields.rewards.value === "range") body.rewards = [low, high];
  if (fields.rewards.value === "clipped") body.rewards = { kind: "clipped", minimum: low, maximum: high };
  const costs = linesOf(fields.costs);
  if (costs.length) body.costs = costsOf(costs);
  return body;
}

/** Costs by name, if the lines are "name = cost"; else in the order of the arms. */
function costsOf(lines) {
  const pairs = lines.map((line) => /^(.*\S)\s*=\s*(\S+)$/.exec(line));
  const number = (text) => (Number.isNaN(Number(text)) ? text : Number(text)); // the service refuses a text
  if (pairs.every((pair) => pair !== null)) {
    return Object.fromEntries(pairs.map(([, name, cost]) => [name, number(cost)]));
  }
  return lines.map(number);
}
