// The server's endpoints. The key is sent as a header, kept for this tab alone, and never part of an address.

const KEPT = "pcqr-key";
const SLOW = 120000; // milliseconds after which a request counts as lost

// What the server refused, with its one error shape; status 0: it could not be reached.
export class Refused extends Error {
  constructor(status, code, sentence, details = {}) {
    super(sentence);
    Object.assign(this, { status, code, details });
  }
}

export const key = {
  get value() {
    return sessionStorage.getItem(KEPT) ?? "";
  },
  keep(value) {
    sessionStorage.setItem(KEPT, value);
  },
  forget() {
    sessionStorage.removeItem(KEPT);
  },
};

async function request(path, { method = "GET", body = null, type = null, token = null } = {}) {
  const headers = { Accept: "application/json" };
  if (key.value) headers.Authorization = `Bearer ${key.value}`;
  if (type) headers["Content-Type"] = type;
  if (token) headers["Idempotency-Key"] = token;
  let reply;
  try {
    reply = await fetch(path, {
      method,
      headers,
      body,
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(SLOW),
    });
  } catch {
    throw new Refused(0, "away", "The server does not answer.");
  }
  if (reply.ok) return reply;
  let problem = null;
  try {
    problem = await reply.json();
  } catch {
    // a proxy's page, or nothing: the status has to do
  }
  throw new Refused(
    reply.status,
    problem?.code ?? "unknown",
    problem?.error ?? `The server answered with status ${reply.status}.`,
    problem?.details ?? {},
  );
}

async function json(path, options) {
  const reply = await request(path, options);
  try {
    return await reply.json();
  } catch {
    throw new Refused(0, "away", "The server's reply broke off.");
  }
}

const of = (name) => `/v1/releases/${encodeURIComponent(name)}`;
const asked = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return new URLSearchParams(given).toString();
};

// { releases, role }: everything that is served, and what the key may see.
export const listing = () => json("/v1/releases");
export const release = (name) => json(of(name));
export const budget = (name) => json(`/v1/budget?${asked({ release: name })}`);
export const account = (name) => json(`/v1/account?${asked({ release: name })}`);
export const answers = (name, after, limit) => json(`/v1/answers?${asked({ release: name, after, limit })}`);
export const plan = (question) => json(`/v1/plan?${asked(question)}`);
export const picture = async (name) => (await request(`${of(name)}/picture.svg`)).text();

// `rows`: a list of objects or of lists, or the text of a CSV file.
export const preview = (name, rows) => json(`${of(name)}/preview`, { method: "POST", ...bodyOf(rows) });
// `isConfirmed`: ask although these rows are expected to exhaust the release.
export const ask = (name, rows, token, { isConfirmed = false } = {}) =>
  json(`${of(name)}/ask${isConfirmed ? "?confirm=true" : ""}`, { method: "POST", token, ...bodyOf(rows) });

function bodyOf(rows) {
  if (typeof rows === "string") return { body: rows, type: "text/csv" };
  const content = Array.isArray(rows[0]) ? { x: rows } : { rows };
  return { body: JSON.stringify(content), type: "application/json" };
}

// Names one request, so that sending it again after a lost reply asks nothing twice.
export function newToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
