// Makes the rows of cases when they are first shown: a page of 50,000 cells has few of them open.

const table = byId("grid");
/** The rows that were made, by the number of the case; and the number of each row. */
const madeRows = new Map();
const caseNumbers = new WeakMap();
const narrow = matchMedia("(max-width: 40rem)");
/** Whether cells are signs alone. */
let signsOnly = false;

function rowOf(number) {
  if (!madeRows.has(number)) {
    const row = makeRow(number);
    madeRows.set(number, row);
    caseNumbers.set(row, number);
  }
  return madeRows.get(number);
}

/** Makes each row anew, in the other form. */
function setSigns(value) {
  signsOnly = value;
  table.classList.toggle("signs", value);
  madeRows.clear();
}

function makeRow(number) {
  const { id, level, cells } = data.cases[number];
  const small = level && level !== "must" ? [" ", make("small", {}, level)] : [];
  const details = make("details", {}, make("summary", { tabindex: "-1" }, breakable(id), ...small));
  details.addEventListener("toggle", () => details.childElementCount > 1 || details.append(...askedParts(number)));
  return make("tr", { class: "case", role: "row" },
    make("th", { scope: "row", role: "rowheader", tabindex: "-1" }, details),
    ...cells.map(makeCell));
}

/** An id, which may be broken after each slash. */
function breakable(id) {
  return id.split("/").flatMap((part, place) => (place === 0 ? [part] : ["/", make("wbr"), part]));
}

function makeCell(cell) {
  const common = { role: "gridcell", tabindex: "-1" };
  if (!cell) return make("td", { ...common, class: "void" }, "·");
  const [verdict, outcome] = [data.verdicts[cell[0]], data.outcomes[cell[1]]];
  const plain = outcome.word === "expected";
  const words = outcome.mark ? `${verdict.word}, ${outcome.mark}` : verdict.word;
  const kind = plain ? verdict.word : `${verdict.word} ${outcome.word}`;
  if (signsOnly) return make("td", { ...common, class: kind, title: words, "aria-label": words }, verdict.symbol);
  const mark = outcome.mark ? [" ", make("small", {}, outcome.mark)] : [];
  return make("td", { ...common, class: kind }, `${verdict.symbol} ${verdict.word}`, ...mark);
}

/** What a case asks, and where it is written. */
function askedParts(number) {
  const { purpose, level, requirements, needs } = data.cases[number];
  const link = data.texts[data.cases[number].link];
  return [
    make("p", {}, purpose ?? ""),
    make("p", {}, `${level}; needs ${(needs ?? []).join(", ") || "nothing"}`, link ? ["; ", outLink(link, "the case's file")] : []),
    ...(requirements ?? []).map((name) => make("p", {}, requirementParts(name))),
  ];
}

/** The sentence of a requirement, and where it is promised. */
function requirementParts(name) {
  const found = Object.hasOwn(data.requirements, name) ? data.requirements[name] : null;
  return found ? [`${name}: ${found.text} (`, outLink(found.source), ")"] : [name];
}

/** A value of the format in words: keys and what they hold, without the marks of JSON. */
function inWords(value) {
  if (value === true) return "yes";
  if (value === false) return "no";
  if (value === null) return "none";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(grouped).join(", ");
  const pairs = Object.entries(value);
  const word = (key) => key.replaceAll("_", " ");
  const pair = ([key, held]) => (isEmptyMap(held) ? word(key) : `${word(key)} ${grouped(held)}`);
  return pairs.length === 0 ? "nothing beyond the default" : pairs.map(pair).join("; ");
}

function isEmptyMap(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** Words of a value within another one. */
function grouped(value) {
  const inner = inWords(value);
  return value !== null && typeof value === "object" && inner.includes(";") ? `(${inner})` : inner;
}

/** A text of a case's question: what is JSON in words, all else as it is. */
function questionText(text) {
  if (!/^[{[]/.test(text)) return text;
  try {
    return inWords(JSON.parse(text));
  } catch {
    return text;
  }
}
