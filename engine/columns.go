package engine

import (
	"clearance/batch"
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
