// The 3-D views and their common camera.

const FIRST_CAMERA = { eye: { x: 0.43, y: -0.93, z: 0.6 }, up: { x: 0, y: 0, z: 1 } };
const config = { displayModeBar: false, responsive: true, scrollZoom: true };
const pixels = (count) => (count > 8000 ? 0.9 : count > 2000 ? 1.3 : 1.8);

function cloudTrace(points, marker) {
  const [x, y, z] = [0, 1, 2].map((axis) => coordinate(points, axis));
  const look = { size: pixels(points.length / 3), line: { width: 0 }, ...marker };
  return { type: "scatter3d", mode: "markers", hoverinfo: "skip", x, y, z, marker: look };
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
      radius = Math.max(radius, Math.hypot(...middle.map((value, axis) => points[k + axis] - value)));
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
  const map = cloudTrace(best, residualMarker(poses[0].residuals));
  const draw = (name, traces, scene) => Plotly.newPlot(name, traces, layoutOf(scene), config);
  await draw("before", [cloudTrace(before, source), target], sceneAround(before, clouds.target));
  await draw("after", [cloudTrace(best, source), target], around);
  await draw("residual", [map], structuredClone(around));
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
    let applied = null;
    while (applied !== camera) {
      applied = camera;
      const others = views.filter((view) => view !== leader);
      await Promise.all(others.map((view) => Plotly.relayout(view, { "scene.camera": structuredClone(applied) })));
    }
    follow(camera);
    leader = null;
  };
  for (const view of views) {
    const hear = (change) => {
      const turned = change["scene.camera"];
      // While one view leads, the others only report that they were turned.
      if (!turned || (leader !== null && leader !== view)) return;
      if (leader === null) requestAnimationFrame(turnOthers);
      leader = view;
      camera = turned;
    };
    view.on("plotly_relayouting", hear);
    view.on("plotly_relayout", hear);
  }
}
