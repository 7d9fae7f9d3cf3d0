// The key: typed here, kept for this tab until it is closed, sent as a header.

import * as api from "./api.js";
import { fresh, make } from "./dom.js";
import { refusal } from "./states.js";
import { usage } from "./words.js";

export async function keys(go, error = null) {
  const id = fresh("key");
  const input = make("input", {
    id,
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "none",
    "aria-describedby": `${id}-help ${id}-problem`,
    "aria-required": "true",
    "aria-invalid": error?.code === "wrong_key" ? "true" : null,
  });
  const problem = make(
    "p",
    { class: "problem", id: `${id}-problem` },
    error?.code === "wrong_key" ? "This key is not known here. It may have been mistyped, or revoked." : "",
  );
  const form = make(
    "form",
    { class: "card stack", novalidate: true, "aria-label": "Key" },
    make(
      "div",
      { class: "field" },
      make("label", { for: id }, "Your key"),
      input,
      make(
        "p",
        { class: "help", id: `${id}-help` },
        "It begins with pcqr_. It stays in this tab until you close it, and is never part of an address.",
      ),
      problem,
    ),
    make(
      "div",
      { class: "acts" },
      make("button", { type: "submit" }, "Use this key"),
      api.key.value ? make("button", { type: "button", on: { click: forgotten } }, "Forget it") : null,
    ),
  );
  function forgotten() {
    api.key.forget();
    go();
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = input.value.trim();
    if (!/^[\x21-\x7e]+$/.test(value)) {
      problem.textContent = value ? "A key has no spaces and plain letters only." : "Please enter a key.";
      input.setAttribute("aria-invalid", "true");
      return input.focus();
    }
    api.key.keep(value);
    if (location.hash === "#/key" || location.hash === "") location.hash = "#/";
    else go();
  });
  const lead =
    error?.code === "missing_key"
      ? "This server needs a key. Its data holder gives keys out."
      : error
        ? null
        : await standing();
  return [make("h1", {}, "Key"), lead ? make("p", {}, lead) : null, form].filter(Boolean);
}

// What the server makes of the key at hand.
async function standing() {
  try {
    const { releases: served, role } = await api.listing();
    if (!api.key.value)
      return "No key is in use, and this server needs none. Everybody on this machine is its data holder.";
    const budgets = await Promise.all(
      served
        .filter(({ kind }) => kind === "release")
        .slice(0, 5)
        .map(async ({ name }) => [name, await api.budget(name)]),
    );
    const whose = role === "holder" ? "It is a data holder's." : "It is an asker's.";
    const quotas = budgets
      .filter(([, { mine }]) => mine?.allowance)
      .map(([name, { mine }]) => `${name}: used ${usage(mine.used)}, allowed ${usage(mine.allowance)}.`);
    return ["This server knows your key.", whose, ...quotas].join(" ");
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    return error.code === "missing_key" ? "This server needs a key. Its data holder gives keys out." : refusal(error);
  }
}
