// Many queries from a CSV file: first what they would cost, then, after a click, the answers, part by part.

import * as api from "./api.js";
import { bar, legend } from "./chart.js";
import { together } from "./cost.js";
import { Unreadable, parts, read, written } from "./csv.js";
import { download, fresh, make, reveal, say, scrolling, table } from "./dom.js";
import { allowed } from "./form.js";
import { exhausted, notice, refusal, restate, waiting } from "./states.js";
import { count, counted, kindOf, percent, usage } from "./words.js";

const SHOWN = 200;
const FEW = 12; // columns that are named in a sentence
const ORDER = ["stable", "published", "repeated", "unstable", "unanswered"];
const jobs = new Map(); // the file at hand, by release, for as long as the page is open

export function upload(one, context) {
  const id = fresh("file");
  const result = make("div", { class: "stack" });
  const input = make("input", { id, type: "file", accept: ".csv,text/csv", "aria-describedby": `${id}-help` });
  const view = {
    one,
    context,
    job: null,
    isShown: (job) => result.isConnected && view.job === job,
    put: (...content) => {
      result.replaceChildren(...content.filter(Boolean));
      if (result.firstChild) reveal(result.firstChild);
    },
    back: () => {
      jobs.delete(one.name);
      view.job = null;
      input.value = "";
      result.replaceChildren();
      input.focus();
    },
  };
  input.addEventListener("change", async () => {
    const [file] = input.files;
    jobs.delete(one.name);
    view.job = null;
    if (!file) return result.replaceChildren();
    view.put(waiting("Reading the file …"));
    try {
      const found = read(await textOf(file));
      const cut = parts(found, one).map((part) => ({ ...part, token: api.newToken(), answers: null }));
      view.job = { name: file.name, table: found, parts: cut, remaining: null };
      Object.assign(view.job, { isPaused: false, isOver: false, isConfirmed: false });
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return view.put(unreadable(file.name, error.message));
    }
    await priced(view, view.job);
  });
  if (jobs.has(one.name)) {
    view.job = jobs.get(one.name);
    result.replaceChildren(results(view, view.job));
  }
  return [
    one.state === "exhausted" ? exhausted(one, context) : null,
    make(
      "section",
      { class: "card stack", "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title` }, "Ask with a file"),
      make(
        "div",
        { class: "field" },
        make("label", { for: id }, "CSV file, one query a line"),
        input,
        make("p", { class: "help", id: `${id}-help` }, `${firstLine(one)} Nothing is asked before you see what it costs.`),
      ),
      one.columns?.length > FEW
        ? make(
            "details",
            {},
            make("summary", {}, `The ${count(one.columns.length)} columns`),
            make("p", { class: "help" }, one.columns.map(({ name }) => name).join(", ")),
          )
        : null,
    ),
    result,
  ].filter(Boolean);
}

function firstLine({ columns, features }) {
  if (!columns) return `Its first line is a heading, each other line has ${counted(features, "number")}.`;
  const names = columns.length > FEW ? "" : `: ${columns.map(({ name }) => name).join(", ")}`;
  return `Its first line must name the columns${names}.`;
}

async function textOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch (error) {
    throw new Unreadable(
      error instanceof TypeError
        ? "It is not text in UTF-8. Save it again as CSV in UTF-8."
        : "The browser cannot read it. It may be too large, or have changed. Try pcqr ask.",
    );
  }
}

function unreadable(name, ...sentences) {
  const title = `${name} cannot be used`;
  const all = [...sentences, "Nothing has been asked. Correct the file and choose it again."];
  say(`${title}. ${all.join(" ")}`);
  return notice(title, all, { tone: "warning" });
}

// A cell that the server refused: its row in the file, its column, and what it says. The file is the reader's own.
function badCell(one, job, part, error) {
  const { row, column } = error.details;
  const record = part.rows[row - 1];
  if (error.code !== "bad_value" || !record) return null;
  const place = `Row ${count(part.first + row)} (line ${count(record.line)} of the file)`;
  const cell = job.table.cells(record)[job.table.names.indexOf(column)];
  const where = column === undefined ? place : `${place}, column “${column}”`;
  const what = cell === undefined ? "." : cell === "" ? ": the cell is empty." : `: “${cell}”.`;
  const known = one.columns?.find(({ name }) => name === column);
  return unreadable(job.name, `${where}${what}`, known ? `Allowed: ${allowed(known)}` : error.message);
}

async function priced(view, job) {
  const { one } = view;
  const costs = [];
  const shown = progress(`Finding out what ${job.name} would cost`, job);
  view.put(shown.element);
  for (const part of job.parts) {
    try {
      costs.push(await api.preview(one.name, part.body()));
      if (!view.isShown(job)) return;
    } catch (error) {
      if (!view.isShown(job)) return;
      if (error instanceof Unreadable) return view.put(unreadable(job.name, error.message));
      if (!(error instanceof api.Refused)) throw error;
      return view.put(badCell(one, job, part, error) ?? refusal(error, { retry: () => priced(view, job) }));
    }
    shown.reach(part.first + part.rows.length);
  }
  view.put(preview(view, job, together(one, job, costs)));
}

