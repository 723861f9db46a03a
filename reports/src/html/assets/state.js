// What is shown: filters and the open cell, kept in the address behind the `#`.

const noFilters = () => ({
  q: "", area: "", level: "", outcome: "", verdict: [], backend: [], diff: false,
});
let filters = noFilters();
/** Row and column of the open cell, or null. */
let current = null;
/** What a link named that this report does not have. */
let unknown = [];

const known = {
  area: new Set(data.cases.map((row) => row.area)),
  level: new Set(data.levels),
  outcome: new Set(data.outcomes.map((outcome) => outcome.word)),
  verdict: new Set(data.verdicts.map((verdict) => verdict.word)),
};

/** Takes over what the address says. An address without `=` names a section, and says nothing. */
function readAddress() {
  const hash = location.hash.slice(1);
  if (hash !== "" && !hash.includes("=")) return false;
  const words = new URLSearchParams(hash);
  filters = noFilters();
  unknown = [];
  for (const [key, value] of words) take(key, value);
  current = findCell(words.get("cell"), words.get("at"));
  return true;
}

function take(key, value) {
  if (key === "q") filters.q = value;
  else if (key === "diff") filters.diff = value === "1";
  else if (key === "verdict" && known.verdict.has(value)) filters.verdict.push(value);
  else if (key === "backend" && columnOf(value) >= 0) filters.backend.push(columnOf(value));
  else if (["area", "level", "outcome"].includes(key) && known[key].has(value)) filters[key] = value;
  else if (!["cell", "at"].includes(key)) unknown.push(`${key} ${value}`);
}

function columnOf(label) {
  return data.columns.findIndex((column) => column.label === label);
}

function findCell(id, label) {
  if (id === null) return null;
  const row = data.cases.findIndex((one) => one.id === id);
  const column = label === null ? 0 : columnOf(label);
  if (row >= 0 && column >= 0 && data.cases[row].cells[column]) return { row, column };
  unknown.push(`case ${id}${label === null ? "" : ` of ${label}`}`);
  return null;
}

function writeAddress() {
  const words = new URLSearchParams();
  for (const key of ["q", "area", "level", "outcome"]) {
    if (filters[key] !== "") words.append(key, filters[key]);
  }
  filters.verdict.forEach((verdict) => words.append("verdict", verdict));
  filters.backend.forEach((column) => words.append("backend", data.columns[column].label));
  if (filters.diff) words.append("diff", "1");
  if (current) cellWords(current).forEach(([key, value]) => words.append(key, value));
  // Replaced, so that Back leaves the page instead of undoing every key press.
  const address = words.size === 0 ? location.pathname + location.search : `#${words}`;
  history.replaceState(null, "", address);
}

function cellWords({ row, column }) {
  return [["cell", data.cases[row].id], ["at", data.columns[column].label]];
}

/** A link to one cell, without filters. */
function cellAddress(cell) {
  return `${location.href.split("#")[0]}#${new URLSearchParams(cellWords(cell))}`;
}
