// The promise of a release in plain words, and what of it has been used.

import * as api from "./api.js";
import { bar, chart, legend, numbers, times } from "./chart.js";
import { draw, make, scrolling, table } from "./dom.js";
import { exhausted, notice } from "./states.js";
import {
  beliefs,
  count,
  counted,
  delta as asDelta,
  epsilon as asEpsilon,
  moment,
  percent,
  publishes,
  renumbered,
  usage,
  when,
} from "./words.js";

export async function overview(one, context) {
  const spent = one.kind === "model" ? [] : budget(one, await api.budget(one.name));
  const over = one.state === "exhausted" ? exhausted(one, context) : null;
  return [over, warnings(one.guarantee), ...(one.adoptions ?? []).map(adoption), promise(one), ...spent].filter(Boolean);
}

function warnings({ is_private: isPrivate }) {
  if (isPrivate === false)
    return notice(
      "This is not private",
      "Its randomness was seeded, so it can be drawn again. Use it to try things out, and for nothing else.",
      { tone: "warning" },
    );
  return null;
}

function adoption({ time, written_off: isWrittenOff, lost, user, host }) {
  const adopted = when(time);
  const who = user || host ? ` ${user ?? "Somebody"} decided so on ${host ?? "some machine"}.` : "";
  const missing = lost ? ` It lacked ${counted(lost, "entry", "entries")} that had been answered.` : "";
  return isWrittenOff
    ? notice(
        "An older copy of its log goes on",
        `It was adopted on ${adopted}. All that may have been used since counts as used, so it repeats logged answers and gives no new ones.${missing}${who}`,
      )
    : notice(
        "A copy of its log was adopted",
        `Its anchor was missing on ${adopted}. The promise holds if that copy was the newest one, which nothing can show.${who}`,
        { tone: "warning" },
      );
}

const assumed = (text) => (text.startsWith("the copy adopted on ") ? "Assumed" : "Treated as public");

function promise(one) {
  const { epsilon, delta, unit, words, assumptions = [] } = one.guarantee;
  const person = unit.includes("person");
  const whom = person ? "one person" : "one record";
  const [least, most] = beliefs(epsilon);
  const shown =
    one.kind === "model"
      ? "the classifier and everything that can be computed from it"
      : "every answer, every refusal, the moment at which it is exhausted or publishes, and the published classifier";
  const public_ = [
    "The number of records, the columns, the names of labels and the queries are treated as public.",
    ...assumptions.map((text) => `${assumed(text)}, too: ${renumbered(text)}.`),
  ];
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "promise" },
    make("h2", { id: "promise" }, "What is promised"),
    make(
      "p",
      { class: "promise-lead" },
      `If any ${whom} were another one, this ${one.kind} would show the same with nearly the same chance.`,
    ),
    make(
      "div",
      { class: "promise" },
      part(
        "Who is protected",
        person
          ? `Every person in the private table, with all of their rows${unit.replace(/^.* who has/, ":")}.`
          : "Everybody whose record is in the private table: each record by itself. Somebody with several records is protected less.",
        `It covers ${shown}, for ever, whoever asks and whatever they know already.`,
      ),
      part(
        make("span", { class: "symbol" }, `ε = ${asEpsilon(epsilon)}`),
        `Seeing all of it changes the odds of any guess about ${whom} by a factor of at most ${epsilon < 20 ? asEpsilon(Math.exp(epsilon)) : `e^${asEpsilon(epsilon)}`}.`,
        belief(least, most),
        `A guess that was worth 50 % can end up anywhere from ${percent(least)} to ${percent(most)}.`,
      ),
      delta > 0
        ? part(
            make("span", { class: "symbol" }, `δ = ${asDelta(delta)}`),
            "Roughly, the chance that more than that becomes known. Exactly, the definition adds it to each probability.",
          )
        : part(make("span", { class: "symbol" }, "δ = 0"), "There is no exception: the bound holds whatever happens."),
    ),
    make("p", { class: "muted" }, make("strong", {}, "In one sentence. "), renumbered(words)),
    make(
      "div",
      { class: "stack tight" },
      make("h3", {}, "What is not promised"),
      make(
        "ul",
        { class: "plain columns" },
        [
          "That an answer is right: votes and classifiers err.",
          "That nothing is learnt about people in general. What is true of many records can be learnt, and may be true of you as well.",
          "Anything about how long a reply takes, or about what leaves the holder's machine by another path.",
          ...public_,
        ].map((text) => make("li", {}, text)),
      ),
    ),
  );
}

const part = (title, ...content) =>
  make(
    "div",
    { class: "stack tight" },
    make("h3", {}, title),
    content.map((piece) => (typeof piece === "string" ? make("p", {}, piece) : piece)),
  );

// Where a guess of one half can end up, on the line from 0 to 1.
function belief(least, most) {
  const [left, right] = [4 + 192 * least, 4 + 192 * most];
  return draw(
    "svg",
    { viewBox: "0 0 200 30", class: "beliefs", "aria-hidden": "true" },
    draw("rect", { class: "fill-rest", x: 4, y: 4, width: 192, height: 10, rx: 5 }),
    draw("rect", { class: "belief", x: left, y: 4, width: right - left, height: 10, rx: 5 }),
    draw("line", { class: "limit", x1: 100, x2: 100, y1: 0, y2: 18 }),
    draw("text", { x: left, y: 27, "text-anchor": left < 20 ? "start" : "middle" }, percent(least)),
    draw("text", { x: right, y: 27, "text-anchor": right > 180 ? "end" : "middle" }, percent(most)),
  );
}

