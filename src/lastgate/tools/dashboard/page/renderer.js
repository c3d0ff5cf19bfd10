// SPDX-License-Identifier: Apache-2.0
// Draws six kinds of things with WebGL2: capsules (a sphere is a short one), boxes, cylinders, points, lines, and meshes of links.
// Every kind but the last is one mesh that is drawn once per instance. What is drawn again unchanged is not handed over again.

const LIGHT = `
vec3 lit(vec3 colour, vec3 normal) {
  vec3 n = normalize(normal);
  float sun = max(dot(n, normalize(vec3(0.45, -0.35, 0.82))), 0.0);
  float sky = 0.5 + 0.5 * n.z;
  return colour * (0.34 + 0.26 * sky + 0.52 * sun);
}`;

const SHADED = `#version 300 es
precision highp float;
in vec3 v_normal; in vec4 v_colour; out vec4 colour;
${LIGHT}
void main() { colour = vec4(lit(v_colour.rgb, v_normal), v_colour.a); }`;

const FLAT = `#version 300 es
precision highp float;
in vec4 v_colour; out vec4 colour;
void main() { colour = v_colour; }`;

// The normal is the triangle's own, from how its place changes over the screen: no file needs to bring normals along, and
// triangles may be wound either way. It always faces the eye.
const FACETED = `#version 300 es
precision highp float;
in vec3 v_place; in vec4 v_colour; out vec4 colour;
${LIGHT}
void main() { colour = vec4(lit(v_colour.rgb, cross(dFdx(v_place), dFdy(v_place))), v_colour.a); }`;

const MESH = `#version 300 es
layout(location=0) in vec3 at; uniform mat4 camera; uniform mat4 pose; uniform vec4 tint; out vec3 v_place; out vec4 v_colour;
void main() { vec4 placed = pose * vec4(at, 1.0); v_place = placed.xyz; v_colour = tint; gl_Position = camera * placed; }`;

const CAPSULE = `#version 300 es
layout(location=0) in vec4 mesh;      // a point of the unit sphere, and which end it belongs to
layout(location=1) in vec3 a; layout(location=2) in vec3 b; layout(location=3) in float radius; layout(location=4) in vec4 tint;
uniform mat4 camera; out vec3 v_normal; out vec4 v_colour;
void main() {
  vec3 along = b - a;
  vec3 z = length(along) > 1e-6 ? normalize(along) : vec3(0.0, 0.0, 1.0);
  vec3 x = normalize(cross(abs(z.z) < 0.9 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0), z));
  v_normal = mesh.x * x + mesh.y * cross(z, x) + mesh.z * z;
  v_colour = tint;
  gl_Position = camera * vec4(mix(a, b, mesh.w) + radius * v_normal, 1.0);
}`;

const BOX = `#version 300 es
layout(location=0) in vec3 vertex; layout(location=1) in vec3 normal;
layout(location=2) in vec3 centre; layout(location=3) in vec4 turn; layout(location=4) in vec3 half_size; layout(location=5) in vec4 tint;
uniform mat4 camera; out vec3 v_normal; out vec4 v_colour;
vec3 turned(vec3 v) { vec3 t = 2.0 * cross(turn.xyz, v); return v + turn.w * t + cross(turn.xyz, t); }
void main() {
  v_normal = turned(normal);
  v_colour = tint;
  gl_Position = camera * vec4(centre + turned(vertex * half_size), 1.0);
}`;

const POINT = `#version 300 es
layout(location=0) in vec3 at; uniform mat4 camera; uniform float size; uniform vec4 tint; out vec4 v_colour;
void main() { v_colour = tint; gl_Position = camera * vec4(at, 1.0); gl_PointSize = clamp(size / gl_Position.w, 2.0, 12.0); }`;

const LINE = `#version 300 es
layout(location=0) in vec3 at; layout(location=1) in vec4 tint; uniform mat4 camera; out vec4 v_colour;
void main() { v_colour = tint; gl_Position = camera * vec4(at, 1.0); }`;

