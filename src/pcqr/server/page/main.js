// Which view is shown: the part of the address after # says so. `#/of/NAME/VIEW`, `#/plan` or `#/key`.

import * as api from "./api.js";
import { account } from "./account.js";
import { answers } from "./answers.js";
import { ask } from "./ask.js";
import { fresh, make, say } from "./dom.js";
import { keys } from "./keys.js";
import { model } from "./model.js";
import { overview } from "./overview.js";
import { planner } from "./planner.js";
import { address, notice, refusal, waiting } from "./states.js";
import { upload } from "./upload.js";
import { algorithm, standing, stateName } from "./words.js";

const VIEWS = {
  overview: { title: "Overview", show: overview },
  ask: { title: "Ask", show: ask },
  upload: { title: "Ask with a file", show: upload },
  model: { title: "Model", show: model },
  answers: { title: "Answers", show: answers, kind: "release" },
  account: { title: "Account", show: account, kind: "release", role: "holder" },
};

// The views that somebody with this role has of a release or a model.
const viewsOf = (one, role) =>
  Object.entries(VIEWS).filter(([, view]) => (view.kind ?? one.kind) === one.kind && (view.role ?? role) === role);

const FAILED =
  "It did not understand the server, perhaps because one of them is newer. Load the page again. If that does not help, use pcqr ask.";
const main = document.getElementById("main");
const nav = document.getElementById("served");
let turn = 0; // of navigation: what arrives for an earlier one is dropped
let started = false;

function place() {
  const [kind, name, view] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return { kind, name, view: Object.hasOwn(VIEWS, view ?? "") ? view : "overview" };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function show() {
  if (location.hash && !location.hash.startsWith("#/")) return; // a jump within the page
  turn += 1;
  const mine = turn;
  const { kind, name, view } = place();
  const put = (...content) => {
    if (mine !== turn) return;
    main.replaceChildren(...content);
  };
  marked(kind);
  put(waiting());
  try {
    if (kind === "key") return landed(put, "Key", ...(await keys(show)));
    const nothing = { releases: [], role: "asker" };
    const { releases: served, role } = await (kind === "plan" ? api.listing().catch(() => nothing) : api.listing());
    if (mine !== turn) return;
    listed(served, role, kind === "of" ? name : served[0]?.name, view);
    if (kind === "plan") return landed(put, "Planner", ...(await planner(served)));
    const chosen = kind === "of" ? served.find((one) => one.name === name) : served[0];
    if (chosen) {
      put(head(chosen, role, view), waiting());
      const parts = await content(chosen, view, { role, served });
      return landed(put, `${VIEWS[view].title}, ${chosen.name}`, head(chosen, role, view), ...parts);
    }
    const title = served.length ? "There is no release of this name" : "Nothing is served yet";
    const words = served.length
      ? "Choose one from the list."
      : "The data holder can start the server with a release or a model (pcqr serve RELEASE).";
    landed(put, title, notice(title, words, { heading: "h1" }));
  } catch (error) {
    if (!(error instanceof api.Refused)) {
      landed(put, "Not shown", notice("The page failed", FAILED, { tone: "warning", heading: "h1" }));
      throw error; // for the console
    }
    if (["missing_key", "wrong_key"].includes(error.code)) return landed(put, "Key", ...(await keys(show, error)));
    landed(put, "Not shown", refusal(error, { retry: show, heading: "h1" }));
  }
}

async function content(chosen, view, context) {
  try {
    return [await VIEWS[view].show(chosen, context)].flat();
  } catch (error) {
    if (!(error instanceof api.Refused) || ["missing_key", "wrong_key"].includes(error.code)) throw error;
    return [refusal(error, { retry: show })];
  }
}

// The view is there: say so, and let the keyboard go on from its heading, unless the page has only just been opened.
function landed(put, title, ...content) {
  put(...content);
  document.title = `${title} · pcqr`;
  const heading = main.querySelector("h1, h2");
  if (started && heading && main.contains(heading)) {
    heading.setAttribute("tabindex", "-1");
    heading.setAttribute("data-landing", "");
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  if (started) say(`${title} is shown.`);
  started = true;
}

function head(one, role, view) {
  const id = fresh("views");
  const state = one.kind === "model" ? "published" : one.state;
  return make(
    "div",
    { class: "head stack" },
    make(
      "div",
      { class: "stack tight" },
      make(
        "div",
        { class: "title" },
        make("h1", {}, one.name),
        make("span", { class: `chip chip-${state}`, "data-state-of": one.name }, stateName(state)),
      ),
      make(
        "p",
        { class: "muted" },
        `${one.kind === "model" ? "A published classifier" : algorithm(one.algorithm)}. `,
        make("span", { id: "standing", "data-of": one.name }, standing(one)),
      ),
    ),
    make(
      "nav",
      { class: "views", "aria-label": `Views of ${one.name}`, id },
      viewsOf(one, role).map(([key, { title }]) =>
        make("a", { href: address(one.name, key), "aria-current": key === view ? "page" : null }, title),
      ),
    ),
  );
}

function listed(served, role, current, view) {
  const part = (title, kind) => {
    const ones = served.filter((one) => one.kind === kind);
    if (!ones.length) return [];
    const item = (one) =>
      make(
        "li",
        {},
        make(
          "a",
          {
            href: address(one.name, viewsOf(one, role).some(([key]) => key === view) ? view : "overview"),
            "aria-current": one.name === current && place().kind !== "plan" ? "true" : null,
          },
          make("span", { class: "name" }, one.name),
          one.kind === "model"
            ? make("span", { class: "facts" }, "classifier")
            : make("span", { class: "facts", "data-state-of": one.name }, stateName(one.state)),
        ),
      );
    return [make("div", {}, make("h2", {}, title), make("ul", {}, ones.map(item)))];
  };
  nav.replaceChildren(...part("Releases", "release"), ...part("Models", "model"));
}

function marked(kind) {
  for (const [id, own] of [
    ["to-planner", "plan"],
    ["to-key", "key"],
  ]) {
    const link = document.getElementById(id);
    if (kind === own) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.getElementById("to-key").textContent = api.key.value ? "Key in use" : "Key";
}

addEventListener("hashchange", show);
show();
