// Moves over the table by keys: one cell is in the tab order, arrows move it.

const PAGE = 10;
/** The one cell in the tab order. */
let entry = null;

function setRoles() {
  table.setAttribute("role", "grid");
  table.setAttribute("aria-describedby", "keys");
  for (const row of [table.tHead.rows[0], ...areas.map((area) => area.head)]) {
    row.setAttribute("role", "row");
    for (const cell of row.cells) {
      cell.setAttribute("role", roleOf(cell, row));
      if (row.parentElement.tagName === "TBODY") cell.tabIndex = -1;
    }
  }
}

function roleOf(cell, row) {
  if (cell.tagName === "TD") return "gridcell";
  return row.parentElement.tagName === "THEAD" ? "columnheader" : "rowheader";
}

function shownRows() {
  return [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.hidden);
}

function shownCells(row) {
  return [...row.cells].filter((cell) => !cell.hidden);
}

/** Keeps a cell in the tab order that is shown. */
function keepEntry() {
  if (entry?.isConnected && !entry.hidden && !entry.parentElement.hidden) return;
  const [first] = shownRows();
  setEntry(first ? first.cells[0] : null);
}

function setEntry(cell) {
  if (entry) entry.tabIndex = -1;
  entry = cell;
  if (entry) entry.tabIndex = 0;
}

function enter(cell) {
  setEntry(cell);
  cell.focus();
}

/** Focuses the cell of a case, unfolding its area; where filters hide it, the text filter. */
function enterCase(row, column) {
  const area = areas.find((one) => one.cases.includes(row));
  if (area.folded) fold(area, false);
  const cell = rowOf(row).cells[column + 1];
  if (!cell.isConnected || cell.hidden) byId("q").focus();
  else enter(cell);
}

function fold(area, folded) {
  area.folded = folded;
  area.byHand = folded;
  showArea(area, shownColumns());
  keepEntry();
  fitFrame();
}

/** Where a key leads from a cell; null for any other key. */
function target(cell, event) {
  const rows = shownRows();
  const cells = shownCells(cell.parentElement);
  const [y, x] = [rows.indexOf(cell.parentElement), cells.indexOf(cell)];
  const place = (row, column) => {
    const there = shownCells(rows[Math.max(0, Math.min(row, rows.length - 1))]);
    return there[Math.max(0, Math.min(column, there.length - 1))];
  };
  const whole = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowUp": return place(y - 1, x);
    case "ArrowDown": return place(y + 1, x);
    case "ArrowLeft": return place(y, x - 1);
    case "ArrowRight": return place(y, x + 1);
    case "PageUp": return place(y - PAGE, x);
    case "PageDown": return place(y + PAGE, x);
    case "Home": return place(whole ? 0 : y, 0);
    case "End": return place(whole ? rows.length - 1 : y, cells.length - 1);
    default: return null;
  }
}

function onGridKey(event) {
  const cell = event.target.closest("th, td");
  if (!cell || event.altKey || event.shiftKey || cell.parentElement.parentElement.tagName === "THEAD") return;
  const next = target(cell, event);
  if (next) enter(next);
  else if (event.target === cell && (event.key === "Enter" || event.key === " ")) activate(cell);
  else return;
  event.preventDefault();
}

function onGridClick(event) {
  const cell = event.target.closest("th, td");
  // A summary folds by itself, and text that is being selected is not a click.
  if (!cell || event.target.closest("details") || String(getSelection())) return;
  if (cell.parentElement.parentElement.tagName === "THEAD") return;
  setEntry(cell);
  activate(cell);
}

/** Opens a cell, folds an area, unfolds what a case asks. */
function activate(cell) {
  const tr = cell.parentElement;
  const number = caseNumbers.get(tr);
  if (number !== undefined && cell.tagName === "TD") openPanel(number, cell.cellIndex - 1);
  else if (number !== undefined) cell.querySelector("details").toggleAttribute("open");
  else if (cell.tagName === "TH") {
    const area = areas.find((one) => one.head === tr);
    fold(area, !area.folded);
  }
}
