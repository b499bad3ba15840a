// The 3-D views and their common camera, and the histogram.

const FIRST_CAMERA = { eye: { x: 0.43, y: -0.93, z: 0.6 }, up: { x: 0, y: 0, z: 1 } };
const config = { displayModeBar: false, responsive: true, scrollZoom: true };
const pixels = (count) => (count > 8000 ? 0.9 : count > 2000 ? 1.3 : 1.8);

function cloudTrace(points, marker) {
  const [x, y, z] = [0, 1, 2].map((axis) => coordinate(points, axis));
  const size = pixels(points.length / 3);
  return { type: "scatter3d", mode: "markers", hoverinfo: "skip", x, y, z, marker: { size, line: { width: 0 }, ...marker } };
}

/** Middle and radius of a ball around all points. */
function ballAround(...sets) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (const points of sets) {
    points.forEach((value, k) => {
      low[k % 3] = Math.min(low[k % 3], value);
      high[k % 3] = Math.max(high[k % 3], value);
    });
  }
  const middle = low.map((value, axis) => (value + high[axis]) / 2);
  let radius = 0;
  for (const points of sets) {
    for (let k = 0; k < points.length; k += 3) {
      radius = Math.max(radius, Math.hypot(points[k] - middle[0], points[k + 1] - middle[1], points[k + 2] - middle[2]));
    }
  }
  return { middle, radius };
}

/** The same range along every axis, so that no view is stretched. */
function sceneAround(...sets) {
  const { middle, radius } = ballAround(...sets);
  const [xaxis, yaxis, zaxis] = middle.map((value) => ({ visible: false, range: [value - radius, value + radius] }));
  return { aspectmode: "cube", camera: structuredClone(FIRST_CAMERA), dragmode: "orbit", xaxis, yaxis, zaxis };
}

function layoutOf(scene) {
  return { scene, margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, paper_bgcolor: "#fff" };
}

function residualMarker(residuals) {
  const stops = page.colors.scale.map((color, k, all) => [k / (all.length - 1), color]);
  return { color: residuals, colorscale: stops, cmin: 0, cmax: page.range };
}

async function drawViews(Plotly) {
  const best = move(clouds.source, poses[0].place);
  const before = move(clouds.source, page.start);
  const around = sceneAround(best, clouds.target);
  const source = { color: page.colors.source };
  const target = cloudTrace(clouds.target, { color: page.colors.target });
  await Plotly.newPlot("before", [cloudTrace(before, source), target], layoutOf(sceneAround(before, clouds.target)), config);
  await Plotly.newPlot("after", [cloudTrace(best, source), target], layoutOf(around), config);
  const map = cloudTrace(best, residualMarker(poses[0].residuals));
  await Plotly.newPlot("residual", [map], layoutOf(structuredClone(around)), config);
  document.getElementById("scale").style.background = `linear-gradient(90deg, ${page.colors.scale.join(",")})`;
  document.getElementById("scale-end").textContent = `${page.range.toPrecision(3)} and more: 4 sampling floors`;
}

async function showPose(Plotly, pose) {
  const moved = move(clouds.source, pose.place);
  const [x, y, z] = [0, 1, 2].map((axis) => [coordinate(moved, axis)]);
  await Plotly.restyle("after", { x, y, z }, [0]);
  await Plotly.restyle("residual", { x, y, z, "marker.color": [pose.residuals] }, [0]);
}

/** Turning one view turns the others, at most once a frame; `follow` hears the camera too. */
function linkCameras(Plotly, follow) {
  const views = ["before", "after", "residual"].map((name) => document.getElementById(name));
  let leader = null;
  let camera = null;
  const turnOthers = async () => {
    await Promise.all(views.map((view) => view === leader || Plotly.relayout(view, { "scene.camera": structuredClone(camera) })));
    follow(camera);
    leader = null;
  };
  for (const view of views) {
    const hear = (change) => {
      const turned = change["scene.camera"];
      // While one view leads, what the others report is the echo of their own turning.
      if (!turned || (leader !== null && leader !== view)) return;
      if (leader === null) requestAnimationFrame(turnOthers);
      leader = view;
      camera = turned;
    };
    view.on("plotly_relayouting", hear);
    view.on("plotly_relayout", hear);
  }
}

function drawHistogram(Plotly, pose) {
  const bins = page.floorShares.length;
  const step = page.range / bins;
  const middles = page.floorShares.map((_, k) => (k + 0.5) * step);
  const shares = new Array(bins).fill(0);
  for (const value of pose.residuals) shares[Math.min(bins - 1, Math.floor(value / step))] += 1 / pose.residuals.length;
  const bars = { type: "bar", name: "source, moved", x: middles, y: shares, marker: { color: page.colors.source, opacity: 0.75 } };
  const floor = {
    type: "scatter", mode: "lines", name: "expected: target to its own neighbors", x: middles, y: page.floorShares,
    line: { color: page.colors.target, width: 2.5, shape: "hvh" },
  };
  const layout = {
    margin: { l: 46, r: 8, t: 26, b: 34 }, bargap: 0.05, font: { size: 12, color: "#1c2630" },
    legend: { orientation: "h", x: 0, y: 1.16 }, xaxis: { title: { text: "distance, unit of the target" }, fixedrange: true },
    yaxis: { tickformat: ".0%", fixedrange: true }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
  };
  return Plotly.react("histogram", [bars, floor], layout, { displayModeBar: false, responsive: true });
}
