/** The arms on a canvas: one row each, its interval on a common axis, its pulls beside it. */

import { labelsOf } from "./names.js";
import { count, element, niceStep, plural } from "./words.js";

const TOP = 24; // room for the heads of the columns
const BOTTOM = 34; // room for the axis
const ROW = 20; // height of a row whose name can be read
const NAMED = 11; // the least height of a row that has room for its name
const TALLEST = 620;
const SIDE = 8; // room to the right of the pulls
const NAME_FONT = "600 12px system-ui, sans-serif"; // the wider one of the two that names have
const MOST_PROMINENT = 40; // with more arms outside the largest community, none gets a higher row
const MOST_COMMUNITIES = 8; // with more, most are single arms, and shades say nothing

/** Marks differ in form as well as in colour. */
export const STATUSES = ["outlier", "candidate", "normal", "undecided", "failed"];

export class Chart {
  /**
   * @param {object} parts canvas, scroll (its scrolling box), spacer (as high as all rows),
   *   pointed (laid over the row under the pointer), tip (describes its arm).
   * @param {(arm: number | null) => void} onSelect Called when the reader has chosen an arm.
   */
  constructor(parts, onSelect) {
    Object.assign(this, parts);
    this.onSelect = onSelect;
    this.context = this.canvas.getContext("2d");
    this.view = null;
    this.selected = null;
    this.hovered = null;
    this.readable = false; // rows as high as their names, and scrolled
    this.pending = 0;
    this.readColours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.readColours();
      this.redraw();
    });
    new ResizeObserver(() => this.redraw()).observe(this.scroll);
    this.scroll.addEventListener("scroll", () => this.redraw(), { passive: true });
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.armAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.select(this.armAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    for (const kind of ["focus", "blur"]) this.canvas.addEventListener(kind, () => this.placeTip());
  }

  /** Show a new view; the chosen arm stays. */
  show(view) {
    const middle = (i) => view.means[i] ?? ((view.low[i] ?? 0) + (view.high[i] ?? 0)) / 2;
    if (this.view === null || this.view.name !== view.name) {
      this.selected = this.hovered = null;
      this.scroll.scrollTop = 0;
    }
    this.view = view;
    this.middles = view.names.map((_, i) => middle(i));
    this.order = view.names.map((_, i) => i).sort((a, b) => this.middles[b] - this.middles[a] || a - b);
    this.place = new Int32Array(view.names.length);
    this.order.forEach((arm, place) => (this.place[arm] = place));
    const largest = (values) => values.reduce((a, b) => Math.max(a, b), 0); // Math.max(...values) has a limit
    this.most = Math.max(1, largest(view.counts));
    this.shaded = largest(view.community) < MOST_COMMUNITIES;
    this.spans = gapsOf(view);
    this.prominent = new Set([...view.outliers, ...view.candidates, ...outsiders(view)]);
    this.update();
  }

  clear() {
    this.view = null;
    this.hover(null);
  }

  /** Choose an arm and scroll to it; null chooses none. */
  select(arm) {
    this.selected = arm;
    if (this.layOut() && arm !== null && this.readable) {
      const above = this.tops[this.place[arm]];
      const visible = this.scroll.clientHeight - TOP - BOTTOM;
      if (above < this.scroll.scrollTop) this.scroll.scrollTop = above;
      if (above + ROW > this.scroll.scrollTop + visible) this.scroll.scrollTop = above + ROW - visible;
    }
    this.onSelect(arm);
    this.update();
  }

  /** Change between all arms at once and rows whose names can be read. */
  setReadable(readable) {
    this.readable = readable;
    this.select(this.selected);
  }

  hover(arm) {
    if (this.hovered === arm) return;
    this.hovered = arm;
    this.placeTip();
  }

  key(event) {
    if (this.view === null || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") return this.select(null);
    const last = this.order.length - 1;
    const current = this.selected === null ? -1 : this.place[this.selected];
    const target = {
      ArrowDown: current + 1,
      ArrowRight: current + 1,
      ArrowUp: current - 1,
      ArrowLeft: current - 1,
      PageDown: current + 20,
      PageUp: current - 20,
      Home: 0,
      End: last,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    this.select(this.order[Math.min(Math.max(target, 0), last)]);
  }

  armAt(event) {
    if (this.view === null) return null;
    const y = event.offsetY - TOP;
    if (y < 0 || event.offsetY > this.height - BOTTOM) return null;
    return this.order[this.placeAt(y + this.scroll.scrollTop)] ?? null;
  }

  /** The row at a height, by bisection. */
  placeAt(y) {
    let [first, last] = [0, this.order.length - 1];
    while (first < last) {
      const half = (first + last + 1) >> 1;
      if (this.tops[half] <= y) first = half;
      else last = half - 1;
    }
    return first;
  }

  /** Place rows and tip now, like the text beside them; the canvas is drawn in the next frame. */
  update() {
    if (this.layOut()) this.placeTip();
    this.redraw();
  }

  /** Draw at the next frame, once, however often this is called. */
  redraw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ["ink", "soft", "line", "paper", "mark", "accent", "gap", "bar"];
    this.colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
    this.shades = Object.fromEntries(
      STATUSES.map((status) => [status, [colour(status), colour(`${status}-next`) || colour(status)]]),
    );
  }

  /**
   * Compute the widths of the columns and the heights of the rows; return false if the chart is
   * hidden. Among many arms, the prominent ones and the chosen one get higher rows.
   */
  layOut() {
    if (this.view === null || !this.scroll.clientWidth) return false;
    const n = this.order.length;
    const all = n * ROW;
    this.height = Math.min(all + TOP + BOTTOM, Math.max(280, Math.min(TALLEST, innerHeight * 0.75)));
    const visible = this.height - TOP - BOTTOM;
    this.fits = all <= visible;
    this.tops = new Float64Array(n + 1);
    if (this.readable || this.fits) {
      for (let k = 0; k <= n; k += 1) this.tops[k] = k * ROW;
    } else {
      const high = new Set(this.prominent);
      if (this.selected !== null) high.add(this.selected);
      const even = visible / n;
      const highRow = high.size ? Math.max(even, Math.min(16, visible / 2 / high.size)) : even;
      const lowRow = (visible - high.size * highRow) / Math.max(1, n - high.size);
      this.order.forEach((arm, k) => {
        this.tops[k + 1] = this.tops[k] + (high.has(arm) ? highRow : lowRow);
      });
    }
    this.scroll.style.height = `${this.height}px`;
    const scrolled = this.readable && !this.fits;
    this.spacer.style.height = `${scrolled ? all + TOP + BOTTOM : this.height}px`;
    this.width = this.scroll.clientWidth; // a scrollbar may have come or gone
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.names = this.labelArms();
    this.bars = Math.min(150, Math.max(56, this.width * 0.16));
    this.left = this.names + 10;
    this.right = this.width - SIDE - this.bars - 18;
    this.axis = axisOf(this.view, this.left, this.right);
    return true;
  }

  /**
   * Cut the names so that they fit beside the chart, and return how wide they are at most. Long
   * names get up to a third of the width. A study's names never change.
   */
  labelArms() {
    const { names, name, created } = this.view;
    const of = `${created} ${name} ${this.width}`;
    if (this.labelled?.of !== of) {
      const widthOf = letterWidths(this.context);
      const least = Math.min(150, Math.max(64, this.width * 0.2));
      const most = Math.max(least, Math.min(260, this.width * 0.32));
      const widest = names.reduce((a, arm) => Math.max(a, widthOf(String(arm))), 0);
      const width = Math.min(most, Math.max(least, Math.ceil(widest) + 8));
      this.labelled = { of, width, labels: labelsOf(names, widthOf, width - 6) };
    }
    return this.labelled.width;
  }

  draw() {
    if (!this.layOut()) return;
    const { context: c, colours, left, right } = this;
    const ratio = devicePixelRatio;
    const [pixelWidth, pixelHeight] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== pixelWidth || this.canvas.height !== pixelHeight) {
      this.canvas.width = pixelWidth;
      this.canvas.height = pixelHeight;
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";

    const offset = this.scroll.scrollTop;
    const bottom = this.height - BOTTOM;

    this.drawAxis(left, right, bottom);
    c.save();
    c.beginPath();
    c.rect(0, TOP, this.width, bottom - TOP);
    c.clip();
    this.drawGaps(bottom);
    const first = this.placeAt(offset);
    const last = this.placeAt(offset + bottom - TOP);
    const rows = this.order.slice(first, last + 1).map((arm, k) => {
      const [top, below] = [this.tops[first + k], this.tops[first + k + 1]];
      return { arm, y: TOP + (top + below) / 2 - offset, height: below - top };
    });
    this.drawChosen(rows);
    this.drawBars(rows);
    this.drawIntervals(rows);
    this.drawNames(rows);
    c.restore();
    c.fillStyle = colours.line;
    c.fillRect(0, bottom, this.width, 1);
    this.placeTip();
  }

  drawAxis(left, right, bottom) {
    const { context: c, colours, axis } = this;
    c.fillStyle = colours.soft;
    c.textAlign = "right";
    c.fillText("arm", this.names, TOP / 2);
    c.textAlign = "left";
    c.fillText(right - left > 215 ? "mean, with its confidence interval" : "mean and interval", left, TOP / 2);
    c.fillText("pulls", right + 18, TOP / 2);
    c.textAlign = "center";
    for (const tick of axis.ticks) {
      const x = axis.scale(tick);
      c.fillStyle = colours.line;
      c.fillRect(Math.round(x), TOP, 1, bottom - TOP);
      c.fillStyle = colours.soft;
      c.fillText(axis.write(tick), x, bottom + 14);
    }
    c.textAlign = "right";
    c.fillText(count(this.most), this.width - SIDE, bottom + 14);
    c.textAlign = "left";
    c.fillText("0", right + 18, bottom + 14);
  }

  /** Draw the gaps: shaded if they are certain, between dashes if they are only of means. */
  drawGaps(bottom) {
    const { context: c, colours, axis } = this;
    for (const gap of this.spans) {
      const [from, to] = [axis.scale(gap.from), axis.scale(gap.to)];
      c.strokeStyle = c.fillStyle = colours.gap;
      if (gap.certain) {
        c.globalAlpha = 0.2;
        c.fillRect(from, TOP, to - from, bottom - TOP);
        c.globalAlpha = 1;
      } else {
        c.setLineDash([4, 4]);
        c.strokeRect(Math.round(from) + 0.5, TOP - 2, Math.round(to - from), bottom - TOP + 4);
        c.setLineDash([]);
      }
    }
  }

  drawChosen(rows) {
    const { context: c, colours } = this;
    for (const { arm, y, height } of rows) {
      if (arm !== this.selected) continue;
      c.fillStyle = colours.mark;
      c.fillRect(0, y - height / 2, this.width, height);
      c.fillStyle = colours.accent;
      c.fillRect(0, y - height / 2, 3, height);
    }
  }

  drawBars(rows) {
    const { context: c, colours, view } = this;
    const left = this.width - SIDE - this.bars;
    c.fillStyle = colours.bar;
    for (const { arm, y, height } of rows) {
      const thick = height >= NAMED ? 8 : Math.max(height, 0.5);
      c.fillRect(left, y - thick / 2, (this.bars * view.counts[arm]) / this.most, thick);
    }
  }

  drawIntervals(rows) {
    const { context: c, view, axis } = this;
    const layers = ["failed", "normal", "undecided", "candidate", "outlier"].flatMap((status) => {
      const withStatus = rows.filter(({ arm }) => view.statuses[arm] === status);
      const second = ({ arm }) => this.shaded && view.community[arm] % 2 === 1;
      return [0, 1].map((next) => ({
        status,
        colour: this.shades[status][next],
        layer: withStatus.filter((row) => Number(second(row)) === next),
      }));
    });
    for (const { status, colour, layer } of layers) {
      c.fillStyle = c.strokeStyle = colour;
      for (const { arm, y, height } of layer) {
        const [from, to] = [axis.scale(view.low[arm]), axis.scale(view.high[arm], true)];
        const thick = height >= NAMED ? 3 : height >= 3 ? 2 : 1;
        c.globalAlpha = height >= 3 ? 1 : Math.max(0.08, 0.3 * height);
        c.fillRect(from, y - thick / 2, Math.max(to - from, 1), thick);
      }
      c.globalAlpha = 1;
      for (const { arm, y, height } of layer) {
        if (view.means[arm] === null) continue;
        const x = axis.scale(view.means[arm]);
        if (height < 3) c.fillRect(x - 1, y - 1, 2, 2);
        else drawMark(c, status, x, y, height >= NAMED ? 4.5 : 2.5, this.colours.paper);
      }
    }
  }

  drawNames(rows) {
    const { context: c, colours, view, labelled } = this;
    const used = [];
    const write = (row) => {
      if (used.some((y) => Math.abs(y - row.y) < NAMED)) return;
      used.push(row.y);
      const status = view.statuses[row.arm];
      const odd = status === "outlier" || status === "candidate";
      c.fillStyle = odd ? this.shades[status][0] : colours.ink;
      c.font = `${odd ? "600 " : ""}12px system-ui, sans-serif`;
      c.fillText(labelled.labels[row.arm], this.names, row.y + 0.5);
    };
    c.textAlign = "right";
    rows.filter(({ arm }) => arm === this.selected).forEach(write);
    rows.filter(({ height }) => height >= NAMED).forEach(write);
  }

  /** Describe one arm beside its row, without drawing the canvas again. */
  placeTip() {
    const { view, tip, pointed } = this;
    const focused = document.activeElement === this.canvas ? this.selected : null;
    const arm = this.hovered ?? focused;
    tip.hidden = pointed.hidden = true;
    if (arm === null || view === null) return;
    const place = this.place[arm];
    const [top, below] = [this.tops[place], this.tops[place + 1]];
    const y = TOP + (top + below) / 2 - this.scroll.scrollTop;
    if (y < TOP || y > this.height - BOTTOM) return;
    pointed.hidden = arm !== this.hovered;
    pointed.style.top = `${y - Math.max(below - top, 3) / 2}px`;
    pointed.style.height = `${Math.max(below - top, 3)}px`;
    tip.hidden = false;
    tip.replaceChildren(
      element("strong", {}, String(view.names[arm])),
      element("br"),
      describe(view, arm),
    );
    const above = y > this.height / 2;
    const [left, right] = [this.names + 14, this.width - this.bars - tip.offsetWidth - 20];
    // On the side without the arm's interval.
    const far = this.axis.scale(this.middles[arm]) > this.width / 2 ? left : right;
    tip.style.left = `${Math.max(4, Math.min(far, this.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${above ? y - tip.offsetHeight - 12 : y + 14}px`;
  }
}

