// What the parts of a file would cost together, from what the server says of each.

import { publishes } from "./words.js";

// With several parts the figures are bounds (`isBound`): the server compares rows within a part by their values, the
// page compares them across parts by their text, and a row that two parts write differently counts as new in both.
export function together(one, { table, parts }, costs) {
  if (costs.length === 1) return { ...costs[0], isBound: false };
  const { remaining, quota = null } = costs[0];
  const limits = (counts) => [counts?.queries, counts?.unstable, counts?.labels].filter(Number.isInteger);
  const surely = Math.min(...limits(remaining), ...limits(quota)); // Infinity: there is no limit
  const seen = new Set();
  const sum = (of) => costs.reduce((all, cost) => all + of(cost), 0);
  const found = { requested: table.rows.length, new: 0, published: sum((cost) => cost.published), certain: 0 };
  let before = 0; // new rows up to here, at most
  costs.forEach((cost, place) => {
    let here = 0;
    parts[place].rows.forEach((row, index) => {
      const text = table.raw(row);
      if (!cost.asked_before[index] && !seen.has(text)) here += 1;
      seen.add(text);
      if (before + here <= surely) found.certain = parts[place].first + index + 1;
    });
    here = Math.min(here, cost.new);
    before += here;
  });
  found.new = before;
  const isSure = costs.every((cost) => cost.is_certain) && (found.new <= surely || (publishes(one) && !quota));
  const most = Math.min(remaining.unstable ?? Infinity, quota?.unstable ?? Infinity);
  const expected = (of) => (costs.every((cost) => of(cost) !== null) ? Math.min(most, sum(of)) : null);
  const unstable = expected((cost) => cost.expected_unstable);
  const range = costs.every((cost) => cost.unstable_range)
    ? [expected((cost) => cost.unstable_range[0]), expected((cost) => cost.unstable_range[1])]
    : null;
  const isExhausting = !publishes(one) && remaining.unstable > 0 && unstable === remaining.unstable;
  const planned = Math.max(0, (one.planned_queries ?? 0) - (one.spent?.queries ?? 0));
  return {
    ...found,
    isBound: found.new > 0,
    repeated: found.requested - found.new - found.published,
    certain: isSure ? found.requested : found.certain,
    remaining,
    quota,
    expected_unstable: unstable,
    unstable_range: range,
    chance_of_halting: null, // no part knows of the others
    is_exhausting: costs.some((cost) => cost.is_exhausting) || isExhausting,
    beyond_plan: Math.max(0, found.new - planned),
  };
}
