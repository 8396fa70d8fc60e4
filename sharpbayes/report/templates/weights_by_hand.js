"use strict";
// Weights by hand: the decision under the weights that a reader sets, from the draws of the page.
// It computes what `sharpbayes weigh` computes (sharpbayes/posterior/decision.py).
(() => {
  const element = (name) => document.getElementById(`by-hand-${name}`);
  const data = JSON.parse(element("data").textContent);
  const { models, dimensions, alphas, population } = data;

  // ---- Numbers -------------------------------------------------------------------------------

  const decode = (text) =>
    new Float64Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

  // CVaR and worst dimension over (draw, alpha, model), mean harm over (draw, model, dimension);
  // the same under other shares over (draw, moved category, share, model[, dimension]).
  function readDraws(arrays) {
    const read = Object.fromEntries(Object.entries(arrays).map(([k, text]) => [k, decode(text)]));
    return { ...read, count: read.dimension_mean.length / (models.length * dimensions.length) };
  }

  const observed = readDraws(data.observed);
  const posterior = data.posterior && readDraws(data.posterior);

  // A criterion of every model in one draw: "cvar", "worst_dimension" or "policy_score".
  function criterion(draws, draw, by, weights) {
    const { moved, share } = weights, prefix = moved < 0 ? "" : "share_";
    const place = moved < 0 ? draw
      : (draw * population.moved.length + moved) * population.levels.length + share;
    return models.map((_, model) => {
      const cell = place * models.length + model;
      if (by === "policy_score") {
        const means = draws[`${prefix}dimension_mean`], start = cell * dimensions.length;
        return weights.policy.reduce((sum, w, i) => sum + w * means[start + i], 0);
      }
      if (moved >= 0) return draws[`share_${by}`][cell];
      const level = draw * alphas.length + alphas.indexOf(weights.alpha);
      return draws[by][level * models.length + model];
    });
  }

  // What happens in every draw is counted; the mean over draws is a probability or a loss:
  // expected_loss(a) = E[S_a - min_b S_b]. Models that share the best place share its probability.
  function decide(weights) {
    const { count } = posterior;
    const zeros = () => models.map(() => 0);
    const [loss, best, admissible, less] = [zeros(), zeros(), zeros(), models.map(zeros)];
    const values = models.map(() => new Float64Array(count));
    for (let draw = 0; draw < count; draw++) {
      const scores = criterion(posterior, draw, weights.by, weights);
      const cvar = criterion(posterior, draw, "cvar", weights);
      const lowest = Math.min(...scores.filter((score) => !Number.isNaN(score)));
      const ties = scores.filter((score) => score === lowest).length;
      scores.forEach((score, a) => {
        values[a][draw] = score;
        loss[a] += score - lowest;
        best[a] += score === lowest ? 1 / ties : 0;
        admissible[a] += cvar[a] <= weights.tolerance;
        scores.forEach((other, b) => (less[a][b] += (score < other) + (score === other) / 2));
      });
    }
    const mean = (sums) => sums.map((sum) => sum / count);
    return {
      values, loss: mean(loss), best: mean(best), admissible: mean(admissible), less: less.map(mean),
    };
  }

  // The models of the lowest expected loss among those that are admissible with the confidence.
  function select(decision, weights) {
    const sure = (p) => Number.isNaN(weights.tolerance) || p >= data.confidence;
    const loss = decision.loss.map((x, a) => (sure(decision.admissible[a]) ? x : Infinity));
    const lowest = Math.min(...loss);
    return models.filter((_, a) => loss[a] === lowest && lowest < Infinity);
  }

  function quantile(sorted, share) {
    const place = share * (sorted.length - 1), low = Math.floor(place);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
  }

  // ---- What the reader sets ------------------------------------------------------------------

  const policy = dimensions.map((_, i) => element(`policy-${i}`));
  const [alpha, tolerance, tolerated, by] =
    ["alpha", "tolerance", "tolerated", "by"].map(element);
  const [moved, share] = ["moved", "share"].map(element);
  const slider = (input) => input.parentElement.querySelector("input[type=range]");

  function readWeights() {
    const worth = policy.map((input) => Math.max(input.valueAsNumber || 0, 0));
    const total = worth.reduce((sum, w) => sum + w, 0);
    return {
      policy: total > 0 ? worth.map((w) => w / total) : null,
      moved: population ? Number(moved.value) : -1,
      share: population ? share.valueAsNumber : -1,
      alpha: alphas[alpha.valueAsNumber],
      tolerance: tolerated.checked ? Math.max(tolerance.valueAsNumber || 0, 0) : NaN,
      by: by.value,
    };
  }

  function reset() {
    const largest = observed.cvar.reduce((a, b) => Math.max(a, b), 1);
    policy.forEach((input, i) => (input.value = +(100 * data.policy[i]).toPrecision(10)));
    alpha.value = alphas.indexOf(data.alpha);
    slider(tolerance).max = Math.ceil(largest);
    tolerance.value = data.tolerance ?? Math.ceil(largest / 2);
    tolerated.checked = data.tolerance !== null;
    by.value = data.by;
    if (population) {
      moved.value = -1;
      share.value = 0;
    }
    [...policy, tolerance].forEach((input) => (slider(input).value = input.value));
  }

  // ---- What the page shows -------------------------------------------------------------------

  const fixed = (x, places) =>
    Number.isNaN(x) ? "-" : x.toFixed(places).replace(/^-(?=[0.]+$)/, "").replace("-", "\u2212");

  // Two decimals, and never 0 or 1, which no number of draws can tell.
  const probability = (p) => (p > 0.995 ? ">0.99" : p < 0.005 ? "<0.01" : fixed(p, 2));

  // A cell with its number in full as its value, for whoever wants more digits.
  function addCell(row, text, value) {
    const content = document.createElement(value === undefined ? "span" : "data");
    row.insertCell().append(Object.assign(content, { value, textContent: text, }));
    row.lastElementChild.className = "number";
  }

  function addRow(model, weights, decision) {
    const row = element("table").tBodies[0].insertRow();
    const header = document.createElement("th");
    header.scope = "row";
    header.textContent = models[model] + (decision?.selected.includes(models[model]) ? " (selected)" : "");
    row.append(header);
    const [cvar, worst, score] = ["cvar", "worst_dimension", "policy_score"]
      .map((name) => criterion(observed, 0, name, weights)[model]);
    const free = Number.isNaN(weights.tolerance);
    if (decision) {
      const [best, admissible, loss] =
        [decision.best, decision.admissible, decision.loss].map((x) => x[model]);
      [best, free ? NaN : admissible].forEach((p) => addCell(row, probability(p), p));
      addCell(row, fixed(loss, 3), loss);
      const sorted = decision.values[model].slice().sort();
      const [low, median, high] = [(1 - data.level) / 2, 0.5, (1 + data.level) / 2]
        .map((share) => quantile(sorted, share));
      addCell(row, `${fixed(median, 2)} (${fixed(low, 2)} to ${fixed(high, 2)})`, median);
    } else {
      addCell(row, free ? "-" : cvar <= weights.tolerance ? "yes" : "no");
    }
    [cvar, worst, score].forEach((value) => addCell(row, fixed(value, 3), value));
  }

  function describe(decision, order, weights) {
    const listed = order.map((model) => models[model]).join(" < ");
    if (!decision) return `Order of the observed ratings: ${listed}.`;
    const open = (p) => p < (1 + data.level) / 2 && p > (1 - data.level) / 2;
    const pairs = order.flatMap((a, i) => order.slice(i + 1).map((b) => [a, b]))
      .filter(([a, b]) => open(decision.less[a][b]))
      .map(([a, b]) => `${models[a]} and ${models[b]}`);
    const selected = decision.selected.length
      ? `Selected: ${decision.selected.join(", ")}` : "No model is admissible";
    const resolved = pairs.length ? `not resolved: ${pairs.join(", ")}` : "every pair is resolved";
    const isCarried = data.carried[weights.by][Number.isNaN(weights.tolerance) ? 0 : 1];
    const remark = decision.selected.length && !isCarried ? `${data.no_recommendation} ` : "";
    return `${remark}${selected}. Order by expected loss: ${listed}; ${resolved}.`;
  }

  // Shares of categories in the population: those of the study, or with one category moved.
  const shares = ({ moved, share }) => (moved < 0 ? population.study : population.shares[moved][share]);

  const toml = (x) => (Number.isInteger(x) ? x.toFixed(1) : String(x));

  function weightsFile(weights) {
    const lines = [data.toml.trimEnd(), "", "[tail]", `alpha = ${toml(weights.alpha)}`];
    lines.push(`estimator = "${data.estimator}"`, "", "[policy]");
    lines.push(...data.keys.map((key, i) => `${key} = ${toml(weights.policy[i])}`), "");
    if (!Number.isNaN(weights.tolerance)) {
      lines.push("[tolerance]", `cvar = ${toml(weights.tolerance)}`, "");
    }
    if (population) {
      const named = shares(weights).map((x, i) => `${population.keys[i]} = ${toml(x)}`);
      lines.push("[population.category]", ...named, "");
    }
    lines.push("[decision]", `by = "${weights.by}"`, `confidence = ${toml(data.confidence)}`, "");
    return lines.join("\n");
  }

  function say(name, text) {
    if (element(name).textContent !== text) element(name).textContent = text;
  }

  // Other shares are known at the study's tail level alone.
  function showShares() {
    const isMoved = Number(moved.value) >= 0;
    share.disabled = !isMoved;
    alpha.disabled = isMoved;
    if (isMoved) alpha.value = alphas.indexOf(data.alpha);
    const named = shares(readWeights()).map(
      (x, i) => `${population.categories[i]} ${+(100 * x).toFixed(1)}%`);
    share.parentElement.querySelector("output").value = named.join(", ");
    share.setAttribute("aria-valuetext", named.join(", "));
  }

  function update() {
    if (population) showShares();
    const weights = readWeights();
    element("copy").disabled = weights.policy === null;
    if (weights.policy === null) return say("status", "One dimension must be worth more than 0.");
    policy.forEach((input, i) => {
      input.parentElement.querySelector("output").value = `${(100 * weights.policy[i]).toFixed(1)}%`;
    });
    const share = 1 - weights.alpha;
    const prompts = `${+(share * data.prompts).toFixed(1)} of ${data.prompts} prompts`;
    const tail = `${weights.alpha}: the worst ${+(100 * share).toFixed(3)}%, ${prompts}`;
    alpha.parentElement.querySelector("output").value = tail;
    alpha.setAttribute("aria-valuetext", tail);
    const decision = posterior && decide(weights);
    const key = decision ? decision.loss : criterion(observed, 0, weights.by, weights);
    const order = models.map((_, i) => i).sort((a, b) => key[a] - key[b]);
    if (decision) decision.selected = select(decision, weights);
    element("table").tBodies[0].replaceChildren();
    order.forEach((model) => addRow(model, weights, decision));
    say("status", describe(decision, order, weights));
    say("copied", "");
    element("toml").value = weightsFile(weights);
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

  tolerance.parentElement.addEventListener("input", (event) => {
    if (event.target !== tolerated) tolerated.checked = true;
  });
  for (const input of [...policy, tolerance]) {
    slider(input).addEventListener("input", () => (input.value = slider(input).value));
    input.addEventListener("input", () => (slider(input).value = input.value));
  }
  element("reset").addEventListener("click", () => (reset(), update()));
  element("copy").addEventListener("click", copy);
  element("table").closest(".chapter").addEventListener("input", update);
  reset();
  update();
  element("table").closest(".chapter").hidden = false;
})();
