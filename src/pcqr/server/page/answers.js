// What was answered: the holder sees all of it, an asker what its own key asked.

import * as api from "./api.js";
import { make, say } from "./dom.js";
import { KINDS, count, when } from "./words.js";

const PAGE = 50;

export async function answers(one) {
  const list = make("ol", { class: "told" });
  const more = make("button", { type: "button", hidden: true }, "Show more");
  let next = 0;
  const fetched = async () => {
    const found = await api.answers(one.name, next, PAGE);
    list.append(...found.answers.map(told));
    next = found.next;
    more.hidden = next === null;
    return found.answers.length;
  };
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      say(`${count(await fetched())} more answers are shown.`);
    } finally {
      more.disabled = false;
    }
  });
  const first = await fetched();
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "answers" },
    make("h2", { id: "answers" }, "Answers"),
    first ? null : make("p", {}, "Nothing has been asked with this key yet."),
    list,
    more,
  );
}

function told({ number, time, x, label, coin, kind }) {
  const cells = Array.isArray(x)
    ? x.map((value, place) => `x${place + 1} ${value}`)
    : Object.entries(x ?? {}).map(([name, value]) => `${name} ${value === null ? "not known" : value}`);
  const none = label === null || label === undefined;
  return make(
    "li",
    {},
    make(
      "div",
      { class: "line" },
      make("strong", {}, none ? "No clear answer" : String(label)),
      make("span", { class: `chip chip-${kind in KINDS ? kind : "repeated"}` }, KINDS[kind]?.name ?? kind),
      make("span", { class: "muted small" }, `No. ${count(number)}, ${when(time)}`),
    ),
    make("p", { class: "muted small" }, cells.join(" · ")),
    none && coin !== null && coin !== undefined
      ? make("p", { class: "muted small" }, `The coin showed ${coin}.`)
      : null,
  );
}
