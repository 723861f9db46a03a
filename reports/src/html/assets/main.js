// Starts the page: the script's parts become visible and listen.

const form = byId("filters");
/** The most columns whose cells have room for words. */
const WORDY_COLUMNS = 5;

/** Sets the fields to the filters. */
function fillForm() {
  for (const key of ["q", "area", "level", "outcome"]) byId(key).value = filters[key];
  byId("diff").checked = filters.diff;
  for (const box of form.querySelectorAll("fieldset input")) {
    const list = filters[box.name].map(String);
    box.checked = list.includes(box.value);
  }
}

/** Sets the filters to the fields. */
function readForm() {
  const ticked = (name) =>
    [...form.querySelectorAll(`input[name="${name}"]:checked`)].map((box) => box.value);
  filters = {
    q: byId("q").value, area: byId("area").value, level: byId("level").value,
    outcome: byId("outcome").value, verdict: ticked("verdict"),
    backend: ticked("backend").map(Number), diff: byId("diff").checked,
  };
  unknown = [];
  applyFilters();
  writeAddress();
}

function clearFilters() {
  filters = noFilters();
  unknown = [];
  for (const area of areas) area.byHand = null;
  fillForm();
  applyFilters();
  writeAddress();
  byId("q").focus();
}

/** Shows what the address says; false when it says nothing. */
function followAddress() {
  if (!readAddress()) return false;
  const cell = current;
  if (panel.open && !cell) panel.close();
  fillForm();
  applyFilters();
  if (cell) openPanel(cell.row, cell.column);
  return true;
}

function onPageKey(event) {
  const typing = event.target.closest("input, select, textarea, dialog");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  byId("q").focus();
  byId("q").select();
}

/** Takes over whether cells are signs alone. */
function readSigns() {
  setSigns(byId("signs").checked);
  applyFilters();
  fitFrame();
}

/** A table that fits scrolls with the page, under its own head; a wider one scrolls by itself. */
function fitFrame() {
  const frame = table.parentElement;
  frame.classList.toggle("wide", table.offsetWidth > frame.clientWidth);
  frame.style.setProperty("--head", `${table.tHead.offsetHeight}px`);
  frame.style.setProperty("--first", `${table.rows[0].cells[0].offsetWidth}px`);
}

function start() {
  document.documentElement.classList.add("live");
  form.hidden = false;
  byId("diff").parentElement.hidden = data.columns.length < 2;
  byId("signs").checked = data.columns.length > WORDY_COLUMNS && !narrow.matches;
  setSigns(byId("signs").checked);
  byId("signs").addEventListener("input", (event) => {
    event.stopPropagation();
    readSigns();
  });
  setRoles();
  form.addEventListener("input", readForm);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    clearFilters();
  });
  byId("clear").addEventListener("click", clearFilters);
  table.addEventListener("keydown", onGridKey);
  table.addEventListener("click", onGridClick);
  table.addEventListener("focusin", (event) => setEntry(event.target.closest("th, td")));
  panel.addEventListener("keydown", onPanelKey);
  panel.addEventListener("close", onPanelClose);
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  document.addEventListener("keydown", onPageKey);
  addEventListener("hashchange", () => {
    if (followAddress() && !current) byId("matrix").scrollIntoView();
  });
  new ResizeObserver(fitFrame).observe(table.parentElement);
  if (narrow.matches) byId("legend").open = false;
  if (!followAddress()) applyFilters();
  else if (location.hash !== "" && !current) byId("matrix").scrollIntoView();
}

start();