/** A sphere cut at its equator: both halves know their end, so that pulling them apart makes a capsule. */
function capsuleMesh(around, rings) {
  const points = [];
  const triangles = [];
  const angles = [];
  for (let ring = -rings; ring <= rings; ring++) {
    if (ring === 0) angles.push([0, 0]);
    angles.push([(ring / rings) * (Math.PI / 2), ring >= 0 ? 1 : 0]);
  }
  for (const [angle, end] of angles)
    for (let k = 0; k <= around; k++) {
      const turn = (k / around) * 2 * Math.PI;
      points.push(Math.cos(angle) * Math.cos(turn), Math.cos(angle) * Math.sin(turn), Math.sin(angle), end);
    }
  for (let row = 0; row + 1 < angles.length; row++)
    for (let k = 0; k < around; k++) {
      const p = row * (around + 1) + k;
      const q = p + around + 1;
      triangles.push(p, p + 1, q, p + 1, q + 1, q);
    }
  return { points: new Float32Array(points), triangles: new Uint16Array(triangles) };
}

function boxMesh() {
  const points = [];
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-1, 1]) {
      const normal = [0, 0, 0];
      normal[axis] = side;
      const [u, v] = side > 0 ? [(axis + 1) % 3, (axis + 2) % 3] : [(axis + 2) % 3, (axis + 1) % 3];
      for (const [s, t] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        const vertex = [...normal];
        vertex[u] = s;
        vertex[v] = t;
        points.push(...vertex, ...normal);
      }
    }
  return new Float32Array(points);
}

/** A cylinder in the cube from -1 to 1, with the normals of a round side and flat ends. */
function cylinderMesh(around) {
  const points = [];
  const rim = (k) => [Math.cos((k / around) * 2 * Math.PI), Math.sin((k / around) * 2 * Math.PI)];
  for (let k = 0; k < around; k++) {
    const [a, b] = [rim(k), rim(k + 1)];
    for (const [[x, y], z] of [[a, -1], [b, -1], [b, 1], [a, -1], [b, 1], [a, 1]]) points.push(x, y, z, x, y, 0);
    for (const z of [-1, 1])
      for (const [x, y] of z > 0 ? [[0, 0], a, b] : [[0, 0], b, a]) points.push(x, y, z, 0, 0, z);
  }
  return new Float32Array(points);
}

