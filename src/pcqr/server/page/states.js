// What stands in for content: it is being fetched, there is none, or the server refused.

import * as api from "./api.js";
import { make, say } from "./dom.js";
import { renumbered, standing, stateName, usage } from "./words.js";

export function waiting(words = "One moment …") {
  return make("p", { class: "waiting" }, words);
}

// Where a view of a release or a model is.
export const address = (name, view) => `#/of/${encodeURIComponent(name)}/${view}`;

export function notice(title, sentences, { tone = "", acts = [], steps = [], heading = "h2" } = {}) {
  return make(
    "section",
    { class: `notice stack tight ${tone && `notice-${tone}`}`, "aria-label": title },
    make(heading, {}, title),
    [sentences].flat().map((sentence) => make("p", {}, sentence)),
    steps.length
      ? make(
          "ul",
          { class: "plain" },
          steps.map((step) => make("li", {}, step)),
        )
      : null,
    acts.length ? make("p", { class: "acts" }, acts) : null,
  );
}

// No new query gets an answer: say what can be done instead.
export function exhausted(one, { role, served }) {
  const named = ({ columns, features }) => JSON.stringify(columns?.map(({ name }) => name) ?? features);
  const link = (name, view, words) => make("a", { href: address(name, view) }, words);
  const others = served.filter(
    (other) =>
      other.name !== one.name &&
      (other.kind === "model" || ["open", "published"].includes(other.state)) &&
      named(other) === named(one),
  );
  say("This release is exhausted. Queries that were asked before still get their answer.");
  return notice(
    "This release is exhausted",
    "What its promise allows is used up, for good, so it gives no new answers. What you can do:",
    {
      tone: "unstable",
      steps: [
        "Ask again what was asked before. The log answers it.",
        [link(one.name, "answers", "Look at the answers so far"), ", or download them."],
        others.length
          ? [
              "Ask another one with the same columns: ",
              others.map(({ name }, place) => [place ? ", " : "", link(name, "ask", name)]),
              ".",
            ]
          : null,
        role === "holder"
          ? [
              "Make another release (pcqr fit), or publish a classifier (pcqr publish). Either costs ε anew: ",
              link(one.name, "account", "what does the account still allow?"),
            ]
          : "Ask the data holder for another release, or for a published classifier.",
      ].filter(Boolean),
    },
  );
}

const again = (retry) => (retry ? [make("button", { type: "button", on: { click: retry } }, "Try again")] : []);
const toKey = () => [make("a", { class: "button", href: "#/key" }, "Enter a key")];

// Any refusal in words: what happened, and what to do about it. It is said to screen readers, too.
export function refusal(error, { retry = null, heading = "h2" } = {}) {
  const { title, sentences, tone = "warning", acts = [] } = explained(error, retry);
  say(`${title}. ${[sentences].flat().join(" ")}`);
  return notice(title, sentences, { tone, acts, heading });
}

function explained(error, retry) {
  const { details = {} } = error;
  switch (error.code) {
    case "away":
      return {
        title: "The server does not answer",
        sentences: [
          "It may have been stopped, or the connection is lost.",
          "Its log has every answer that it gave, so nothing is lost.",
        ],
        acts: again(retry),
      };
    case "missing_key":
      return {
        title: "This server needs a key",
        sentences: "Its data holder gives keys out.",
        tone: "",
        acts: toKey(),
      };
    case "wrong_key":
      return {
        title: "This key is not known here",
        sentences: "It may have been mistyped, or revoked by the data holder.",
        acts: toKey(),
      };
    case "not_allowed":
      return { title: "Only the data holder sees this", sentences: "Your key is an asker's.", tone: "" };
    case "quota_spent":
      return {
        title: "The quota of your key is exhausted",
        sentences: [
          quota(details),
          "The data holder can raise it. Queries that you asked before still get their answer.",
        ],
        tone: "unstable",
      };
    case "budget_exhausted":
      return {
        title: "This release is exhausted",
        sentences: "This query is new, so it gets no answer. Queries that were asked before still get theirs.",
        tone: "unstable",
      };
    case "overloaded":
    case "closing":
      return { title: "The server is busy", sentences: error.message, acts: again(retry) };
    case "internal":
      return {
        title: "The server failed",
        sentences: "Its log says more. You can send the same again: nothing is counted twice.",
        acts: again(retry),
      };
    default:
      return {
        title: "The server refused this",
        sentences: renumbered(error.message),
        acts: error.status >= 500 ? again(retry) : [],
      };
  }
}

function quota({ allowance, used }) {
  if (!allowance || !used) return "It was given for a number of queries or of unstable answers.";
  return `Used: ${usage(used)}. Allowed: ${usage(allowance)}.`;
}

// An answer has changed what remains, or even exhausted or published the release: head and list say so, too.
export async function restate(one) {
  const { releases } = await api.listing().catch(() => ({ releases: [] }));
  const now = releases.find(({ name }) => name === one.name);
  if (!now || now.kind === "model") return; // the next view says that the server is away
  Object.assign(one, now);
  for (const place of document.querySelectorAll("[data-state-of]"))
    if (place.dataset.stateOf === one.name) {
      place.textContent = stateName(one.state);
      if (place.classList.contains("chip")) place.className = `chip chip-${one.state}`;
    }
  const place = document.getElementById("standing");
  if (place?.dataset.of === one.name) place.textContent = standing(one);
}
