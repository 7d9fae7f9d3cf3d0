// What stands in for content: it is being fetched, there is none, or the server refused.

import * as api from "./api.js";
import { make, say } from "./dom.js";
import { STATES, standing, usage } from "./words.js";

export function waiting(words = "One moment …") {
  return make("p", { class: "waiting" }, words);
}

export function notice(title, sentences, { tone = "", acts = [], heading = "h2" } = {}) {
  return make(
    "section",
    { class: `notice stack tight ${tone && `notice-${tone}`}`, "aria-label": title },
    make(heading, {}, title),
    [sentences].flat().map((sentence) => make("p", {}, sentence)),
    acts.length ? make("p", { class: "acts" }, acts) : null,
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
          "Nothing was lost: whatever it answered is in its log.",
        ],
        acts: again(retry),
      };
    case "missing_key":
      return {
        title: "This server wants a key",
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
        title: "The quota of your key is used up",
        sentences: [
          quota(details),
          "The data holder can raise it. Queries that were asked before still get their answer.",
        ],
        tone: "unstable",
      };
    case "budget_exhausted":
      return {
        title: "This release has halted",
        sentences: [
          "Its unstable answers are used up, for good: that is what keeps its promise.",
          "Queries that were asked before still get their answer.",
        ],
        tone: "unstable",
      };
    case "overloaded":
    case "closing":
      return { title: "The server is busy", sentences: error.message, acts: again(retry) };
    case "internal":
      return {
        title: "The server failed",
        sentences: "Its log says more. Sending the same again asks nothing twice.",
        acts: again(retry),
      };
    default:
      return {
        title: "The server refused this",
        sentences: error.message,
        acts: error.status >= 500 ? again(retry) : [],
      };
  }
}

function quota({ allowance, used }) {
  if (!allowance || !used) return "It was given for a number of queries or of unstable answers.";
  return `Used: ${usage(used)}. Allowed: ${usage(allowance)}.`;
}

// An answer has changed what is left, or even halted or published the release: head and list say so, too.
export async function restate(one) {
  const now = (await api.releases().catch(() => [])).find(({ name }) => name === one.name);
  if (!now || now.kind === "model") return; // a server that is away is told of by the next view
  Object.assign(one, now);
  for (const place of document.querySelectorAll("[data-state-of]"))
    if (place.dataset.stateOf === one.name) {
      place.textContent = STATES[one.state] ?? one.state;
      if (place.classList.contains("chip")) place.className = `chip chip-${one.state}`;
    }
  const place = document.getElementById("standing");
  if (place?.dataset.of === one.name) place.textContent = standing(one);
}
