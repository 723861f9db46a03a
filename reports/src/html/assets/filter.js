// Narrows the table to what the filters leave, and counts it.

const table = byId("grid");
/** Table rows of the cases, in the order of the data. */
const caseRows = [...table.querySelectorAll("tr.case")];
const areas = [...table.tBodies].map((body) => ({
  head: body.rows[0],
  cases: [...body.rows].slice(1).map((row) => caseRows.indexOf(row)),
  folded: false,
}));
const haystacks = data.cases.map((row) =>
  [row.id, row.purpose, ...row.requirements, ...row.needs].join("\n").toLowerCase());
/** Whether each case passes the filters. */
let shown = data.cases.map(() => true);

function shownColumns() {
  const all = data.columns.map((_, column) => column);
  return filters.backend.length === 0 ? all : all.filter((column) => filters.backend.includes(column));
}

function cellMatches([verdict, outcome]) {
  return (filters.verdict.length === 0 || filters.verdict.includes(data.verdicts[verdict].word))
    && (filters.outcome === "" || filters.outcome === data.outcomes[outcome].word);
}

function caseMatches(row, columns) {
  const { area, level, cells } = data.cases[row];
  const words = filters.q.toLowerCase().split(/\s+/);
  const present = columns.map((column) => cells[column]).filter(Boolean);
  return (filters.area === "" || filters.area === area)
    && (filters.level === "" || filters.level === level)
    && words.every((word) => haystacks[row].includes(word))
    && present.some(cellMatches)
    && (!filters.diff || new Set(present.map(([verdict]) => verdict)).size > 1);
}

/** Shows what the filters leave. */
function applyFilters() {
  const columns = shownColumns();
  showColumns(columns);
  shown = data.cases.map((_, row) => caseMatches(row, columns));
  areas.forEach((area) => showArea(area, columns));
  markCells(columns);
  showStatus(columns);
  table.hidden = !shown.includes(true);
  byId("none").hidden = !table.hidden;
  keepEntry();
}

function showColumns(columns) {
  for (const row of table.rows) {
    for (let place = 1; place < row.cells.length; place += 1) {
      const hide = !columns.includes(place - 1);
      if (row.cells[place].hidden !== hide) row.cells[place].hidden = hide;
    }
  }
}

function showArea(area, columns) {
  const left = area.cases.filter((row) => shown[row]);
  area.head.hidden = left.length === 0;
  area.head.cells[0].setAttribute("aria-expanded", String(!area.folded));
  for (const row of area.cases) caseRows[row].hidden = !shown[row] || area.folded;
  const total = area.cases.length;
  const noun = total === 1 ? "case" : "cases";
  const count = left.length === total ? `${total} ${noun}` : `${left.length} of ${total} ${noun}`;
  area.head.cells[0].lastElementChild.textContent = count;
  for (const column of columns) {
    area.head.cells[column + 1].textContent = share(left.map((row) => data.cases[row].cells[column]));
  }
}

/** Passed/judged +n unjudged of the cells that match. */
function share(cells) {
  const verdicts = cells.filter((cell) => cell && cellMatches(cell)).map(([verdict]) => verdict);
  const judged = verdicts.filter((verdict) => data.verdicts[verdict].judged).length;
  const passed = verdicts.filter((verdict) => data.verdicts[verdict].word === "pass").length;
  if (verdicts.length === 0) return "-";
  const unjudged = verdicts.length - judged;
  if (judged === 0) return `0/0 +${unjudged}`;
  return unjudged === 0 ? `${passed}/${judged}` : `${passed}/${judged} +${unjudged}`;
}

/** Cells of shown cases that do not match themselves step back. */
function markCells(columns) {
  caseRows.forEach((tr, row) => {
    if (!shown[row]) return;
    for (const column of columns) {
      const cell = data.cases[row].cells[column];
      tr.cells[column + 1].classList.toggle("aside", cell !== null && !cellMatches(cell));
    }
  });
}

function showStatus(columns) {
  const counts = data.verdicts.map(() => 0);
  let all = 0;
  data.cases.forEach(({ cells }, row) => {
    all += cells.filter(Boolean).length;
    if (!shown[row]) return;
    for (const column of columns) {
      const cell = cells[column];
      if (cell && cellMatches(cell)) counts[cell[0]] += 1;
    }
  });
  const cells = counts.reduce((sum, one) => sum + one, 0);
  const cases = shown.filter(Boolean).length;
  const words = data.verdicts.map((verdict, i) => (counts[i] ? `${counts[i]} ${verdict.word}` : ""));
  const list = words.filter(Boolean).join(", ");
  const lost = unknown.length === 0 ? "" : ` Not in this report: ${unknown.join(", ")}.`;
  byId("status").textContent =
    `${cases} of ${data.cases.length} cases, ${cells} of ${all} results${list && `: ${list}`}.${lost}`;
}
