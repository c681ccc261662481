/* Plays a stage (see stage.py and page.py) in WebGL 2. Everything comes from a JSON block of the same page; names
   from models are only ever set as text. All frames are on the graphics card, and the shader mixes two of them. */
"use strict";
(() => {
  const FIELD_OF_VIEW = 0.5, NAMES = 12; // more names than this would hide the robot: they wait for their box

  // -- shaders ------------------------------------------------------------------------------------------------------

  const SOLID_VERTEX = `#version 300 es
    in vec3 vertex, normal, pa, pb, sa, sb, ca, cb; in vec4 ta, tb;
    uniform mat4 view; uniform vec3 low, span; uniform float largest, share;
    out vec3 n, c;
    vec3 turned(vec4 q, vec3 x) { return x + 2.0 * cross(q.yzw, cross(q.yzw, x) + q.x * x); }
    void main() {
      vec4 q = normalize(mix(ta, tb, share));
      vec3 size = max(largest * mix(sa, sb, share), 1e-7);
      vec3 place = low + span * (0.5 + 0.5 * mix(pa, pb, share));
      n = turned(q, normal / size);
      c = mix(ca, cb, share);
      gl_Position = view * vec4(place + turned(q, size * vertex), 1.0);
    }`;
  const SOLID_FRAGMENT = `#version 300 es
    precision highp float; in vec3 n, c; uniform vec3 toward, up; uniform float alpha; out vec4 colour;
    void main() {
      vec3 m = normalize(n);
      float key = max(dot(m, normalize(toward + 0.7 * up)), 0.0), sky = 0.5 + 0.5 * dot(m, up);
      colour = vec4(c * (0.5 + 0.22 * sky + 0.4 * key), alpha);
    }`;
  const LINE_VERTEX = `#version 300 es
    in vec3 vertex, tint; uniform mat4 view; out vec3 c;
    void main() { c = tint; gl_Position = view * vec4(vertex, 1.0); }`;
  const LINE_FRAGMENT = `#version 300 es
    precision highp float; in vec3 c; out vec4 colour; void main() { colour = vec4(c, 1.0); }`;

  function program(gl, vertex, fragment) {
    const made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    return made;
  }

  // -- vectors ------------------------------------------------------------------------------------------------------

  const add = (a, b, f = 1) => a.map((x, k) => x + f * b[k]);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const l = Math.hypot(...a) || 1; return a.map((x) => x / l); };

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; k++) out[k] = raw.charCodeAt(k);
    return out;
  }

  function floats(count) { // tracks of numbers as they are, one frame
    const track = (parts) => ({ kind: "float", parts, stride: 4 * parts, moves: false, values: new Float32Array(parts * count) });
    return { p: track(3), t: track(4), s: track(3), c: track(3) };
  }

  function make(kind, parent, attributes = {}, text = "") {
    const element = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    parent.append(element);
    return element;
  }

  // -- player -------------------------------------------------------------------------------------------------------

  class Player {
    constructor(host, data) {
      this.host = host; this.data = data; this.clip = data.clips[0]; this.time = 0; this.speed = 1;
      this.playing = false; this.drawn = 0; this.shown = { robot: true, rods: true, loads: true, frames: false, nodes: false,
        contacts: true, labels: data.labels.filter((label) => label.layer === "labels").length <= NAMES };
      this.canvas = make("canvas", host, { tabindex: "0", role: "img", "aria-label": data.title +
        ", three-dimensional view. Arrow keys turn it, plus and minus zoom, space plays." });
      // without a graphics card, smooth edges would cost more than the whole picture
      this.gl = this.canvas.getContext("webgl2", { antialias: true, failIfMajorPerformanceCaveat: true })
        || this.canvas.getContext("webgl2", { antialias: false });
      if (!this.gl) {
        make("p", host, { class: "note" }, "This browser offers no WebGL 2, which the three-dimensional view needs.");
        return;
      }
      this.over = make("div", host, { class: "over", "aria-hidden": "true" });
      this.reset();
      this.upload();
      this.controls();
      this.names = data.labels.map((label) => make("span", this.over, { class: "name " + label.layer }, label.text));
      this.letters = ["x", "y", "z"].map((letter) => make("span", this.over, { class: "axis " + letter }, letter));
      this.mouse();
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      this.draw();
    }

    reset() {
      const { low, high, toward, up } = this.data;
      this.up = up;
      this.middle = low.map((x, k) => (x + high[k]) / 2);
      this.radius = Math.max(Math.hypot(...add(high, low, -1)) / 2, 1e-6);
      this.toward = toward;
      const [right, above, ahead] = this.axes(), half = add(high, low, -1).map((x) => x / 2);
      const reach = (axis) => Math.abs(axis[0] * half[0]) + Math.abs(axis[1] * half[1]) + Math.abs(axis[2] * half[2]);
      const aspect = this.canvas.clientWidth / this.canvas.clientHeight || 1;
      const wanted = Math.max(reach(above), reach(right) / aspect, 0.25 * this.radius);
      this.distance = 1.1 * wanted / Math.tan(FIELD_OF_VIEW / 2) + reach(ahead);
    }

    upload() {
      const gl = this.gl;
      this.solid = program(gl, SOLID_VERTEX, SOLID_FRAGMENT);
      this.line = program(gl, LINE_VERTEX, LINE_FRAGMENT);
      this.shapes = {};
      for (const batch of this.data.batches) {
        if (!this.shapes[batch.shape]) {
          const { corners, faces } = this.data.shapes[batch.shape], numbers = new Uint16Array(bytes(faces).buffer);
          this.shapes[batch.shape] = {
            buffer: this.buffer(bytes(corners)), faces: this.buffer(numbers, gl.ELEMENT_ARRAY_BUFFER), count: numbers.length,
          };
        }
        if (!batch.tracks) batch.tracks = floats(batch.count); // filled by live.js
        for (const track of Object.values(batch.tracks)) {
          track.buffer = this.buffer(track.values || bytes(track.data));
          delete track.data;
        }
      }
      for (const label of this.data.labels) label.positions = new Float32Array(bytes(label.positions).buffer);
      this.grid = this.floor();
      this.compass = this.lines([[[0, 0, 0], [1, 0, 0], 0], [[0, 0, 0], [0, 1, 0], 1], [[0, 0, 0], [0, 0, 1], 2]]
        .map(([a, b, k]) => [a, b, this.data.axes[k]]));
    }

    buffer(numbers, kind = this.gl.ARRAY_BUFFER) {
      const gl = this.gl, made = gl.createBuffer();
      gl.bindBuffer(kind, made);
      gl.bufferData(kind, numbers, gl.STATIC_DRAW);
      return made;
    }

    lines(list) {
      const numbers = list.flatMap(([a, b, c]) => [...a, ...c, ...b, ...c]);
      return { buffer: this.buffer(new Float32Array(numbers)), count: 2 * list.length };
    }

    floor() { // a grid below everything, across gravity, with the origin on one of its lines
      const { low, high, up, grid } = this.data, list = [];
      const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [0, 1, 2].map((i) => ((k >> i) & 1 ? high : low)[i]));
      const height = Math.min(...corners.map((c) => dot(c, up))) - 0.03 * this.radius;
      const u = unit(cross(up, Math.abs(up[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0])), w = cross(up, u);
      const range = (axis) => {
        const places = corners.map((c) => dot(c, axis)), reach = 0.8 * this.radius;
        return [Math.floor((Math.min(...places) - reach) / grid), Math.ceil((Math.max(...places) + reach) / grid)];
      };
      const [u0, u1] = range(u), [w0, w1] = range(w), shade = [0.82, 0.84, 0.86];
      const place = (a, b) => add(add(up.map((x) => x * height), u, a * grid), w, b * grid);
      for (let k = u0; k <= u1; k++) list.push([place(k, w0), place(k, w1), shade]);
      for (let k = w0; k <= w1; k++) list.push([place(u0, k), place(u1, k), shade]);
      return this.lines(list);
    }

    // -- controls

    controls() {
      const { clips, title } = this.data, bar = make("div", this.host, { class: "bar", role: "group", "aria-label": "Playback of " + title });
      const moving = clips.some((clip) => clip.times.length > 1);
      if (clips.length > 1) {
        const choice = make("select", bar, { "aria-label": "What is shown", class: "clip" });
        clips.forEach((clip, k) => make("option", choice, { value: String(k) }, clip.name));
        choice.onchange = () => { this.clip = clips[Number(choice.value)]; this.time = 0; this.limits(); this.draw(); };
      }
      if (moving) {
        this.button = make("button", bar, { type: "button", class: "play" }, "Play");
        this.button.onclick = () => this.play(!this.playing);
        this.slider = make("input", bar, { type: "range", min: "0", step: "any", "aria-label": "Time", class: "time" });
        this.slider.oninput = () => { this.time = Number(this.slider.value); this.play(false); };
        this.clock = make("output", bar, { class: "clock" });
        const speed = make("select", bar, { "aria-label": "Speed", class: "speed" });
        for (const factor of [0.1, 0.25, 0.5, 1, 2, 4]) make("option", speed, { value: String(factor) }, factor + " x");
        speed.value = "1";
        speed.onchange = () => { this.speed = Number(speed.value); };
      }
      const layers = { frames: "frames", loads: "loads", labels: "names", nodes: "node numbers", contacts: "contact surfaces" };
      for (const [layer, word] of Object.entries(layers)) {
        if (![...this.data.batches, ...this.data.labels].some((thing) => thing.layer === layer)) continue;
        const label = make("label", bar), box = make("input", label, { type: "checkbox", class: layer });
        label.append(" " + word);
        box.checked = this.shown[layer];
        box.onchange = () => { this.shown[layer] = box.checked; this.draw(); };
      }
      const back = make("button", bar, { type: "button", class: "reset" }, "Reset view");
      back.onclick = () => { this.reset(); this.draw(); };
      make("span", bar, { class: "note" }, "grid " + this.data.gridText);
      this.limits();
    }

    limits() {
      if (!this.slider) return;
      const times = this.clip.times;
      this.slider.max = String(times[times.length - 1]);
      if (this.clip.note) this.clock.title = this.clip.note;
    }

    play(on) {
      const times = this.clip.times;
      if (on && this.time >= times[times.length - 1]) this.time = 0;
      this.playing = on;
      this.button.textContent = on ? "Pause" : "Play";
      this.before = null;
      if (on) requestAnimationFrame((now) => this.step(now)); else this.draw();
    }

    step(now) {
      if (!this.playing) return;
      const times = this.clip.times, end = times[times.length - 1];
      if (this.before !== null) this.time += this.speed * this.clip.rate * (now - this.before) / 1000;
      this.before = now;
      if (this.time >= end) {
        if (this.clip.loops && end > 0) this.time %= end; else { this.time = end; this.play(false); return; }
      }
      this.draw();
      requestAnimationFrame((next) => this.step(next));
    }

    // -- the view

    mouse() {
      const canvas = this.canvas;
      let last = null;
      canvas.onpointerdown = (e) => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); canvas.focus(); };
      canvas.onpointerup = () => { last = null; };
      canvas.onpointermove = (e) => {
        if (!last) return;
        const [x, y] = [e.clientX - last[0], e.clientY - last[1]];
        last = [e.clientX, e.clientY];
        if (e.shiftKey || e.buttons === 4) this.pan(x, y); else this.turn(-0.008 * x, -0.008 * y);
      };
      canvas.addEventListener("wheel", (e) => {
        if (document.activeElement !== canvas) return; // a page that is scrolled past must not zoom
        e.preventDefault();
        this.zoom(Math.exp(0.001 * e.deltaY));
      }, { passive: false });
      canvas.onkeydown = (e) => {
        const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[e.key];
        if (turns) this.turn(...turns);
        else if (e.key === "+" || e.key === "=") this.zoom(0.9);
        else if (e.key === "-") this.zoom(1 / 0.9);
        else if (e.key === " " && this.button) this.play(!this.playing);
        else return;
        e.preventDefault();
      };
    }

    axes() {
      const right = unit(cross(this.up, this.toward));
      return [right, cross(this.toward, right), this.toward];
    }

    turn(around, over) {
      const height = Math.asin(Math.max(-1, Math.min(1, dot(this.toward, this.up))));
      const level = unit(add(this.toward, this.up, -dot(this.toward, this.up)));
      const side = cross(this.up, level);
      const ahead = add(level.map((x) => x * Math.cos(around)), side, Math.sin(around));
      const tilt = Math.max(-1.5, Math.min(1.5, height - over));
      this.toward = unit(add(ahead.map((x) => x * Math.cos(tilt)), this.up, Math.sin(tilt)));
      this.draw();
    }

    zoom(factor) { this.distance *= factor; this.draw(); }

    pan(x, y) {
      const [right, above] = this.axes(), scale = 2 * this.distance * Math.tan(FIELD_OF_VIEW / 2) / this.canvas.clientHeight;
      this.middle = add(add(this.middle, right, -x * scale), above, y * scale);
      this.draw();
    }

    ray(x, y) { // from the eye through a place on the canvas [pixels]
      const [right, above, toward] = this.axes(), { clientWidth: w, clientHeight: h } = this.canvas, reach = Math.tan(FIELD_OF_VIEW / 2);
      const aside = add(right.map((k) => k * (2 * x / w - 1) * reach * w / h), above, (1 - 2 * y / h) * reach);
      return { eye: add(this.middle, toward, this.distance), way: unit(add(aside, toward, -1)), pixel: 2 * reach / h };
    }

    matrix(aspect) {
      const [right, above, toward] = this.axes(), near = 0.02 * this.distance, far = this.distance + 20 * this.radius;
      const f = 1 / Math.tan(FIELD_OF_VIEW / 2), a = (far + near) / (near - far), b = 2 * far * near / (near - far);
      const row = (axis, factor) => [...axis.map((x) => x * factor), -factor * dot(axis, this.middle)];
      const [x, y, z] = [row(right, f / aspect), row(above, f), row(toward, 1)];
      z[3] -= this.distance;
      const out = new Float32Array(16);
      for (let k = 0; k < 4; k++) out.set([x[k], y[k], a * z[k] + (k === 3 ? b : 0), -z[k]], 4 * k);
      return out;
    }

    // -- drawing

    place() { // the saved frames around now, and how far the second one is mixed in
      const { times, first } = this.clip;
      let low = 0, high = times.length - 1;
      while (high - low > 1) { const k = (low + high) >> 1; if (times[k] <= this.time) low = k; else high = k; }
      const span = times[high] - times[low];
      return [first + low, first + high, span > 0 ? Math.min(1, Math.max(0, (this.time - times[low]) / span)) : 0];
    }

    draw() {
      const gl = this.gl, canvas = this.canvas, ratio = Math.min(window.devicePixelRatio || 1, 2);
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (!width || !height) return;
      if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
      if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
      const view = this.matrix(width / height), [a, b, share] = this.place();
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0.97, 0.975, 0.98, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      this.drawLines(this.grid, view);
      const rods = (batch) => batch.layer === "rods", contacts = (batch) => batch.layer === "contacts";
      this.drawSolids(view, a, b, share, (batch) => !contacts(batch) && (!rods(batch) || !this.data.seeThrough), 1);
      if (this.data.seeThrough) this.drawThrough(view, a, b, share, rods, 0.55);
      this.drawThrough(view, a, b, share, contacts, 0.3);
      this.drawCompass(ratio, height);
      this.write(view, width, height, a, b, share);
      if (this.slider) {
        this.slider.value = String(this.time);
        const { words, captions, first } = this.clip;
        this.clock.textContent = words || captions[(share < 0.5 ? a : b) - first] || this.time.toFixed(2) + " s";
      }
      this.drawn += 1;
    }

    drawThrough(view, a, b, share, wanted, alpha) { // first only how deep they are, then their colour, once for each pixel
      const gl = this.gl;
      gl.colorMask(false, false, false, false);
      this.drawSolids(view, a, b, share, wanted, 1);
      gl.colorMask(true, true, true, true);
      gl.depthFunc(gl.LEQUAL);
      gl.enable(gl.BLEND);
      gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);
      this.drawSolids(view, a, b, share, wanted, alpha);
      gl.disable(gl.BLEND);
      gl.depthFunc(gl.LESS);
    }

    drawSolids(view, a, b, share, wanted, alpha) {
      const gl = this.gl, data = this.data, at = (name) => gl.getAttribLocation(this.solid, name);
      const uniform = (name) => gl.getUniformLocation(this.solid, name);
      gl.useProgram(this.solid);
      gl.uniformMatrix4fv(uniform("view"), false, view);
      gl.uniform3fv(uniform("low"), data.quantum.low);
      gl.uniform3fv(uniform("span"), data.quantum.span);
      gl.uniform3fv(uniform("toward"), this.toward);
      gl.uniform3fv(uniform("up"), this.up);
      gl.uniform1f(uniform("largest"), data.quantum.size);
      gl.uniform1f(uniform("share"), share);
      gl.uniform1f(uniform("alpha"), alpha);
      const kinds = { short: gl.SHORT, ushort: gl.UNSIGNED_SHORT, byte: gl.UNSIGNED_BYTE, float: gl.FLOAT };
      for (const batch of data.batches) {
        if (!this.shown[batch.layer] || !wanted(batch)) continue;
        const shape = this.shapes[batch.shape], used = [];
        const bind = (name, size, kind, stride, offset, each) => {
          const location = at(name);
          if (location < 0) return;
          gl.enableVertexAttribArray(location);
          gl.vertexAttribPointer(location, size, kind, kind !== gl.FLOAT, stride, offset);
          gl.vertexAttribDivisor(location, each);
          used.push(location);
        };
        gl.bindBuffer(gl.ARRAY_BUFFER, shape.buffer);
        bind("vertex", 3, gl.FLOAT, 24, 0, 0);
        bind("normal", 3, gl.FLOAT, 24, 12, 0);
        for (const [name, track] of Object.entries(batch.tracks)) {
          gl.bindBuffer(gl.ARRAY_BUFFER, track.buffer);
          const frame = track.moves ? batch.count * track.stride : 0;
          bind(name + "a", track.parts, kinds[track.kind], track.stride, a * frame, 1);
          bind(name + "b", track.parts, kinds[track.kind], track.stride, b * frame, 1);
        }
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, shape.faces);
        gl.drawElementsInstanced(gl.TRIANGLES, shape.count, gl.UNSIGNED_SHORT, 0, batch.count);
        for (const location of used) { gl.vertexAttribDivisor(location, 0); gl.disableVertexAttribArray(location); }
      }
    }

    drawLines(lines, view) {
      const gl = this.gl;
      gl.useProgram(this.line);
      gl.uniformMatrix4fv(gl.getUniformLocation(this.line, "view"), false, view);
      gl.bindBuffer(gl.ARRAY_BUFFER, lines.buffer);
      for (const [name, offset] of [["vertex", 0], ["tint", 12]]) {
        const location = gl.getAttribLocation(this.line, name);
        gl.enableVertexAttribArray(location);
        gl.vertexAttribPointer(location, 3, gl.FLOAT, false, 24, offset);
      }
      gl.drawArrays(gl.LINES, 0, lines.count);
    }

    drawCompass(ratio, height) { // the world's axes in the lower left corner
      const gl = this.gl, size = 84, [right, above, toward] = this.axes(), view = new Float32Array(16);
      for (let k = 0; k < 3; k++) view.set([0.7 * right[k], 0.7 * above[k], -0.1 * toward[k], 0], 4 * k);
      view[15] = 1;
      gl.viewport(0, 0, size * ratio, size * ratio);
      gl.clear(gl.DEPTH_BUFFER_BIT);
      this.drawLines(this.compass, view);
      this.letters.forEach((letter, k) => {
        letter.style.left = size * (0.5 + 0.44 * right[k]) + "px";
        letter.style.top = height - size * (0.5 + 0.44 * above[k]) + "px";
      });
    }

    write(view, width, height, a, b, share) {
      this.data.labels.forEach((label, i) => {
        const name = this.names[i], moves = label.positions.length > 3;
        const p = [0, 1, 2].map((k) => moves
          ? (1 - share) * label.positions[3 * a + k] + share * label.positions[3 * b + k] : label.positions[k]);
        const clip = [0, 1, 3].map((r) => view[r] * p[0] + view[4 + r] * p[1] + view[8 + r] * p[2] + view[12 + r]);
        const visible = this.shown[label.layer] && clip[2] > 0;
        name.style.display = visible ? "" : "none";
        name.style.left = width * (0.5 + 0.5 * clip[0] / clip[2]) + "px";
        name.style.top = height * (0.5 - 0.5 * clip[1] / clip[2]) + "px";
      });
    }
  }

  window.pliantPlayers = [];
  for (const host of document.querySelectorAll(".player[data-stage]")) {
    const data = JSON.parse(document.getElementById(host.dataset.stage).textContent);
    window.pliantPlayers.push(new Player(host, data));
  }
})();
