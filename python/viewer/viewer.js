// The viewer of rows: both shapes of a row, witnesses, normal and support planes, and a list of rows to choose from.
// The page has the data as JSON in the element "data": shapes as points whose convex hulls they are, and rows.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";

const COLORS = { a: 0x3b78c2, b: 0xe0812f, plane: 0x777777, normal: 0xc0392b, witness: 0x111111 };
const data = JSON.parse(document.getElementById("data").textContent);
const view = document.getElementById("view");
const list = document.getElementById("list");
const facts = document.getElementById("facts");

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);
const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
view.appendChild(renderer.domElement);
const scene = new THREE.Scene();
scene.background = new THREE.Color(0xffffff);
scene.add(new THREE.HemisphereLight(0xffffff, 0x888888, 2.2));
const sun = new THREE.DirectionalLight(0xffffff, 1.2);
scene.add(sun);
const camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
const controls = new OrbitControls(camera, renderer.domElement);
const shown = new THREE.Group();
scene.add(shown);

const geometries = new Map();
function geometry(index) {
    if (!geometries.has(index)) {
        const points = data.shapes[index].points.map((p) => new THREE.Vector3(...p));
        let made = new THREE.BufferGeometry().setFromPoints(points);
        try {
            if (points.length > 3) made = new ConvexGeometry(points);
        } catch {
            // A flat hull has no volume: its points are drawn.
        }
        geometries.set(index, made);
    }
    return geometries.get(index);
}

// solid draws a shape at a pose (x, y, z, then the quaternion w, x, y, z); a half-space is a square of the given size.
function solid(index, pose, color, size) {
    const half = data.shapes[index].kind === "halfspace";
    const form = half ? new THREE.PlaneGeometry(size, size) : geometry(index);
    const flat = !half && !form.index && !form.getAttribute("normal");
    const material = flat
        ? new THREE.PointsMaterial({ color, size: 6, sizeAttenuation: false })
        : new THREE.MeshStandardMaterial({
              color, flatShading: true, transparent: true, opacity: 0.72, side: THREE.DoubleSide, depthWrite: !half,
          });
    const mesh = flat ? new THREE.Points(form, material) : new THREE.Mesh(form, material);
    mesh.position.set(pose[0], pose[1], pose[2]);
    mesh.quaternion.set(pose[4], pose[5], pose[6], pose[3]).normalize();
    return mesh;
}

function plane(point, normal, size) {
    const material = new THREE.MeshBasicMaterial({
        color: COLORS.plane, transparent: true, opacity: 0.22, side: THREE.DoubleSide, depthWrite: false,
    });
    const mesh = new THREE.Mesh(new THREE.PlaneGeometry(size, size), material);
    mesh.position.set(...point);
    mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...normal));
    return mesh;
}

function ball(at, radius, color) {
    const mesh = new THREE.Mesh(new THREE.SphereGeometry(radius, 16, 12), new THREE.MeshBasicMaterial({ color }));
    mesh.position.set(...at);
    mesh.renderOrder = 2;
    mesh.material.depthTest = false;
    return mesh;
}

// extent is a box of the shapes of a row; half-spaces have none.
function extent(row) {
    const box = new THREE.Box3();
    for (const [index, pose] of [...row.a, ...row.b]) {
        if (data.shapes[index].kind === "halfspace") continue;
        const mesh = solid(index, pose, 0, 1);
        mesh.updateMatrixWorld(true);
        box.expandByObject(mesh, true);
    }
    for (const p of [row.witness_a, row.witness_b]) if (p) box.expandByPoint(new THREE.Vector3(...p));
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    return box.getBoundingSphere(new THREE.Sphere());
}

// frame puts the camera before a ball.
function frame(center, radius) {
    controls.target.copy(center);
    const away = new THREE.Vector3(0.9, -1.4, 0.8).normalize();
    camera.position.copy(center).addScaledVector(away, 3.1 * radius);
    camera.near = 0.01 * radius;
    camera.far = 60 * radius;
    sun.position.copy(camera.position);
}

let current = -1;
let framed = false; // the camera stays where it is while rows are played
function show(position) {
    const row = data.rows[position];
    current = position;
    shown.clear();
    const { center, radius } = extent(row);
    const planes = document.getElementById("planes").checked;
    for (const [index, pose] of row.a) shown.add(solid(index, pose, COLORS.a, 4 * radius));
    for (const [index, pose] of row.b) shown.add(solid(index, pose, COLORS.b, 4 * radius));
    for (const p of [row.witness_a, row.witness_b]) if (p) shown.add(ball(p, 0.018 * radius, COLORS.witness));
    if (row.normal && row.witness_a) {
        const from = new THREE.Vector3(...row.witness_a);
        const arrow = [new THREE.Vector3(...row.normal), from, 0.35 * radius, COLORS.normal];
        shown.add(new THREE.ArrowHelper(...arrow, 0.08 * radius, 0.05 * radius));
    }
    if (planes) for (const p of row.planes) shown.add(plane(p, row.normal, 1.3 * radius));
    if (!data.play || !framed) frame(center, radius);
    framed = true;
    for (const item of list.children) item.classList.toggle("chosen", Number(item.dataset.position) === position);
    const lines = [`${data.play ? "step" : "row"} ${row.row}: ${row.status}`, `A  ${row.name_a}`, `B  ${row.name_b}`];
    if (row.distance !== null) lines.push(`${data.value} ${row.distance}`);
    if (row.gap !== null) lines.push(`gap ±${row.gap}`);
    if (row.normal) lines.push(`normal ${row.normal.map((x) => x.toFixed(6)).join(", ")}`);
    facts.textContent = lines.join("\n");
    draw();
}

function fill() {
    const key = document.getElementById("sort").value;
    const order = data.rows.map((_, i) => i);
    // Rows without a number come first: they have no answer.
    const value = (r) => (key === "status" ? -r.code : r[key] === null ? -Infinity : key === "gap" ? -r.gap : r[key]);
    order.sort((i, j) => value(data.rows[i]) - value(data.rows[j]) || i - j);
    list.replaceChildren(
        ...order.map((i) => {
            const row = data.rows[i];
            const item = document.createElement("li");
            item.dataset.position = i;
            item.className = row.status;
            const number = row.distance === null ? "" : row.distance.toPrecision(5);
            item.textContent = `${row.row}  ${number}  ${row.status}`;
            item.onclick = () => show(i);
            return item;
        }),
    );
    if (order.length) show(order[0]);
}

function draw() {
    controls.update();
    renderer.render(scene, camera);
}

function resize() {
    const { clientWidth: w, clientHeight: h } = view;
    renderer.setSize(w, h);
    camera.aspect = w / Math.max(h, 1);
    camera.updateProjectionMatrix();
    draw();
}

// play shows row after row, in their order, every so many milliseconds.
function play() {
    const button = document.getElementById("play");
    let timer = 0;
    button.hidden = false;
    button.onclick = () => {
        if (timer) {
            clearInterval(timer);
            timer = 0;
        } else {
            timer = setInterval(() => show((current + 1) % data.rows.length), data.play);
        }
        button.textContent = timer ? "stop" : "play";
    };
}

controls.addEventListener("change", () => renderer.render(scene, camera));
document.getElementById("sort").onchange = fill;
document.getElementById("planes").onchange = () => current >= 0 && show(current);
window.addEventListener("resize", resize);
resize();
fill();
if (data.play && data.rows.length) play();
document.documentElement.dataset.ready = String(data.rows.length);
