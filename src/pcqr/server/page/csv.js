// CSV: a file is cut into rows as the server reads them, sent in parts, and written so that no spreadsheet runs a cell.

import { count, counted } from "./words.js";

const DELIMITERS = [",", ";", "\t", "|"];
const PART = 1000; // rows of one part, or fewer where the server takes fewer: small enough to show progress

// A file that is no table, in a sentence for its owner.
export class Unreadable extends Error {}

// The rows of a CSV text: where each is, and in which line of the file it begins. A blank line is no row.
export function read(text) {
  const first = /^[^\r\n]*/.exec(text)[0];
  const width = (delimiter) => scanned(first, 0, delimiter).cells.length;
  const delimiter = DELIMITERS.reduce((best, each) => (width(each) > width(best) ? each : best));
  let names = null;
  let head = "";
  const rows = [];
  for (let at = 0, line = 1; at < text.length; ) {
    const { cells, end, next, breaks, problem } = scanned(text, at, delimiter);
    if (problem) throw new Unreadable(`Line ${count(line)} ${problem}`);
    if (names === null) {
      names = cells.map(unescaped);
      head = text.slice(at, end);
    } else if (end > at) {
      if (cells.length !== names.length)
        throw new Unreadable(
          `Line ${count(line)} has ${counted(cells.length, "cell")}, the first line has ${count(names.length)}.`,
        );
      rows.push({ start: at, end, line });
    }
    line += breaks;
    at = next;
  }
  if (!names?.some((name) => name !== "")) throw new Unreadable("The first line is empty. It must name the columns.");
  if (!rows.length) throw new Unreadable("There is no row below the names of the columns.");
  const raw = ({ start, end }) => text.slice(start, end);
  return { names, head, rows, raw, cells: (row) => scanned(raw(row), 0, delimiter).cells.map(unescaped) };
}

// One row from `start` on: its cells, where it ends, where the next begins, and the line breaks up to there.
function scanned(text, start, delimiter) {
  const cells = [];
  let breaks = 0;
  let problem = null;
  let at = start;
  for (;;) {
    while (text[at] === " ") at += 1;
    if (text[at] === '"') {
      const from = at + 1;
      for (at = from; at < text.length; at += 1) {
        if (text[at] === '"') {
          if (text[at + 1] !== '"') break;
          at += 1;
        } else if (isBreak(text, at)) breaks += 1;
      }
      cells.push(text.slice(from, at).replaceAll('""', '"'));
      if (at >= text.length) problem ??= "opens a quotation mark that is never closed.";
      at += 1;
      if (at < text.length && !isEnd(text[at], delimiter)) problem ??= "has text after a closing quotation mark.";
      while (at < text.length && !isEnd(text[at], delimiter)) at += 1;
    } else {
      const from = at;
      while (at < text.length && !isEnd(text[at], delimiter)) at += 1;
      cells.push(text.slice(from, at));
    }
    if (text[at] !== delimiter) break;
    at += 1;
  }
  const end = Math.min(at, text.length);
  const next = text[end] === "\r" && text[end + 1] === "\n" ? end + 2 : end + 1;
  return { cells, end, next, breaks: breaks + 1, problem };
}

const isEnd = (sign, delimiter) => sign === delimiter || sign === "\n" || sign === "\r";
const isBreak = (text, at) => text[at] === "\n" || (text[at] === "\r" && text[at + 1] !== "\n");

// The table in parts that the server takes: { first, rows, body }. `first` is the place of its first row in the file.
export function parts(table, { columns, features, most_rows: mostRows, most_bytes: mostBytes }) {
  const encoder = new TextEncoder();
  const size = (row) => encoder.encode(table.raw(row)).length + 1;
  const head = encoder.encode(table.head).length + 1;
  const most = columns ? mostBytes : mostBytes / 4; // the same numbers as JSON may be longer
  const found = [];
  let first = 0;
  let bytes = head;
  const cut = (until) => found.push({ first, rows: table.rows.slice(first, until) });
  table.rows.forEach((row, place) => {
    const own = size(row);
    if (head + own > most)
      throw new Unreadable(
        `Row ${count(place + 1)} has more bytes than a request to this server may have (${count(mostBytes)}).`,
      );
    if (place > first && (bytes + own > most || place - first >= Math.min(PART, mostRows))) {
      cut(place);
      [first, bytes] = [place, head];
    }
    bytes += own;
  });
  cut(table.rows.length);
  const asCsv = ({ rows }) => `${[table.head, ...rows.map(table.raw)].join("\n")}\n`;
  const asNumbers = ({ first: start, rows }) =>
    rows.map((row, place) => numbersOf(table, row, start + place, features));
  return found.map((part) => ({ ...part, body: () => (columns ? asCsv(part) : asNumbers(part)) }));
}

function numbersOf(table, row, place, features) {
  const cells = table.cells(row);
  if (cells.length !== features)
    throw new Unreadable(`The file has ${counted(cells.length, "column")}. It must have ${count(features)}.`);
  return cells.map((cell, column) => {
    const value = cell.trim() === "" ? Number.NaN : Number(cell);
    if (!Number.isFinite(value))
      throw new Unreadable(
        `Row ${count(place + 1)} (line ${count(row.line)} of the file), column “${table.names[column]}”: “${cell}” is not a number.`,
      );
    return value;
  });
}

// Spreadsheets run a text that begins like a formula. With an apostrophe in front they show it, and readers of pcqr take
// the apostrophe off again (pcqr.schema.spreadsheets). Numbers stay numbers.
const RUN = /^'* *[=+\-@\t\r\n＝＋－＠]/;
const ESCAPED = /^'+ *[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^ *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

const unescaped = (text) => (ESCAPED.test(text) ? text.slice(1) : text);

function cell(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  const safe = RUN.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",;\t|\r\n]|^[ \ufeff]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function written(names, rows) {
  return [names, ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
}
