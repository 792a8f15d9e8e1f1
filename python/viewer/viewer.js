// The page of a scene description: a table of rows, the pair of the row, its Minkowski difference, its steps and its
// time line. The fragment of the address names what is shown, #row=7&step=3, so that a link leads there.
import { CONTACT, UNANSWERED, decoded, interpolated, pose, vector } from "./data.js";
import { Difference } from "./difference.js";
import { COLORS, Stage, bounding, composed, hull, moved } from "./stage.js";
import { Table } from "./table.js";

const scene = decoded(document.getElementById("data").textContent);
const rows = scene.rows;
const $ = (id) => document.getElementById(id);
const stage = new Stage($("view"));
const difference = new Difference(new Stage($("difference"), false));
const forms = scene.shapes.map(() => null);
const state = { row: -1, step: 0, time: 0, playing: false, framed: false };

const form = (shape) => (forms[shape] ??= hull(scene.shapes[shape].points));
const status = (i) => scene.statuses[rows.status[i]];
const number = (x, digits = 9) => (Number.isNaN(x) ? "" : Number(x.toPrecision(digits)).toString());

$("title").textContent = scene.title;
document.title = scene.title;

// world is that of a row, null if the row has none or its world stands still.
function world(i) {
    const w = rows.world ? scene.worlds[rows.world[i]] : null;
    return w && w.times.length > 1 ? w : null;
}

// sides are both bodies of a row, with the poses that they have there, or at the time of the time line.
function sides(i, bodies) {
    return ["a", "b"].map((s) => {
        const place = bodies && rows[`place_${s}`] ? rows[`place_${s}`][i] : -1;
        const at = place >= 0 ? bodies[place] : pose(rows[`pose_${s}`], i);
        return { body: scene.bodies[rows[`body_${s}`][i]] ?? null, pose: at, place, color: COLORS[s] };
    });
}

const parts = (side) =>
    side.body && side.pose ? side.body.parts.map((p) => [p.shape, composed(side.pose, p.pose)]) : [];

const halfspace = (side) => parts(side).some(([shape]) => scene.shapes[shape].kind === "halfspace");

// undrawn says why the Minkowski difference of a pair is not drawn, "" if it is.
function undrawn(pair) {
    for (const [k, name] of ["A", "B"].entries()) {
        if (!pair[k].body || !pair[k].pose) return `No A − B: this row names no body ${name} at a known pose.`;
        if (halfspace(pair[k])) return `A − B is not drawn: body ${name} is a half-space, so it is unbounded.`;
    }
    return "";
}

function points(side) {
    return parts(side).flatMap(([shape, at]) => moved(scene.shapes[shape].points, at));
}

// along are points of the bodies of a row at some times of its time line, of a row without bodies those of all places.
function along(timed, i, pair) {
    const { times, bodies } = timed;
    const places = pair.map((s) => s.place).filter((p) => p >= 0);
    const own = places.length ? places : Array.from(bodies, (_, place) => place);
    const out = [];
    for (let k = 0; k < times.length; k += Math.ceil(times.length / 20)) {
        const at = interpolated(timed, times[k]);
        for (const p of own) if (bodies[p] >= 0) out.push(...points({ body: scene.bodies[bodies[p]], pose: at[p] }));
    }
    return out;
}

// lowestOf is the least z of the bodies of a world at some of its times.
function lowestOf(timed) {
    let z = Infinity;
    for (let k = 0; k < timed.times.length; k += Math.ceil(timed.times.length / 20)) {
        interpolated(timed, timed.times[k]).forEach((pose, place) => {
            const body = scene.bodies[timed.bodies[place]] ?? null;
            for (const p of points({ body, pose })) z = Math.min(z, p[2]);
        });
    }
    return z;
}

