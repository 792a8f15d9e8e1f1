// The table of rows. Only the rows in sight are elements of the page, so that 100,000 rows scroll like ten.
import { UNANSWERED } from "./data.js";

const ROW = 20; // pixels, as in viewer.html
const SPARE = 6; // rows above and below those in sight

export class Table {
    // columns are {name, text(i), key(i)}: what a cell says, and the number that it is sorted by. chosen(i) is called
    // with the position of a row that is clicked.
    constructor(scene, head, body, columns, chosen) {
        this.scene = scene;
        this.body = body;
        this.columns = columns;
        this.order = Uint32Array.from({ length: scene.rows.count }, (_, i) => i);
        this.place = new Uint32Array(scene.rows.count); // of a row in the order
        this.current = -1;
        this.sorted = "";
        this.inner = document.createElement("div");
        this.inner.className = "rows";
        body.replaceChildren(this.inner);
        this.pool = [];
        this.headers = columns.map((c) => {
            const cell = document.createElement("button");
            cell.textContent = c.name;
            cell.dataset.column = c.name;
            cell.onclick = () => this.sort(c.name, this.sorted === c.name && !this.falling);
            head.append(cell);
            return cell;
        });
        body.addEventListener("scroll", () => this.draw(), { passive: true });
        this.inner.addEventListener("click", (e) => {
            const line = e.target.closest("[data-position]");
            if (line) chosen(Number(line.dataset.position));
        });
        body.addEventListener("keydown", (e) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
            if (!step || this.current < 0) return;
            e.preventDefault();
            const next = this.place[this.current] + step;
            if (next >= 0 && next < this.order.length) chosen(this.order[next]);
        });
        this.inner.style.height = `${scene.rows.count * ROW}px`;
    }

    // sort orders by a column; rows without a number come first, and ties in the order of the document.
    sort(name, falling = false) {
        const column = this.columns.find((c) => c.name === name);
        if (!column) return;
        const keys = Float64Array.from({ length: this.order.length }, (_, i) => {
            const key = column.key(i);
            return Number.isNaN(key) ? -Infinity : falling ? -key : key;
        });
        this.order.sort((i, j) => (keys[i] < keys[j] ? -1 : keys[i] > keys[j] ? 1 : i - j));
        this.order.forEach((row, at) => (this.place[row] = at));
        [this.sorted, this.falling] = [name, falling];
        for (const h of this.headers) {
            const own = h.dataset.column === name;
            h.setAttribute("aria-sort", own ? (falling ? "descending" : "ascending") : "none");
        }
        this.draw();
    }

    choose(position) {
        this.current = position;
        const top = this.place[position] * ROW;
        if (top < this.body.scrollTop || top + ROW > this.body.scrollTop + this.body.clientHeight) {
            this.body.scrollTop = top - this.body.clientHeight / 2;
        }
        this.draw();
    }

    draw() {
        const first = Math.max(Math.floor(this.body.scrollTop / ROW) - SPARE, 0);
        const count = Math.ceil(this.body.clientHeight / ROW) + 2 * SPARE;
        const last = Math.min(first + count, this.order.length);
        while (this.pool.length < last - first) {
            const line = document.createElement("div");
            for (const _ of this.columns) line.append(document.createElement("span"));
            this.inner.append(line);
            this.pool.push(line);
        }
        this.pool.forEach((line, k) => {
            const at = first + k;
            line.hidden = at >= last;
            if (line.hidden) return;
            const row = this.order[at];
            const status = this.scene.statuses[this.scene.rows.status[row]];
            line.style.transform = `translateY(${at * ROW}px)`;
            line.dataset.position = row;
            line.className = `${UNANSWERED.has(status) ? "unanswered" : ""} ${row === this.current ? "chosen" : ""}`;
            this.columns.forEach((c, j) => (line.children[j].textContent = c.text(row)));
        });
    }
}
