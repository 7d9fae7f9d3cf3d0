// What would be possible with a table, from public numbers alone: nothing is asked and nothing is spent.

import * as api from "./api.js";
import { chart, legend, numbers } from "./chart.js";
import { fresh, make, say, scrolling, table } from "./dom.js";
import { refusal, waiting } from "./states.js";
import { algorithm, count, epsilon, own, percent, renumbered } from "./words.js";

const CLASSES = {
  thresholds: "One number: above it, or below.",
  intervals: "One number: inside a range, or outside.",
  stumps: "One column decides: above a number, or below.",
  rectangles: "A range in every column.",
  halfspaces: "Two numbers, and a line between the labels.",
};
const ONE_COLUMN = ["thresholds", "intervals"];
const TWO_COLUMNS = ["halfspaces"];
const FIELDS = [
  { name: "records", title: "Private records", least: 1, whole: true, help: "How many rows the private table has." },
  {
    name: "features",
    title: "Columns",
    least: 1,
    whole: true,
    help: "Numbers that a row is made of, once it is encoded.",
  },
  { name: "epsilon", title: "Privacy budget ε", above: 0, help: "Smaller is more private; 1 is a common choice." },
  { name: "delta", title: "δ", above: 0, below: 1, help: "Far below one over the number of records, such as 10⁻⁶ (typed 1e-6)." },
  { name: "queries", title: "Queries", least: 1, whole: true, help: "How many answers are planned for." },
];
const VARIED = ["epsilon", "records", "queries"];
const VARIED_WORDS = { epsilon: "privacy budget ε", records: "records n", queries: "queries m" };
const TONES = {
  SubsampleAggregate: "unstable",
  AgnosticRelease: "votes",
  UniversalRelease: "published",
  NoisyMaxAggregate: "others",
  ConfidentMaxAggregate: "others",
};

let entered = null; // what was typed, for as long as the page is open

export async function planner(served) {
  entered ??= {
    class: "stumps",
    features: 14,
    records: served.find(({ records }) => records)?.records ?? 20000,
    epsilon: 1,
    delta: "1e-6",
    queries: 500,
  };
  const result = make("div", { class: "stack", "data-plan": "" });
  const submit = make("button", { type: "submit" }, "Show what to expect");
  const fields = FIELDS.map(field);
  const kinds = classes();
  const form = make(
    "form",
    { class: "card stack", novalidate: true, "aria-label": "Planner" },
    make(
      "div",
      { class: "fields" },
      kinds.element,
      fields.map(({ element }) => element),
    ),
    make(
      "div",
      { class: "acts" },
      submit,
      make("p", { class: "muted small" }, "From public numbers alone. Nothing is asked, nothing is spent."),
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    const wrong = fields.filter(({ check }) => !check());
    if (wrong.length) return wrong[0].focus();
    const asked = { ...entered };
    submit.disabled = true;
    result.replaceChildren(waiting("Planning. This takes a few seconds …"));
    try {
      const told = await api.plan(asked);
      const panels = VARIED.map((over) => [over, make("div", {}, waiting("Drawing …"))]);
      const space = around(panels.map(([, panel]) => panel));
      result.replaceChildren(...outlook(told), space);
      filled(panels, asked, () => space.isConnected);
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      result.replaceChildren(refusal(error, { retry: () => form.requestSubmit() }));
    } finally {
      submit.disabled = false;
    }
  });
  return [
    make(
      "div",
      { class: "stack tight" },
      make("h1", {}, "Planner"),
      make(
        "p",
        { class: "muted" },
        "What to expect of answers by votes with your numbers, before anything private is touched.",
      ),
    ),
    form,
    result,
  ];
}

function classes() {
  const id = fresh("class");
  const input = make(
    "select",
    { id, "aria-describedby": `${id}-help` },
    Object.keys(CLASSES).map((name) => make("option", { value: name, selected: name === entered.class }, name)),
  );
  const help = make("p", { class: "help", id: `${id}-help` }, CLASSES[entered.class]);
  input.addEventListener("change", () => {
    entered.class = input.value;
    help.textContent = CLASSES[input.value];
    const fixed = ONE_COLUMN.includes(input.value) ? 1 : TWO_COLUMNS.includes(input.value) ? 2 : null;
    if (fixed !== null) {
      const columns = document.getElementById("plan-features");
      columns.value = fixed;
      columns.dispatchEvent(new Event("input"));
    }
  });
  return { element: make("div", { class: "field" }, make("label", { for: id }, "Classifiers that vote"), input, help) };
}

function field({ name, title, help, least = -Infinity, above = -Infinity, below = Infinity, whole = false }) {
  const id = `plan-${name}`;
  const input = make("input", {
    id,
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    value: entered[name],
    "aria-describedby": `${id}-help ${id}-problem`,
    "aria-required": "true",
  });
  const problem = make("p", { class: "problem", id: `${id}-problem` });
  input.addEventListener("input", () => {
    entered[name] = input.value.trim().replaceAll(",", "");
    problem.textContent = "";
    input.removeAttribute("aria-invalid");
  });
  const check = () => {
    const value = Number(entered[name]);
    const right =
      String(entered[name]).trim() !== "" &&
      value >= least &&
      value > above &&
      value < below &&
      (!whole || Number.isInteger(value));
    if (!right) {
      problem.textContent = whole
        ? `Please enter a whole number, at least ${least}.`
        : below < Infinity
          ? "Please enter a number above 0 and below 1."
          : "Please enter a number above 0.";
      input.setAttribute("aria-invalid", "true");
    }
    return right;
  };
  return {
    element: make(
      "div",
      { class: "field" },
      make("label", { for: id }, title),
      input,
      make("p", { class: "help", id: `${id}-help` }, help),
      problem,
    ),
    check,
    focus: () => input.focus(),
  };
}

