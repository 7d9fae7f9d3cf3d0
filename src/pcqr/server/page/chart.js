// Curves with axes, drawn at the width that there is, each with its figures as a table for those who do not see it.

import { draw, fresh, make, scrolling, table } from "./dom.js";
import { count, inPowers } from "./words.js";

const HEIGHT = 220;
const EDGE = { top: 14, right: 16, bottom: 34, left: 54 };
const DAY = 86400000;

// series: [{name, tone, points: [[x, y], …]}]. `x.scale`, `y.scale`: "linear", "log" or, for x, "time" (milliseconds).
// `steps`: a value stays until the next one. `limit`: a level line {at, name}. `mark`: an x to point out.
export function chart({ title, description, series, x, y, steps = false, limit = null, mark = null }) {
  const id = fresh("chart");
  const figure = make("figure", { class: "chart stack tight" }, make("figcaption", { id }, title));
  const space = make("div", {});
  figure.append(space, asTable(title, series, x, y));
  const redraw = () => {
    const width = Math.round(space.clientWidth);
    if (width > 0) space.replaceChildren(picture(width, { title, description, series, x, y, steps, limit, mark }));
  };
  new ResizeObserver(redraw).observe(space);
  return figure;
}

function asTable(title, series, x, y) {
  const places = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const found = series.map(({ points }) => new Map(points));
  const told = (format, value) => (value === undefined || value === null ? "–" : format(value));
  const rows = places.map((at) => [x.format(at), ...found.map((values) => told(y.format, values.get(at)))]);
  const content = table(title, [x.name, ...series.map(({ name }) => name)], rows, {
    numeric: series.map((_, place) => place + 1),
  });
  return make("details", {}, make("summary", {}, `Figures: ${title.toLowerCase()}`), scrolling(title, content));
}

function picture(width, { title, description, series, x, y, steps, limit, mark }) {
  const right = width - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  const all = series.flatMap(({ points }) => points);
  const levels = [...all.map(([, value]) => value), ...(limit ? [limit.at] : [])];
  const across = scaled(
    x.scale,
    extent(
      all.map(([at]) => at),
      x.scale,
    ),
    EDGE.left,
    right,
  );
  const upwards = scaled(y.scale, ceiling(levels, y), bottom, EDGE.top);
  const drawing = draw("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`,
    height: HEIGHT,
    role: "img",
    "aria-label": `${title}. ${description}`,
  });
  for (const tick of upwards.ticks(4)) {
    const level = upwards(tick);
    drawing.append(draw("line", { class: "gridline", x1: EDGE.left, x2: right, y1: level, y2: level }));
    drawing.append(draw("text", { x: EDGE.left - 8, y: level + 4, "text-anchor": "end" }, y.tick(tick)));
  }
  drawing.append(draw("line", { class: "baseline", x1: EDGE.left, x2: right, y1: bottom, y2: bottom }));
  const ticks = across.ticks(width < 420 ? 3 : 5);
  ticks.forEach((tick, place) => {
    const anchor =
      place === 0 && across(tick) < EDGE.left + 20
        ? "start"
        : place === ticks.length - 1 && across(tick) > right - 30
          ? "end"
          : "middle";
    drawing.append(draw("text", { x: across(tick), y: bottom + 17, "text-anchor": anchor }, x.tick(tick, across.span)));
  });
  drawing.append(draw("text", { x: right, y: HEIGHT - 2, "text-anchor": "end" }, x.name));
  if (mark !== null)
    drawing.append(draw("line", { class: "limit", x1: across(mark), x2: across(mark), y1: EDGE.top, y2: bottom }));
  if (limit) {
    const level = upwards(limit.at);
    drawing.append(draw("line", { class: "limit", x1: EDGE.left, x2: right, y1: level, y2: level }));
    drawing.append(draw("text", { class: "named", x: EDGE.left + 6, y: level + 15 }, limit.name));
  }
  for (const { tone, points } of series) {
    const known = points.filter(([, value]) => value !== null && value !== undefined);
    if (!known.length) continue;
    const path = known.map(([at, value], place) => {
      const [left, up] = [across(at).toFixed(1), upwards(value).toFixed(1)];
      return place === 0 ? `M${left} ${up}` : steps ? `H${left}V${up}` : `L${left} ${up}`;
    });
    const last = known.at(-1);
    if (steps)
      drawing.append(
        draw("path", { class: `area area-${tone}`, d: `${path.join("")}V${bottom}H${across(known[0][0])}Z` }),
      );
    drawing.append(draw("path", { class: `curve curve-${tone}`, d: path.join("") }));
    for (const [at, value] of steps ? [last] : known)
      drawing.append(draw("circle", { class: `dot-${tone}`, cx: across(at), cy: upwards(value), r: 3.5 }));
  }
  return drawing;
}

function extent(values, kind) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low < high) return [low, high];
  return kind === "log" ? [low / 2, low * 2] : kind === "time" ? [low - DAY / 48, low + DAY / 48] : [low - 1, low + 1];
}

function ceiling(values, y) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (y.scale === "log") {
    const [low, high] = extent(known, "log");
    return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
  }
  const most = Math.max(y.least ?? 1, ...known) * 1.04;
  return [0, most];
}

function scaled(kind, [low, high], from, to) {
  const bent = kind === "log" ? Math.log : (value) => value;
  const [start, end] = [bent(low), bent(high)];
  const at = (value) => from + ((bent(value) - start) / (end - start)) * (to - from);
  at.span = high - low;
  at.ticks = (wanted) => (kind === "log" ? powers(low, high, wanted) : round(low, high, wanted, kind));
  return at;
}

function round(low, high, wanted, kind) {
  const rough = (high - low) / wanted;
  const steps =
    kind === "time"
      ? [1, 5, 15, 60, 180, 360, 1440, 2880, 10080, 43200, 129600, 525600].map((minutes) => minutes * 60000)
      : [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    steps.find((one) => one >= rough) ?? [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}

function powers(low, high, wanted) {
  const every = [];
  const digits = high / low > 10 ** wanted ? [1] : high / low > 30 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
    every.push(...digits.map((digit) => digit * 10 ** power));
  return every.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

export const numbers = (name, { scale = "linear", least = null } = {}) => ({
  name,
  scale,
  least,
  tick: (value) => inPowers(value),
  format: (value) => (Number.isInteger(value) ? count(value) : inPowers(value)),
});

export const times = (name) => ({
  name,
  scale: "time",
  tick: (value, span) =>
    new Date(value).toLocaleString(
      "en-GB",
      span > 2 * DAY ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" },
    ),
  format: (value) => new Date(value).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
});

// Parts of a whole in one bar. `parts`: [{tone, value}]; words beside it say the same.
export function bar(parts, whole) {
  const drawing = draw(
    "svg",
    { class: "bar", viewBox: "0 0 1000 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: "fill-rest", width: 1000, height: 14 }),
  );
  let left = 0;
  for (const { tone, value } of parts) {
    const width = whole > 0 ? (1000 * value) / whole : 0;
    if (width > 0)
      drawing.append(draw("rect", { class: `fill-${tone}`, x: left, width: Math.max(width, 3), height: 14 }));
    left += width;
  }
  return drawing;
}

export function legend(parts) {
  const patch = (tone) =>
    draw(
      "svg",
      { width: 12, height: 12, "aria-hidden": "true" },
      draw("rect", { class: `fill-${tone}`, width: 12, height: 12, rx: 3 }),
    );
  return make(
    "ul",
    { class: "legend" },
    parts.map(({ tone, words }) => make("li", {}, patch(tone), words)),
  );
}