function draw() {
    const i = state.row;
    stage.clear();
    stage.say("");
    if (i < 0) return stage.draw();
    const timed = world(i);
    const bodies = timed ? interpolated(timed, state.time) : null;
    const asked = rows.time?.[i] ?? 0;
    const here = !timed || Math.abs(state.time - asked) < 1e-9 * (1 + Math.abs(asked)); // the answer is of this time
    const pair = sides(i, bodies);
    const all = pair.map(points);
    const witnesses = [vector(rows.witness_a, i), vector(rows.witness_b, i)];
    const n = vector(rows.normal, i);
    const extent = [...all.flat(), ...witnesses.filter(Boolean)];
    const others = (bodies ?? []).map((at, place) => ({
        body: scene.bodies[timed.bodies[place]] ?? null, pose: at, place, color: COLORS.other,
    })).filter((o) => o.place !== pair[0].place && o.place !== pair[1].place);
    if (!extent.length) extent.push(...others.flatMap(points));
    if (timed && !state.framed) extent.push(...along(timed, i, pair));
    const ball = bounding(extent);
    const r = (state.radius = state.framed && timed ? state.radius : ball.radius);
    if (!state.framed) stage.frame(ball);
    state.framed = true;
    if (![...pair, ...others].some(halfspace)) {
        const lowest = [...all.flat(), ...others.flatMap(points)].reduce((z, p) => Math.min(z, p[2]), Infinity);
        if (!timed) state.floor = lowest;
        else if (state.floorOf !== timed) [state.floor, state.floorOf] = [lowestOf(timed), timed];
        if (Number.isFinite(state.floor)) stage.ground([ball.center.x, ball.center.y, state.floor], r);
    }
    for (const side of [...pair, ...others]) {
        for (const [shape, at] of parts(side)) {
            if (scene.shapes[shape].kind === "halfspace") stage.halfspace(at, side.color, 6 * r);
            else stage.solid(form(shape), at, side.color, pair.includes(side) ? 0.86 : 0.55);
        }
    }
    if (here) answer(i, pair, witnesses, n, r);
    const trace = here ? scene.steps.get(i) : null;
    const step = trace?.steps[state.step];
    if (step?.support) {
        stage.dot(step.support.a, 0.022 * r, COLORS.step);
        stage.dot(step.support.b, 0.022 * r, COLORS.step);
        stage.arrow(step.support.a, step.direction, 0.5 * r, COLORS.step);
        for (const v of step.simplex ?? []) {
            stage.dot(v.a, 0.014 * r, COLORS.simplex);
            stage.dot(v.b, 0.014 * r, COLORS.simplex);
        }
    }
    stage.draw();
    const two = (of) => (here && of[0] && of[1] ? of : null);
    const key = `${i} ${timed ? state.time : ""}`;
    if ($("differences").checked) {
        const centers = two([vector(rows.center_a, i), vector(rows.center_b, i)]);
        const apart = two(scene.value === "distance" ? witnesses : []);
        difference.draw(key, all[0], all[1], undrawn(pair), { witnesses: apart, centers, trace, step });
    }
    facts(i, trace, step);
}

// answer draws what the row states: witnesses, normal, error ball, support planes, scaled shapes, contact points.
function answer(i, pair, witnesses, n, r) {
    const gap = rows.gap[i];
    for (const w of witnesses) if (w) stage.dot(w, 0.016 * r, COLORS.witness);
    if (n && witnesses[0]) stage.arrow(witnesses[0], n, 0.35 * r, COLORS.normal);
    state.magnified = 0;
    if (gap > 0 && witnesses[1] && scene.value === "distance") {
        stage.ball(witnesses[1], gap, COLORS.gap);
        if (gap < 0.02 * r) {
            state.magnified = 10 ** Math.ceil(Math.log10((0.04 * r) / gap));
            stage.ball(witnesses[1], gap * state.magnified, COLORS.gap, true);
        }
    }
    const w = witnesses[0];
    if ($("planes").checked && n && w) {
        for (const s of ["plane_a", "plane_b"]) {
            const offset = rows[s]?.[i];
            if (offset === undefined || Number.isNaN(offset)) continue;
            const along = offset - (w[0] * n[0] + w[1] * n[1] + w[2] * n[2]);
            stage.plane(w.map((x, k) => x + along * n[k]), n, 1.3 * r);
        }
    }
    const factor = rows.value[i];
    if (scene.value === "factor" && factor > 0 && factor < 1e3) {
        for (const [side, s] of [[pair[0], "center_a"], [pair[1], "center_b"]]) {
            const center = vector(rows[s], i);
            if (!center) continue;
            for (const [shape, at] of parts(side)) {
                if (scene.shapes[shape].kind !== "halfspace") stage.grown(form(shape), at, side.color, factor, center);
            }
            stage.dot(center, 0.012 * r, side.color);
        }
    }
    for (let k = rows.contact_begin?.[i] ?? 0; k < (rows.contact_begin?.[i + 1] ?? 0); k++) {
        const [at, along] = [vector(rows.contact_point, k), vector(rows.contact_normal, k)];
        stage.dot(at, 0.02 * r, COLORS.contact);
        stage.arrow(at, along, 0.25 * r, COLORS.contact);
    }
}

