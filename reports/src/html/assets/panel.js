// One cell in full: what was asked, what was expected, what each arm saw.

const panel = byId("panel");

function openPanel(row, column) {
  const cell = cellAt(row, column);
  if (!cell) return;
  current = { row, column };
  const wasOpen = panel.open;
  panel.replaceChildren(...panelParts(cell));
  if (!wasOpen) panel.showModal();
  panel.scrollTop = 0;
  panel.querySelector("[aria-current]").focus({ preventScroll: true });
  writeAddress();
}

function panelParts(cell) {
  return [
    panelHead(),
    backendNav(),
    make("div", { class: "verdict" }, verdictChip(cell.verdict),
      make("span", {}, `${cell.outcome.word}: ${cell.outcome.means}`),
      cell.reason ? make("span", {}, "reason ", make("code", {}, cell.reason)) : null),
    cell.message ? make("p", { class: "message" }, cell.message) : null,
    cell.known ? make("p", {}, `Known failure: ${cell.known} `, cell.link ? outLink(cell.link) : null) : null,
    askedList(cell),
    ...(cell.arms.length > 0 ? cell.arms.map(armSection) : [make("p", { class: "soft" }, "No arm was run.")]),
    cell.reproduce ? reproduceBlock(cell.reproduce) : null,
  ].filter(Boolean);
}

function panelHead() {
  const button = (words, label, click) => make("button", { type: "button", "aria-label": label, click }, words);
  return make("header", {},
    make("h2", { id: "panel-title" }, data.cases[current.row].id),
    make("div", { class: "tools" },
      button("▲", "previous case", () => stepCase(-1)),
      button("▼", "next case", () => stepCase(1)),
      copyButton("copy link", () => cellAddress(current)),
      button("✕ close", "close", () => panel.close())));
}

/** The same case of every backend. */
function backendNav() {
  const items = data.columns.map((column, index) => {
    const raw = data.cases[current.row].cells[index];
    if (!raw) return null;
    const { word, symbol } = data.verdicts[raw[0]];
    const chosen = index === current.column ? "true" : null;
    return make("button", {
      type: "button", class: `chip ${word}`, "aria-current": chosen,
      click: () => openPanel(current.row, index),
    }, make("b", {}, column.label), ` ${symbol} ${word}`);
  });
  return make("nav", { "aria-label": "this case by backend" }, items);
}

function askedList(cell) {
  const { purpose, level, area, requirements, needs, asked } = data.cases[current.row];
  const link = data.texts[data.cases[current.row].link];
  const { claims, label, version, user, host, homepage } = data.columns[current.column];
  const claimed = needs.map((need) => `${need} (claimed: ${claims[need] ?? "none"})`);
  const facts = [
    ["case", purpose],
    ...asked.map(([name, text]) => [name, make("code", { class: "asked", title: text }, questionText(text))]),
    ["level", `${level} · area ${area}`],
    ["requirement", requirements.length === 0 ? "none" : requirements.map((one) => make("div", {}, requirementParts(one)))],
    ["needs", claimed.join(", ") || "nothing"],
    ["written in", link ? outLink(link, link.split("/cases/").at(-1)) : ""],
    ["backend", [[label, label.includes(version) ? "" : version, user, host].filter(Boolean).join(" · "),
      ...(homepage ? [" · ", outLink(homepage)] : [])]],
    ["twin showed", cell.arms.length > 0 ? cell.twin : ""],
    ["took", cell.arms.length > 0 ? `${duration(cell.ms)} in all arms` : ""],
  ];
  const shownFacts = facts.filter(([, value]) => value !== "");
  return make("dl", {}, shownFacts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function reproduceBlock(line) {
  return make("section", { class: "arm" },
    make("h3", {}, "again"),
    make("div", { class: "again" }, make("pre", { tabindex: "0" }, line), copyButton("copy", () => line)));
}

/** Links only where the browser must leave for a web page; all else stays text. */
function outLink(link, words = link) {
  if (!/^https:\/\/[^\s]+$/.test(link)) return make("span", {}, link);
  return make("a", { href: link, rel: "noreferrer noopener", target: "_blank" }, words);
}

function copyButton(words, text) {
  const button = make("button", {
    type: "button", "aria-live": "polite",
    click: async () => {
      button.textContent = (await copy(text())) ? "copied" : "cannot copy";
    },
  }, words);
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** For pages that may not use the clipboard. */
function copyBySelection(text) {
  const field = make("textarea", { class: "hidden", readonly: true }, text);
  panel.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

/** To the next shown case that has a result of this backend. */
function stepCase(step) {
  for (let row = current.row + step; row >= 0 && row < data.cases.length; row += step) {
    if (shown[row] && data.cases[row].cells[current.column]) return openPanel(row, current.column);
  }
  return undefined;
}

/** To the next backend that has a result of this case. */
function stepBackend(step) {
  for (let column = current.column + step; column >= 0 && column < data.columns.length; column += step) {
    if (data.cases[current.row].cells[column]) return openPanel(current.row, column);
  }
  return undefined;
}

function onPanelKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("pre")) return;
  const steps = {
    ArrowLeft: () => stepBackend(-1), ArrowRight: () => stepBackend(1),
    k: () => stepCase(-1), j: () => stepCase(1),
  };
  if (!Object.hasOwn(steps, event.key)) return;
  event.preventDefault();
  steps[event.key]();
}

function onPanelClose() {
  const left = current;
  current = null;
  writeAddress();
  if (left) enterCase(left.row, left.column);
}
