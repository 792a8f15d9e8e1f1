package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"clearance/contact"
	"clearance/dataset"
	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/geom"
	"clearance/internal/memory"
)

// stepRun is a simulation whose recorded steps are saved part by part. A part is a file of states, and one of contact
// problems if these are asked for; the file of the run names the parts that are complete and has all that the next
// step depends on. It is renamed into place behind its part, so that a run can go on from it whenever it was ended.
type stepRun struct {
	flags          *stepFlags
	sim            *contact.Simulation
	folder         string
	locked         *os.File // the folder
	sums           []string // hashes of the parts
	key            string   // of the input and the options
	worlds, bodies int

	step     int // that were made
	parts    int // that are complete
	states   *columnBuffer
	problems *columnBuffer // nil if they are not asked for
	most     float64       // memory of rows that are in no part yet
	width    int           // contacts of a row of problems: as many as a world has had at most, or more
	widths   []int         // of the parts of problems
	contacts *columnBuffer // nil if they are not asked for
	found    int64         // contacts in parts
	list     contact.Contacts
	force    []float64 // of the contacts on the bodies
	counts   []int64   // world-steps by status
	energy   float64   // largest error of the energy identity of a step that was advanced
	residual float64   // and its largest residual, relative to the speed scale
}

const (
	runFile = "run.npz"
	runText = "run"
	sumText = "sha256" // of the text and the columns
)

// runState are the numbers of a saved run that are not those of a world.
type runState struct {
	Key              string
	Step, Parts      int
	Counts           []int64
	Energy, Residual string // with all digits
	Widths           []int  // of the parts of problems, and of the rows to come
	Contacts         int64  // in parts
	Warm             int    // contacts that a world starts from
	Still            int    // steps in a row that advanced no world; older files lack it
	Sums             []string
}

// begin starts a run, or goes on with a saved one.
func (f *stepFlags) begin(scene *contact.Scene, state *contact.State, solver contact.PairSolver) (
	run *stepRun, err error,
) {
	r := &stepRun{flags: f, folder: f.out + ".parts", worlds: state.Worlds, bodies: len(scene.Body)}
	r.counts = make([]int64, len(contact.StepStatuses.List))
	if r.sim, err = contact.NewSimulation(scene, state, solver, f.options); err != nil {
		return nil, err
	}
	if r.key, err = f.digest(scene, state); err != nil {
		return nil, err
	}
	p := r.sim.Problem()
	r.states = newColumnBuffer(stateColumns(r.bodies))
	if f.problems != "" {
		if p.Contacts == 0 {
			return nil, errors.New("--problems: there are no bodies")
		}
		r.width = p.Contacts
		r.problems = newColumnBuffer(problemColumns(r.bodies, r.width))
	}
	if f.contacts != "" {
		r.contacts = newColumnBuffer(listedColumns())
	}
	if err := r.checkMemory(); err != nil {
		return nil, err
	}
	_, missing := os.Stat(filepath.Join(r.folder, runFile))
	if missing != nil {
		if err := r.checkDisk(); err != nil {
			return nil, err
		}
	}
	r.force = make([]float64, 6*r.bodies*r.worlds)
	if err := r.lock(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.locked.Close()
		}
	}()
	_, err = os.Stat(filepath.Join(r.folder, runFile)) // again: it may have been another run's
	switch {
	case err == nil && !f.resume:
		return nil, fmt.Errorf("%s has an interrupted run; give --resume to go on with it, or remove the folder",
			r.folder)
	case err == nil:
		if err := r.load(scene, solver); err != nil {
			return nil, err
		}
		return r, r.checkDisk()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := r.clear(); err != nil {
		return nil, err
	}
	return r, r.record()
}