/** Describe an arm, without its name. */
export function describe(view, arm) {
  const { means, low, high, counts, rank, statuses } = view;
  const write = writerOf(view);
  const mean = means[arm] === null ? "not pulled yet" : `mean ${write(means[arm])}`;
  const ends = `between ${write(low[arm])} and ${write(high[arm])}`;
  return `${mean}, ${ends}, ${plural(counts[arm], "pull")}, rank ${count(rank[arm])}, ${statuses[arm]}`;
}

/** Return how means are written: three digits of a typical interval's width. */
export function writerOf(view) {
  const widths = view.low
    .map((low, arm) => (view.high[arm] ?? Infinity) - (low ?? -Infinity))
    .filter((width) => width > 0 && width < Infinity)
    .sort((a, b) => a - b);
  const typical = widths[widths.length >> 1] ?? 1;
  const decimals = Math.min(Math.max(2 - Math.floor(Math.log10(typical)), 0), 9);
  return (value) => (value === null ? "–" : value.toFixed(decimals));
}

/** Draw the mark of a status; that of a candidate is an outline. */
function drawMark(c, status, x, y, size, paper) {
  c.beginPath();
  if (status === "outlier" || status === "candidate") {
    const far = size * 1.4;
    c.moveTo(x, y - far);
    c.lineTo(x + far, y);
    c.lineTo(x, y + far);
    c.lineTo(x - far, y);
    if (status === "candidate") {
      const colour = c.fillStyle;
      c.closePath();
      c.fillStyle = paper;
      c.fill();
      c.lineWidth = Math.max(1, size / 2.5);
      c.stroke();
      c.fillStyle = colour;
      return;
    }
  } else if (status === "normal") {
    c.arc(x, y, size, 0, 2 * Math.PI);
  } else if (status === "undecided") {
    c.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
  } else {
    c.lineWidth = Math.max(1, size / 2);
    c.moveTo(x - size, y - size);
    c.lineTo(x + size, y + size);
    c.moveTo(x + size, y - size);
    c.lineTo(x - size, y + size);
    c.stroke();
    return;
  }
  c.fill();
}

