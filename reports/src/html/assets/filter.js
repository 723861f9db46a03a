// Narrows the table to what the filters leave, and counts it.

/** The most cells that are shown without being asked for. */
const UNASKED_CELLS = narrow.matches ? 400 : 6000;
/** The areas: body, head, numbers of the cases, and whether a person folded or unfolded it. */
const areas = [...table.tBodies].map((body) => ({
  body, head: body.rows[0], cases: [], folded: true, byHand: null,
}));
for (const [place, count] of data.areas.entries()) {
  const start = data.areas.slice(0, place).reduce((sum, one) => sum + one, 0);
  areas[place].cases = Array.from({ length: count }, (_, index) => start + index);
}
const haystacks = data.cases.map((row) =>
  [row.id, row.purpose ?? "", ...(row.requirements ?? []), ...(row.needs ?? [])].join("\n").toLowerCase());
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
  shown = data.cases.map((_, row) => caseMatches(row, columns));
  const fits = shown.filter(Boolean).length * columns.length <= UNASKED_CELLS;
  hideCells(table.tHead.rows[0], columns);
  for (const area of areas) {
    area.folded = area.byHand ?? !fits;
    showArea(area, columns);
  }
  showStatus(columns);
  table.hidden = !shown.includes(true);
  byId("none").hidden = !table.hidden;
  keepEntry();
}

/** Hides the cells of the columns that are not shown. */
function hideCells(row, columns) {
  for (let place = 1; place < row.cells.length; place += 1) {
    const hide = !columns.includes(place - 1);
    if (row.cells[place].hidden !== hide) row.cells[place].hidden = hide;
  }
}

function showArea(area, columns) {
  const left = area.cases.filter((row) => shown[row]);
  area.head.hidden = left.length === 0;
  area.head.cells[0].setAttribute("aria-expanded", String(!area.folded));
  hideCells(area.head, columns);
  const rows = area.folded ? [] : left.map((row) => markedRow(row, columns));
  area.body.replaceChildren(area.head, ...rows);
  const total = area.cases.length;
  const noun = total === 1 ? "case" : "cases";
  const count = left.length === total ? `${total} ${noun}` : `${left.length} of ${total} ${noun}`;
  area.head.cells[0].lastElementChild.textContent = count;
  for (const column of columns) {
    const cell = area.head.cells[column + 1];
    const [figures, percent] = share(left.map((row) => data.cases[row].cells[column]));
    cell.textContent = signsOnly ? percent : figures;
    cell.title = signsOnly ? figures : "";
  }
}

/** Passed/judged +n unjudged of the cells that match; and the passed ones of 100 judged. */
function share(cells) {
  const verdicts = cells.filter((cell) => cell && cellMatches(cell)).map(([verdict]) => verdict);
  const judged = verdicts.filter((verdict) => data.verdicts[verdict].judged).length;
  const passed = verdicts.filter((verdict) => data.verdicts[verdict].word === "pass").length;
  if (verdicts.length === 0) return ["-", "-"];
  const unjudged = verdicts.length - judged;
  if (judged === 0) return [`0/0 +${unjudged}`, "-"];
  // Rounded down, so that 100 means all.
  const percent = `${Math.floor((100 * passed) / judged)} %`;
  return [unjudged === 0 ? `${passed}/${judged}` : `${passed}/${judged} +${unjudged}`, percent];
}

/** The row of a case, where cells that do not match themselves step back. */
function markedRow(number, columns) {
  const row = rowOf(number);
  hideCells(row, columns);
  for (const column of columns) {
    const cell = data.cases[number].cells[column];
    row.cells[column + 1].classList.toggle("aside", cell !== null && !cellMatches(cell));
  }
  return row;
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
