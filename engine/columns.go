package engine

import (
	"clearance/batch"
	"clearance/internal/layout"
)

// placement says where the columns of a chunk of n rows stand in the output.
type placement struct {
	n       int
	double  bool
	columns batch.Columns
	packed  bool                  // eight statuses a word
	offset  [placedColumns]uint32 // in words; layout.NoColumn: not there
	bytes   uint64
}

// Columns of the output.
const (
	atDistance = iota
	atNormal
	atWitnessA
	atWitnessB
	atPoint
	atGap
	atStatus
	placedColumns
)

// placementOf places the columns that results have. Numbers come first, so that doubles
// stand at multiples of 8 bytes.
func placementOf(out *batch.Results, n int) placement {
	l := placement{n: n, double: out.Precision == batch.Double, columns: out.Columns}
	words := uint32(0)
	place := func(at int, want bool, perRow uint32) {
		l.offset[at] = layout.NoColumn
		if want {
			l.offset[at] = words
			words += perRow * uint32(n)
			words += words & 1
		}
	}
	number := uint32(1)
	if l.double {
		number = 2
	}
	has := func(c batch.Columns) bool { return out.Columns&c != 0 }
	place(atDistance, has(batch.ColDistance), number)
	place(atNormal, has(batch.ColNormal), 3*number)
	place(atWitnessA, has(batch.ColWitnessA), 3*number)
	place(atWitnessB, has(batch.ColWitnessB), 3*number)
	place(atPoint, has(batch.ColPoint), 3*number)
	place(atGap, has(batch.ColGap), 1)
	l.packed = out.Columns&^(batch.ColStatus|batch.ColBits) == 0
	place(atStatus, true, 1)
	if l.packed {
		words = uint32(l.statusBytes() / 4)
	}
	l.bytes = 4 * uint64(words)
	return l
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
	q.Rows = uint32(l.n)
	q.Distance, q.Normal = l.offset[atDistance], l.offset[atNormal]
	q.WitnessA, q.WitnessB = l.offset[atWitnessA], l.offset[atWitnessB]
	q.Point, q.Gap, q.Status = l.offset[atPoint], l.offset[atGap], l.offset[atStatus]
	q.Flags &^= layout.FlagPacked
	if l.packed {
		q.Flags |= layout.FlagPacked
	}
}

// takeDown copies rows [lo, hi) of the output in memory to rows of out that begin at
// base, and counts them. Rows without an answer keep the status they have.
func (l *placement) takeDown(memory []byte, out *batch.Results, base, lo, hi int) (t tally) {
	l.floats(memory, atDistance, 1, &out.Distance, base, lo, hi)
	l.floats(memory, atNormal, 3, &out.Normal, base, lo, hi)
	l.floats(memory, atWitnessA, 3, &out.WitnessA, base, lo, hi)
	l.floats(memory, atWitnessB, 3, &out.WitnessB, base, lo, hi)
	l.floats(memory, atPoint, 3, &out.Point, base, lo, hi)
	if at := l.offset[atGap]; at != layout.NoColumn {
		copy(out.Gap[base+lo:base+hi], recordsIn[float32](memory[4*at:])[lo:hi])
	}
	words := recordsIn[uint32](memory[4*l.offset[atStatus]:])
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

// status stores what a status word says of a row, and counts it. A row without an answer keeps the status it has.
func (t *tally) status(w uint32, out *batch.Results, row int) {
	status := batch.Status(w)
	solver, known := layout.SolverOf(w)
	switch {
	case status < batch.Undecided && !known:
		t.declined[0]++ // no shader writes such a word: the row has no answer
	case status < batch.Undecided:
		out.Status[row] = uint8(status)
		if w>>8&layout.Refined != 0 {
			t.refined++
		}
		if out.Method != nil {
			out.Method[row] = uint8(solver)
		}
		if w>>8&layout.ByDepth != 0 {
			t.depths++
		}
		if w>>8&layout.FromFloat32 != 0 {
			t.foundInFloat32++
		}
		if out.Iterations != nil {
			out.Iterations[row] = uint16(w >> 16)
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

func (l *placement) floats(memory []byte, at, perRow int, to *batch.Floats, base, lo, hi int) {
	if l.offset[at] == layout.NoColumn {
		return
	}
	memory = memory[4*l.offset[at]:]
	from, until, dest := perRow*lo, perRow*hi, perRow*(base+lo)
	if l.double {
		copy(to.F64[dest:], recordsIn[float64](memory)[from:until])
	} else {
		copy(to.F32[dest:], recordsIn[float32](memory)[from:until])
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
