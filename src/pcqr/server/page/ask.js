// One query, and its answer in words.

import * as api from "./api.js";
import { make, reveal, say } from "./dom.js";
import { columnsOf, form } from "./form.js";
import { exhausted, refusal, restate, waiting } from "./states.js";
import { kindOf, percent, usage } from "./words.js";

const entered = new Map(); // what was typed, by release, for as long as the page is open
const LONG = 40; // letters of a label from which on it is written smaller

export function ask(one, context) {
  const columns = columnsOf(one);
  if (!entered.has(one.name)) entered.set(one.name, new Map());
  const wasExhausted = one.state === "exhausted";
  const shown = make("div", { class: "stack" }, hint());
  const put = (content) => {
    shown.replaceChildren(content);
    reveal(shown);
  };
  let last = { text: null, token: null };
  const act = async (cells, refuse) => {
    const row = one.columns ? Object.fromEntries(cells) : cells.map(([, value]) => value);
    const text = JSON.stringify(row);
    if (text !== last.text) last = { text, token: api.newToken() }; // the same again after a lost reply is one query
    put(waiting("Asking …"));
    try {
      const reply = await api.ask(one.name, [row], last.token);
      last = { text: null, token: null };
      put(answer(one, reply.answers[0], reply));
      restate(one);
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      if (error.code === "bad_value" && refuse(error.details.column, error.message)) return shown.replaceChildren(hint());
      const isNews = error.code === "budget_exhausted" && !wasExhausted;
      put(isNews ? exhausted(one, context) : refusal(error));
      if (isNews) restate(one);
    }
  };
  return [
    wasExhausted ? exhausted(one, context) : null,
    make(
      "div",
      { class: "halves" },
      form(columns, { button: "Ask for the label", cost: costOf(one), kept: entered.get(one.name), act }),
      make("section", { "aria-label": "Answer", class: "stack beside" }, shown),
    ),
  ].filter(Boolean);
}

const hint = () =>
  make(
    "div",
    { class: "card stack tight muted" },
    make("h2", {}, "The answer"),
    make("p", {}, "It appears here, with what it means and what it cost."),
  );

function costOf(one) {
  if (one.kind === "model") return "Costs nothing: the classifier is public.";
  if (one.state === "published") return "Costs nothing: its classifier is paid for.";
  if (one.state === "exhausted") return "Costs nothing.";
  if (!one.remaining) return "";
  if (one.remaining.unstable === null) return one.remaining.queries === null ? "Costs nothing." : "Uses up one query.";
  return "Uses up at most one unstable answer. What was asked before costs nothing.";
}

function answer(one, { label, coin, kind, probability }, { remaining }) {
  const { name, meaning: usual, tone } = kindOf(kind);
  const isNoisy = kind === "stable" && remaining && remaining.unstable === null;
  const meaning = isNoisy ? "The teachers' votes, with noise on them, gave this label." : usual;
  const none = label === null || label === undefined;
  const words = none ? "No clear answer" : String(label);
  const price = cost(one, kind, remaining);
  const likely = typeof probability === "number" ? `Its probability is ${percent(probability)}, by the model.` : "";
  say([`${words}.`, likely, meaning, price].filter(Boolean).join(" "));
  return make(
    "div",
    { class: `card stack tight answer answer-${tone}` },
    make(
      "div",
      { class: "title" },
      make("h2", {}, "The answer"),
      make("span", { class: `chip chip-${tone}` }, name),
    ),
    make("p", { class: `answer-label ${words.length > LONG ? "answer-long" : ""}` }, words),
    likely ? make("p", {}, likely) : null,
    make("p", {}, meaning),
    none && coin !== null && coin !== undefined
      ? make(
          "p",
          {},
          "A coin was tossed for those who need a label: ",
          make("strong", {}, String(coin)),
          ". It says nothing about the records.",
        )
      : null,
    make("p", {}, price),
    remaining && one.kind === "release" && one.state !== "published"
      ? make("p", { class: "muted small" }, `Remaining: ${usage(remaining)}.`)
      : null,
  );
}

function cost(one, kind, remaining) {
  if (one.kind === "model") return "It cost nothing: the classifier is public.";
  const limited = remaining && remaining.queries !== null && ["stable", "unstable"].includes(kind);
  const used = limited
    ? kind === "unstable"
      ? "It used up one query and one unstable answer."
      : "It used up one query."
    : kindOf(kind).cost;
  return `${used} ε and δ stay as they were.`;
}
