// What was answered: the holder sees all of it, an asker what its own key asked.

import * as api from "./api.js";
import { written } from "./csv.js";
import { download, make, say } from "./dom.js";
import { columnsOf } from "./form.js";
import { refusal } from "./states.js";
import { count, counted, kindOf, when } from "./words.js";

const SHOWN = 50;
const FETCHED = 1000;

export async function answers(one, { role }) {
  const list = make("ol", { class: "logged" });
  const more = make("button", { type: "button", hidden: true }, "Show more");
  const save = make("button", { type: "button", class: "go" }, "Download as CSV");
  const problem = make("div", {});
  let next = 0;
  const fetched = async () => {
    const found = await api.answers(one.name, next, SHOWN);
    list.append(...found.answers.map(entry));
    next = found.next;
    more.hidden = next === null;
    return found.answers.length;
  };
  const acting = (button, act) =>
    button.addEventListener("click", async () => {
      button.disabled = true;
      problem.replaceChildren();
      try {
        say(await act());
      } catch (error) {
        if (!(error instanceof api.Refused)) throw error;
        problem.replaceChildren(refusal(error, { retry: () => button.click() }));
      } finally {
        button.disabled = false;
      }
    });
  acting(more, async () => `${counted(await fetched(), "more answer is", "more answers are")} shown.`);
  acting(save, async () => {
    const lines = await all(one);
    download(`${one.name}-answers.csv`, asCsv(one, role, lines), "text/csv");
    return `${counted(lines.length, "answer")} downloaded.`;
  });
  const none = role === "holder" ? "Nothing has been asked yet." : "Nothing has been asked with this key yet.";
  const first = await fetched();
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "answers" },
    make("h2", { id: "answers" }, "Answers"),
    first ? make("div", { class: "acts" }, save) : make("p", {}, none),
    list,
    more,
    problem,
  );
}

async function all(one) {
  const lines = [];
  for (let after = 0; after !== null; ) {
    const found = await api.answers(one.name, after, FETCHED);
    lines.push(...found.answers);
    after = found.next;
  }
  return lines;
}

function asCsv(one, role, lines) {
  const columns = columnsOf(one).map(({ name }) => name);
  const cells = (x) => (Array.isArray(x) ? x : columns.map((name) => (Object.hasOwn(x, name) ? x[name] : null)));
  const asker = role === "holder" ? ["asker"] : [];
  return written(
    ["number", "time", ...asker, ...columns, "label", "coin", "kind"],
    lines.map((line) => [
      line.number,
      line.time === null ? null : new Date(line.time * 1000).toISOString(),
      ...asker.map(() => line.asker),
      ...cells(line.x ?? {}),
      line.label,
      line.coin,
      line.kind,
    ]),
  );
}

function entry({ number, time, x, label, coin, kind }) {
  const cells = Array.isArray(x)
    ? x.map((value, place) => `x${place + 1} ${value}`)
    : Object.entries(x ?? {}).map(([name, value]) => `${name} ${value === null ? "not known" : value}`);
  const none = label === null || label === undefined;
  const { name, tone } = kindOf(kind);
  return make(
    "li",
    {},
    make(
      "div",
      { class: "line" },
      make("strong", {}, none ? "No clear answer" : String(label)),
      make("span", { class: `chip chip-${tone}` }, name),
      make("span", { class: "muted small" }, time === null ? `No. ${count(number)}` : `No. ${count(number)}, ${when(time)}`),
    ),
    make("p", { class: "muted small" }, cells.join(" · ")),
    none && coin !== null && coin !== undefined
      ? make("p", { class: "muted small" }, `The coin showed ${coin}.`)
      : null,
  );
}
