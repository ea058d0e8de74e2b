/** How sure a study became: its evidence, and the pulls that were likely to decide, over its pulls. */

import { byId, count, niceStep, number, odds, plural, second } from "./words.js";

const HEIGHT = 170;
const [TOP, RIGHT, BOTTOM, LEFT] = [10, 12, 24, 56];
const MOST_LEVEL = 20; // how far beyond its frame a curve is drawn, where it cannot be seen
const LETTER = 6.5; // pixels of a digit of an axis, about

export class Curves {
  constructor() {
    this.slider = byId("moment");
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    this.parts = ["evidence-curve", "forecast-curve"].map(byId);
    for (const part of this.parts) {
      part.addEventListener("pointermove", (event) => this.point(part, event));
      part.addEventListener("pointerleave", () => this.choose(null));
    }
    new ResizeObserver(() => this.draw()).observe(this.parts[0].parentElement);
    this.clear();
  }

  clear() {
    this.view = this.chosen = null;
    this.points = [];
  }

  /** Show the moments that the service has noted, and the present one. */
  show(view) {
    const followed = this.chosen === null || this.chosen >= this.points.length - 1;
    this.view = view;
    const { history } = view;
    this.points = history.pulls.map((pulls, k) => ({
      pulls,
      at: history.at[k],
      evidence: history.evidence[k],
      forecast: history.forecast[k],
    }));
    this.points = this.points.filter(({ pulls }) => pulls < view.pulls);
    if (view.evidence !== null) {
      this.points.push({ pulls: view.pulls, at: view.updated, evidence: view.evidence, forecast: view.forecast });
    }
    this.slider.parentElement.hidden = this.points.length < 2;
    byId("course").hidden = view.evidence === null || view.pulls === 0;
    if (followed) this.chosen = null;
    this.draw();
  }

  draw() {
    const width = this.parts[0].clientWidth;
    if (!this.points.length || width === 0) return;
    this.width = width;
    this.most = Math.max(1, this.view.pulls);
    this.x = (pulls) => LEFT + ((width - LEFT - RIGHT) * pulls) / this.most;
    this.drawEvidence();
    this.drawForecast();
    this.choose(this.chosen);
  }

  /** On a scale of powers, from 1 to well above what was asked for. */
  drawEvidence() {
    const { asked, evidence } = this.view;
    const top = Math.log10(Math.min(Math.max(asked * 10, 1.5 * evidence), asked ** 3));
    const level = (value) => Math.log10(Math.max(value, 1)) / top;
    const step = Math.max(1, Math.ceil(top / 4));
    const ticks = [];
    for (let power = 0; power <= top; power += step) ticks.push([level(10 ** power), count(10 ** power)]);
    const wanted = `asked for ${odds(asked) ?? number(asked)}`;
    this.drawPart(this.parts[0], ticks, (point) => level(point.evidence), [level(asked), wanted]);
    const now = odds(evidence) ?? "none yet";
    this.parts[0].setAttribute("aria-label", `Evidence over pulls: now ${now}, ${wanted}.`);
  }

  /** The first forecasts may be wild: then the curve leaves its frame at the top. */
  drawForecast() {
    const known = this.points.map(({ forecast }) => forecast).filter((forecast) => forecast !== null);
    const middle = [...known].sort((a, b) => a - b)[known.length >> 1] ?? 1;
    const top = Math.max(1, Math.min(4 * middle, known.reduce((a, b) => Math.max(a, b), 0)));
    const step = Math.max(1, niceStep(top / 4));
    const ticks = [];
    for (let tick = 0; tick <= top * 1.001; tick += step) ticks.push([tick / top, count(tick)]);
    const level = ({ forecast }) => (forecast === null ? null : Math.min(forecast / top, MOST_LEVEL));
    this.drawPart(this.parts[1], known.length ? ticks : [[0, "0"]], level, null);
    if (!known.length) this.parts[1].append(svg("text", { class: "none", x: LEFT + 6, y: HEIGHT / 2 }, "no forecast noted"));
    const { forecast } = this.view;
    const now = forecast === null ? "not known now" : `now about ${count(forecast)}`;
    this.parts[1].setAttribute("aria-label", `Further pulls that may decide, over pulls: ${now}.`);
  }