function preview(view, job, cost) {
  const title = fresh("cost");
  const free = cost.new === 0;
  const most = cost.isBound ? "at most " : "";
  const tiles = [
    ["", cost.requested, "rows"],
    ["stable", cost.new, cost.isBound ? "new queries at most, put to the vote" : "new queries, put to the vote"],
    ["repeated", cost.repeated, cost.isBound ? "at least asked before: free" : "asked before: free"],
    ["published", cost.published, "for the published classifier: free"],
  ].filter(([tone, value]) => value > 0 || tone === "" || tone === "stable");
  const words = free ? `Get ${counted(cost.requested, "answer")}` : `Ask ${counted(cost.requested, "query", "queries")}`;
  const go = make("button", { type: "button", class: "go" }, cost.is_exhausting ? `${words} all the same` : words);
  go.addEventListener("click", () => {
    jobs.set(view.one.name, job);
    job.isConfirmed = Boolean(cost.is_exhausting);
    asked(view, job);
  });
  say(
    `${job.name}: ${counted(cost.requested, "row")}, ${most}${counted(cost.new, "new query", "new queries")}. Nothing has been asked yet.`,
  );
  return make(
    "section",
    { class: "card stack", "aria-labelledby": title, "data-preview": "" },
    make("h2", { id: title }, `What ${job.name} would cost`),
    make(
      "dl",
      { class: "tiles" },
      tiles.map(([tone, value, words]) =>
        make("div", { class: `tile tile-${tone}` }, make("dt", {}, words), make("dd", {}, count(value))),
      ),
    ),
    make(
      "ul",
      { class: "plain" },
      sentences(cost, job).map((sentence) => make("li", {}, sentence)),
    ),
    cost.is_exhausting ? exhausting({ heading: "h3" }) : null,
    make("div", { class: "acts" }, go, make("button", { type: "button", on: { click: view.back } }, "Not now")),
  );
}

function sentences(cost, job) {
  const found = ["Nothing has been asked yet. Asking adds nothing to ε and δ: they were spent once."];
  if (job.parts.length > 1)
    found.push(
      `It is asked in ${count(job.parts.length)} parts. You can stop after each of them, and go on later: nothing is counted twice.`,
    );
  if (cost.new > 0) found.push(`Remaining before it: ${usage(cost.remaining)}.`);
  if (cost.new > 0 && cost.quota) found.push(`Remaining of your key's quota: ${usage(cost.quota)}.`);
  found.push(
    cost.certain >= cost.requested
      ? "Every row will be answered."
      : cost.certain > 0
        ? `The first ${cost.certain === 1 ? "row" : counted(cost.certain, "row")} will be answered, whatever the votes say.`
        : "No row is certain to be answered.",
  );
  if (cost.expected_unstable !== null && cost.expected_unstable !== undefined && cost.new > 0) {
    const [least, most] = cost.unstable_range ?? [0, 0];
    const range = most >= 0.05 ? ` (${rough(least)} to ${rough(most)} if the model is as far off as on real tables)` : "";
    const about = rough(cost.expected_unstable);
    const expected =
      about === "0"
        ? "Hardly any unstable answers are"
        : `About ${about} ${about === "1" ? "unstable answer is" : "unstable answers are"}`;
    found.push(`${expected} expected${range}. This is an estimate, not a bound.`);
  }
  if (cost.chance_of_halting > 0)
    found.push(
      `The chance that the release is exhausted before the last row is about ${percent(cost.chance_of_halting)}.`,
    );
  if (cost.beyond_plan > 0)
    found.push(
      `Accuracy was planned for fewer queries: ${counted(cost.beyond_plan, "new query is", "new queries are")} beyond the plan. Privacy holds.`,
    );
  return found;
}

const exhausting = (options) =>
  notice(
    "This is expected to exhaust the release",
    [
      "After that it gives no new answers, to anybody, for good. Queries that were asked before still get theirs.",
      "You can ask fewer rows first: begin with those that matter most.",
    ],
    { tone: "unstable", ...options },
  );

const rough = (value) => (value >= 10 ? count(Math.round(value)) : String(Number(value.toFixed(1))));

// How many rows are done, for the eye and, at every quarter, for the ear.
function progress(words, job, acts = []) {
  const all = job.table.rows.length;
  const id = fresh("progress");
  const meter = make("progress", { max: all, value: 0, "aria-labelledby": id });
  const done = make("p", { class: "muted" });
  let quarter = 0;
  const reach = (rows) => {
    meter.value = rows;
    done.textContent = `${count(rows)} of ${counted(all, "row")}`;
    const now = Math.floor((4 * rows) / all);
    if (now > quarter && rows < all) say(`${done.textContent}.`);
    quarter = now;
  };
  reach(answersOf(job).length);
  const section = make(
    "section",
    { class: "card stack", "aria-labelledby": id },
    make("p", { id }, `${words} …`),
    meter,
    done,
    acts.length ? make("div", { class: "acts" }, acts) : null,
  );
  return { element: section, reach };
}