// digest tells runs of other input, options or versions of the program apart.
func (f *stepFlags) digest(scene *contact.Scene, state *contact.State) (string, error) {
	h := sha256.New()
	o := f.options
	o.Solve.Workers = 0 // bits do not depend on it
	fmt.Fprintf(h, "%q %+v %d %d %t %t %t %q\n", f.version, o, f.steps, f.every, f.problems != "", f.contacts != "",
		f.reference, f.kernels)
	lib := scene.Bodies.Library()
	for i := range int32(lib.Len()) {
		core, margin := geom.WithoutMargin(lib.Shape(i))
		values, ok := geom.Values(core)
		if !ok {
			return "", fmt.Errorf("shape %d: %T has no form in a file", i, core)
		}
		fmt.Fprintf(h, "%v %x %x\n", core.Kind(), values, margin)
	}
	for _, b := range scene.Body {
		for _, part := range scene.Bodies.Parts(b) {
			fmt.Fprintf(h, "%d %v ", part.Shape, part.Pose)
		}
		fmt.Fprintln(h)
	}
	fmt.Fprintf(h, "%x %x %x %x %x %d %d\n", scene.Mass, scene.Inertia, scene.Center, scene.Friction, scene.Restitution,
		scene.SkipA, scene.SkipB)
	fmt.Fprintf(h, "%v %v %v %v %v %v\n", scene.PartFriction, scene.PartRestitution, scene.PairFriction,
		scene.PairRestitution, scene.FrictionRule, scene.RestitutionRule)
	fmt.Fprintf(h, "%d %d %d %d\n", state.Worlds, len(state.Pose), len(state.Velocity), len(state.Momentum))
	for _, column := range [][]float64{state.Pose, state.Velocity, state.Momentum} {
		hashColumn(h, column)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stateColumns are the columns of a file of states.
func stateColumns(bodies int) []dataset.ColumnSpec {
	return append(stepColumns[:2:2], dataset.SizedSpecs(table.States, bodies, 0)...)
}

// rowsOfStep are the columns step and world.
func (r *stepRun) rowsOfStep() (step, world []int32) {
	step, world = make([]int32, r.worlds), make([]int32, r.worlds)
	for w := range world {
		step[w], world[w] = int32(r.step), int32(w)
	}
	return step, world
}

// record adds the state to the rows, and the contact problems of a step. A world that has no solve has NaN residuals.
func (r *stepRun) record() error {
	st, solution := r.sim.State(), r.sim.Solution()
	step, world := r.rowsOfStep()
	status, steps := make([]uint8, r.worlds), make([]int32, r.worlds)
	columns := [6][]float64{} // in the order of stateColumns
	for i := range columns {
		columns[i] = make([]float64, r.worlds)
	}
	for w := range r.worlds {
		status[w], steps[w] = uint8(st.Status[w]), int32(st.Steps[w])
		for i, from := range [6][]float64{st.Energy, solution.Residual, solution.Scale, solution.Primal, solution.Dual,
			solution.Complementarity} {
			if columns[i][w] = math.NaN(); solved(st.Status[w]) {
				columns[i][w] = from[w]
			}
		}
	}
	_ = r.sim.ContactForces(r.force) // whose length is right
	r.states.add(r.worlds, step, world, st.Pose, st.Velocity, st.Momentum, status, steps, st.Contacts, st.Solves,
		st.Parts,
		r.force, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5])
	if r.step == 0 {
		return nil
	}
	if r.problems != nil {
		if err := r.addProblems(step, world); err != nil {
			return err
		}
	}
	if r.contacts != nil {
		return r.addContacts()
	}
	return nil
}

// solved reports whether the contact problem of a step was solved, or tried.
func solved(s contact.StepStatus) bool {
	return s.Advances() || s == contact.SolveUndecided || s == contact.MotionUndecided
}

// advance makes a step. After an error no world has been advanced.
func (r *stepRun) advance(ctx context.Context) error {
	if err := r.sim.Step(ctx, nil); err != nil {
		return err
	}
	r.step++
	st := r.sim.State()
	for w, s := range st.Status {
		r.counts[s]++
		if s.Advances() {
			r.energy = max(r.energy, math.Abs(st.Energy[w]))
			r.residual = max(r.residual, r.sim.Solution().Relative(w))
		}
	}
	if r.step%r.flags.every == 0 {
		if err := r.record(); err != nil {
			return err
		}
	}
	if r.step == r.flags.steps {
		return r.sim.Still(r.step)
	}
	return r.sim.Still(0)
}

// save writes the rows since the last part as a part, and the state behind it.
//
// The rows are kept until both are written, so that a save that failed half way can be made again.
func (r *stepRun) save() error {
	rows := map[string]*columnBuffer{"states": r.states, "problems": r.problems, "contacts": r.contacts}
	sums := slices.Clone(r.sums)
	for _, kind := range r.kinds() {
		sum, err := r.writePart(kind, rows[kind])
		if err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	widths, found := slices.Clone(r.widths), r.found
	if r.problems != nil {
		widths = append(widths, r.width)
	}
	if r.contacts != nil {
		found += int64(r.contacts.rows)
	}
	if err := r.saveState(r.parts+1, widths, found, sums); err != nil {
		return err
	}
	r.parts, r.widths, r.found, r.sums = r.parts+1, widths, found, sums
	for _, kind := range r.kinds() {
		rows[kind].reset()
	}
	return r.checkDisk()
}

// saveState writes the state behind so many parts.
func (r *stepRun) saveState(parts int, widths []int, found int64, sums []string) error {
	if err := r.checkSaved(); err != nil {
		return err
	}
	st, warm := r.sim.State(), r.sim.Warm()
	text, err := json.Marshal(runState{r.key, r.step, parts, r.counts, digits(r.energy), digits(r.residual),
		append(slices.Clone(widths), r.width), found, warm.Contacts, warm.Still, sums})
	if err != nil {
		return err
	}
	if warm.Contacts == 0 { // columns of a value at least
		warm.Pair, warm.ID = make([]int32, r.worlds), make([]uint64, r.worlds)
		warm.Position, warm.Impulse = make([]float64, 3*r.worlds), make([]float64, 3*r.worlds)
	}
	high, low := halves(warm.ID)
	steps := make([]int32, r.worlds)
	for w, n := range st.Steps {
		steps[w] = int32(n)
	}
	columns := []any{st.Pose, st.Velocity, st.Momentum, steps, warm.Count, warm.Pair, high, low, warm.Position,
		warm.Impulse}
	texts := []string{runText, string(text), sumText, hashValues(string(text), columns...)}
	return writeColumns(filepath.Join(r.folder, runFile), runColumns(r.bodies, warm.Contacts), int64(r.worlds), texts,
		func(out *dataset.ColumnWriter) error { return out.Write(r.worlds, columns...) })
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// runColumns are the columns of the state of a saved run.
func runColumns(bodies, contacts int) []dataset.ColumnSpec {
	b, c := max(bodies, 1), max(contacts, 1)
	return []dataset.ColumnSpec{{Name: "pose", Width: 7 * b}, {Name: "velocity", Width: 3 * b},
		{Name: "momentum", Width: 3 * b}, {Name: "steps", Width: 1, Ints: true}, {Name: "count", Width: 1, Ints: true},
		{Name: "pair", Width: c, Ints: true}, {Name: "id_high", Width: c, Ints: true},
		{Name: "id_low", Width: c, Ints: true}, {Name: "position", Width: 3 * c}, {Name: "impulse", Width: 3 * c}}
}

// load goes on with the saved run.
func (r *stepRun) load(scene *contact.Scene, solver contact.PairSolver) error {
	path := filepath.Join(r.folder, runFile)
	specs := runColumns(r.bodies, 1)
	for i := range specs {
		if specs[i].Width == 1 || specs[i].Name == "position" || specs[i].Name == "impulse" {
			specs[i].Width = 0 // as many as the file has
		}
	}
	t, err := dataset.ReadColumns(path, specs)
	if err != nil {
		return err
	}
	sum := hashValues(t.Metadata[runText], t.Reals("pose"), t.Reals("velocity"), t.Reals("momentum"), t.Ints("steps"),
		t.Ints("count"), t.Ints("pair"), t.Ints("id_high"), t.Ints("id_low"), t.Reals("position"), t.Reals("impulse"))
	if sum != t.Metadata[sumText] {
		return fmt.Errorf("%s: altered since the run wrote it; remove the folder to begin anew", path)
	}
	var saved runState
	if err := json.Unmarshal([]byte(t.Metadata[runText]), &saved); err != nil {
		return fmt.Errorf("%s: metadata: %w", path, err)
	}
	if saved.Key != r.key || len(saved.Counts) != len(r.counts) {
		return fmt.Errorf("%s is of another run: other worlds, options or version; remove the folder to begin anew",
			r.folder)
	}
	if n := len(saved.Widths); n == 0 || r.problems != nil && n != saved.Parts+1 {
		return fmt.Errorf("%s: metadata: widths of %d parts, want %d", path, n-1, saved.Parts)
	}
	r.step, r.parts, r.counts, r.found = saved.Step, saved.Parts, saved.Counts, saved.Contacts
	r.widths, r.sums = saved.Widths[:len(saved.Widths)-1], saved.Sums
	if err := r.checkParts(); err != nil {
		return err
	}
	if r.problems != nil {
		r.widen(saved.Widths[len(r.widths)])
	}
	for _, n := range []struct {
		to   *float64
		text string
	}{{&r.energy, saved.Energy}, {&r.residual, saved.Residual}} {
		if *n.to, err = strconv.ParseFloat(n.text, 64); err != nil {
			return fmt.Errorf("%s: metadata: %w", path, err)
		}
	}
	state := &contact.State{Worlds: r.worlds, Pose: t.Reals("pose"), Velocity: t.Reals("velocity"),
		Momentum: t.Reals("momentum")}
	for _, n := range t.Ints("steps") {
		state.Steps = append(state.Steps, int64(n))
	}
	if r.sim, err = contact.NewSimulation(scene, state, solver, r.flags.options); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	high, low := t.Ints("id_high"), t.Ints("id_low")
	if len(high) != len(low) {
		return fmt.Errorf("%s: columns id_high and id_low are of different lengths", path)
	}
	warm := &contact.Warm{Still: saved.Still, Count: t.Ints("count")}
	if warm.Contacts = saved.Warm; warm.Contacts > 0 {
		warm.Pair, warm.Position, warm.Impulse = t.Ints("pair"), t.Reals("position"), t.Reals("impulse")
		for i := range high {
			warm.ID = append(warm.ID, joined(high[i], low[i]))
		}
	}
	if err := r.sim.Resume(warm); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// finish joins the parts into the files of results and removes the folder.
func (r *stepRun) finish() error {
	f := r.flags
	texts := []string{metaTimeStep, digits(f.options.TimeStep), "bodies", strconv.Itoa(r.bodies),
		"status", contact.StepStatuses.Table()}
	texts = append(texts, contactTexts(f.options.Solve.Model, f.options.Solve.Tolerance)[:4]...)
	recorded := int64(r.step / f.every)
	if err := r.join("states", f.out, r.states, (recorded+1)*int64(r.worlds), texts); err != nil {
		return err
	}
	if r.problems != nil {
		err := r.join("problems", f.problems, r.problems, recorded*int64(r.worlds),
			contactTexts(f.options.Solve.Model, f.options.Solve.Tolerance))
		if err != nil {
			return err
		}
	}
	if r.contacts != nil {
		if err := r.join("contacts", f.contacts, r.contacts, r.found+int64(r.contacts.rows), texts[:4]); err != nil {
			return err
		}
	}
	return r.remove()
}

// join writes all parts of a kind, and the rows that are in none yet, as one file of so many rows.
func (r *stepRun) join(kind, path string, rest *columnBuffer, rows int64, texts []string) error {
	return writeColumns(path, rest.specs, rows, texts, func(out *dataset.ColumnWriter) error {
		for k := range r.parts {
			name, specs := r.part(kind, k), rest.specs
			if kind == "problems" {
				specs = problemColumns(r.bodies, r.widths[k])
			}
			t, err := dataset.ReadColumns(name, specs)
			if err != nil {
				return err
			}
			values, err := tableSlices(name, t, specs)
			if err != nil {
				return err
			}
			if kind == "problems" {
				values = resized(specs, values, t.Rows, r.widths[k], r.width)
			}
			if err := out.Write(t.Rows, values...); err != nil {
				return err
			}
		}
		return out.Write(rest.rows, rest.slices()...)
	})
}

// The folder OUT.parts of an interrupted run of `step`: parts of the files of results, and the state behind them. One
// run writes to it at a time, and a run that goes on takes nothing that has been altered.

// partKinds are the kinds of the parts of a run.
var partKinds = []string{"states", "problems", "contacts"}

func (r *stepRun) part(kind string, k int) string {
	return filepath.Join(r.folder, fmt.Sprintf("%s-%06d.npz", kind, k))
}

// isOurs reports whether a run writes files of that name, or had begun to when it was killed.
func isOurs(name string) bool {
	if name = output.FinalName(name); name == runFile {
		return true
	}
	return slices.ContainsFunc(partKinds, func(kind string) bool {
		match, _ := filepath.Match(kind+"-[0-9][0-9][0-9][0-9][0-9][0-9].npz", name)
		return match
	})
}

// lock makes the folder if it is not there, and holds it until the run ends: a second run is an error.
func (r *stepRun) lock() error {
	if err := os.Mkdir(r.folder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.Open(r.folder)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		folder.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("%s: another run writes to it; give another --out", r.folder)
		}
		if !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS) { // file systems without locks
			return fmt.Errorf("%s: %w", r.folder, err)
		}
	}
	r.locked = folder
	return nil
}

// clear removes the files of a run. Files that are of no run are an error, and then none is removed.
func (r *stepRun) clear() error {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isOurs(e.Name()) {
			return fmt.Errorf("%s has the file %s, which is not that of a run; remove it", r.folder, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(r.folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remove ends the run: its folder is no longer needed.
func (r *stepRun) remove() error {
	if err := r.clear(); err != nil {
		return err
	}
	if err := os.Remove(r.folder); err != nil {
		return err
	}
	return r.locked.Close()
}

// hashFile is the SHA-256 of a file.
func hashFile(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashValues is the SHA-256 of a text and of columns.
func hashValues(text string, columns ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s", len(text), text)
	for _, c := range columns {
		switch c := c.(type) {
		case []float64:
			hashColumn(h, c)
		case []int32:
			hashColumn(h, c)
		default:
			panic(fmt.Sprintf("hashValues: a column of %T", c)) // left out, it could be altered
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashColumn adds the bytes of a column to a hash, some at a time: they are no second column in memory.
func hashColumn[T float64 | int32](h io.Writer, column []T) {
	for part := range slices.Chunk(column, 1<<12) {
		_ = binary.Write(h, binary.LittleEndian, part) // a hash takes all
	}
}

// writePart writes rows as the next part and returns its hash.
func (r *stepRun) writePart(kind string, rows *columnBuffer) (sum string, err error) {
	path := r.part(kind, r.parts)
	if err := rows.write(path); err != nil {
		return "", err
	}
	return hashFile(path)
}

// checkParts compares the parts with the hashes of the run.
func (r *stepRun) checkParts() error {
	kinds := r.kinds()
	if len(r.sums) != r.parts*len(kinds) {
		return fmt.Errorf("%s: metadata: %d hashes of %d parts of %d kinds", filepath.Join(r.folder, runFile),
			len(r.sums),
			r.parts, len(kinds))
	}
	for i, want := range r.sums {
		path := r.part(kinds[i%len(kinds)], i/len(kinds))
		got, err := hashFile(path)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s: altered since the run wrote it; remove %s to begin anew", path, r.folder)
		}
	}
	return nil
}

// kinds lists the kinds of parts of the run, in the order in which they are written.
func (r *stepRun) kinds() []string {
	list := partKinds[:1:1]
	if r.problems != nil {
		list = append(list, "problems")
	}
	if r.contacts != nil {
		list = append(list, "contacts")
	}
	return list
}

// partBytes is the memory of the rows of a part, and what it takes of the disk: a run is saved before it holds much
// more. Tests alone change it.
var partBytes int64 = 256 << 20

// held is the memory of the rows that are in no part yet.
func (r *stepRun) held() float64 { return r.states.bytes() + r.problems.bytes() + r.contacts.bytes() }

// checkMemory returns an error if the rows of a part take more memory than there is. It looks before the first step.
// How many contacts a step has is known when it is made.
func (r *stepRun) checkMemory() error {
	row := r.rowBytes()
	r.most = float64(memory.Room(partBytes, 8))
	// A buffer grows by a quarter at a time, beside the one that it is copied from. A record of problems is made beside
	// those of the simulation and of the buffer, and forces are summed.
	record := float64(r.worlds) * (2*row + 8*6*float64(r.bodies))
	part := float64(r.worlds)*row + min(r.most, r.records(r.flags.steps)*row)
	what := fmt.Sprintf("a record of %d worlds of %d bodies", r.worlds, r.bodies)
	return memory.Check(what, record+2.25*part+r.savedBytes())
}

// savedBytes is the memory of what a saved run keeps of the contacts of the last solves, for as many contacts of each
// world as there is room for.
func (r *stepRun) savedBytes() float64 {
	const contact = 4 + 8 + 2*3*8 + 2*4 // pair, id, position and impulse, and the halves of the id
	return float64(r.worlds) * contact * float64(max(r.sim.Problem().Contacts, 1))
}

// checkSaved returns an error if there is no memory to save the run.
func (r *stepRun) checkSaved() error {
	return memory.Check(fmt.Sprintf("saving %d worlds of %d bodies", r.worlds, r.bodies), r.savedBytes())
}

// rowBytes is the memory of a row of states and of problems.
func (r *stepRun) rowBytes() float64 {
	n := rowBytes(r.states.specs)
	if r.problems != nil {
		n += rowBytes(r.problems.specs)
	}
	return n
}

// records is the number of world-steps that so many steps record, the first state included.
func (r *stepRun) records(steps int) float64 {
	return float64(steps/r.flags.every+1) * float64(r.worlds)
}

// checkDisk returns an error if the files of the run take more of a disk than is free beside the parts that are there:
// the parts to come, and the results that all parts are joined to before they are removed. Of contacts these are the
// ones that have been found.
func (r *stepRun) checkDisk() error {
	f := r.flags
	states := r.records(f.steps)
	parts := states
	switch {
	case r.parts > 0:
		parts -= r.records(r.step)
	case f.steps < f.saveEvery && states*r.rowBytes() <= r.most:
		parts = 0
	}
	outputs := []memory.Output{{What: fmt.Sprintf("parts of %.0f rows", parts), Path: r.part(partKinds[0], 0),
		Bytes: parts * r.rowBytes()}}
	add := func(flag, path string, rows float64, b *columnBuffer) error {
		if b == nil {
			return nil
		}
		bytes, err := dataset.DiskOfColumns(path, b.specs, int64(rows))
		outputs = append(outputs, memory.Output{What: fmt.Sprintf("--%s of %.0f rows", flag, rows), Path: path,
			Bytes: bytes})
		return err
	}
	err := errors.Join(add("out", f.out, states, r.states),
		add("problems", f.problems, states-float64(r.worlds), r.problems),
		add("contacts", f.contacts, float64(r.found), r.contacts))
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "dataset: "))
	}
	return memory.CheckDisks(outputs...)
}
