/* Runs a robot that was compiled to WebAssembly (see targets/wasm.py and templates/page.c), draws it by the player of the page
   (player.js), and gives its numbers to sliders, a plot and the pointer. Names from models are only ever set as text. */
"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const make = (kind, parent, attributes = {}, text = "") => {
    const element = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer), whole = (text) => new Int32Array(bytes(text).buffer);
  const add = (a, b, f = 1) => [a[0] + f * b[0], a[1] + f * b[1], a[2] + f * b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const scaled = (a, f) => [f * a[0], f * a[1], f * a[2]];
  const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));
  const short = (x) => {
    const size = Math.abs(x), number = Number(x.toPrecision(5));
    return size >= 1e6 || (size > 0 && size < 1e-4) ? number.toExponential() : number.toString();
  };
  const STRETCHES = [1, 2, 4, 8, 16]; // of the step
  const GRIP = 4, SHARE = 0.25, STABLE = 0.2, FRAME = 12; // the hand's frequency [Hz] on a share of the mass; ms of steps per picture

  // -- the robot ----------------------------------------------------------------------------------------------------

  class Robot {
    static async load(text) {
      const unpacked = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
      const { instance } = await WebAssembly.instantiate(await new Response(unpacked).arrayBuffer(), {});
      return new Robot(instance.exports);
    }
    constructor(code) {
      this.code = code;
      code._initialize();
      this.failed = code.page_start();
    }
    numbers(at, count) { return new Float64Array(this.code.memory.buffer, at, count); }
    message(status) {
      const memory = new Uint8Array(this.code.memory.buffer), at = this.code.page_message(status);
      return new TextDecoder().decode(memory.slice(at, memory.indexOf(0, at)));
    }
  }

  // -- the drawing --------------------------------------------------------------------------------------------------

  function toward(d) { // the quaternion that turns z into a direction
    if (d[2] < -0.999999) return [0, 1, 0, 0];
    const w = Math.sqrt(0.5 * (1 + d[2]));
    return [w, -d[1] / (2 * w), d[0] / (2 * w), 0];
  }
  function quaternion(x, y, z) { // of a rotation with these columns
    const t = x[0] + y[1] + z[2];
    let q;
    if (t > 0) q = [1 + t, y[2] - z[1], z[0] - x[2], x[1] - y[0]];
    else if (x[0] > y[1] && x[0] > z[2]) q = [y[2] - z[1], 1 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2]];
    else if (y[1] > z[2]) q = [z[0] - x[2], y[0] + x[1], 1 + y[1] - x[0] - z[2], z[1] + y[2]];
    else q = [x[1] - y[0], z[0] + x[2], z[1] + y[2], 1 + z[2] - x[0] - y[1]];
    const size = Math.hypot(...q);
    return q.map((k) => k / size);
  }
  const product = (a, b) => [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]];

  class Drawing {
    constructor(player, data) {
      this.player = player; this.data = data;
      this.numbers = floats(data.numbers);
      this.own = this.numbers.slice();
      let at = 0;
      const take = (count) => { at += count; return at - count; };
      for (const name of ["fixed", "stretched", "coils"]) {
        const group = data[name], ends = name === "fixed" ? 1 : 2;
        group.slots = whole(group.slots); group.nodes = whole(group.nodes); group.colours = floats(group.colours);
        group.points = take(3 * ends * group.count);
        if (name === "fixed") group.turns = take(4 * group.count);
        group.sizes = take(3 * group.count);
      }
      data.stretched.shares = floats(data.stretched.shares);
      this.labels = take(3 * data.labels.length);
      for (const rod of data.rods) {
        rod.poses = take(12 * rod.places.length);
        rod.sizes = take(2 * (rod.pieces * (rod.places.length - 1) + 1));
      }
      this.changes = Object.fromEntries(Object.entries(data.changes).map(([name, [i, x]]) => [name, [whole(i), floats(x)]]));
      this.batches = player.data.batches;
      this.owner = this.batches.map((batch) => new Int32Array(2 * batch.count)); // the nodes of both ends of each copy
      for (const name of ["fixed", "stretched", "coils"]) this.paint(data[name], name === "coils" ? data.coil[0] * data.coil[1] + 2 : 1);
    }

    paint(group, each) {
      const ends = group.nodes.length / (group.count || 1);
      for (let k = 0; k < group.count; k++) for (let i = 0; i < each; i++) {
        const batch = group.slots[2 * k], slot = group.slots[2 * k + 1] + i;
        for (let j = 0; j < 3; j++) this.batches[batch].tracks.c.values[3 * slot + j] = group.colours[3 * k + j];
        this.owner[batch][2 * slot] = group.nodes[ends * k];
        this.owner[batch][2 * slot + 1] = group.nodes[ends * k + ends - 1];
      }
    }

    change(values) { // of parameters, by name: [value, value in the model]
      this.numbers.set(this.own);
      for (const [name, [value, own]] of Object.entries(values)) {
        const [at, slope] = this.changes[name] || [[], []];
        for (let k = 0; k < at.length; k++) this.numbers[at[k]] += (value - own) * slope[k];
      }
    }

    world(node, at) { // a point of a node
      const { R, p } = this, i = 9 * node, n = this.numbers, [x, y, z] = [n[at], n[at + 1], n[at + 2]];
      return [0, 1, 2].map((k) => p[3 * node + k] + R[i + k] * x + R[i + 3 + k] * y + R[i + 6 + k] * z);
    }
    local(node, point) {
      const { R, p } = this, d = [0, 1, 2].map((k) => point[k] - p[3 * node + k]);
      return [0, 1, 2].map((k) => R[9 * node + 3 * k] * d[0] + R[9 * node + 3 * k + 1] * d[1] + R[9 * node + 3 * k + 2] * d[2]);
    }
    column(node, k) { return Array.from(this.R.slice(9 * node + 3 * k, 9 * node + 3 * k + 3)); }

    put(batch, slot, place, turn, size) {
      const { p, t, s } = this.batches[batch].tracks;
      p.values.set(place, 3 * slot); t.values.set(turn, 4 * slot); s.values.set(size, 3 * slot);
    }
    between(batch, slot, a, b, radius) {
      const d = add(b, a, -1), length = Math.hypot(...d) || 1e-12;
      this.put(batch, slot, scaled(add(a, b), 0.5), toward(scaled(d, 1 / length)), [radius, radius, length]);
    }

    draw(robot, nodes) {
      const { code } = robot, { fixed, stretched, coils, arcs } = this.data, n = this.numbers;
      const at = code.page_rotations(), places = code.page_positions(), along = arcs ? code.page_arcs() : 0;
      this.R = robot.numbers(at, 9 * nodes); this.p = robot.numbers(places, 3 * nodes);
      this.arcs = arcs ? robot.numbers(along, 12 * arcs) : null;
      const turns = {};
      for (let k = 0; k < fixed.count; k++) {
        const node = fixed.nodes[k], own = Array.from(n.slice(fixed.turns + 4 * k, fixed.turns + 4 * k + 4));
        turns[node] ||= quaternion(this.column(node, 0), this.column(node, 1), this.column(node, 2));
        this.put(fixed.slots[2 * k], fixed.slots[2 * k + 1], this.world(node, fixed.points + 3 * k),
          fixed.turning[k] ? product(turns[node], own) : [1, 0, 0, 0], n.slice(fixed.sizes + 3 * k, fixed.sizes + 3 * k + 3));
      }
      for (let k = 0; k < stretched.count; k++) {
        const a = this.world(stretched.nodes[2 * k], stretched.points + 6 * k), b = this.world(stretched.nodes[2 * k + 1], stretched.points + 6 * k + 3);
        const d = add(b, a, -1), [from, to] = [stretched.shares[2 * k], stretched.shares[2 * k + 1]];
        this.between(stretched.slots[2 * k], stretched.slots[2 * k + 1], add(a, d, from), add(a, d, to), n[stretched.sizes + 3 * k]);
      }
      for (let k = 0; k < coils.count; k++) this.coil(k);
      this.data.labels.forEach((node, k) => { this.player.data.labels[k].positions = this.world(node, this.labels + 3 * k); });
      for (const rod of this.data.rods) this.rod(rod);
      const gl = this.player.gl;
      if (!gl) return;
      for (const batch of this.batches) for (const track of Object.values(batch.tracks)) {
        gl.bindBuffer(gl.ARRAY_BUFFER, track.buffer);
        gl.bufferSubData(gl.ARRAY_BUFFER, 0, track.values);
      }
      this.player.draw();
    }

    coil(k) { // a helix with straight ends
      const { coils, coil: [turns, each] } = this.data, n = this.numbers, [batch, slot] = [coils.slots[2 * k], coils.slots[2 * k + 1]];
      const a = this.world(coils.nodes[2 * k], coils.points + 6 * k), b = this.world(coils.nodes[2 * k + 1], coils.points + 6 * k + 3);
      const d = add(b, a, -1), way = Math.hypot(...d) ? unit(d) : [0, 0, 1], count = turns * each;
      const u = unit(cross(way, Math.abs(way[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0])), w = cross(way, u);
      const [radius, thick] = [n[coils.sizes + 3 * k], n[coils.sizes + 3 * k + 1]];
      let before = a;
      for (let i = 0; i <= count + 1; i++) {
        const angle = 2 * Math.PI * i / each, place = add(a, d, 0.12 + 0.76 * i / count);
        const next = i > count ? b : add(add(place, u, radius * Math.cos(angle)), w, radius * Math.sin(angle));
        this.between(batch, slot + i, before, next, thick);
        before = next;
      }
    }

    pose(rod, k) { // of a place of a rod: three columns and the position
      const [node, arc] = rod.places[k], at = rod.poses + 12 * k, { R, p } = this, n = this.numbers;
      const by = (i, x) => [0, 1, 2].map((j) => R[9 * i + j] * x[0] + R[9 * i + 3 + j] * x[1] + R[9 * i + 6 + j] * x[2]);
      const part = (i) => [n[at + i], n[at + i + 1], n[at + i + 2]];
      const base = [0, 3, 6].map((i) => by(node, part(i))), place = add(by(node, part(9)), [p[3 * node], p[3 * node + 1], p[3 * node + 2]]);
      if (arc < 0) return [...base, place];
      const turned = (x) => add(add(scaled(base[0], x[0]), base[1], x[1]), base[2], x[2]);
      const moved = (i) => turned(this.arcs.slice(12 * arc + i, 12 * arc + i + 3));
      return [moved(0), moved(3), moved(6), add(place, moved(9))];
    }

    rod(rod) { // cubic pieces through its places, as in marks.py
      const poses = rod.places.map((_, k) => this.pose(rod, k)), points = [poses[0][3]], sides = [poses[0][0]], bend = [];
      for (let k = 0; k + 1 < poses.length; k++) {
        const [a, b] = [poses[k], poses[k + 1]], chord = Math.hypot(...add(b[3], a[3], -1));
        const angle = Math.atan2(Math.hypot(...cross(a[2], b[2])), dot(a[2], b[2])), length = chord / Math.cos(angle / 4) ** 2;
        for (let i = 1; i <= rod.pieces; i++) {
          const s = i / rod.pieces, s2 = s * s, s3 = s2 * s;
          const along = add(scaled(a[2], length * (s3 - 2 * s2 + s)), b[2], length * (s3 - s2));
          points.push(add(add(along, a[3], 2 * s3 - 3 * s2 + 1), b[3], 3 * s2 - 2 * s3));
          sides.push(add(scaled(a[0], 1 - s), b[0], s));
        }
        bend.push(angle);
      }
      const ways = points.slice(1).map((x, k) => add(x, points[k], -1)), lengths = ways.map((x) => Math.hypot(...x) || 1e-12);
      const units = ways.map((x, k) => scaled(x, 1 / lengths[k])), curvature = this.bending(rod, bend, lengths);
      const n = this.numbers, [batch, first] = rod.slot, colours = this.batches[batch].tracks.c.values;
      for (let k = 0; k < ways.length; k++) {
        const at = rod.sizes + 2 * k, half = [0.5 * (n[at] + n[at + 2]), 0.5 * (n[at + 1] + n[at + 3])];
        const radius = rod.round ? half[0] : Math.min(...half), reach = (i) => { // pieces close the outer side of bends
          if (i < 0 || i + 1 >= ways.length) return 0;
          const angle = Math.acos(Math.max(-1, Math.min(1, dot(units[i], units[i + 1]))));
          return radius * Math.min(Math.tan(0.5 * Math.min(angle, 2)), 1);
        };
        const a = add(points[k], units[k], -reach(k - 1)), b = add(points[k + 1], units[k], reach(k));
        if (rod.round) this.between(batch, first + k, a, b, radius);
        else {
          const z = units[k], side = add(sides[k], sides[k + 1]), x = unit(add(side, z, -dot(side, z))), size = Math.hypot(...add(b, a, -1));
          this.put(batch, first + k, scaled(add(a, b), 0.5), quaternion(x, cross(z, x), z), [2 * half[0], 2 * half[1], size]);
        }
        colours.set(this.shade(0.5 * (curvature[k] + curvature[k + 1])), 3 * (first + k));
        const share = (k + 0.5) / ways.length * (rod.places.length - 1);
        this.owner[batch][2 * (first + k)] = rod.places[Math.floor(share)][0];
        this.owner[batch][2 * (first + k) + 1] = rod.places[Math.ceil(share)][0];
      }
    }

    bending(rod, angles, lengths) { // curvature at all points: angle per length half-way between places
      const arcs = [0];
      for (const length of lengths) arcs.push(arcs[arcs.length - 1] + length);
      const at = angles.map((_, k) => arcs[k * rod.pieces]).concat(arcs[arcs.length - 1]);
      const middles = angles.map((_, k) => 0.5 * (at[k] + at[k + 1])), values = angles.map((x, k) => x / Math.max(at[k + 1] - at[k], 1e-300));
      let k = 0;
      return arcs.map((s) => {
        while (k + 2 < middles.length && s > middles[k + 1]) k += 1;
        if (middles.length < 2 || s <= middles[0]) return values[0];
        if (s >= middles[middles.length - 1]) return values[values.length - 1];
        const share = (s - middles[k]) / (middles[k + 1] - middles[k]);
        return (1 - share) * values[k] + share * values[k + 1];
      });
    }

    shade(curvature) {
      const { scale, curvature: most } = this.data, place = most > 0 ? Math.min(1, curvature / most) * (scale.length - 1) : 0;
      const low = Math.min(Math.floor(place), scale.length - 2), share = place - low;
      return scale[low].map((x, k) => (1 - share) * x + share * scale[low + 1][k]);
    }

    // the nearest copy on a ray: its node, and the point there; some pixels beside it are enough
    hit({ eye, way, pixel }) {
      let best = null;
      this.batches.forEach((batch, b) => {
        if (!["robot", "rods"].includes(batch.layer)) return;
        const { p, t, s } = batch.tracks;
        for (let k = 0; k < batch.count; k++) {
          const q = t.values.subarray(4 * k, 4 * k + 4), place = p.values.subarray(3 * k, 3 * k + 3), far = add(place, eye, -1);
          const back = (x) => { const u = [-q[1], -q[2], -q[3]], y = add(cross(u, x), x, q[0]); return add(x, cross(u, y), 2); };
          const margin = 6 * pixel * Math.hypot(...far), from = back(scaled(far, -1)), along = back(way), half = Array.from(s.values.subarray(3 * k, 3 * k + 3));
          if (batch.shape === "cylinder" || batch.shape === "cone") half[2] /= 2;
          if (batch.shape === "cube") for (let i = 0; i < 3; i++) half[i] /= 2;
          let [near, end] = [0, Infinity];
          for (let i = 0; i < 3; i++) {
            const reach = half[i] + margin, a = (-reach - from[i]) / along[i], c = (reach - from[i]) / along[i];
            near = Math.max(near, Math.min(a, c)); end = Math.min(end, Math.max(a, c));
          }
          if (near > end || (best && near >= best.distance)) continue;
          const point = add(eye, way, 0.5 * (near + Math.min(end, near + 4 * margin + 2 * Math.max(...half))));
          const side = dot(back(add(point, place, -1)), [0, 0, 1]) > 0 ? 1 : 0, node = this.owner[b][2 * k + side];
          best = { distance: near, node, point };
        }
      });
      return best;
    }
  }

  // -- plot ---------------------------------------------------------------------------------------------------------

  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"], SPAN = 10;

  class Plot {
    constructor(host, groups) {
      this.groups = groups; this.times = []; this.rows = [];
      const bar = make("div", host, { class: "bar" }), choice = make("select", make("label", bar, {}, "Plot "), { class: "series" });
      groups.forEach((group, k) => make("option", choice, { value: String(k) }, group.name));
      this.legend = make("span", bar, { class: "legend" });
      this.canvas = make("canvas", host, { class: "plot", role: "img", "aria-label": "Plot over time" });
      choice.onchange = () => this.choose(Number(choice.value));
      this.choose(0);
    }
    choose(k) {
      this.group = this.groups[k];
      this.legend.replaceChildren();
      this.group.names.forEach((name, i) => make("span", this.legend, { class: "entry c" + i % COLOURS.length }, name));
      this.clear();
    }
    clear() { this.times.length = this.rows.length = 0; this.draw(); }
    add(time, robot) {
      if (this.times.length && time <= this.times[this.times.length - 1]) return;
      const values = this.group.read(robot);
      if (!values) return;
      this.times.push(time); this.rows.push(values);
      const old = this.times.findIndex((t) => t >= time - SPAN);
      if (old > 0) { this.times.splice(0, old); this.rows.splice(0, old); }
    }
    draw() {
      const { canvas, times, rows } = this, ratio = Math.min(window.devicePixelRatio || 1, 2), [w, h] = [canvas.clientWidth, canvas.clientHeight];
      if (!w || !h) return;
      canvas.width = w * ratio; canvas.height = h * ratio;
      const pen = canvas.getContext("2d"), left = 64, bottom = 22;
      pen.scale(ratio, ratio);
      pen.font = "12px system-ui, sans-serif"; pen.fillStyle = pen.strokeStyle = "#57616b";
      let [low, high] = [Infinity, -Infinity];
      for (const row of rows) for (const x of row) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
      if (!(low <= high)) [low, high] = [-1, 1];
      const room = Math.max(0.08 * (high - low), 1e-3 * Math.abs(high), 1e-9);
      low -= room; high += room;
      const begin = times[0] || 0, end = Math.max(begin + 2, times[times.length - 1] || 0);
      const x = (t) => left + (w - left - 8) * (t - begin) / (end - begin), y = (v) => 8 + (h - bottom - 8) * (high - v) / (high - low);
      pen.strokeStyle = "#d5dae0"; pen.textAlign = "right"; pen.textBaseline = "middle";
      for (const v of ticks(low, high, 4)) { line(pen, left, y(v), w - 8, y(v)); pen.fillText(short(v), left - 6, y(v)); }
      pen.textAlign = "center"; pen.textBaseline = "top";
      for (const t of ticks(begin, end, 6)) { line(pen, x(t), 8, x(t), h - bottom); pen.fillText(short(t) + " s", x(t), h - bottom + 4); }
      pen.textAlign = "left"; pen.fillText(this.group.unit ? "[" + this.group.unit + "]" : "", left + 4, 10);
      pen.lineWidth = 1.6; pen.lineJoin = "round";
      this.group.names.forEach((_, i) => {
        pen.strokeStyle = COLOURS[i % COLOURS.length];
        pen.beginPath();
        times.forEach((t, k) => { if (k) pen.lineTo(x(t), y(rows[k][i])); else pen.moveTo(x(t), y(rows[k][i])); });
        pen.stroke();
      });
    }
  }
  function line(pen, a, b, c, d) { pen.beginPath(); pen.moveTo(a, b); pen.lineTo(c, d); pen.stroke(); }
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 5, 10].find((k) => k * power >= raw * 0.999);
    const out = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) out.push(Number((k * step).toPrecision(12)));
    return out;
  }

  // -- the page -----------------------------------------------------------------------------------------------------

  class Live {
    constructor(robot, data) {
      this.robot = robot; this.data = data; this.code = robot.code;
      this.playing = false; this.speed = 1; this.rest = 0; this.cost = 0.1; this.pace = 1; this.changed = {}; this.grip = 1; this.stretch = 1; this.real = 1;
      this.player = window.pliantPlayers[0];
      this.drawing = new Drawing(this.player, data.drawing);
      const host = document.getElementById("controls");
      this.controls(host);
      this.warning = make("p", host, { class: "warning", role: "alert", hidden: "" });
      this.panel("Inputs", data.inputs, (slider, k) => this.input(slider, k));
      this.panel("Controllers", data.controllers, (name, k, parent) => this.controller(name, k, parent));
      this.panel("Parameters", data.parameters, (slider, k) => this.parameter(slider, k));
      for (const note of data.notes) make("p", host, { class: "note" }, note);
      this.plot = new Plot(document.getElementById("plot"), this.series());
      this.hand();
      if (robot.failed) this.fail(robot.failed);
      this.show();
    }

    series() {
      const slice = (at, first, count) => at ? Array.from(this.robot.numbers(at, first + count).slice(first)) : null;
      const groups = this.data.outputs.map(({ name, unit, names, first }) =>
        ({ name, unit, names, read: () => slice(this.code.page_outputs(), first, names.length) }));
      for (const { name, unit, names, first } of this.data.coordinates) {
        groups.push({ name, unit, names, read: () => slice(this.code.page_q(), first, names.length) });
      }
      groups.push({ name: "energy", unit: "J", names: ["kinetic", "potential"], read: () => slice(this.code.page_energies(), 0, 2) });
      return groups;
    }

    controls(host) {
      const bar = make("div", host, { class: "bar", role: "group", "aria-label": "Simulation" });
      this.button = make("button", bar, { type: "button", class: "play" }, "Run");
      this.button.onclick = () => this.play(!this.playing);
      make("button", bar, { type: "button", class: "restart" }, "Restart").onclick = () => this.reset();
      const speed = make("select", bar, { "aria-label": "Speed", class: "speed" });
      for (const factor of [0.05, 0.1, 0.25, 0.5, 1, 2, 4]) make("option", speed, { value: String(factor) }, factor + " x");
      speed.value = "1";
      speed.onchange = () => { this.speed = this.real = Number(speed.value); };
      const step = make("select", make("label", bar, { title: "Steps become longer on devices that are slower than real time" }, "Step "), { class: "step" });
      make("option", step, { value: "" }, "automatic");
      for (const n of STRETCHES) make("option", step, { value: String(n) }, short(1000 * n * this.data.step) + " ms");
      step.value = this.data.stretches ? "" : "1";
      step.onchange = () => { this.fixed = step.value !== ""; this.stretch = Number(step.value) || 1; this.pace = 1; };
      this.fixed = !this.data.stretches;
      this.clock = make("output", bar, { class: "clock" });
      const grip = make("select", make("label", bar, { title: "Strength of the spring between the pointer and the robot" }, "Pull "), { class: "grip" });
      for (const [factor, word] of [[0.05, "gentle"], [0.3, "soft"], [1, "firm"], [4, "strong"]]) make("option", grip, { value: String(factor) }, word);
      grip.value = "1";
      grip.onchange = () => { this.grip = Number(grip.value); };
      this.player.canvas.addEventListener("keydown", (e) => { if (e.key === " ") { this.play(!this.playing); e.preventDefault(); } });
    }

    panel(title, items, fill) {
      if (!items.length) return;
      const box = make("fieldset", document.getElementById("controls"), { class: "sliders" });
      make("legend", box, {}, title);
      items.forEach((item, k) => { const row = make("div", box, { class: "row" }); this.row = row; fill(item, k, row); });
    }

    slider({ name, unit, value, low, high, hint }, set) {
      const row = this.row, id = "s" + document.querySelectorAll("input[type=range]").length;
      const label = make("label", row, { for: id, title: name }, name), step = (high - low) / 400;
      if (hint) label.title = name + ": " + hint;
      const range = make("input", row, { type: "range", id, min: String(low), max: String(high), step: "any" });
      const number = make("input", row, { type: "number", step: "any", "aria-label": name });
      make("span", row, { class: "unit" }, unit);
      range.value = String(value); number.value = short(value);
      range.addEventListener("keydown", (e) => {
        const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[e.key];
        if (way) { range.value = String(Number(range.value) + way * step); range.dispatchEvent(new Event("input")); e.preventDefault(); }
      });
      range.oninput = () => { number.value = short(Number(range.value)); set(Number(range.value)); };
      number.onchange = () => {
        const given = Number(number.value);
        if (number.value === "" || !Number.isFinite(given)) { number.value = short(Number(range.value)); return; }
        range.value = String(given);
        set(given);
      };
      return { range, number };
    }

    input(slider, k) {
      const box = { model: true }, controls = this.slider(slider, (value) => {
        box.model = false;
        if (follow) follow.checked = false;
        this.check(this.code.page_set_input(slider.index, value, this.data.lead));
        this.idle();
      });
      const follow = slider.driven ? make("input", this.row, { type: "checkbox", title: "as in the model" }) : null;
      if (follow) {
        follow.checked = true;
        follow.setAttribute("aria-label", slider.name + " as in the model");
        follow.onchange = () => {
          box.model = follow.checked;
          this.check(follow.checked ? this.code.page_release_input(slider.index)
            : this.code.page_set_input(slider.index, Number(controls.range.value), this.data.lead));
        };
      }
      (this.inputs ||= []).push({ slider, box, follow, ...controls });
    }

    parameter(slider) {
      this.slider(slider, (value) => {
        this.changed[slider.name] = [value, slider.own];
        this.drawing.change(this.changed);
        this.check(this.code.page_set_parameter(slider.index, value));
        if (!this.playing && this.code.page_time() === 0) this.check(this.code.page_reset()); // the start follows
        this.idle();
      });
    }

    controller({ name, note, inputs }, k, row) {
      const label = make("label", row, note ? { title: note } : {}), box = make("input", label, { type: "checkbox", class: "controller" });
      label.append(" " + name);
      box.checked = true;
      box.onchange = () => { this.check(this.code.page_control(k, box.checked ? 1 : 0)); this.idle(); };
      (this.loops ||= []).push({ box, inputs });
    }

    idle() { if (!this.playing) this.show(); }

    check(status) {
      if (status) this.fail(status);
      return !status;
    }
    fail(status) {
      this.play(false);
      this.warning.textContent = "Stopped: " + this.robot.message(status) + ". Restart begins anew with the values of the sliders.";
      this.warning.hidden = false;
      this.stopped = true;
    }

    reset() {
      this.stopped = false; this.warning.hidden = true; this.rest = 0;
      this.check(this.code.page_reset());
      this.plot.clear();
      this.show();
    }

    play(on) {
      if (on && this.stopped) this.reset();
      this.playing = on && !this.stopped;
      this.button.textContent = this.playing ? "Pause" : "Run";
      this.before = null;
      if (this.playing) requestAnimationFrame((now) => this.frame(now));
    }

    frame(now) {
      if (!this.playing) return;
      const elapsed = this.before === null ? 0 : now - this.before, passed = Math.min(elapsed, 100), from = this.code.page_time();
      this.before = now;
      const wanted = this.speed * passed / 1000 + this.rest, step = this.stretch * this.data.step;
      let left = Math.floor(wanted / step);
      const asked = left, begin = performance.now();
      while (left > 0 && performance.now() - begin < FRAME * 2 && !this.stopped) {
        const steps = Math.max(1, Math.min(left, Math.floor(4 / this.cost))), start = performance.now();
        if (!this.check(this.code.page_advance(steps, step))) break;
        this.cost = 0.7 * this.cost + 0.3 * Math.max((performance.now() - start) / steps, 1e-4);
        left -= steps;
      }
      this.rest = left > 0 ? 0 : wanted - asked * step;
      if (asked) this.pace += 0.05 * ((asked - left) / asked - this.pace);
      if (elapsed > 0 && elapsed < 1000) this.real += 0.05 * (1000 * (this.code.page_time() - from) / elapsed - this.real);
      if (!this.fixed && this.pace < 0.85 && this.stretch < STRETCHES[STRETCHES.length - 1]) { this.stretch *= 2; this.pace = this.cost = 1; }
      this.show();
      if (this.playing) requestAnimationFrame((next) => this.frame(next));
    }

    show() {
      const time = this.code.page_time();
      this.drawing.draw(this.robot, this.data.nodes);
      this.line();
      this.plot.add(time, this.robot);
      this.plot.draw();
      const slow = this.playing && this.real < 0.9 * this.speed ? " (" + Math.round(100 * this.real) + " % of real time)" : "";
      const long = this.stretch > 1 && !this.fixed ? ", steps of " + short(1000 * this.stretch * this.data.step) + " ms" : "";
      this.clock.textContent = time.toFixed(2) + " s" + long + slow;
      for (const { slider, box, range, number } of this.inputs || []) {
        const commanded = (this.loops || []).some((loop) => loop.box.checked && loop.inputs.includes(slider.name));
        if (!box.model && !commanded) continue;
        const value = this.code.page_input(slider.index);
        range.value = String(value);
        if (document.activeElement !== number) number.value = short(value);
      }
    }

    // -- the pointer pulls what it grasps; elsewhere it turns the view

    hand() {
      const { canvas } = this.player, turn = canvas.onpointerdown, move = canvas.onpointermove, up = canvas.onpointerup;
      const ray = (e) => { const box = canvas.getBoundingClientRect(); return this.player.ray(e.clientX - box.left, e.clientY - box.top); };
      this.rope = make("canvas", this.player.over, { class: "rope" });
      canvas.onpointerdown = (e) => {
        const hit = e.button === 0 && !e.shiftKey && this.player.gl ? this.drawing.hit(ray(e)) : null;
        if (!hit || !this.data.movable[hit.node]) { turn(e); return; }
        canvas.setPointerCapture(e.pointerId);
        canvas.focus({ preventScroll: true });
        this.grasp(hit.node, this.drawing.local(hit.node, hit.point), hit.point);
        if (!this.held) turn(e); // a point that cannot move
        else if (!this.playing) this.play(true);
      };
      canvas.onpointermove = (e) => {
        if (!this.held) { move(e); return; }
        const { eye, way } = ray(e), { toward } = this.player;
        this.pull(add(eye, way, dot(add(this.held.start, eye, -1), toward) / dot(way, toward)));
      };
      canvas.onpointerup = canvas.onpointercancel = (e) => { if (this.held) this.release(); else up(e); };
    }

    grasp(node, local, start) {
      const mass = this.code.page_mass(node, ...local), all = this.data.mass, step = this.stretch * this.data.step;
      if (!Number.isFinite(mass)) return;
      const most = STABLE * mass / step ** 2, wanted = this.grip * Math.max(mass, SHARE * all) * (2 * Math.PI * GRIP) ** 2;
      const stiffness = Math.min(wanted, most), damping = Math.min(2 * Math.sqrt(stiffness * mass), STABLE * mass / step);
      this.held = { node, local, start, target: start, stiffness, damping };
      this.pull(start);
    }
    pull(target) {
      const { node, local, stiffness, damping } = this.held;
      this.held.target = target;
      this.code.page_pull(node, ...local, ...target, stiffness, damping);
    }
    release() {
      this.code.page_pull(0, 0, 0, 0, 0, 0, 0, 0, 0);
      this.held = null;
      this.idle();
    }

    line() { // from the grasped point to the pointer
      const { rope, player } = this, pen = rope ? rope.getContext("2d") : null;
      if (!pen || !player.gl || (!this.held && !this.roped)) return;
      this.roped = Boolean(this.held);
      const [w, h] = [player.canvas.clientWidth, player.canvas.clientHeight];
      rope.width = w; rope.height = h;
      if (!this.held) return;
      const view = player.matrix(w / h), { node, local, target } = this.held, { R, p } = this.drawing;
      const place = [0, 1, 2].map((k) => p[3 * node + k] + R[9 * node + k] * local[0] + R[9 * node + 3 + k] * local[1] + R[9 * node + 6 + k] * local[2]);
      const seen = (x) => {
        const c = [0, 1, 3].map((r) => view[r] * x[0] + view[4 + r] * x[1] + view[8 + r] * x[2] + view[12 + r]);
        return [w * (0.5 + 0.5 * c[0] / c[2]), h * (0.5 - 0.5 * c[1] / c[2])];
      };
      const [a, b] = [seen(place), seen(target)];
      pen.strokeStyle = pen.fillStyle = "#d55e00"; pen.lineWidth = 2;
      line(pen, ...a, ...b);
      for (const [x, y] of [a, b]) { pen.beginPath(); pen.arc(x, y, 4, 0, 7); pen.fill(); }
    }

    // what tests call: steps without a clock
    advance(steps) { const fine = this.check(this.code.page_advance(steps, this.data.step)); this.show(); return fine; }
    q() { return Array.from(this.robot.numbers(this.code.page_q(), this.data.positions)); }
  }

  window.pliantLive = Robot.load(read("module")).then((robot) => {
    const live = new Live(robot, read("live"));
    document.body.dataset.ready = "yes";
    window.live = live;
    if (live.data.autoplay && !matchMedia("(prefers-reduced-motion: reduce)").matches && !navigator.webdriver) live.play(true);
    return live;
  }).catch((reason) => {
    make("p", document.getElementById("controls"), { class: "warning", role: "alert" },
      "This browser cannot run the robot: " + reason.message + ". It needs WebAssembly with vector instructions (browsers of 2023 and later).");
    throw reason;
  });
})();
