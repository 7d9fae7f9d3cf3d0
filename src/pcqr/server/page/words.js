// Numbers, promises and kinds of answers in plain words: every number on the page is written by a function of this file.

const whole = new Intl.NumberFormat("en");
const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const count = (value) => whole.format(value);

export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

// A figure that is better small is never rounded down.
export function roundedUp(value, digits = 3) {
  if (!Number.isFinite(value) || value === 0) return String(value);
  const step = 10 ** (Math.floor(Math.log10(Math.abs(value))) - digits + 1);
  const up = Math.ceil(value / step - 1e-9) * step;
  return String(Number(up.toPrecision(digits)));
}

// As people write it: 0.05, 32,561, 10⁻⁶, 1.3·10⁶.
export function inPowers(value, digits = 2) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 0.001 && size < 1e6)
    return size >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(Math.max(digits, 3))));
  const [digit, power] = value.toExponential(digits - 1).split("e");
  const raised =
    (power.startsWith("-") ? "⁻" : "") + [...power.replace(/^[+-]/, "")].map((figure) => POWERS[figure]).join("");
  return Number(digit) === 1 ? `10${raised}` : `${Number(digit)}·10${raised}`;
}

// ε and factors of odds: three digits, never rounded down.
export const epsilon = (value) => inPowers(Number(roundedUp(value)), 3);

// δ: two digits, never rounded down.
export const delta = (value) => inPowers(Number(roundedUp(value, 2)));

// The server's sentences write 9.53e-07. The page has one notation for one number.
export const renumbered = (sentence) =>
  sentence.replace(/\d+(?:\.\d+)?e[+-]?\d+/g, (number) =>
    Number(number) < 1 ? delta(Number(number)) : epsilon(Number(number)),
  );

export function percent(share) {
  if (share > 0 && share < 0.0005) return "below 0.1\u00a0%";
  if (share < 1 && share > 0.9995) return "above 99.9\u00a0%";
  const shown = 100 * share;
  return `${Number(shown.toFixed(shown < 10 ? 1 : 0))}\u00a0%`;
}

export function usage(numbers) {
  const { queries = null, unstable = null, labels = null } = numbers ?? {};
  const asked = queries === null ? "any number of queries" : counted(queries, "query", "queries");
  const close = unstable === null ? null : counted(unstable, "unstable answer");
  if (labels !== null) return `${[asked, close].filter(Boolean).join(", ")} and ${counted(labels, "label")}`;
  if (close === null) return asked;
  if (queries !== null) return `${asked} and ${close}`;
  return unstable ? `${close} and any number of stable ones` : close;
}

export function moment(value) {
  const time = typeof value === "number" ? new Date(value * 1000) : new Date(value);
  return Number.isNaN(time.getTime()) ? null : time;
}

export function when(value) {
  const time = moment(value);
  return time === null ? String(value) : time.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

// The value of a table's own name. Names come from addresses and servers: "constructor" must not find the prototype's.
export const own = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

const STATES = { open: "Open", published: "Published", exhausted: "Exhausted", failed: "Not available" };

export const stateName = (state) => own(STATES, state) ?? state;

// What a release or a model is doing now, in a sentence.
export function standing({ kind, state, remaining, shows_classifier: isShown }) {
  if (kind === "model") return "It answers any number of queries, and nothing is used up.";
  if (state === "published")
    return `Its classifier ${isShown ? "is public" : "is not shown"}. It answers any number of queries, and nothing is used up.`;
  if (state === "exhausted") return "It is exhausted. Queries that were asked before still get their answer.";
  if (state === "failed")
    return "Its log cannot be read or written now. The server tries again. If this lasts, tell the data holder.";
  return `Remaining: ${usage(remaining)}.`;
}

const KINDS = {
  stable: {
    name: "stable",
    meaning: "So many votes agree that replacing any one record would not change this label.",
    cost: "It cost nothing: stable answers use nothing up.",
  },
  unstable: {
    name: "unstable",
    meaning: "The votes were too close to call, so there is no label.",
    cost: "It used up one unstable answer.",
  },
  published: {
    name: "published",
    meaning: "A differentially private classifier gave this label. It gives everybody the same label, for ever.",
    cost: "It cost nothing: the classifier was paid for when it was made.",
  },
  repeated: {
    name: "repeated",
    meaning: "This was asked before. The log gave the same answer as then.",
    cost: "It cost nothing.",
  },
  unanswered: { name: "unanswered", meaning: "", cost: "" },
};

// What is known of a kind of answer; `tone` is its colour.
export function kindOf(kind) {
  const known = own(KINDS, kind);
  return known ? { ...known, tone: kind } : { name: String(kind), meaning: "", cost: "", tone: "repeated" };
}

const ALGORITHMS = {
  AgnosticRelease: "Votes of teachers on relabelled records",
  UniversalRelease: "Votes of teachers first, then a published classifier",
  SubsampleAggregate: "Votes of teachers",
  NoisyMaxAggregate: "Noisy votes of teachers",
  ConfidentMaxAggregate: "Noisy votes where teachers agree",
  SemiPrivateLearner: "A published classifier",
  PrivateClassifier: "A published classifier",
};

export const algorithm = (name) => own(ALGORITHMS, name) ?? name ?? "";

// Does a release publish a classifier in the end?
export const publishes = ({ algorithm: name }) => name === "UniversalRelease";

// What a guess of one half can become: the odds change by at most e^ε.
export function beliefs(epsilon) {
  const most = 1 / (1 + Math.exp(-epsilon));
  return [1 - most, most];
}