/** The certain gaps around outliers or candidates or, before there are any, the widest of all. */
function gapsOf({ gaps, gap }) {
  return gaps.length || gap === null ? gaps : [gap];
}

/** The arms outside the largest community, and those beyond the leading gap, if they are few. */
function outsiders(view) {
  const sizes = new Map();
  for (const k of view.community) sizes.set(k, (sizes.get(k) ?? 0) + 1);
  const [largest] = [...sizes].reduce((a, b) => (b[1] > a[1] ? b : a));
  const few = (chosen) => {
    const arms = view.names.map((_, arm) => arm).filter(chosen);
    return arms.length <= MOST_PROMINENT ? arms : [];
  };
  const { gap, means } = view;
  const middle = gap === null ? NaN : (gap.from + gap.to) / 2; // means are rounded, its ends are not
  return [
    ...few((arm) => view.community[arm] !== largest),
    ...few((arm) => means[arm] > middle),
    ...few((arm) => means[arm] !== null && means[arm] < middle),
  ];
}

/** Return how wide a text is: its letters, each measured once. */
function letterWidths(context) {
  const widths = new Map();
  return (text) => {
    let sum = 0;
    for (const letter of text) {
      if (!widths.has(letter)) {
        context.font = NAME_FONT;
        widths.set(letter, context.measureText(letter).width);
      }
      sum += widths.get(letter);
    }
    return sum;
  };
}

/** Return the axis: from value to x, and the places of its ticks. */
function axisOf(view, left, right) {
  const finite = (values) => values.filter((value) => value !== null);
  const ends = [...finite(view.low), ...finite(view.high), ...finite(view.means)];
  const [least, most] = ends.reduce(
    ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
    [Infinity, -Infinity],
  );
  let [from, to] = ends.length ? [least, most] : [view.range[0] ?? 0, view.range[1] ?? 1];
  if (from === to) [from, to] = [from - 0.5, to + 0.5];
  const pixelsPerUnit = (right - left) / (to - from);
  const scale = (value, end = false) => (value === null ? (end ? right : left) : left + (value - from) * pixelsPerUnit);
  const step = niceStep((to - from) / Math.max(3, Math.floor((right - left) / 70)));
  const ticks = [];
  for (let k = Math.ceil(from / step); k * step <= to + step * 1e-9; k += 1) ticks.push(k * step);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return { scale, ticks, write: (tick) => tick.toFixed(Math.min(decimals, 9)) };
}
