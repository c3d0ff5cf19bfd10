// SPDX-License-Identifier: Apache-2.0
// Two charts on plain canvases: clearance over time, and how long checks took.
import { colour } from "./theme.js";

export const SPAN_S = 30;
// A dot is this wide: more of them side by side are one blot, and each is drawn by hand.
const DOT = 3;

function prepared(canvas) {
  const scale = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.round(canvas.clientWidth * scale);
  canvas.height = Math.round(canvas.clientHeight * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "11px system-ui, sans-serif";
  return { context, width: canvas.clientWidth, height: canvas.clientHeight };
}

function line(context, x1, y1, x2, y2, style, width = 1) {
  context.strokeStyle = style;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function text(context, words, x, y, align = "left") {
  context.fillStyle = colour("soft");
  context.textAlign = align;
  context.fillText(words, x, y);
}

/** Steps of 1, 2 or 5 times a power of ten, about four of them. */
function niceStep(most) {
  const rough = most / 3.5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

/** Points are [when, metres or null, passed] on the clock of `now`; the smallest clearance of each column of dots is drawn. */
export function drawClearance(canvas, points, now) {
  const { context, width, height } = prepared(canvas);
  const [left, bottom, top] = [44, height - 16, 6];
  const most = points.reduce((sum, [, metres]) => Math.max(sum, metres ?? 0), 0.02) * 1.1;
  const x = (seconds) => left + (1 + seconds / SPAN_S) * (width - left - 6);
  const y = (metres) => bottom - (metres / most) * (bottom - top);
  const step = niceStep(most);
  for (let at = 0; at <= most; at += step) {
    line(context, left, y(at), width - 6, y(at), colour("line"));
    text(context, `${Math.round(at * 1000)} mm`, left - 5, y(at) + 4, "right");
  }
  for (let seconds = -SPAN_S; seconds <= 0; seconds += 10) text(context, seconds ? `${seconds} s` : "now", x(seconds), height - 3, seconds === -SPAN_S ? "left" : seconds ? "center" : "right");
  const least = new Map();
  const rejected = new Set();
  for (const [at, metres, passed] of points) {
    const column = Math.round(x(at - now) / DOT);
    if (metres !== null) least.set(column, Math.min(least.get(column) ?? Infinity, Math.max(0, metres)));
    else if (!passed) rejected.add(column);
  }
  for (const column of rejected) line(context, column * DOT, top, column * DOT, bottom, colour("bad"), 2);
  context.fillStyle = colour("good");
  for (const [column, metres] of least) context.fillRect((column - 0.5) * DOT, y(metres) - DOT / 2, DOT, DOT);
  if (!points.length) text(context, "no checks in the last 30 s", (left + width) / 2, y(step / 2) + 4, "center");
}

const spelled = (us) => (us < 1000 ? `${+us.toPrecision(3)} µs` : `${+(us / 1000).toPrecision(3)} ms`);

export function drawLatency(canvas, words, { buckets, bucket_edges_us: edges, percentiles_us: percentiles }) {
  const { context, width, height } = prepared(canvas);
  const said = percentiles ? `p50 ${spelled(percentiles.p50)} · p99 ${spelled(percentiles.p99)} · worst ${spelled(percentiles.worst)}` : "";
  if (words.textContent !== said) words.textContent = said;
  const [left, bottom, top] = [6, height - 16, 8];
  const most = Math.max(...buckets);
  const bar = (width - left - 18) / buckets.length;
  line(context, left, bottom, width - 6, bottom, colour("line"));
  if (!most) return text(context, "no checks yet", width / 2, height / 2, "center");
  buckets.forEach((count, index) => {
    if (!count) return;
    // Square roots: one slow check among thousands must still be seen.
    const tall = Math.max(2, Math.sqrt(count / most) * (bottom - top));
    context.fillStyle = colour("mark");
    context.fillRect(left + index * bar + 1, bottom - tall, bar - 2, tall);
  });
  // Where columns are narrow, only the powers of a thousand have room.
  const every = bar * 4 < 30 ? 12 : 4;
  edges.forEach((edge, index) => {
    // The unit where it changes; in between there is no room for it.
    if (index % every === 0) text(context, index % 12 ? `${edge < 1000 ? edge : edge / 1000}` : spelled(edge), left + (index + 1) * bar, height - 3, "center");
  });
}
