// One query, and its answer in words.

import * as api from "./api.js";
import { make, say } from "./dom.js";
import { columnsOf, form } from "./form.js";
import { notice, refusal, restate, waiting } from "./states.js";
import { KINDS, usage } from "./words.js";

const entered = new Map(); // what was typed, by release, for as long as the page is open

export function ask(one) {
  const columns = columnsOf(one);
  if (!entered.has(one.name)) entered.set(one.name, new Map());
  const shown = make("div", { class: "stack" }, hint());
  const put = (content) => shown.replaceChildren(content);
  let last = { text: null, token: null };
  const act = async (cells, refuse) => {
    const row = one.columns || one.feature_names ? Object.fromEntries(cells) : cells.map(([, value]) => value);
    const text = JSON.stringify(row);
    if (text !== last.text) last = { text, token: api.newToken() }; // the same again after a lost reply is one query
    put(waiting("Asking …"));
    try {
      const told = await api.ask(one.name, [row], last.token);
      last = { text: null, token: null };
      put(answer(one, told.answers[0], told));
      restate(one);
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      const isMarked = error.code === "bad_value" && refuse(error.details.column, error.message);
      put(isMarked ? hint() : refusal(error));
      if (error.code === "budget_exhausted") restate(one);
    }
  };
  return [
    one.state === "halted" ? halted() : null,
    make(
      "div",
      { class: "halves" },
      form(columns, { button: "Ask for the label", cost: costOf(one), kept: entered.get(one.name), act }),
      make("section", { "aria-label": "Answer", class: "stack" }, shown),
    ),
  ].filter(Boolean);
}

export function halted() {
  return notice(
    "This release has halted",
    [
      "Its unstable answers are used up, for good: that is what keeps its promise.",
      "Queries that were asked before still get their answer.",
    ],
    { tone: "unstable" },
  );
}

const hint = () =>
  make(
    "div",
    { class: "card stack tight muted" },
    make("h2", {}, "The answer"),
    make("p", {}, "It appears here, with what it means and what it cost."),
  );

function costOf(one) {
  if (one.kind === "model" || one.state === "published") return "Costs nothing: the classifier is public.";
  if (one.state === "halted") return "Costs nothing.";
  if (one.left.unstable === null) return one.left.queries === null ? "Costs nothing." : "Uses up one query.";
  return "Uses up one unstable answer at most; asked before, it costs nothing.";
}

export function answer(one, { label, coin, kind }, { left }) {
  const known = KINDS[kind] ?? { name: kind, meaning: "", cost: "" };
  const none = label === null || label === undefined;
  const words = none ? "No clear answer" : String(label);
  say(`${words}. ${known.meaning} ${known.cost}`);
  return make(
    "div",
    { class: `card stack tight answer answer-${kind in KINDS ? kind : "repeated"}` },
    make(
      "div",
      { class: "title" },
      make("h2", {}, "The answer"),
      make("span", { class: `chip chip-${kind in KINDS ? kind : "repeated"}` }, known.name),
    ),
    make("p", { class: "answer-label" }, words),
    make("p", {}, known.meaning),
    none && coin !== null && coin !== undefined
      ? make(
          "p",
          {},
          "A coin was tossed for those who need a label: ",
          make("strong", {}, String(coin)),
          ". It says nothing about the records.",
        )
      : null,
    make("p", {}, cost(one, kind, left)),
    left && one.kind === "release" && one.state !== "published"
      ? make("p", { class: "muted small" }, `Left: ${usage(left)}.`)
      : null,
  );
}

function cost(one, kind, left) {
  if (one.kind === "model") return "It cost nothing: the classifier is public.";
  const limited = left && left.queries !== null && ["stable", "unstable"].includes(kind);
  const used = limited
    ? kind === "unstable"
      ? "It used up one query and one unstable answer."
      : "It used up one query."
    : (KINDS[kind]?.cost ?? "");
  return `${used} ε and δ stay as they were.`;
}
