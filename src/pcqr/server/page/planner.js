// What would be possible with a table, from public numbers alone: nothing is asked and nothing is spent.

import * as api from "./api.js";
import { chart, legend, numbers } from "./chart.js";
import { fresh, make, say, scrolling, table } from "./dom.js";
import { refusal, waiting } from "./states.js";
import { algorithm, count, inPowers, percent, roundedUp } from "./words.js";

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
  { name: "delta", title: "δ", above: 0, below: 1, help: "Far below one over the number of records, such as 1e-6." },
  { name: "queries", title: "Queries", least: 1, whole: true, help: "How many answers are planned for." },
];
const TONES = {
  SubsampleAggregate: "unstable",
  AgnosticRelease: "votes",
  UniversalRelease: "published",
  NoisyMaxAggregate: "others",
  SemiPrivateLearner: "others",
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
    submit.disabled = true;
    result.replaceChildren(waiting("Planning. This takes a few seconds …"));
    try {
      const told = await api.plan({ ...entered });
      result.replaceChildren(...outlook(told));
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
        "What answers by votes can be expected to give with your numbers, before anything private is touched.",
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
  const best = told.recommendation ?? {};
  const reason = (told.algorithms ?? []).reduce(
    (text, one) => text.replaceAll(one.algorithm, one.estimator),
    best.reason ?? "",
  ); // one name for one thing
  const expected = (told.algorithms ?? []).filter((one) => one.expected);
  say("The plan is shown.");
  return [
    make(
      "section",
      { class: "card stack", "aria-labelledby": "advice" },
      make(
        "h2",
        { id: "advice", tabindex: "-1" },
        best.estimator ? `${algorithm(best.estimator)}: ${best.estimator}` : "No way is recommended",
      ),
      reason ? make("p", {}, reason) : null,
      expected.length ? scrolling("Ways to answer", ways(expected, best.estimator)) : null,
      make(
        "p",
        { class: "muted small" },
        "Expected means: by the planner's model, an estimate. Proved means: a bound. Error counts what goes beyond the best classifier of this kind, a coin where there is no answer.",
      ),
      changes(told.nearest_changes ?? {}),
    ),
    curves(told.curves ?? []),
    (told.notes ?? []).length
      ? make(
          "section",
          { class: "card stack tight", "aria-labelledby": "notes" },
          make("h2", { id: "notes" }, "Notes"),
          make(
            "ul",
            { class: "plain" },
            told.notes.map((note) => make("li", {}, note)),
          ),
        )
      : null,
  ].filter(Boolean);
}

function ways(expected, best) {
  const rows = expected.map(({ estimator, expected: model, certified }) => [
    make("span", { class: "way" }, estimator, make("span", { class: "muted small" }, algorithm(estimator))),
    percent(model.unanswered_share),
    percent(model.excess_error),
    certified?.excess_error ? `≤ ${roundedUp(certified.excess_error)}` : "–",
  ]);
  const content = table(
    "Ways to answer",
    ["way", "without an answer, expected", "extra error, expected", "extra error, proved"],
    rows,
    { numeric: [1, 2, 3] },
  );
  expected.forEach(({ estimator }, place) =>
    content.tBodies[0].rows[place].classList.toggle("best", estimator === best),
  );
  return content;
}

function changes(nearest) {
  const words = {
    records: (value) => `${count(value)} records`,
    epsilon: (value) => `ε = ${roundedUp(value, 4)}`,
    alpha: (value) => `an error of ${roundedUp(value, 3)}`,
    queries: (value) => `${count(value)} queries`,
    delta: (value) => `δ = ${inPowers(value)}`,
  };
  const told = Object.entries(nearest)
    .map(([name, value]) => words[name]?.(value))
    .filter(Boolean);
  return told.length ? make("p", {}, `For a proof, any one of these would do: ${told.join("; ")}.`) : null;
}

// [{over: "epsilon" | "records" | "queries", at, series: [{estimator, points: [[x, share without an answer or error]]}]}]
function curves(found) {
  if (!found.length) return null;
  const drawn = [...new Set(found.flatMap(({ series }) => series.map(({ estimator }) => estimator)))];
  const names = { epsilon: "privacy budget ε", records: "records n", queries: "queries m" };
  const shares = {
    ...numbers("expected extra error"),
    least: 0.05,
    tick: (value) => percent(value),
    format: (value) => percent(value),
  };
  const panel = ({ over, at, series }) => {
    const known = series.filter(({ points }) => points.some(([, value]) => value !== null));
    if (!known.length) return null;
    const axis = numbers(names[over] ?? over, { scale: "log" });
    const description = known
      .map(
        ({ estimator, points }) =>
          `${estimator}: from ${percent(points[0][1])} at ${axis.format(points[0][0])} to ${percent(points.at(-1)[1])} at ${axis.format(points.at(-1)[0])}`,
      )
      .join("; ");
    return chart({
      title: `Expected extra error and ${names[over] ?? over}`,
      description: `${description}.`,
      series: known.map(({ estimator, points }) => ({ name: estimator, tone: TONES[estimator] ?? "others", points })),
      x: axis,
      y: shares,
      mark: at ?? null,
    });
  };
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "curves" },
    make("h2", { id: "curves" }, "If the numbers were others"),
    make("p", { class: "muted" }, "One number varies; the others stay as they are. The upright line marks yours."),
    legend(drawn.map((name) => ({ tone: TONES[name] ?? "others", words: name }))),
    make("div", { class: "cards" }, found.map(panel)),
  );
}