function outlook(told) {
  const best = told.recommendation;
  const expected = told.algorithms.filter((one) => one.expected);
  // one name for one thing
  const reason = renumbered(
    told.algorithms.reduce((text, one) => text.replaceAll(one.algorithm, one.estimator), best.reason),
  );
  const aim = percent(told.asked.alpha);
  const needed =
    told.needed === null
      ? `No number of records is known for which it is proved to stay below ${aim}.`
      : `To prove that it stays below ${aim}, ${count(told.needed)} records are needed.`;
  say("The plan is shown.");
  return [
    published(told.published),
    make(
      "section",
      { class: "card stack", "aria-labelledby": "advice" },
      make("h2", { id: "advice" }, best.estimator ? `Answers by votes: ${best.estimator}` : "Answers by votes"),
      make("p", {}, reason),
      expected.length ? scrolling("options to answer", options(expected, best.estimator)) : null,
      make(
        "p",
        { class: "muted small" },
        "Extra error is what goes beyond the best classifier of this kind; a query without an answer counts as a coin. ",
        "Expected means by the planner's model, which is no bound. ",
        needed,
      ),
    ),
  ];
}

function published({ method, estimator, reason, loss, tables, n_times_epsilon: strength, extrapolated, shortfall, notes }) {
  const points = (value) => String(Number((100 * value).toFixed(1))).replace("-", "−");
  const ends = new Set((strength ?? []).map((value) => count(Math.round(value))));
  const lost = loss
    ? `Accuracy was ${points(loss[0])} to ${points(loss[1])} points below boosting without privacy on ${tables.length} real tables with n·ε = ${[...ends].join(" to ")}${extrapolated ? ", the nearest that were measured" : ""}. Another table may do better or worse.`
    : "It was not measured at numbers like these.";
  return make(
    "section",
    { class: "card stack tight", "aria-labelledby": "published" },
    make("h2", { id: "published" }, `Best on real tables: ${method} (${estimator})`),
    shortfall ? make("p", {}, renumbered(shortfall)) : null,
    make("p", {}, renumbered(reason)),
    make("p", {}, lost),
    notes.length
      ? make(
          "details",
          {},
          make("summary", {}, "What to keep in mind"),
          make(
            "ul",
            { class: "plain" },
            notes.map((note) => make("li", {}, renumbered(note))),
          ),
        )
      : null,
  );
}

function options(expected, best) {
  const rows = expected.map(({ estimator, expected: model, proved }) => [
    make("span", { class: "option" }, estimator, make("span", { class: "muted small" }, algorithm(estimator))),
    percent(model.unanswered_share),
    percent(model.excess_error),
    proved === null ? "–" : `≤ ${epsilon(proved)}`,
  ]);
  const heads = ["option", "without an answer, expected", "extra error, expected", "extra error, proved"];
  const content = table("Options to answer", heads, rows, { numeric: [1, 2, 3] });
  expected.forEach(({ estimator }, place) =>
    content.tBodies[0].rows[place].classList.toggle("best", estimator === best),
  );
  return content;
}

// One after the other, as long as they are shown: the server plans one at a time.
async function filled(panels, asked, isShown) {
  for (const [over, panel] of panels) {
    if (!isShown()) return;
    try {
      const { curves } = await api.plan({ ...asked, over });
      panel.replaceChildren(curve(asked, curves));
      if (over === "epsilon") panel.after(proof(asked, curves));
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      panel.replaceChildren(make("p", { class: "muted" }, `Not drawn. ${renumbered(error.message)}`));
    }
  }
}

function around(panels) {
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "curves" },
    make("h2", { id: "curves" }, "If the numbers were others"),
    make("p", { class: "muted" }, "One number varies, the others stay as they are. The upright line marks yours."),
    legend(Object.entries(TONES).map(([words, tone]) => ({ tone, words }))),
    make("div", { class: "cards" }, panels),
  );
}

// The expected extra error of each option while one number varies.
function curve(asked, { over, at, expected }) {
  const axis = numbers(VARIED_WORDS[over], { scale: "log" });
  const shares = { ...numbers("extra error"), least: 0.05, tick: percent, format: percent };
  const series = Object.entries(expected)
    .filter(([, values]) => values.some((value) => value !== null))
    .map(([name, values]) => ({
      name,
      tone: own(TONES, name) ?? "others",
      points: at.map((place, index) => [place, values[index]]),
    }));
  const ends = ({ name, points }) => {
    const known = points.filter(([, value]) => value !== null);
    return `${name} from ${percent(known[0][1])} to ${percent(known.at(-1)[1])}`;
  };
  const title = `Expected extra error by ${VARIED_WORDS[over]}`;
  if (!series.length) return make("p", { class: "muted" }, `${title}: nothing can be planned.`);
  return chart({
    title,
    description: `${series.map(ends).join("; ")}.`,
    series,
    x: axis,
    y: shares,
    mark: Number(asked[over]),
  });
}

// The records that a proof needs while ε varies.
function proof(asked, { at, needed }) {
  const title = "Records that a proof needs by privacy budget ε";
  const points = at.map((place, index) => [place, needed[index]]).filter(([, value]) => value !== null);
  if (!points.length) return make("p", { class: "muted" }, `${title}: no number is known to be enough.`);
  return chart({
    title,
    description: `From ${count(points[0][1])} down to ${count(points.at(-1)[1])}.`,
    series: [{ name: "records", tone: "votes", points }],
    x: numbers(VARIED_WORDS.epsilon, { scale: "log" }),
    y: numbers("records", { scale: "log" }),
    mark: Number(asked.epsilon),
  });
}
