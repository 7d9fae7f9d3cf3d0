// The published classifier: a picture, and the same as rules that people can read.

import * as api from "./api.js";
import { download, make } from "./dom.js";
import { notice, refusal } from "./states.js";
import { publishes } from "./words.js";

export async function model(one) {
  if (one.kind === "release" && one.state !== "published") {
    return notice(
      "There is no published model",
      publishes(one) && one.shows_classifier
        ? "This release publishes a classifier after its last vote. It will be shown here, and anybody may keep it."
        : "This release gives single answers and publishes no classifier.",
    );
  }
  if (!one.shows_classifier)
    return notice(
      "The classifier is not shown",
      "It answers every query, but the release does not show it. Whoever asks often enough can still reconstruct it.",
    );
  const facts = await api.release(one.name);
  const drawn = facts.picture ? await api.picture(one.name).catch(asRefusal) : null;
  return [
    typeof drawn === "string" ? picture(one, drawn) : drawn,
    facts.rules ? rules(one, facts.rules) : null,
    drawn || facts.rules
      ? null
      : notice("This model has no picture and no rules", "Its data holder can draw them: pcqr export writes them."),
  ].filter(Boolean);
}

function asRefusal(error) {
  if (!(error instanceof api.Refused)) throw error;
  return refusal(error);
}

// As an image of its own, in which no script runs and which loads nothing. It fits the page, or has its own size.
function picture(one, drawn) {
  const paper = make(
    "div",
    { class: "paper", tabindex: "0", role: "region", "aria-label": "Picture of the model" },
    make("img", {
      src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`,
      alt: `The classifier that ${one.name} published. The rules below say the same in words.`,
    }),
  );
  const larger = make("button", { type: "button", "aria-pressed": "false" }, "Full size");
  larger.addEventListener("click", () => {
    const isLarge = paper.classList.toggle("paper-large");
    larger.setAttribute("aria-pressed", String(isLarge));
  });
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "picture" },
    make("h2", { id: "picture" }, "The model as a picture"),
    paper,
    make(
      "div",
      { class: "acts" },
      make(
        "button",
        { type: "button", on: { click: () => download(`${one.name}-picture.svg`, drawn, "image/svg+xml") } },
        "Download the picture",
      ),
      larger,
    ),
    make("p", { class: "muted" }, "It is public: anybody may keep it and apply it for ever, at no cost."),
  );
}

function rules(one, text) {
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "rules" },
    make("h2", { id: "rules" }, "The model as rules"),
    make("pre", { class: "rules", tabindex: "0", role: "region", "aria-label": "Rules" }, text),
    make(
      "div",
      { class: "acts" },
      make(
        "button",
        { type: "button", on: { click: () => download(`${one.name}-rules.txt`, text, "text/plain") } },
        "Download the rules",
      ),
    ),
  );
}
