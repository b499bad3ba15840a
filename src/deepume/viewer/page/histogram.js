// Distances to the target, beside those that sampling causes.

function sharesOf(residuals) {
  const bins = page.floorShares.length;
  const shares = new Array(bins).fill(0);
  for (const value of residuals) {
    shares[Math.min(bins - 1, Math.floor((bins * value) / page.range))] += 1 / residuals.length;
  }
  return shares;
}

function drawHistogram(Plotly, pose) {
  const x = page.floorShares.map((_, k, all) => ((k + 0.5) * page.range) / all.length);
  const bars = {
    type: "bar", name: "source, moved", x, y: sharesOf(pose.residuals),
    marker: { color: page.colors.source, opacity: 0.75 },
  };
  const floor = {
    type: "scatter", mode: "lines", name: "expected: target to its own neighbors", x, y: page.floorShares,
    line: { color: page.colors.target, width: 2.5, shape: "hvh" },
  };
  const layout = {
    margin: { l: 46, r: 8, t: 26, b: 34 }, bargap: 0.05, font: { size: 12, color: "#1c2630" },
    legend: { orientation: "h", x: 0, y: 1.16 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    xaxis: { title: { text: "distance, unit of the target" }, fixedrange: true },
    yaxis: { tickformat: ".0%", fixedrange: true },
  };
  return Plotly.react("histogram", [bars, floor], layout, { displayModeBar: false, responsive: true });
}