/** Tells whether the processor does the drawing: smooth edges then cost more than all the rest. */
function isDrawnInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("this browser has no WebGL2");
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export class Renderer {
  constructor(canvas) {
    this.gl = canvas.getContext("webgl2", { antialias: !isDrawnInSoftware(), alpha: true, premultipliedAlpha: true });
    this.canvas = canvas;
    this.pixel = new Uint8Array(4);
    const capsule = this.#kind(CAPSULE, SHADED, [4], [3, 3, 1, 4]);
    const box = this.#kind(BOX, SHADED, [3, 3], [3, 4, 3, 4]);
    const round = capsuleMesh(16, 4);
    // A path is a few pixels thick.
    const thin = capsuleMesh(6, 1);
    const cube = { points: boxMesh(), triangles: null };
    this.meshProgram = this.#program(MESH, FACETED);
    this.meshes = [];
    const drum = { points: cylinderMesh(24), triangles: null };
    this.batches = {
      lines: this.#batch({ program: this.#program(LINE, FLAT), meshSizes: [], instanceSizes: [3, 4] }, null),
      points: this.#batch({ program: this.#program(POINT, FLAT), meshSizes: [], instanceSizes: [3] }, null),
      boxes: this.#batch(box, cube),
      cylinders: this.#batch(box, drum),
      clearBoxes: this.#batch(box, cube),
      worldCapsules: this.#batch(capsule, round),
      robotCapsules: this.#batch(capsule, round),
      thinCapsules: this.#batch(capsule, thin),
      clearCapsules: this.#batch(capsule, round),
    };
  }

  /** Takes the meshes of the links over, each with vertices in its link's frame and three indices per triangle. */
  setMeshes(meshes) {
    const gl = this.gl;
    for (const { array, buffers } of this.meshes) {
      gl.deleteVertexArray(array);
      buffers.forEach((buffer) => gl.deleteBuffer(buffer));
    }
    this.meshes = meshes.map(({ vertices, triangles }) => {
      const array = gl.createVertexArray();
      gl.bindVertexArray(array);
      const buffers = [gl.createBuffer(), gl.createBuffer()];
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[0]);
      gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STATIC_DRAW);
      this.#attributes([3], 0, 0);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[1]);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
      return { array, buffers, count: triangles.length };
    });
  }

  /** Draws and waits for it. Numbers per instance: capsules 11 (a, b, radius, rgba), boxes and cylinders 14 (centre, quaternion, half size, rgba). */
  draw(camera, { pointTint, pointSize, meshPoses = [], meshTint, ...numbers }) {
    const gl = this.gl;
    for (const [name, batch] of Object.entries(this.batches)) this.#fill(batch, numbers[name]);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.enable(gl.BLEND);
    // Onto nothing, this leaves colours multiplied by how opaque they are, which is what the canvas is said to hold.
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const { lines, points, boxes, cylinders, clearBoxes, worldCapsules, robotCapsules, thinCapsules, clearCapsules } = this.batches;
    this.#drawPlain(lines, gl.LINES, camera);
    for (const batch of [boxes, cylinders, worldCapsules, robotCapsules, thinCapsules]) this.#drawInstances(batch, camera);
    this.#drawMeshes(camera, meshPoses, meshTint);
    if (points.count) {
      gl.useProgram(points.program);
      gl.uniform4fv(gl.getUniformLocation(points.program, "tint"), pointTint);
      gl.uniform1f(gl.getUniformLocation(points.program, "size"), pointSize);
    }
    this.#drawPlain(points, gl.POINTS, camera);
    gl.depthMask(false);
    this.#drawInstances(clearBoxes, camera);
    gl.depthMask(true);
    // A ghost hides its own far side: its nearest surface is found first, then painted once.
    // Pushed back a little, so that where ghost and robot coincide the robot is seen.
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(2, 8);
    gl.colorMask(false, false, false, false);
    this.#drawInstances(clearCapsules, camera);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    this.#drawInstances(clearCapsules, camera);
    gl.depthFunc(gl.LESS);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    // Asking for a pixel waits until all is drawn. The pacer must know what frames cost.
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, this.pixel);
  }

  #program(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    return program;
  }

  #attributes(sizes, first, divisor) {
    const gl = this.gl;
    const stride = sizes.reduce((sum, size) => sum + size, 0) * 4;
    let offset = 0;
    sizes.forEach((size, index) => {
      gl.enableVertexAttribArray(first + index);
      gl.vertexAttribPointer(first + index, size, gl.FLOAT, false, stride, offset);
      gl.vertexAttribDivisor(first + index, divisor);
      offset += size * 4;
    });
    return stride / 4;
  }

  #kind(vertex, fragment, meshSizes, instanceSizes) {
    return { program: this.#program(vertex, fragment), meshSizes, instanceSizes };
  }

  /** A set of things of one kind that are drawn together, with memory of its own. */
  #batch({ program, meshSizes, instanceSizes }, mesh) {
    const gl = this.gl;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    let vertices = 0;
    if (mesh) {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, mesh.points, gl.STATIC_DRAW);
      vertices = mesh.points.length / this.#attributes(meshSizes, 0, 0);
    }
    if (mesh?.triangles) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.triangles, gl.STATIC_DRAW);
    }
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    const perInstance = this.#attributes(instanceSizes, meshSizes.length, mesh ? 1 : 0);
    return { program, array, buffer, perInstance, vertices, indices: mesh?.triangles?.length, numbers: null, count: 0 };
  }

  #fill(batch, numbers) {
    if (batch.numbers === numbers) return;
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, batch.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
    batch.numbers = numbers;
    batch.count = numbers.length / batch.perInstance;
  }

  #ready(batch, camera) {
    const gl = this.gl;
    gl.useProgram(batch.program);
    gl.uniformMatrix4fv(gl.getUniformLocation(batch.program, "camera"), false, camera);
    gl.bindVertexArray(batch.array);
  }

  #drawMeshes(camera, poses, tint) {
    if (!poses.length) return;
    const gl = this.gl;
    const program = this.meshProgram;
    gl.useProgram(program);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "camera"), false, camera);
    gl.uniform4fv(gl.getUniformLocation(program, "tint"), tint);
    const pose = gl.getUniformLocation(program, "pose");
    gl.disable(gl.CULL_FACE);
    this.meshes.forEach(({ array, count }, index) => {
      gl.uniformMatrix4fv(pose, false, poses[index]);
      gl.bindVertexArray(array);
      gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_SHORT, 0);
    });
    gl.enable(gl.CULL_FACE);
  }

  #drawInstances(batch, camera) {
    if (!batch.count) return;
    const gl = this.gl;
    this.#ready(batch, camera);
    if (batch.indices) gl.drawElementsInstanced(gl.TRIANGLES, batch.indices, gl.UNSIGNED_SHORT, 0, batch.count);
    else gl.drawArraysInstanced(gl.TRIANGLES, 0, batch.vertices, batch.count);
  }

  #drawPlain(batch, mode, camera) {
    if (!batch.count) return;
    this.#ready(batch, camera);
    this.gl.drawArrays(mode, 0, batch.count);
  }
}
