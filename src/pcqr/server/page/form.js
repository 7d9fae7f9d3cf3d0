// Fields built from a schema: what may be entered, said beside each field; problems are tied to it.

import { fresh, make } from "./dom.js";
import { count, counted } from "./words.js";

const MISSING = "\u0000missing"; // no category can be this
const OTHER = "\u0000other";
const NAMED = 8; // categories that are named in a sentence
const LONG = 24; // letters of a category that a field shows

// The columns of a release. Without a schema it has `features` numbers.
export function columnsOf({ columns, features }) {
  const numbered = (_, place) => ({ name: `x${place + 1}`, kind: "numeric", missing: false });
  return columns ?? Array.from({ length: features }, numbered);
}

// A form over `columns`; `kept` remembers what was entered by name. `act(row)` is called with a complete row.
export function form(columns, { button, cost, kept, act }) {
  const fields = columns.map((column) => field(column, kept));
  const submit = make("button", { type: "submit" }, button);
  const element = make(
    "form",
    { novalidate: true, class: "card stack", "aria-label": "One query" },
    make(
      "div",
      { class: "fields" },
      fields.map((one) => one.element),
    ),
    make("div", { class: "acts" }, submit, make("p", { class: "muted small" }, cost)),
  );
  const refuse = (name, sentence) => {
    const wrong = fields.find((one) => one.name === name);
    wrong?.complain(sentence);
    wrong?.focus();
    return Boolean(wrong);
  };
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    const wrong = fields.filter((one) => !one.check());
    if (wrong.length) return wrong[0].focus();
    submit.disabled = true;
    try {
      await act(
        fields.map((one) => [one.name, one.value()]),
        refuse,
      );
    } finally {
      submit.disabled = false;
    }
  });
  return element;
}

function field(column, kept) {
  const id = fresh("field");
  const help = make("p", { class: "help", id: `${id}-help` }, helpFor(column));
  const problem = make("p", { class: "problem", id: `${id}-problem` });
  const remark = make("p", { class: "remark", id: `${id}-remark` });
  const input = inputFor(column, {
    id,
    "aria-describedby": `${id}-help ${id}-remark ${id}-problem`,
    "aria-required": column.missing || column.kind === "categorical" ? null : "true",
  });
  const typed = column.other
    ? make("input", {
        id: `${id}-other`,
        "aria-label": `${column.name}: another value`,
        hidden: true,
        autocomplete: "off",
      })
    : null;
  if (kept.has(column.name)) input.value = kept.get(column.name);
  const complain = (sentence) => {
    problem.textContent = sentence;
    if (sentence) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  input.addEventListener("input", () => {
    kept.set(column.name, input.value);
    complain("");
    remark.textContent = remarkOn(column, input);
    if (typed) typed.hidden = input.value !== OTHER;
  });
  return {
    name: column.name,
    element: make(
      "div",
      { class: "field" },
      make("label", { for: id }, column.name),
      input,
      typed,
      help,
      remark,
      problem,
    ),
    focus: () => input.focus(),
    complain,
    check() {
      const sentence = problemWith(column, input, typed);
      complain(sentence);
      return !sentence;
    },
    value: () => valueOf(column, input, typed),
  };
}

function inputFor(column, attributes) {
  if (column.kind === "categorical") {
    const option = (value, words) => make("option", { value }, words);
    return make(
      "select",
      attributes,
      option("", "Choose …"),
      column.categories.map((name) => option(name, name)),
      column.other ? option(OTHER, "another value …") : null,
      option(MISSING, "not known"),
    );
  }
  const [least, most] = column.bounds ?? [null, null];
  if (column.kind === "date") return make("input", { ...attributes, type: "date", min: least, max: most });
  return make("input", {
    ...attributes,
    type: "number",
    step: "any",
    inputmode: "decimal",
    min: least,
    max: most,
    autocomplete: "off",
  });
}

const helpFor = (column) =>
  column.kind === "categorical" ? `One of ${counted(column.categories.length, "category", "categories")}.` : allowed(column);

// What a cell of this column may be, in a sentence.
export function allowed(column) {
  if (column.kind === "categorical") {
    const { categories } = column;
    const some = categories.slice(0, NAMED).map((name) => `“${name}”`);
    const more = categories.length > NAMED ? `, and ${count(categories.length - NAMED)} more` : "";
    return `${some.join(", ")}${more}${column.other ? ", or another name" : ""}. May be empty: not known.`;
  }
  const empty = column.missing ? " May be empty." : "";
  const [least, most] = column.bounds ?? [null, null];
  const what = column.kind === "date" ? "A date" : "A number";
  return `${what}${least === null ? "" : ` from ${shown(column, least)} to ${shown(column, most)}`}.${empty}`;
}

const shown = (column, bound) =>
  column.kind === "date" || Number.isInteger(bound) === false ? String(bound) : count(bound);

function problemWith(column, input, typed) {
  if (input.validity.badInput) return column.kind === "date" ? "Please enter a date." : "Please enter a number.";
  if (column.kind === "categorical") {
    if (input.value === OTHER && !typed.value.trim()) return "Please enter the other value.";
    return input.value === "" ? "Please choose one." : "";
  }
  if (input.value.trim() === "")
    return column.missing ? "" : column.kind === "date" ? "Please enter a date." : "Please enter a number.";
  return column.kind === "numeric" && !Number.isFinite(Number(input.value)) ? "Please enter a number." : "";
}

// Bounds refuse nothing: what lies outside counts as the nearest value inside.
function remarkOn(column, input) {
  if (column.kind === "categorical") {
    const chosen = input.selectedOptions[0].textContent;
    return chosen.length > LONG ? `Chosen: ${chosen}` : ""; // the field cuts it off
  }
  if (!column.bounds || input.value === "") return "";
  const value = column.kind === "date" ? input.value : Number(input.value);
  const [least, most] = column.bounds;
  const counts = (bound, words) => `Counts as ${shown(column, bound)}, the ${words} value of this column.`;
  return value < least
    ? counts(least, column.kind === "date" ? "earliest" : "smallest")
    : value > most
      ? counts(most, column.kind === "date" ? "latest" : "largest")
      : "";
}

function valueOf(column, input, typed) {
  if (input.value === "" || input.value === MISSING) return null;
  if (input.value === OTHER) return typed.value.trim();
  return column.kind === "numeric" ? Number(input.value) : input.value;
}
