// What each arm saw.

const ARM_MEANS = {
  control: "without a sandbox: is the act possible at all?",
  twin: "in the sandbox, policy one grant wider: can this backend do it?",
  confined: "in the sandbox, under the policy in question",
};

function armSection(arm) {
  return make("section", { class: "arm" },
    make("h3", {}, arm.name, make("span", { class: "soft" }, ` ${ARM_MEANS[arm.name] ?? ""}`)),
    make("p", {}, make("b", {}, arm.end), ` after ${duration(arm.ms)}`),
    arm.seen ? make("p", {}, "probe saw ", make("code", { title: arm.seen }, questionText(arm.seen))) : null,
    arm.oracles.length > 0 ? oracleTable(arm) : null,
    ...arm.streams.filter(([, text]) => text !== "").map(streamBlock));
}

function oracleTable(arm) {
  // Only the confined arm owes its oracles; in the others the act is meant to work.
  const owed = arm.name === "confined";
  const rows = arm.oracles.map(({ what, holds, saw }) =>
    make("tr", { class: owed && !holds ? "broken" : null },
      make("td", {}, holds ? "✓ holds" : "✗ does not hold"),
      make("td", {}, make("code", {}, what)),
      make("td", {}, saw)));
  const heads = [owed ? "oracle" : "oracle (not owed here)", "what", "seen"].map((name) => make("th", { scope: "col" }, name));
  return make("table", { class: "oracles" },
    make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
}

function streamBlock([name, text, cut]) {
  return make("figure", {},
    make("figcaption", {}, cut ? `${name}, the first part` : name),
    make("pre", { tabindex: "0", "aria-label": name }, text));
}
