// The strip of hypotheses: small pictures on plain canvases, since browsers allow only a few 3-D ones.

const STRIP_POINTS = 1200;

function thin(points) {
  const step = 3 * Math.max(1, Math.ceil(points.length / 3 / STRIP_POINTS));
  return points.filter((_, k) => k % step < 3);
}

function makeStrip(choose) {
  const strip = document.getElementById("strip");
  poses.forEach((pose, k) => {
    const button = document.createElement("button");
    button.type = "button";
    const title = document.createElement("b");
    title.textContent = `${k + 1}. score ${pose.score.toFixed(2)}`;
    const words = document.createElement("span");
    words.textContent = fitWords(pose, k);
    button.append(document.createElement("canvas"), title, words);
    button.addEventListener("click", () => choose(k));
    strip.append(button);
  });
}

function fitWords(pose, k) {
  if (k === 0) return "the answer";
  return `fits ${pose.equivalent ? "as well" : "worse"}, turned ${pose.fromBestDeg.toFixed(0)}°`;
}

function markChosen(chosen) {
  const buttons = document.querySelectorAll("#strip button");
  buttons.forEach((button, k) => button.setAttribute("aria-pressed", k === chosen));
}

function drawStrip(camera) {
  const target = thin(clouds.target);
  const source = thin(clouds.source);
  const screen = { ...screenBasis(camera), ...ballAround(target) };
  document.querySelectorAll("#strip canvas").forEach((canvas, k) => {
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    drawPoints(canvas, screen, target, page.colors.target);
    drawPoints(canvas, screen, move(source, poses[k].place), page.colors.source);
  });
}

/** Directions of the screen's right and up, for a camera that looks at the middle. */
function screenBasis({ eye, up }) {
  const back = unit([eye.x, eye.y, eye.z]);
  const right = unit(cross([up.x, up.y, up.z], back));
  return { right, up: cross(back, right) };
}

function cross([a, b, c], [x, y, z]) {
  return [b * z - c * y, c * x - a * z, a * y - b * x];
}

function unit(vector) {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function drawPoints(canvas, { right, up, middle, radius }, points, color) {
  const pen = canvas.getContext("2d");
  const dot = 1.3 * devicePixelRatio;
  const zoom = Math.min(canvas.width, canvas.height) / 2.1 / radius;
  const along = (direction, k) =>
    direction.reduce((sum, part, axis) => sum + part * (points[k + axis] - middle[axis]), 0);
  pen.fillStyle = color;
  for (let k = 0; k < points.length; k += 3) {
    pen.fillRect(canvas.width / 2 + zoom * along(right, k), canvas.height / 2 - zoom * along(up, k), dot, dot);
  }
}