function facts(i, trace, step) {
    const lines = [`row ${rows.row[i]}: ${status(i)}`];
    const w = rows.world ? scene.worlds[rows.world[i]] : null;
    if (w) lines.push(`world ${w.world}`);
    for (const s of ["a", "b"]) {
        const body = scene.bodies[rows[`body_${s}`][i]];
        const place = rows[`place_${s}`]?.[i] ?? -1;
        const at = place >= 0 ? `place ${place}: ` : "";
        if (body || !w) lines.push(`${s.toUpperCase()}  ${at}${body?.name ?? "not known"}`);
    }
    if (rows.time) lines.push(`time ${number(rows.time[i])} ${scene.time_unit}`);
    if (!Number.isNaN(rows.value[i])) lines.push(`${scene.value} ${rows.value[i]}`);
    if (!Number.isNaN(rows.gap[i])) lines.push(`gap ±${number(rows.gap[i], 3)}`);
    if (state.magnified) lines.push(`error ball drawn ×${number(state.magnified)}`);
    const n = vector(rows.normal, i);
    if (n) lines.push(`normal ${n.map((x) => x.toFixed(6)).join(", ")}`);
    const contacts = rows.contact_begin ? rows.contact_begin[i + 1] - rows.contact_begin[i] : 0;
    if (contacts) lines.push(`${contacts} contact points`);
    $("facts").textContent = lines.join("\n");
    $("trace").hidden = !trace;
    if (!trace) return;
    const [low, high] = [rows.value[i] - rows.gap[i], rows.value[i] + rows.gap[i]];
    const told = [
        `step ${state.step + 1} of ${trace.steps.length}: ${step.solver}, ` +
            `evaluation ${step.evaluation} of ${trace.evaluations}`,
        `lower ${step.lower}`,
        `upper ${step.upper}`,
        `width ${number(step.upper - step.lower, 3)}`,
    ];
    if (step.gradient !== null) told.push(`gradient ${number(step.gradient, 3)}, region ${number(step.region, 3)}`);
    if (trace.upper < low || trace.lower > high) told.push("THE STORED ANSWER LIES OUTSIDE THE BOUNDS OF THE TRACE");
    $("bounds").textContent = told.join("\n");
    chart(trace);
}

// chart draws the distance of both bounds of every step from the answer, on a scale of powers of ten.
function chart(trace) {
    const canvas = $("chart");
    const [w, h] = [(canvas.width = canvas.clientWidth || 280), (canvas.height = 90)];
    const c = canvas.getContext("2d");
    const floor = 1e-16;
    const level = (x) => Math.log10(Math.max(Math.abs(x - trace.value), floor));
    const y = (x) => 6 + ((1 - level(x)) / (1 - Math.log10(floor))) * (h - 12);
    const x = (k) => 6 + (k / Math.max(trace.steps.length - 1, 1)) * (w - 12);
    for (const [name, color] of [["lower", "#1e8449"], ["upper", "#c0392b"]]) {
        c.fillStyle = color;
        trace.steps.forEach((s, k) => Number.isFinite(s[name]) && c.fillRect(x(k) - 1, y(s[name]) - 1, 3, 3));
    }
    c.fillStyle = "rgba(0,0,0,.25)";
    c.fillRect(x(state.step), 0, 1, h);
}

// show makes a row the current one; a step and a time, if they are given, otherwise the answer.
function show(i, { step = Infinity, time = NaN, quiet = false } = {}) {
    const same = state.row >= 0 && world(i) && world(state.row) === world(i);
    state.row = i;
    if (!same) state.framed = false;
    const trace = scene.steps.get(i);
    state.step = trace ? Math.min(Math.max(step, 0), trace.steps.length - 1) : 0;
    const w = world(i);
    $("timeline").hidden = !w;
    if (w) {
        state.time = Number.isNaN(time) ? (rows.time?.[i] ?? w.times[0]) : time;
        Object.assign($("time"), { min: w.times[0], max: w.times[w.times.length - 1], value: state.time });
        clock();
    }
    if (trace) Object.assign($("step"), { min: 0, max: trace.steps.length - 1, value: state.step });
    table.choose(i);
    draw();
    if (!quiet) link();
}

const clock = () => ($("clock").textContent = `${number(state.time, 4)} ${scene.time_unit}`);

