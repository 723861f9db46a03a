"use strict";
// The data of the page. All of it was cleaned, and it is only ever shown as text.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** Makes an element. Children are elements or text; nothing is ever read as markup. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "click") element.addEventListener("click", value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

/** One cell with its words, or null where the case was not selected. */
function cellAt(row, column) {
  const cell = data.cases[row].cells[column];
  if (!cell) return null;
  const [verdict, outcome, twin, ms, arms, texts] = cell;
  const [reason, message, again, known, link] = texts.map((number) => data.texts[number]);
  // The marks stand for the id and the backend; a function, for `$` means something in a text.
  const reproduce = again
    .replaceAll("\u0001", () => data.cases[row].id)
    .replaceAll("\u0002", () => data.columns[column].name);
  return {
    verdict: data.verdicts[verdict], outcome: data.outcomes[outcome], twin: data.twins[twin],
    ms, arms: arms.map(([number, took]) => armAt(number, took)),
    reason, message, reproduce, known, link,
  };
}

function armAt(number, ms) {
  const text = (index) => data.texts[index];
  const [name, end, stdout, stdoutCut, stderr, stderrCut, seen, oracles, command] = data.arms[number];
  return {
    name, ms, end: text(end), seen: text(seen),
    streams: [["command", text(command), false], ["stdout", text(stdout), stdoutCut], ["stderr", text(stderr), stderrCut]],
    oracles: oracles.map(([what, holds, saw]) => ({ what: text(what), holds, saw: text(saw) })),
  };
}

/** A duration as people read it. */
function duration(ms) {
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms.toFixed(1)} ms`;
}

function verdictChip(verdict) {
  return make("span", { class: `chip ${verdict.word}` }, `${verdict.symbol} ${verdict.word}`);
}
