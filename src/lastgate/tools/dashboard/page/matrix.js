// SPDX-License-Identifier: Apache-2.0
// 4 x 4 matrices, column by column, as WebGL reads them. z is up.

export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const normalized = (a) => {
  const length = Math.hypot(...a) || 1;
  return [a[0] / length, a[1] / length, a[2] / length];
};

export function perspective(fieldOfViewRad, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfViewRad / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

export function lookAt(eye, target) {
  const back = normalized(subtract(eye, target));
  const right = normalized(cross([0, 0, 1], back));
  const up = cross(back, right);
  return [
    right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1,
  ];
}

export function multiply(a, b) {
  const out = new Array(16).fill(0);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++)
      for (let k = 0; k < 4; k++) out[column * 4 + row] += a[k * 4 + row] * b[column * 4 + k];
  return out;
}

/** Where a point appears, x and y from -1 to 1; null when it is behind the eye. */
export function project(matrix, point) {
  const at = (row) => matrix[row] * point[0] + matrix[4 + row] * point[1] + matrix[8 + row] * point[2] + matrix[12 + row];
  const w = at(3);
  return w > 0.01 ? [at(0) / w, at(1) / w] : null;
}

/** Turns a vector by a quaternion x y z w. */
export function rotate(q, v) {
  const u = [q[0], q[1], q[2]];
  const t = cross(u, v).map((number) => 2 * number);
  const c = cross(u, t);
  return [v[0] + q[3] * t[0] + c[0], v[1] + q[3] * t[1] + c[1], v[2] + q[3] * t[2] + c[2]];
}
