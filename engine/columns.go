package engine

import (
	"sort"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// placement says where the columns of a chunk of n rows stand in the output.
type placement struct {
	n       int
	double  bool
	columns batch.Columns // of layout.Columns, those that are there
	packed  bool          // eight statuses a word
	offset  [len(layout.Columns)]uint32
	bytes   uint64
}

// placementOf places the columns that results have, as columns.glsl finds them.
func placementOf(out *batch.Results, n int) placement {
	l := placement{n: n, double: out.Precision == batch.Double, columns: out.Columns&layout.Stored | batch.ColStatus}
	words, rows := 0, n+n&1
	for i := range layout.Columns {
		c := &layout.Columns[i]
		l.offset[i] = uint32(words)
		if l.columns&c.Code != 0 {
			words += rows * c.Words(l.double)
		}
	}
	l.bytes = 4 * uint64(words)
	if l.packed = out.Columns&^(batch.ColStatus|batch.ColBits) == 0; l.packed {
		l.bytes = l.statusBytes()
	}
	return l
}

// at returns the first word of a column; ok is false if it is not there.
func (l *placement) at(code batch.Columns) (word uint32, ok bool) {
	for i := range layout.Columns {
		if layout.Columns[i].Code == code {
			return l.offset[i], l.columns&code != 0
		}
	}
	return 0, false
}

// statusAt returns the first word of the status column.
func (l *placement) statusAt() uint32 {
	at, _ := l.at(batch.ColStatus)
	return at
}

// statusBytes is the length of the status column.
func (l *placement) statusBytes() uint64 {
	if l.packed {
		return 4 * uint64((l.n+perWord-1)/perWord)
	}
	return 4 * uint64(l.n)
}

// perWord is the number of packed statuses of a word.
const perWord = 32 / layout.PackedBits

// putIn writes the places into the query record.
func (l *placement) putIn(q *layout.QueryRecord) {
	q.Rows, q.Columns = uint32(l.n), uint32(l.columns)
	q.Flags = q.Flags&^layout.FlagPacked | l.flags()&layout.FlagPacked
}

// flags are the flags of a QueryRecord for the columns.
func (l *placement) flags() (f uint32) {
	if l.double {
		f |= layout.FlagDouble
	}
	if l.packed {
		f |= layout.FlagPacked
	}
	return f
}

// takeDown copies rows [lo, hi) of the output in memory to rows of out that begin at
// base, and counts them. Rows without an answer keep their mark.
func (l *placement) takeDown(memory []byte, out *batch.Results, base, lo, hi int) (t tally) {
	for i := range layout.Columns {
		c := &layout.Columns[i]
		if c.Code == batch.ColStatus || l.columns&c.Code == 0 {
			continue
		}
		from, to := memory[4*l.offset[i]:], out.Column(c.Code)
		first, last, dest := c.Width*lo, c.Width*hi, c.Width*(base+lo)
		if to.F64 != nil {
			copy(to.F64[dest:], recordsIn[float64](from)[first:last])
		} else {
			copy(to.F32[dest:], recordsIn[float32](from)[first:last])
		}
	}
	words := recordsIn[uint32](memory[4*l.statusAt():])
	for k := lo; k < hi; k++ {
		row := base + k
		var w uint32
		if l.packed {
			w = layout.UnpackStatus(words[k/perWord] >> (k % perWord * layout.PackedBits) & (1<<layout.PackedBits - 1))
		} else {
			w = words[k]
		}
		t.status(w, out, row)
	}
	t.rows = int64(hi - lo)
	return t
}

// status decodes the status word of a row into its columns, and counts the row. A row without an answer keeps its mark.
func (t *tally) status(w uint32, out *batch.Results, row int) {
	status := batch.Status(w)
	solver, known := layout.SolverOf(w)
	switch {
	case status < batch.Undecided && !known:
		t.declined[0]++ // no shader writes such a word: the row has no answer
	case status < batch.Undecided:
		out.Status()[row] = uint8(status)
		if out.Marks != nil {
			out.Marks[row] = batch.Answered
		}
		if w>>8&layout.Refined != 0 {
			t.refined++
		}
		if out.Method() != nil {
			out.Method()[row] = uint8(solver)
		}
		if w>>8&layout.ByDepth != 0 {
			t.depths++
		}
		if w>>8&layout.FromFloat32 != 0 {
			t.foundInFloat32++
		}
		if out.Iterations() != nil {
			out.Iterations()[row] = uint16(w >> 16)
		}
	case status == batch.Invalid:
		out.PutFailure(row, batch.Invalid)
	default: // declined, or no status at all
		why := w >> 8 & 0xff
		if w&0xff != layout.Declined || why >= layout.DeclinedCount {
			why = 0
		}
		t.declined[why]++
	}
}

// taker takes down the columns of a chunk on all processors.
type taker struct {
	layout *placement
	memory []byte
	out    *batch.Results
	base   int
	counts []tally // of each block
}

func (t *taker) take(l *placement, memory []byte, out *batch.Results, base int) (sum tally, err error) {
	t.layout, t.memory, t.out, t.base = l, memory, out, base
	defer func() { t.memory, t.out = nil, nil }()
	blocks := (l.n + blockRows - 1) / blockRows
	if cap(t.counts) < blocks {
		t.counts = make([]tally, blocks)
	}
	t.counts = t.counts[:blocks]
	if err := parallel(l.n, t); err != nil {
		return sum, err
	}
	for _, c := range t.counts {
		sum.add(c)
	}
	return sum, nil
}

func (t *taker) block(lo, hi int) error {
	t.counts[lo/blockRows] = t.layout.takeDown(t.memory, t.out, t.base, lo, hi)
	return nil
}

// reduction is what reduce.comp needs for a chunk: its portions, and the memory for the rows that it stores.
type reduction struct {
	blocks       []*vk.Block
	bounds, out  mirror
	bytes, moved uint64 // of the output, and those that are moved back with the chunk

	chain    *chain // of the one pass
	record   layout.ReductionRecord
	portions []uint32 // first set of each, and the end of the last
	sets     []uint32 // first row of each, and the end of the last

	seen []uint32 // portion + 1 of the entry of a row, while they are checked
}

// prepare cuts rows [at, at+n) into portions and makes room for them. It reports false if the columns are hardly larger
// than what would be read in their place.
func (r *reduction) prepare(b *Backend, job *batch.Job, at, n int, l *placement) (bool, error) {
	if l.columns&batch.ColDistance != 0 && l.columns&batch.ColGap == 0 {
		return false, nil // there are no bounds to compare
	}
	q := layout.ReductionRecord{Entry: 2, Flags: l.flags(), Rows: uint32(n), Columns: uint32(l.columns)}
	for i := range layout.Columns {
		if c := &layout.Columns[i]; c.Code != batch.ColStatus && l.columns&c.Code != 0 {
			q.Entry += uint32(c.Words(l.double))
		}
	}
	if job.Options.EffectiveColumns()&batch.ColIterations != 0 {
		q.Flags |= layout.FlagIterations
	}
	if job.Options.Query.Info().Touch == 1 {
		q.Flags |= layout.FlagTouchAtOne
	}
	r.cut(job.Reduction, at, n)
	q.Portions = uint32(len(r.portions) - 1)
	// Most portions have one entry. There may be a few more, and many where a device declines rows.
	usual := min(uint32(n), q.Portions+q.Portions/2+8)
	q.Room = max(usual, uint32(n)/4)
	if b.options.reduceAll {
		q.Room = uint32(n)
	}
	r.record = q
	r.bytes, r.moved = r.bytesOf(q.Room), r.bytesOf(usual)
	if 4*r.moved > 3*l.bytes && !b.options.reduceAll {
		return false, nil
	}
	var err error
	if r.chain, err = b.pipelines.forReduction(); err != nil {
		return false, err
	}
	return true, r.write(b)
}

// cut cuts rows [at, at+n) into portions: whole sets of one group, or consecutive rows of one set.
func (r *reduction) cut(of *batch.Reduction, at, n int) {
	r.portions, r.sets = r.portions[:0], r.sets[:0]
	begin := func() { r.portions = append(r.portions, uint32(len(r.sets))) }
	after := func(ends []int32, x int) int {
		return sort.Search(len(ends)-1, func(i int) bool { return int(ends[i+1]) > x })
	}
	s := after(of.Sets, at)
	g := after(of.Groups, s)
	size := 0 // of the portion that may grow
	for row, end := at, at+n; row < end; s++ {
		for int(of.Groups[g+1]) <= s {
			g++
			size = 0
		}
		hi := min(int(of.Sets[s+1]), end)
		if row > int(of.Sets[s]) || hi < int(of.Sets[s+1]) || hi-row > layout.PortionRows {
			for ; row < hi; row = min(row+layout.PortionRows, hi) {
				begin()
				r.sets = append(r.sets, uint32(row-at))
			}
			size = 0
			continue
		}
		if row == hi {
			continue
		}
		if size == 0 || size+hi-row > layout.PortionRows {
			begin()
			size = 0
		}
		r.sets = append(r.sets, uint32(row-at))
		size += hi - row
		row = hi
	}
	begin()
	r.sets = append(r.sets, uint32(n))
}

// portionWords is the number of words of a portion in the output.
func (r *reduction) portionWords() uint32 {
	if r.record.Flags&layout.FlagIterations != 0 {
		return layout.PortionWords + 1
	}
	return layout.PortionWords
}

// firstEntry is the place of the first entry in the output, in words.
func (r *reduction) firstEntry() uint32 {
	return layout.ReducedHeader + r.record.Portions*r.portionWords()
}

// bytesOf is the length of the output with so many entries.
func (r *reduction) bytesOf(entries uint32) uint64 {
	return 4 * uint64(r.firstEntry()+entries*r.record.Entry)
}

// write makes room and writes the bounds.
func (r *reduction) write(b *Backend) error {
	words := len(r.portions) + len(r.sets)
	if need := 4 * uint64(words); need > r.bounds.host.Size() || r.bytes > r.out.host.Size() {
		free(r.blocks)
		old := *r
		r.blocks, r.bounds, r.out = nil, mirror{}, mirror{}
		p := plan{b: b}
		p.input(&r.bounds, max(need+need/4, old.bounds.host.Size()))
		p.output(&r.out, max(r.bytes+r.bytes/4, old.out.host.Size()))
		var err error
		if r.blocks, err = p.allocate(); err != nil {
			r.bounds, r.out = mirror{}, mirror{}
			return err
		}
	}
	to := recordsIn[uint32](r.bounds.host.Bytes())
	copy(to[copy(to, r.portions):], r.sets)
	return r.bounds.wrote(4 * uint64(words))
}

// fill prepares the memory on the device. A portion that the shader does not write must not look reduced.
func (r *reduction) fill(s *vk.Stream, bounds uint64) {
	if bounds > 0 {
		s.Copy(r.bounds.device.Slice(0, bounds), r.bounds.host.Slice(0, bounds))
	}
	header := uint64(4 * layout.ReducedHeader)
	s.Fill(r.out.device.Slice(0, header), 0)
	s.Fill(r.out.device.Slice(header, 4*uint64(r.firstEntry())-header), ^uint32(0))
}

// entries is the number of entries. The output has room for r.record.Room of them.
func (r *reduction) entries() uint32 { return recordsIn[uint32](r.out.host.Bytes())[0] }

// take stores the entries in rows of out that begin at base, marks the other rows as omitted and adds them to the
// tally. first is the row of the job at which the chunk begins. Unless the output accounts for every row, no row has an
// answer.
func (r *reduction) take(l *placement, memory []byte, out *batch.Results, base, first int, to *batch.Tally) (t tally) {
	words := recordsIn[uint32](memory)
	omitted := r.check(words, l.n)
	t.rows = int64(l.n)
	if omitted < 0 {
		t.declined[0] = t.rows
		return t
	}
	q := &r.record
	for p := range int(q.Portions) {
		lo, hi := r.rows(p)
		w := words[layout.ReducedHeader+uint32(p)*r.portionWords():][:r.portionWords()]
		entry := words[r.firstEntry()+w[0]*q.Entry:]
		for range w[1] & 0xffff {
			r.store(l, entry[:q.Entry], out, base, &t)
			entry = entry[q.Entry:]
		}
		for k := lo; k < hi; k++ {
			if r.seen[k] == 0 {
				out.Marks[base+k] = batch.Omitted
			}
		}
		portion := batch.Portion{Row: int32(first + lo), Contacts: int32(w[1] >> 16)}
		if len(w) > layout.PortionWords {
			portion.Iterations = int64(w[layout.PortionWords])
		}
		if portion.Contacts != 0 || portion.Iterations != 0 {
			to.Portions = append(to.Portions, portion)
		}
	}
	to.Rows += omitted
	to.Iterations += int64(words[layout.ReducedIterations]) | int64(words[layout.ReducedIterations+1])<<32
	for s := range layout.ReducedMarks - layout.ReducedStatuses {
		to.Counts[s] += int(words[layout.ReducedStatuses+s])
	}
	for i, s := range layout.Solvers {
		to.Solvers[s] += int(words[layout.ReducedSolvers+i])
	}
	t.refined += int64(words[layout.ReducedMarks])
	t.depths += int64(words[layout.ReducedMarks+1])
	t.foundInFloat32 += int64(words[layout.ReducedMarks+2])
	return t
}

// rows returns the rows of a portion.
func (r *reduction) rows(p int) (lo, hi int) {
	return int(r.sets[r.portions[p]]), int(r.sets[r.portions[p+1]])
}

// check returns the number of rows that have no entry, and notes the others. It is negative if the output is not what
// the shader writes for n rows.
func (r *reduction) check(words []uint32, n int) int {
	if cap(r.seen) < n {
		r.seen = make([]uint32, n)
	}
	r.seen = r.seen[:n]
	clear(r.seen)
	q := &r.record
	omitted, used := n, words[0]
	for p := range int(q.Portions) {
		lo, hi := r.rows(p)
		w := words[layout.ReducedHeader+uint32(p)*r.portionWords():]
		entries, contacts := w[1]&0xffff, w[1]>>16
		if w[0] > used || entries > used-w[0] || contacts > r.portions[p+1]-r.portions[p] {
			return -1
		}
		for e := range entries {
			k := int(words[r.firstEntry()+(w[0]+e)*q.Entry])
			if k < lo || k >= hi || r.seen[k] != 0 {
				return -1
			}
			r.seen[k] = uint32(p) + 1
		}
		omitted -= int(entries)
	}
	counted := 0
	for _, c := range words[layout.ReducedStatuses:layout.ReducedMarks] {
		counted += int(c)
	}
	if counted != omitted {
		return -1
	}
	return omitted
}

// store stores an entry in its row.
func (r *reduction) store(l *placement, entry []uint32, out *batch.Results, base int, t *tally) {
	row, at := base+int(entry[0]), uint32(2)
	for i := range layout.Columns {
		c := &layout.Columns[i]
		if c.Code == batch.ColStatus || l.columns&c.Code == 0 {
			continue
		}
		from, to := bytesOf(entry[at:]), out.Column(c.Code)
		if to.F64 != nil {
			copy(bytesOf(to.F64[c.Width*row:c.Width*(row+1)]), from) // which may begin at any word
		} else {
			copy(bytesOf(to.F32[c.Width*row:c.Width*(row+1)]), from)
		}
		at += uint32(c.Words(l.double))
	}
	w := entry[1]
	if l.packed {
		w = layout.UnpackStatus(w)
	}
	t.status(w, out, row)
}
