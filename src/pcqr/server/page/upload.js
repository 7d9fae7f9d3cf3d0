// Many queries from a CSV file: first what they would cost, then, on a clear word, the answers.

import * as api from "./api.js";
import { halted } from "./ask.js";
import { bar, legend } from "./chart.js";
import { download, fresh, make, say, scrolling, table } from "./dom.js";
import { refusal, restate, waiting } from "./states.js";
import { KINDS, count, counted, percent, usage } from "./words.js";

const MOST = 64 * 2 ** 20;
const SHOWN = 200;
const ORDER = ["stable", "published", "repeated", "unstable", "unanswered"];

export function upload(one) {
  const id = fresh("file");
  const result = make("div", { class: "stack" });
  const put = (...content) => result.replaceChildren(...content.filter(Boolean));
  const input = make("input", { id, type: "file", accept: ".csv,text/csv", "aria-describedby": `${id}-help` });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (!file) return put();
    if (file.size > MOST)
      return put(
        make(
          "p",
          { class: "problem", role: "alert" },
          "This file is larger than 64 MB. Please cut it into parts, or use pcqr ask.",
        ),
      );
    await looked(one, file.name, await file.text(), put, () => {
      input.value = "";
      put();
      input.focus();
    });
  });
  const columns = one.columns
    ? `It needs a first line with the names of the columns: ${one.columns.map(({ name }) => name).join(", ")}.`
    : "It needs a first line with names, and one column for each number.";
  return [
    one.state === "halted" ? halted() : null,
    make(
      "section",
      { class: "card stack", "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title` }, "Ask with a file"),
      make(
        "div",
        { class: "field" },
        make("label", { for: id }, "CSV file, one query a line"),
        input,
        make(
          "p",
          { class: "help", id: `${id}-help` },
          `${columns} Nothing is asked before you have seen what it costs.`,
        ),
      ),
    ),
    result,
  ].filter(Boolean);
}

async function looked(one, name, text, put, back) {
  put(waiting("Looking at what it would cost …"));
  try {
    put(preview(one, name, text, await api.preview(one.name, text), put, back));
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    put(refusal(error, { retry: () => looked(one, name, text, put, back) }));
  }
}

function preview(one, name, text, cost, put, back) {
  const title = fresh("cost");
  const free = cost.new === 0;
  const tiles = [
    ["", cost.requested, "rows"],
    ["stable", cost.new, "new queries, put to the vote"],
    ["repeated", cost.repeated, "asked before: free"],
    ["published", cost.published, "for the published classifier: free"],
  ].filter(([tone, value]) => value > 0 || tone === "" || tone === "stable");
  const go = make(
    "button",
    { type: "button", class: "go" },
    free ? `Get ${counted(cost.requested, "answer")}` : `Ask ${counted(cost.requested, "query", "queries")}`,
  );
  const token = api.newToken();
  go.addEventListener("click", () => asked(one, name, text, cost.requested, token, put, back));
  const section = make(
    "section",
    { class: "card stack", "aria-labelledby": title, "data-preview": "" },
    make("h2", { id: title, tabindex: "-1" }, `What ${name} would cost`),
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
      sentences(cost).map((sentence) => make("li", {}, sentence)),
    ),
    make("div", { class: "acts" }, go, make("button", { type: "button", on: { click: back } }, "Not now")),
  );
  say(
    `${name}: ${counted(cost.requested, "row")}, ${counted(cost.new, "new query", "new queries")}. Nothing has been asked yet.`,
  );
  return section;
}

