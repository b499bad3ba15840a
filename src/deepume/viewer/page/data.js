// The data of the page, read once: typed arrays, and the drawing library unpacked.

const page = JSON.parse(document.getElementById("data").textContent);

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function floatsOf(base64) {
  return new Float32Array(bytesOf(base64).buffer);
}

const clouds = { source: floatsOf(page.source), target: floatsOf(page.target) };
const poses = page.poses.map((pose) => ({ ...pose, residuals: floatsOf(pose.residuals) }));

/** Points, flat, moved by the upper three rows of a motion. */
function move(points, rows) {
  const moved = new Float32Array(points.length);
  for (let k = 0; k < points.length; k += 3) {
    for (let row = 0; row < 3; row++) {
      const [x, y, z, shift] = rows[row];
      moved[k + row] = x * points[k] + y * points[k + 1] + z * points[k + 2] + shift;
    }
  }
  return moved;
}

/** One coordinate of flat points. */
function coordinate(points, axis) {
  return points.filter((_, k) => k % 3 === axis);
}

async function loadPlotly() {
  const packed = new Blob([bytesOf(document.getElementById("plotly").textContent.trim())]);
  const script = document.createElement("script");
  script.textContent = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(script);
  return window.Plotly;
}
