// The page as a whole: draw, link, and follow the hypothesis that is chosen.

function showNumbers(pose, k) {
  const text = (id, words) => { document.getElementById(id).textContent = words; };
  const rows = pose.matrix.map((row) => row.map((value) => value.toPrecision(8).padStart(12)).join(" "));
  const mean = pose.residuals.reduce((sum, value) => sum + value, 0) / pose.residuals.length;
  const floors = (mean / page.floor).toFixed(2);
  text("pose-words", `${motionWords(pose)} Score ${pose.score.toFixed(3)}.`);
  text("matrix", rows.join("\n"));
  text("histogram-words", `Mean ${mean.toPrecision(4)}, ${floors} sampling floors. The last bar counts all larger ones.`);
  for (const label of document.querySelectorAll(".chosen")) {
    label.textContent = k === 0 ? "the answer" : `hypothesis ${k + 1}`;
  }
}

function motionWords(pose) {
  const shift = pose.matrix.slice(0, 3).map((row) => row[3].toPrecision(5)).join(", ");
  const grown = Math.abs(pose.scale - 1) > 1e-12 ? `, scaled by ${pose.scale.toPrecision(6)}` : "";
  return `Turned by ${pose.angleDeg.toFixed(3)}°, moved by (${shift})${grown}.`;
}

/** Copies all digits; fewer are shown. */
async function copyMatrix(pose) {
  await navigator.clipboard.writeText(pose.matrix.map((row) => row.join(" ")).join("\n"));
  document.getElementById("copy").textContent = "Copied";
}

async function start() {
  const Plotly = await loadPlotly();
  let camera = FIRST_CAMERA;
  let chosen = 0;
  const choose = async (k) => {
    chosen = k;
    markChosen(k);
    showNumbers(poses[k], k);
    await drawHistogram(Plotly, poses[k]);
    await showPose(Plotly, poses[k]);
  };
  makeStrip(choose);
  await drawViews(Plotly);
  drawStrip(camera);
  linkCameras(Plotly, (turned) => { camera = turned; drawStrip(camera); });
  window.addEventListener("resize", () => drawStrip(camera));
  document.getElementById("copy").hidden = !navigator.clipboard;
  document.getElementById("copy").addEventListener("click", () => copyMatrix(poses[chosen]));
  await choose(0);
  document.body.dataset.ready = "true";
}

start().catch((error) => {
  const words = document.createElement("p");
  words.className = "failure";
  words.textContent = `The 3-D views cannot be drawn by this browser: ${error.message}`;
  document.querySelector("header").append(words);
});