const answersOf = (job) => job.parts.flatMap(({ answers }) => answers ?? []);
const nextPart = (job) => (job.isOver ? undefined : job.parts.find(({ answers }) => answers === null));

// From the first part that has no answers yet. Each has an Idempotency-Key of its own: sent again, it is counted once.
async function asked(view, job) {
  const { one } = view;
  job.isPaused = false;
  const stop = make("button", { type: "button" }, "Stop after this part");
  stop.addEventListener("click", () => {
    job.isPaused = true;
    stop.disabled = true;
  });
  const shown = progress(`Asking ${job.name}`, job, job.parts.length > 1 ? [stop] : []);
  view.put(shown.element);
  for (let part = nextPart(job); part && !job.isPaused && view.isShown(job); part = nextPart(job)) {
    try {
      const reply = await api.ask(one.name, part.body(), part.token, job);
      part.answers = reply.answers;
      job.remaining = reply.remaining;
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      refused(view, job, part, error);
      return restate(one);
    }
    shown.reach(answersOf(job).length);
  }
  if (view.isShown(job)) {
    view.put(results(view, job));
    say(`${counted(answersOf(job).length, "answer")} of ${count(job.table.rows.length)} are here.`);
  }
  restate(one);
}

// The server stopped within a part. What it answered before is in its refusal.
function refused(view, job, part, error) {
  const { one, context } = view;
  const isExhausted = error.code === "budget_exhausted";
  if (error.code === "would_exhaust" && view.isShown(job)) {
    return view.put(confirmation(view, job), results(view, job, { canGoOn: false }));
  }
  if (isExhausted || error.code === "quota_spent") {
    part.answers = Array.isArray(error.details.answered) ? error.details.answered : [];
    job.remaining = null;
    job.isOver = true;
  }
  if (!view.isShown(job)) return;
  view.put(isExhausted && one.state !== "exhausted" ? exhausted(one, context) : refusal(error), results(view, job));
}

// The server asks whether the rest is meant: since the file was priced, others may have asked.
function confirmation(view, job) {
  const go = () => {
    job.isConfirmed = true;
    asked(view, job);
  };
  say("The next rows are expected to exhaust the release. They have not been asked.");
  const acts = [make("button", { type: "button", class: "go", on: { click: go } }, "Ask them all the same")];
  return exhausting({ acts });
}

function results(view, job, { canGoOn = true } = {}) {
  const { name } = job;
  const answers = answersOf(job);
  const requested = job.table.rows.length;
  const missing = requested - answers.length;
  const rows = [...answers, ...Array(missing).fill({ label: null, coin: null, kind: "unanswered" })];
  const sums = ORDER.map((kind) => ({ tone: kind, value: rows.filter((row) => row.kind === kind).length })).filter(
    ({ value }) => value > 0,
  );
  const title = fresh("answers");
  const label = (row) => (row.label === null || row.label === undefined ? "–" : String(row.label));
  const shown = rows.slice(0, SHOWN).map((row, place) => [count(place + 1), label(row), kindOf(row.kind).name]);
  const isOpen = nextPart(job) !== undefined;
  const save = () => download(`${name.replace(/\.csv$/i, "")}-answers.csv`, asCsv(rows), "text/csv");
  return make(
    "section",
    { class: "card stack", "aria-labelledby": title, "data-results": "" },
    make("h2", { id: title }, `${counted(answers.length, "answer")} for ${name}`),
    bar(sums, rows.length),
    legend(sums.map(({ tone, value }) => ({ tone, words: `${count(value)} ${tone}` }))),
    job.remaining ? make("p", { class: "muted" }, `Remaining: ${usage(job.remaining)}.`) : null,
    isOpen
      ? make("p", {}, `${counted(missing, "row has", "rows have")} no answer here yet. You can go on: nothing is counted twice.`)
      : null,
    make(
      "div",
      { class: "acts" },
      isOpen && canGoOn
        ? make("button", { type: "button", class: "go", on: { click: () => asked(view, job) } }, "Go on")
        : null,
      answers.length
        ? make("button", { type: "button", class: isOpen ? null : "go", on: { click: save } }, "Download as CSV")
        : null,
      make("button", { type: "button", on: { click: view.back } }, "Another file"),
    ),
    answers.length
      ? scrolling(
          "Answers",
          table(
            rows.length > SHOWN ? `The first ${SHOWN} of ${count(rows.length)} answers` : "Answers",
            ["row", "label", "kind"],
            shown,
            { shown: rows.length > SHOWN },
          ),
        )
      : null,
  );
}

// The same columns as `pcqr ask` writes.
const asCsv = (rows) =>
  written(
    ["row", "label", "kind"],
    rows.map((row, place) => [place + 1, row.label, row.kind]),
  );