// link writes what is shown into the address.
function link() {
    const to = new URLSearchParams({ row: rows.row[state.row] });
    const trace = scene.steps.get(state.row);
    if (trace && state.step < trace.steps.length - 1) to.set("step", state.step + 1);
    if (world(state.row)) to.set("time", number(state.time));
    if (table.sorted !== "value") to.set("sort", table.sorted);
    try {
        history.replaceState(null, "", `#${to}`);
    } catch {
        // A page inside a notebook has no address of its own.
    }
}

// follow shows what the address names.
function follow() {
    const from = new URLSearchParams(location.hash.slice(1));
    if (from.has("sort")) table.sort(from.get("sort"));
    const at = from.has("row") ? rows.row.indexOf(Number(from.get("row"))) : -1;
    $("missing").textContent = from.has("row") && at < 0 ? `This page has no row ${from.get("row")}.` : "";
    if (!rows.count) return;
    show(at >= 0 ? at : table.order[0], {
        step: from.has("step") ? Number(from.get("step")) - 1 : Infinity,
        time: from.has("time") ? Number(from.get("time")) : NaN,
        quiet: true,
    });
}

// near is the row of the same pair whose time on the same time line is the nearest, if there are several.
function near(i, time) {
    if (!rows.time || !rows.place_a) return i;
    let [best, off] = [i, Infinity];
    for (let k = 0; k < rows.count; k++) {
        if (rows.world[k] !== rows.world[i]) continue;
        if (rows.place_a[k] !== rows.place_a[i] || rows.place_b[k] !== rows.place_b[i]) continue;
        const d = Math.abs(rows.time[k] - time);
        if (d < off) [best, off] = [k, d];
    }
    return best;
}

function moveTo(time) {
    state.time = time;
    $("time").value = time;
    clock();
    const row = near(state.row, time);
    if (row !== state.row) {
        state.row = row;
        table.choose(row);
    }
    draw();
}

// play moves along the time line: a second of the motion in a second, other units so that all takes about six seconds.
function play() {
    state.playing = !state.playing;
    $("play").textContent = state.playing ? "stop" : "play";
    if (!state.playing) return link();
    let before = performance.now();
    const tick = (now) => {
        const w = world(state.row);
        if (!state.playing || !w) return;
        const [first, last] = [w.times[0], w.times[w.times.length - 1]];
        const speed = scene.time_unit === "s" ? 1 : (last - first) / 6;
        const time = state.time + (speed * (now - before)) / 1000;
        before = now;
        moveTo(time > last ? first : time);
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
}

function stepTo(k) {
    const trace = scene.steps.get(state.row);
    if (!trace) return;
    state.step = Math.min(Math.max(k, 0), trace.steps.length - 1);
    $("step").value = state.step;
    draw();
    link();
}

const table = new Table(
    scene, $("head"), $("body"),
    [
        { name: "row", text: (i) => rows.row[i], key: (i) => rows.row[i] },
        { name: "value", text: (i) => number(rows.value[i], 5), key: (i) => rows.value[i] },
        { name: "gap", text: (i) => number(rows.gap[i], 2), key: (i) => rows.gap[i] },
        { name: "status", text: status, key: (i) => (UNANSWERED.has(status(i)) ? 0 : CONTACT.has(status(i)) ? 1 : 2) },
    ],
    show,
);
$("planes").onchange = draw;
$("differences").onchange = () => {
    $("difference").hidden = !$("differences").checked;
    resize();
    draw();
};
$("step").oninput = (e) => stepTo(Number(e.target.value));
$("back").onclick = () => stepTo(state.step - 1);
$("forth").onclick = () => stepTo(state.step + 1);
$("time").oninput = (e) => moveTo(Number(e.target.value));
$("time").onchange = link;
$("play").onclick = play;
window.addEventListener("keydown", (e) => {
    if (e.target.matches("input[type=range]")) return;
    if (e.key === "ArrowLeft") stepTo(state.step - 1);
    if (e.key === "ArrowRight") stepTo(state.step + 1);
    if (e.key === " " && world(state.row)) {
        e.preventDefault();
        play();
    }
});

function resize() {
    stage.resize();
    difference.stage.resize();
    table.draw();
}
window.addEventListener("resize", resize);
window.addEventListener("hashchange", follow);
resize();
table.sort(rows.value.some((x) => !Number.isNaN(x)) ? "value" : "row");
follow();
// What tests and people at the console may ask: where a point of the world is drawn, and what is shown.
window.clearanceView = {
    state, scene, show, screen: (p) => stage.screen(p),
    dots: (name) => ({ pair: stage.dots(COLORS[name]), difference: difference.stage.dots(COLORS[name]) }),
};
document.documentElement.dataset.ready = String(rows.count);
