/** One study, live. */

import { Away, Refused, follow, hasToken, json, pathOf, pause, request } from "./api.js";
import { showAttach } from "./attach.js";
import { Chart, STATUSES, describe, writerOf } from "./chart.js";
import { Curves } from "./curve.js";
import { byId, count, element, moment, number, odds, plural, renew, say, second, verdictWords } from "./words.js";

const LEAST_WAIT = 200; // milliseconds between two requests for the view
const LIMIT_WAIT = 2_000; // milliseconds between them while the service computes the limit
const WORK_WAIT = 10_000; // milliseconds after which leases are looked at again, even if nothing has changed
const RATE_WINDOW = 15_000;
const PAGE = 100; // rows of the table at a time
const MOST_MEMBERS = 30;
const MOST_CERTIFICATES = 6;
const MOST_WIDTHS = 2;

const GUESSES = { ranked: "Candidates", scattered: "Arms that lie apart" };

const PARAMETERS = {
  epsilon: "ε",
  min_gap: "least gap",
  rho: "ρ",
  max_outliers: "most outliers",
  neighbours: "neighbours",
  delta: "δ",
  delta_proved: "δ is proved",
  delta_reason: "because",
  max_pulls: "budget of pulls",
  max_cost: "budget of cost",
};

export class StudyPage {
  /**
   * @param {(error: Error) => void} onError Called with errors that end this page.
   * @param {(state: string) => void} onState Called with "live", "polling" or "away".
   * @param {(name: string) => void} onDeleted Called when the study was deleted here.
   */
  constructor(onError, onState, onDeleted) {
    this.onError = onError;
    this.onDeleted = onDeleted;
    this.onState = onState;
    const parts = { canvas: "chart", scroll: "scroll", spacer: "spacer", pointed: "pointed", tip: "tip" };
    const elements = Object.entries(parts).map(([part, id]) => [part, byId(id)]);
    this.chart = new Chart(Object.fromEntries(elements), (arm) => this.read(arm));
    this.curves = new Curves();
    this.page = 0;
    byId("delete").addEventListener("click", () => this.askToDelete());
    byId("delete-dialog").querySelector("form").addEventListener("submit", (event) => this.answerToDelete(event));
    byId("pause").addEventListener("click", () => this.togglePause());
    byId("zoom").addEventListener("click", () => this.toggleZoom());
    byId("find").addEventListener("input", () => this.find(0));
    byId("find").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.find(event.shiftKey ? -1 : 1);
    });
    byId("declared").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button !== null) this.chart.select(Number(button.value));
    });
    byId("table").addEventListener("toggle", () => this.fillTable());
    byId("earlier").addEventListener("click", () => this.turn(-1));
    byId("later").addEventListener("click", () => this.turn(1));
    for (const link of byId("downloads").querySelectorAll("a")) {
      link.addEventListener("click", (event) => this.download(event, link));
    }
  }

  /** Show a study until the signal is aborted. */
  async show(name, signal) {
    this.name = name;
    this.view = null;
    this.page = 0;
    this.samples = [];
    this.matchCount = null;
    this.chart.clear();
    this.curves.clear();
    byId("copied").textContent = "";
    byId("find").value = "";
    for (const link of byId("downloads").querySelectorAll("a")) {
      link.href = `${pathOf(name)}/${link.dataset.path}`;
    }
    let stale = true;
    const handlers = {
      change: (row) => {
        this.sample(row);
        say(byId("trouble"), null);
        stale = true;
        this.wake?.();
      },
      trouble: (sentence) => say(byId("trouble"), sentence),
      deleted: () => this.onError(new Refused(`There is no study “${name}”; it may have been deleted.`, 404)),
      refused: this.onError,
      state: this.onState,
    };
    follow(name, handlers, signal);
    const ticking = setInterval(() => this.view && this.showFacts(), 1_000);
    signal.addEventListener("abort", () => {
      clearInterval(ticking);
      this.wake?.();
    });
    while (!signal.aborted) {
      if (stale) {
        stale = false;
        const began = performance.now();
        try {
          const view = await json(`${pathOf(name)}/view`, { signal });
          if (signal.aborted) return;
          this.fill(view);
        } catch (error) {
          if (signal.aborted) return;
          if (error instanceof Refused && error.status === 404) return handlers.deleted();
          if (error instanceof Refused && error.status < 500) return this.onError(error);
          if (!(error instanceof Refused || error instanceof Away)) throw error;
          stale = true; // `follow` shows the error; try again soon
          await pause(1_000, signal);
        }
        // Wait longer than the request took, so that watching costs the service little.
        await pause(Math.max(LEAST_WAIT, 3 * (performance.now() - began)), signal);
      } else {
        const wait = this.wait;
        await new Promise((resolve) => {
          this.wake = resolve;
          if (wait !== null) setTimeout(resolve, wait);
        });
        stale ||= wait !== null && !document.hidden;
      }
    }
  }

  /** Milliseconds until the view may be another one though the study is not; null if it will not. */
  get wait() {
    const { limit, leases, status } = this.view;
    if (limit.pending) return LIMIT_WAIT;
    if (status === "done") return null;
    return Math.min(WORK_WAIT, 1000 * ((leases.ends_in ?? Infinity) + 0.1));
  }

  fill(view) {
    this.showEmpty(view);
    this.view = view;
    byId("loading").hidden = true;
    byId("study").hidden = false;
    byId("study-title").textContent = view.name;
    byId("status").textContent = view.status;
    byId("status").className = `badge ${view.status}`;
    byId("summary").textContent = view.summary.replaceAll(" : 1", "\u00a0:\u00a01");
    const button = byId("pause");
    button.hidden = view.status === "done";
    button.disabled = false;
    button.textContent = view.status === "paused" ? "Resume" : "Pause";
    showAttach(view);
    this.showFacts();
    this.curves.show(view);
    this.chart.show(view);
    byId("chart").setAttribute("aria-label", `${plural(view.arms, "arm")} by mean. ${view.summary}`);
    byId("zoom").hidden = view.arms * 20 <= 400;
    this.showLegend();
    byId("why").textContent = view.why.join(" ");
    this.showDeclared();
    this.showErrors();
    this.showWork();
    this.showLimit();
    this.showParameters();
    this.fillTable();
    this.read(this.chart.selected, "off");
  }

  /** While a study is empty, how to attach a worker stands open; it closes when work begins. */
  showEmpty(view) {
    const attach = byId("attach");
    attach.hidden = view.status === "done";
    const empty = ({ pulls, waiting, leases }) => pulls + waiting + leases.out === 0;
    if (this.view === null) attach.open = empty(view);
    else if (empty(this.view) && !empty(view) && !attach.contains(document.activeElement)) attach.open = false;
  }

  /** Remember the number of pulls, to compute the rate. */
  sample(row) {
    const now = performance.now();
    this.samples.push({ updated: row.updated, pulls: row.pulls, received: now });
    this.samples = this.samples.filter(({ received }) => now - received < RATE_WINDOW);
  }

  /** Pulls per second by the service's clock; null if not known. */
  get rate() {
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    if (this.view.status !== "running" || first === undefined) return null;
    if (performance.now() - last.received > RATE_WINDOW / 2) return 0;
    const seconds = last.updated - first.updated;
    return seconds >= 1 ? (last.pulls - first.pulls) / seconds : null;
  }

  showFacts() {
    const { view, rate } = this;
    const { cost } = view;
    const against = (name, whole, without, note) => {
      if (whole === null) return fact(name, without);
      const share = (100 * view.pulls) / whole;
      const percent = share < 1 && share > 0 ? "less than 1 %" : `${count(share)} %`;
      const made = view.status === "done" ? "it took" : "so far";
      const left = view.status === "done" ? "" : `, ${count(Math.max(whole - view.pulls, 0))} left`;
      const shown = fact(name, count(whole), `${made} ${percent} of that${left}${note ? `; ${note}` : ""}`);
      const bar = element("progress", { max: whole, value: view.pulls, ariaLabel: `Pulls, of ${name}` });
      shown.lastChild.append(bar);
      return shown;
    };
    const waiting = view.waiting === 0 ? "" : `; ${count(view.waiting)} told and waiting for an earlier pull`;
    const speed = rate === null ? "–" : rate < 10 ? number(rate, 2) : count(rate);
    renew(
      byId("facts"),
      fact("Pulls", count(view.pulls), `last ${moment(view.updated)}${waiting}`),
      ...(view.status === "done" ? [] : [fact("Pulls per second", speed)]),
      fact("Verdict", verdictWords(view.verdict, "not done"), `strategy ${view.strategy}`),
      ...this.evidence(),
      ...(cost.price === null ? [] : [this.price()]),
      against("Budget", cost.budget, "none"),
      against("A full scan would take", cost.full_scan, "for ever", "every reward of every pool"),
    );
  }

  /** How good the answer or the best guess is, and how many pulls would likely decide. */
  evidence() {
    const { evidence, asked, forecast } = this.view;
    const wanted = `asked for ${odds(asked) ?? `${number(asked)} : 1`}`;
    const facts = [fact("Evidence", odds(evidence) ?? "none yet", wanted)];
    if (forecast !== null) {
      const { budget } = this.view.cost;
      const short = budget !== null && budget - this.view.pulls < forecast;
      const words = short ? "pulls, by forecast: more than the budget has" : "pulls, by forecast";
      facts.push(fact("Likely to decide", `${count(forecast)} more`, words));
    }
    return facts;
  }

  /** What the pulls have cost. */
  price() {
    const { price, max_cost: most } = this.view.cost;
    if (most === null) return fact("Cost", amount(price), "no limit");
    const left = this.view.status === "done" ? "" : `, ${amount(Math.max(most - price, 0))} left`;
    return fact("Cost", amount(price), `of at most ${amount(most)}${left}`);
  }

  showLegend() {
    const counts = Object.fromEntries(STATUSES.map((status) => [status, 0]));
    for (const status of this.view.statuses) counts[status] += 1;
    const items = STATUSES.filter((status) => counts[status] > 0).map((status) => {
      const mark = element("span", { className: `mark ${status}` });
      return element("li", {}, mark, `${status} (${count(counts[status])})`);
    });
    for (const status of ["normal", "undecided"]) {
      const communities = this.view.community.filter((_, arm) => this.view.statuses[arm] === status);
      if (!this.chart.shaded || new Set(communities.map((k) => k % 2)).size < 2) continue;
      const mark = element("span", { className: `mark shades ${status}` });
      items.push(element("li", {}, mark, "communities, alternating"));
    }
    const { spans } = this.chart;
    if (spans.length) {
      const kind = spans[0].certain ? "certain" : "means";
      const mark = element("span", { className: `band ${kind}` });
      items.push(element("li", {}, mark, `${gapWords(this.view)}, ${widthWords(spans)}`));
    }
    renew(byId("legend"), ...items);
  }

  showDeclared() {
    const { view } = this;
    const parts = [];
    const guess = view.outliers.length === 0 && view.candidates.length > 0;
    byId("declared-title").textContent = guess ? GUESSES[view.verdict] ?? "Best guess" : "Outliers";
    const odd = guess ? view.candidates : view.outliers;
    if (odd.length === 0) {
      const words = view.verdict === "none" ? "There are none." : view.status === "done" ? "None is known." : "None so far.";
      parts.push(element("p", { className: "soft" }, words));
    } else {
      parts.push(this.members(odd));
    }
    // Confirmed ones first, refuted ones last; of each kind, the largest ε first.
    const weight = { confirmed: 0, undecided: 1, refuted: 2 };
    const shown = [...view.certificates].sort(
      (a, b) => weight[a.status] - weight[b.status] || (b.epsilon ?? Infinity) - (a.epsilon ?? Infinity),
    );
    if (shown.length) parts.push(element("h3", {}, "Certificates"));
    for (const certificate of shown.slice(0, MOST_CERTIFICATES)) {
      const { epsilon } = certificate;
      parts.push(
        element(
          "article",
          { className: `certificate ${certificate.status}` },
          element(
            "p",
            {},
            element("span", { className: `badge ${certificate.status}` }, certificate.status),
            ` ${plural(certificate.members.length, "arm")}`,
          ),
          this.members(certificate.members),
          element(
            "dl",
            { className: "facts" },
            fact("Gap, at least", number(certificate.gap[0])),
            fact("Rest, at most", number(certificate.rest[1])),
            fact("Largest ε confirmed", epsilon === null ? "any" : epsilon > 0 ? number(epsilon) : "none yet"),
            ...(certificate.max_neighbours > 0 ? [fact("Neighbours, up to", count(certificate.max_neighbours))] : []),
          ),
        ),
      );
    }
    const more = shown.length - MOST_CERTIFICATES;
    if (more > 0) parts.push(element("p", { className: "soft" }, `${count(more)} more are in the result.`));
    renew(byId("declared"), ...parts);
  }

  /** A list of arms, each a button that shows it in the chart. */
  members(arms) {
    const items = arms.slice(0, MOST_MEMBERS).map((arm) => {
      const name = String(this.view.names[arm]);
      return element("li", {}, element("button", { type: "button", className: "arm", value: arm }, name));
    });
    const more = arms.length - MOST_MEMBERS;
    if (more > 0) items.push(element("li", { className: "soft" }, `and ${count(more)} more`));
    return element("ul", { className: "members" }, ...items);
  }

  showErrors() {
    const { errors, names } = this.view;
    byId("errors").hidden = errors.length === 0;
    const items = errors
      .slice(0, MOST_MEMBERS)
      .map(({ arm, error }) => element("li", {}, element("strong", {}, String(names[arm])), `: ${error}`));
    const more = errors.length - MOST_MEMBERS;
    if (more > 0) items.push(element("li", { className: "soft" }, `${count(more)} more are in the result`));
    renew(byId("errors").querySelector("ul"), ...items);
  }

  /** Who holds pulls, when it last got some, and what became of those that were not told. */
  showWork() {
    const { leases, asks_waiting: asks, status } = this.view;
    const { workers, more_workers: more } = leases;
    let words = leases.late === 0 ? "all leases run" : `the leases of ${count(leases.late)} have ended`;
    if (status === "done") words = "they count no more";
    if (leases.out === 0) words = "leased and not told";
    const facts = [fact("Pulls out", count(leases.out), words)];
    if (status !== "done") facts.push(fact("Asks that wait", count(asks), "workers that wait for pulls, at this server"));
    facts.push(fact("Handed out again", count(leases.again), "after their lease had ended"));
    if (leases.expired > 0) facts.push(fact("Expired", count(leases.expired), "and counted as the reward for that"));
    if (leases.given_up > 0) facts.push(fact("Given up", count(leases.given_up), "by their workers"));
    renew(byId("leases"), ...facts);
    byId("workers").hidden = workers.length === 0;
    byId("no-workers").hidden = workers.length > 0;
    renew(
      byId("workers").querySelector("tbody"),
      ...workers.map(({ name, held, late: ended, asked }) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name ?? "not named"),
          element("td", { className: "number" }, count(held)),
          element("td", { className: "number" }, count(ended)),
          element("td", {}, asked === null ? "–" : second(asked)),
        ),
      ),
    );
    byId("more-workers").textContent = more > 0 ? `and ${plural(more, "worker")} that asked before them` : "";
  }

  /** What no method could have done with less, on average; or why that is not known. */
  showLimit() {
    const { limit, pulls, status } = this.view;
    let words = limit.reason;
    if (limit.pulls !== null) {
      const share = pulls / limit.pulls;
      const part = share < 2 ? `${count(100 * share)} % of that` : `${number(share, 2)} times that`;
      words = `Any method needs at least ${plural(Math.round(limit.pulls), "pull")} on average, if the means are `;
      words += `those seen after ${plural(limit.after, "pull")}. `;
      words += status === "done" ? `This study took ${part}.` : `So far this study took ${part}.`;
    }
    renew(byId("limit"), words);
  }

  showParameters() {
    const written = (value) => {
      if (typeof value === "boolean") return value ? "yes" : "no";
      if (value === null || typeof value !== "object") return String(value);
      const parts = Object.entries(value).filter(([, part]) => part !== null);
      return parts
        .map(([key, part]) => (key === "name" || key === "kind" ? part : `${key} ${written(part)}`))
        .join(", ");
    };
    renew(
      byId("parameters").querySelector("dl"),
      ...Object.entries(this.view.provenance)
        .filter(([, value]) => value !== null && value !== "")
        .flatMap(([key, value]) => [
          element("dt", {}, PARAMETERS[key] ?? key.replaceAll("_", " ")),
          element("dd", {}, written(value)),
        ]),
    );
  }

  /** The table is for screen readers and for those who want numbers; it is filled only if open. */
  fillTable() {
    if (!byId("table").open || this.view === null) return;
    const { view } = this;
    const pages = Math.ceil(view.arms / PAGE);
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const first = this.page * PAGE;
    const byRank = new Int32Array(view.arms);
    view.rank.forEach((rank, arm) => (byRank[rank - 1] = arm));
    const cell = (text) => element("td", { className: "number" }, text);
    const write = writerOf(view);
    const rows = [...byRank.slice(first, first + PAGE)].map((arm) =>
      element(
        "tr",
        { className: view.statuses[arm] },
        cell(count(view.rank[arm])),
        element("th", { scope: "row" }, String(view.names[arm])),
        cell(count(view.counts[arm])),
        cell(write(view.means[arm])),
        cell(write(view.low[arm])),
        cell(write(view.high[arm])),
        element("td", {}, view.statuses[arm]),
      ),
    );
    renew(byId("table").querySelector("tbody"), ...rows);
    byId("table").querySelector(".pages").hidden = pages === 1;
    const last = Math.min(first + PAGE, view.arms);
    byId("page-of").textContent = `${count(first + 1)} to ${count(last)} of ${count(view.arms)}`;
    byId("earlier").disabled = this.page === 0;
    byId("later").disabled = this.page === pages - 1;
  }

  turn(by) {
    this.page += by;
    this.fillTable();
  }

  /** Describe the chosen arm; screen readers speak if it was chosen now, not at every pull. */
  read(arm, aloud = "polite") {
    const text = arm === null ? "" : `${this.view.names[arm]}: ${describe(this.view, arm)}`;
    const matches = this.matchCount === null ? "" : `${plural(this.matchCount, "arm")} found. `;
    const line = byId("reading");
    if (line.textContent === matches + text) return; // do not interrupt a screen reader
    line.setAttribute("aria-live", aloud);
    line.textContent = matches + text;
  }

  /** Choose the first arm whose name contains the search text, or the next one. */
  find(step) {
    const words = byId("find").value.trim().toLowerCase();
    this.matchCount = null;
    if (words === "" || this.view === null) return this.chart.select(null);
    const names = this.view.names;
    const matches = this.chart.order.filter((arm) => String(names[arm]).toLowerCase().includes(words));
    this.matchCount = matches.length;
    const current = matches.indexOf(this.chart.selected);
    const next = current < 0 ? 0 : (current + step + matches.length) % matches.length;
    this.chart.select(matches[next] ?? null);
  }

  toggleZoom() {
    const readable = !this.chart.readable;
    byId("zoom").setAttribute("aria-pressed", String(readable));
    this.chart.setReadable(readable);
  }

  async togglePause() {
    const button = byId("pause");
    const action = this.view.status === "paused" ? "resume" : "pause";
    button.disabled = true;
    try {
      const row = await json(`${pathOf(this.name)}/${action}`, { method: "POST" });
      this.fill({ ...this.view, ...row });
      say(byId("trouble"), null);
    } catch (error) {
      button.disabled = false;
      if (error instanceof Refused && error.status === 401) this.onError(error);
      else say(byId("trouble"), error.message);
    }
  }

  /** Ask whether the study shall be deleted; the dialog is modal, and Escape cancels it. */
  askToDelete() {
    const { name, pulls } = this.view;
    byId("delete-words").textContent =
      `The study “${name}” with ${pulls === 1 ? "its reward" : `all its ${plural(pulls, "reward")}`} ` +
      "is gone then, for everybody, and cannot be brought back.";
    say(byId("delete-error"), null);
    byId("delete-dialog").showModal();
  }

  async answerToDelete(event) {
    if (event.submitter?.value !== "delete") return;
    event.preventDefault(); // the dialog closes when the study is gone
    const { name } = this;
    event.submitter.disabled = true;
    try {
      await request(pathOf(name), { method: "DELETE" });
      byId("delete-dialog").close();
      this.onDeleted(name);
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        byId("delete-dialog").close();
        this.onError(error);
      } else say(byId("delete-error"), error.message);
    } finally {
      event.submitter.disabled = false;
    }
  }

  /** A link cannot send a token: with a token, fetch the file first. */
  async download(event, link) {
    if (!hasToken()) return;
    event.preventDefault();
    try {
      const answer = await request(link.getAttribute("href"));
      const address = URL.createObjectURL(await answer.blob());
      element("a", { href: address, download: `${this.name}.${link.dataset.file}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      say(byId("trouble"), error.message);
    }
  }
}

/** A name and its value in a list of facts, with a remark. */
function fact(name, value, note) {
  const description = element("dd", {}, value);
  if (note !== undefined) description.append(element("div", { className: "note" }, note));
  return element("div", {}, element("dt", {}, name), description);
}

/** A cost: whole if it is large. */
const amount = (value) => (value >= 1000 || Number.isInteger(value) ? count(value) : number(value));

/** What the gaps in the chart are. */
function gapWords({ gaps, gap }) {
  if (gaps.length === 1) return "gap that is certain";
  if (gaps.length > 1) return "gaps that are certain";
  return gap.certain ? "widest gap that is certain" : "widest gap between means";
}

/** How wide they are, upwards along the axis. */
function widthWords(spans) {
  const widths = spans.slice(0, MOST_WIDTHS).map(({ width }) => number(width));
  const more = spans.length - widths.length;
  return more > 0 ? `${widths.join(", ")} and ${count(more)} more` : widths.join(" and ");
}