function budget(one, { spent, remaining, untimed = null, history = [], mine = null, askers = [] }) {
  const queries = spent.queries ?? 0;
  const unstable = spent.unstable ?? 0;
  const allowed = remaining.unstable === null ? null : unstable + remaining.unstable;
  const published = one.state === "published";
  const tiles = [
    ["stable", count(queries - unstable), "stable answers"],
    ["unstable", count(unstable), allowed === null ? "unstable answers" : `of ${counted(allowed, "unstable answer")}`],
    published
      ? ["published", one.shows_classifier ? "public" : "not shown", "its classifier answers from now on"]
      : [
          "published",
          publishes(one) ? "not yet" : "none",
          publishes(one) ? "published: after its last vote" : "published: it gives single answers",
        ],
  ];
  return [
    make(
      "section",
      { class: "card stack", "aria-labelledby": "budget" },
      make("h2", { id: "budget" }, "What has been used"),
      make(
        "dl",
        { class: "tiles" },
        tiles.map(([tone, value, words]) =>
          make("div", { class: `tile tile-${tone}` }, make("dt", {}, words), make("dd", {}, value)),
        ),
      ),
      allowed === null || published
        ? null
        : make(
            "div",
            { class: "stack tight" },
            bar([{ tone: "unstable", value: unstable }], allowed),
            legend([
              { tone: "unstable", words: `${count(unstable)} used` },
              {
                tone: "rest",
                words: `${count(remaining.unstable)} remaining before it ${publishes(one) ? "publishes" : "is exhausted"}`,
              },
            ]),
          ),
      make("p", { class: "muted" }, summary(one, queries, remaining)),
      curves(history, allowed, queries),
      elsewhere(untimed, history),
    ),
    quota(mine),
    others(askers),
  ].filter(Boolean);
}

function summary(one, queries, remaining) {
  const planned = one.planned_queries ? ` It was planned for ${counted(one.planned_queries, "query", "queries")}.` : "";
  const fixed = "ε and δ were spent once, when the release was made. Asking adds nothing to them.";
  if (one.state === "published")
    return `${counted(queries, "query was", "queries were")} put to the vote. ${fixed}${planned}`;
  return `${counted(queries, "query was", "queries were")} put to the vote. Remaining: ${usage(remaining)}. ${fixed}${planned}`;
}

function curves(history, allowed, queries) {
  const points = history
    .map((at) => [moment(at.time)?.getTime() ?? null, at.queries, at.unstable])
    .filter(([at]) => at !== null);
  if (points.length < 2) return make("p", { class: "muted" }, noCurve(history, queries));
  const last = points.at(-1);
  const panel = (title, place, tone, limit) =>
    chart({
      title,
      description: `From ${times("").format(points[0][0])} to ${times("").format(last[0])} it rose to ${count(last[place])}.`,
      series: [{ name: title, tone, points: points.map((point) => [point[0], point[place]]) }],
      x: times("time"),
      y: numbers(title, { least: 4 }),
      steps: true,
      limit,
    });
  return make(
    "div",
    { class: "cards" },
    panel("Queries answered", 1, "votes", null),
    panel(
      "Unstable answers used",
      2,
      "unstable",
      allowed === null ? null : { at: allowed, name: `${count(allowed)} allowed` },
    ),
  );
}

// A curve needs two moments at which this server answered new queries.
function noCurve([only], queries) {
  const from = "Curves over time appear once this server has answered new queries at two moments.";
  if (!queries) return `Nothing has been asked yet. ${from}`;
  return only ? `So far it answered new queries at one moment, ${when(only.time)}. ${from}` : from;
}

// What was asked in the directory itself has no time: the curves begin with it.
function elsewhere(untimed, history) {
  if (!untimed?.queries) return null;
  const asked = `${counted(untimed.queries, "query was", "queries were")} asked in its directory, where no time is noted.`;
  return make("p", { class: "muted" }, history.length > 1 ? `${asked} The curves begin with them.` : asked);
}

function quota(mine) {
  if (!mine || ((mine.allowance?.queries ?? null) === null && (mine.allowance?.unstable ?? null) === null)) return null;
  return make(
    "section",
    { class: "card stack tight", "aria-labelledby": "own" },
    make("h2", { id: "own" }, "Your key"),
    make("p", {}, `Used: ${usage(mine.used)}. Allowed: ${usage(mine.allowance)}.`),
  );
}

function others(askers) {
  if (!askers?.length) return null;
  const allowed = (allowance, what) => {
    if (!allowance) return "no key any more";
    return allowance[what] === null ? "any number" : count(allowance[what]);
  };
  const row = ({ name, used, allowance }) => [
    name ?? "without a key",
    ...["queries", "unstable"].flatMap((what) => [count(used[what] ?? 0), allowed(allowance, what)]),
  ];
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "askers" },
    make("h2", { id: "askers" }, "Who asked"),
    scrolling(
      "Who asked",
      table(
        "Queries and unstable answers by key, used and allowed",
        ["key", "queries", "queries allowed", "unstable answers", "unstable allowed"],
        askers.map(row),
        { numeric: [1, 2, 3, 4] },
      ),
    ),
  );
}
