// Elements of the page. Text is only ever put in as text: nothing that comes from a file or an asker is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

// make("p", {class: "muted", on: {click: act}}, "text", another): null, undefined and false are left out.
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

let serial = 0;

// An id that no other element has.
export function fresh(stem) {
  serial += 1;
  return `${stem}-${serial}`;
}

// Tell a screen reader, without moving anything. The same sentence twice is said twice.
export function say(sentence) {
  const place = document.getElementById("said");
  place.textContent = "";
  setTimeout(() => {
    place.textContent = sentence;
  }, 50);
}

// Scroll until what has just appeared is in sight, and no farther.
export function reveal(element) {
  element.scrollIntoView({ block: "nearest" });
}

export function table(caption, heads, rows, { numeric = [], shown = false } = {}) {
  const cell = (value, place) =>
    make(
      place === 0 ? "th" : "td",
      { scope: place === 0 ? "row" : null, class: numeric.includes(place) ? "number" : null },
      value,
    );
  return make(
    "table",
    {},
    make("caption", { class: shown ? null : "unseen" }, caption),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        heads.map((head, place) =>
          make("th", { scope: "col", class: numeric.includes(place) ? "number" : null }, head),
        ),
      ),
    ),
    make(
      "tbody",
      {},
      rows.map((row) => make("tr", {}, row.map(cell))),
    ),
  );
}

// A wide table scrolls in its own box, which the keyboard reaches, and never the page.
export function scrolling(label, content) {
  return make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": `Table: ${label}` }, content);
}

// Offer text as a file.
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