  drawPart(part, ticks, levelOf, line) {
    const { width, x } = this;
    const y = (level) => HEIGHT - BOTTOM - level * (HEIGHT - TOP - BOTTOM);
    const made = [];
    for (const [level, words] of ticks) {
      made.push(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }));
      made.push(svg("text", { class: "left", x: LEFT - 6, y: y(level) + 4 }, words));
    }
    const step = Math.max(1, niceStep(this.most / Math.max(2, Math.floor((width - LEFT) / 110))));
    for (let tick = 0; tick <= this.most; tick += step) {
      const beyond = x(tick) + (LETTER * count(tick).length) / 2 > width;
      made.push(svg("text", { class: beyond ? "last" : "below", x: beyond ? width : x(tick), y: HEIGHT - 6 }, count(tick)));
    }
    if (line !== null) {
      const [level, words] = line;
      made.push(svg("line", { class: "asked", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }));
      made.push(svg("text", { class: "words", x: LEFT + 6, y: y(level) - 6 }, words));
    }
    let path = "";
    let drawn = false; // whether the pen is down: where nothing is known the curve has a gap
    for (const point of this.points) {
      const level = levelOf(point);
      if (level !== null) path += `${drawn ? "L" : "M"}${x(point.pulls).toFixed(1)} ${y(level).toFixed(1)}`;
      drawn = level !== null;
    }
    const height = HEIGHT - BOTTOM - TOP + 4;
    const frame = svg("svg", { y: TOP - 2, width, height, viewBox: `0 ${TOP - 2} ${width} ${height}` });
    frame.append(svg("path", { class: "curve", d: path }));
    made.push(frame);
    made.push(svg("line", { class: "moment", y1: TOP, y2: HEIGHT - BOTTOM }));
    made.push(svg("circle", { class: "moment", r: 4 }));
    part.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    part.replaceChildren(...made);
    part.placeMoment = (point) => {
      const level = levelOf(point);
      const [rule, dot] = part.querySelectorAll(".moment");
      rule.setAttribute("x1", x(point.pulls));
      rule.setAttribute("x2", x(point.pulls));
      dot.setAttribute("cx", x(point.pulls));
      dot.setAttribute("cy", y(Math.min(level ?? 0, 1)));
      dot.classList.toggle("unknown", level === null);
    };
  }

  /** Read the moment under the pointer. */
  point(part, event) {
    if (!this.points.length) return;
    const pulls = ((event.clientX - part.getBoundingClientRect().left - LEFT) * this.most) / (this.width - LEFT - RIGHT);
    const distance = (k) => Math.abs(this.points[k].pulls - pulls);
    this.choose(this.points.reduce((best, _, k) => (distance(k) < distance(best) ? k : best), 0));
  }

  /** Mark a moment and describe it; null for the last one, which then stays the last. */
  choose(k) {
    if (!this.points.length) return;
    this.chosen = k;
    const last = this.points.length - 1;
    const point = this.points[Math.min(k ?? last, last)];
    for (const part of this.parts) part.placeMoment?.(point);
    this.slider.max = last;
    this.slider.value = Math.min(k ?? last, last);
    const words = describe(point);
    this.slider.setAttribute("aria-valuetext", words);
    byId("moment-words").textContent = words;
  }
}

function describe({ pulls, at, evidence, forecast }) {
  const sure = odds(evidence);
  const more = forecast === null ? "" : `; about ${count(forecast)} more may decide`;
  return `After ${plural(pulls, "pull")}, ${second(at)}: ${sure === null ? "no evidence yet" : `evidence ${sure}`}${more}.`;
}

function svg(tag, attributes, words = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = words;
  return made;
}