function sentences(cost) {
  const told = ["Nothing has been asked yet. It adds nothing to ε and δ: they were paid once."];
  if (cost.new > 0) told.push(`Left before it: ${usage(cost.left)}.`);
  told.push(
    cost.certain >= cost.requested
      ? "Every row will be answered."
      : cost.certain > 0
        ? `The first ${counted(cost.certain, "row")} will be answered, whatever the votes say.`
        : "No row is certain to be answered.",
  );
  if (cost.expected_unstable !== null && cost.expected_unstable !== undefined && cost.new > 0) {
    const range = cost.unstable_range
      ? ` (${rough(cost.unstable_range[0])} to ${rough(cost.unstable_range[1])} if the model is as far off as on real tables)`
      : "";
    told.push(
      `About ${rough(cost.expected_unstable)} unstable answers are expected${range}. This is an estimate, not a bound.`,
    );
  }
  if (cost.chance_of_halting > 0)
    told.push(`The chance that the release halts before the last row is about ${percent(cost.chance_of_halting)}.`);
  if (cost.beyond_plan > 0)
    told.push(
      `${counted(cost.beyond_plan, "of the new queries is", "of the new queries are")} beyond the number that accuracy was planned for. Privacy holds.`,
    );
  return told;
}

const rough = (value) => (value >= 10 ? count(Math.round(value)) : String(Number(value.toFixed(1))));

async function asked(one, name, text, requested, token, put, back) {
  put(waiting(`Asking ${counted(requested, "query", "queries")} …`));
  try {
    const { answers, left } = await api.ask(one.name, text, token);
    put(results(name, answers, requested, left, back));
    restate(one);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    const told = error.details.answered;
    const refused = refusal(error, { retry: () => asked(one, name, text, requested, token, put, back) });
    put(refused, Array.isArray(told) && told.length ? results(name, told, requested, null, back) : null);
    if (error.code === "budget_exhausted") restate(one);
  }
}

function results(name, answers, requested, left, back) {
  const rows = [
    ...answers,
    ...Array(Math.max(0, requested - answers.length)).fill({ label: null, coin: null, kind: "unanswered" }),
  ];
  const sums = ORDER.map((kind) => ({ tone: kind, value: rows.filter((row) => row.kind === kind).length })).filter(
    ({ value }) => value > 0,
  );
  const title = fresh("answers");
  const label = (row) => (row.label === null || row.label === undefined ? "–" : String(row.label));
  const shown = rows
    .slice(0, SHOWN)
    .map((row, place) => [count(place + 1), label(row), KINDS[row.kind]?.name ?? row.kind]);
  say(`${counted(answers.length, "answer")} of ${count(requested)} are here.`);
  return make(
    "section",
    { class: "card stack", "aria-labelledby": title, "data-results": "" },
    make("h2", { id: title, tabindex: "-1" }, `${counted(answers.length, "answer")} for ${name}`),
    bar(sums, rows.length),
    legend(sums.map(({ tone, value }) => ({ tone, words: `${count(value)} ${tone}` }))),
    left ? make("p", { class: "muted" }, `Left: ${usage(left)}.`) : null,
    make(
      "div",
      { class: "acts" },
      make(
        "button",
        {
          type: "button",
          class: "go",
          on: { click: () => download(`${name.replace(/\.csv$/i, "")}-answers.csv`, asCsv(rows), "text/csv") },
        },
        "Download as CSV",
      ),
      make("button", { type: "button", on: { click: back } }, "Another file"),
    ),
    scrolling(
      "Answers",
      table(
        rows.length > SHOWN ? `The first ${SHOWN} of ${count(rows.length)} answers` : "Answers",
        ["row", "label", "kind"],
        shown,
        { shown: rows.length > SHOWN },
      ),
    ),
  );
}

// The same columns as `pcqr ask` writes, with an apostrophe before a text that a spreadsheet would run as a formula.
function asCsv(rows) {
  const isNumber = (value) => /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value);
  const isRun = (value) => /^'*[=+\-@\t\r\n＝＋－＠]/.test(value) && !isNumber(value);
  const safe = (value) => (isRun(value) ? `'${value}` : value);
  const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const cell = (value) => quoted(safe(value));
  const lines = rows.map((row, place) =>
    [String(place + 1), row.label === null || row.label === undefined ? "" : String(row.label), row.kind]
      .map(cell)
      .join(","),
  );
  return `row,label,kind\n${lines.join("\n")}\n`;
}
