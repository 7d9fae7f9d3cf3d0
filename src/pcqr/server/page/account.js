// What may ever be spent on the private table, over all releases, and what was.

import * as api from "./api.js";
import { bar, legend } from "./chart.js";
import { make, scrolling, table } from "./dom.js";
import { notice } from "./states.js";
import { counted, delta, epsilon, when } from "./words.js";

export async function account(one) {
  const found = await api.account(one.name).catch((error) => {
    if (error.code === "unknown_path") return { account: null, why: error.message };
    throw error;
  });
  if (!found.account)
    return notice(
      "No account",
      found.why ?? "This release was made without one, so nothing says what else was spent on the same table.",
    );
  const loss = Object.hasOwn(found.limit, "rho") ? "rho" : "epsilon";
  const sign = loss === "rho" ? "ρ" : "ε";
  const charges = found.charges ?? [];
  const rows = charges.map((charge) => [
    String(charge.number),
    when(charge.time),
    charge.what,
    epsilon(charge.epsilon),
    delta(charge.delta),
  ]);
  return make(
    "section",
    { class: "card stack", "aria-labelledby": "account" },
    make("h2", { id: "account" }, `The account ${found.account}`),
    make(
      "p",
      { class: "promise-lead" },
      `Over all releases, at most ε = ${epsilon(found.epsilon)} and δ = ${delta(found.delta)} may ever be spent on this table.`,
    ),
    (found.adoptions ?? []).map(({ time, written_off: isWrittenOff }) =>
      make(
        "p",
        {},
        isWrittenOff
          ? `An older copy of it was adopted on ${when(time)}. All that remained counts as spent.`
          : `A copy of it was adopted on ${when(time)}, when its anchor was missing. This holds if that copy was the newest one.`,
      ),
    ),
    bar([{ tone: "published", value: found.spent[loss] }], found.limit[loss]),
    legend([
      {
        tone: "published",
        words: `${sign} = ${epsilon(found.spent[loss])} spent in ${counted(charges.length, "release")}`,
      },
      { tone: "rest", words: `${sign} = ${Number(found.remaining[loss].toPrecision(3))} remaining` },
    ]),
    scrolling("Charges", table("Charges", ["number", "time", "release", "ε", "δ"], rows, { numeric: [3, 4] })),
  );
}
