"use strict";
// Shares by hand: responsiveness of all raters where one group has another share. The page carries
// the numbers of every setting, as `sharpbayes weigh` gives them.
(() => {
  const element = (name) => document.getElementById(`by-hand-${name}`);
  const data = JSON.parse(element("data").textContent);
  const [moved, share] = ["moved", "share"].map(element);

  const chosen = () =>
    (Number(moved.value) < 0 ? data.study : data.settings[Number(moved.value)][share.valueAsNumber]);

  const fixed = (x) => (x === null ? "-" : x.toFixed(3));

  // A cell with its number in full as its value, for whoever wants more digits.
  function addCell(row, text, value) {
    const content = document.createElement("data");
    row.insertCell().append(Object.assign(content, { value: value ?? "", textContent: text }));
    row.lastElementChild.className = "number";
  }

  function addRow(metric, setting) {
    const row = element("table").tBodies[0].insertRow();
    const header = document.createElement("th");
    header.scope = "row";
    header.textContent = data.metrics[metric];
    row.append(header);
    [data.sample, setting.observed].forEach((x) => addCell(row, fixed(x[metric]), x[metric]));
    if (!setting.posterior) return;
    const [median, low, high] = setting.posterior[metric];
    addCell(row, median === null ? "-" : `${fixed(median)} (${fixed(low)} to ${fixed(high)})`, median);
  }

  const toml = (x) => (Number.isInteger(x) ? x.toFixed(1) : String(x));

  function weightsFile(setting) {
    const lines = [data.toml.trimEnd(), ""];
    for (const table of data.tables) {
      lines.push(`[population.${table.key}]`);
      table.labels.forEach((label, i) => {
        const place = data.labels.indexOf(label);
        lines.push(`${table.keys[i]} = ${toml(place < 0 ? table.shares[i] : setting.shares[place])}`);
      });
      lines.push("");
    }
    return lines.join("\n");
  }

  function say(name, text) {
    if (element(name).textContent !== text) element(name).textContent = text;
  }

  function update() {
    const setting = chosen();
    share.disabled = Number(moved.value) < 0;
    const named = setting.shares.map((x, i) => `${data.labels[i]} ${+(100 * x).toFixed(1)}%`);
    share.parentElement.querySelector("output").value = named.join(", ");
    share.setAttribute("aria-valuetext", named.join(", "));
    element("table").tBodies[0].replaceChildren();
    data.metrics.forEach((_, metric) => addRow(metric, setting));
    const missing = setting.observed.every((x) => x === null);
    say("status", missing ? "No weights of the raters give every column these shares." : "");
    element("copy").disabled = missing;
    element("toml").value = weightsFile(setting);
    say("copied", "");
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(element("toml").value);
      say("copied", "Copied.");
    } catch {
      element("file").open = true;
      element("toml").select();
      say("copied", "This browser does not let a page copy: the text below is selected.");
    }
  }

  function reset() {
    moved.value = -1;
    share.value = 0;
  }

  element("reset").addEventListener("click", () => (reset(), update()));
  element("copy").addEventListener("click", copy);
  element("table").closest(".chapter").addEventListener("input", update);
  reset();
  update();
  element("table").closest(".chapter").hidden = false;
})();
