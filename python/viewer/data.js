// The scene description in the page, with its columns as typed arrays. Names are text: nothing here makes HTML of them.

const TYPES = { float64: Float64Array, float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

// numbers are those of a list of the document: an array, in which null is NaN, or bytes in base64, little-endian.
function numbers(list) {
    if (list === undefined) return null;
    if (Array.isArray(list)) return Float64Array.from(list, (x) => (x === null ? NaN : x));
    const [name] = Object.keys(list);
    const raw = atob(list[name]);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new TYPES[name](bytes.buffer);
}

const bound = (x) => (x === "inf" ? Infinity : x === "-inf" ? -Infinity : x === null ? NaN : x);

const LISTS = { shapes: ["points"], worlds: ["bodies", "times", "poses"] };

// decoded is a document whose lists are typed arrays. traces is a map by the position of their rows.
export function decoded(text) {
    const scene = JSON.parse(text);
    for (const [list, names] of Object.entries(LISTS)) {
        for (const item of scene[list] ?? []) for (const name of names) item[name] = numbers(item[name]);
    }
    scene.worlds ??= [];
    const { count, ...columns } = scene.rows;
    for (const name of Object.keys(columns)) scene.rows[name] = numbers(columns[name]);
    scene.steps = new Map((scene.traces ?? []).map((t) => [t.row, t]));
    for (const t of scene.traces ?? []) {
        for (const s of [t, ...t.steps]) [s.lower, s.upper] = [bound(s.lower), bound(s.upper)];
    }
    return scene;
}

// vector is element i of a column of three numbers, null where it is not known.
export function vector(column, i) {
    if (!column) return null;
    const v = [column[3 * i], column[3 * i + 1], column[3 * i + 2]];
    return v.every(Number.isFinite) ? v : null;
}

// pose is element i of a column of poses, null where it is not known.
export function pose(column, i) {
    const p = Array.from(column.subarray(7 * i, 7 * i + 7));
    return p.every(Number.isFinite) ? p : null;
}

export const CONTACT = new Set(["touching", "penetrating", "contact"]);
export const UNANSWERED = new Set(["undecided", "invalid"]);

// interpolated are the poses of all places of a world at a time: positions along lines, rotations by the shorter arc.
export function interpolated(world, time) {
    const { times, poses, bodies } = world;
    let k = 0;
    while (k + 2 < times.length && times[k + 1] <= time) k++;
    const last = Math.min(k + 1, times.length - 1);
    const share = last > k ? Math.min(Math.max((time - times[k]) / (times[last] - times[k]), 0), 1) : 0;
    return Array.from(bodies, (_, place) => {
        const a = pose(poses, k * bodies.length + place);
        const b = pose(poses, last * bodies.length + place);
        return a && b ? between(a, b, share) : null;
    });
}

function between(a, b, share) {
    const position = [0, 1, 2].map((i) => (1 - share) * a[i] + share * b[i]);
    const p = a.slice(3);
    let q = b.slice(3);
    if (p.reduce((sum, x, i) => sum + x * q[i], 0) < 0) q = q.map((x) => -x);
    const angle = 2 * Math.atan2(Math.hypot(...q.map((x, i) => x - p[i])), Math.hypot(...q.map((x, i) => x + p[i])));
    if (!(angle > 1e-9)) return [...position, ...p];
    const [u, v] = [Math.sin((1 - share) * angle) / Math.sin(angle), Math.sin(share * angle) / Math.sin(angle)];
    return [...position, ...p.map((x, i) => u * x + v * q[i])];
}
