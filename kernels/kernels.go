// Package kernels answers rows of a batch with kernels in C, and chooses the instruction set of all kernels: the option
// of a call names it, else the environment variable CLEARANCE_SIMD, else the processor decides.
//
//	choice.go     the choice of the variant
//	variant_*.go  what each variant consists of
//	table.go      a library in the layout of the kernels: shapes for all, and what those of pairs read besides
//	solver.go     calls: the columns of a job and of its results, pinned
//	boxes.go      pairs of bodies culled by their bounds, and pairs of boxes that meet
//
// A kernel answers a row or declines it; the caller passes declined rows on to package ref. Go reads the layout of
// structures from the headers, through cgo. Without cgo there are no kernels, and no call is supported.
//
// # The C sources
//
//	isa     headers: the vectors of each instruction set, algebra
//	shape   headers: shapes, support functions, Hessians
//	pairs   headers: distances, intersections and depths
//	growth  headers: growth distances
//	boxes   culling, and the broad phase
//
// A package of headers embeds them, so that a change enters the keys of Go's build cache. pairs and growth have a
// package below them for each variant, which compiles one kernel, so that the compilers run side by side. It imports
// each package of headers that it includes, directly: Go compiles a package anew if the content of a direct import has
// changed. None imports Go code of the module, so that no change in Go compiles the kernels anew. Paths of includes are
// relative: an option -I would enter the key of the cache, with the path of the checkout.
//
// One source, a template over the instruction set and over float32 and float64, is compiled once for each variant into
// the same binary:
//
//	avx512    16 lanes of float32, 8 of float64   (AVX-512 F, DQ, VL, BW, FMA)
//	avx2       8 and 4                            (AVX2, FMA)
//	neon       4 and 2                            (64-bit ARM)
//	portable   4 and 2                            (vector extensions of the compiler)
//
// The variant is chosen at run time, so that every variant that a machine supports can be tested on it. The build tags
// noavx512, noavx2, noneon and noportable leave variants out.
//
// # Layers and threads
//
// A Table and a Call may be used by several goroutines at once, a Solver and a Culler by one at a time. All else may be
// called from any goroutine.
package kernels

import "clearance/batch"

// A Kernel is a kernel of each variant.
type Kernel int

// The kernels; the table below says which queries the first two answer.
const (
	Pairs       Kernel = iota // kernel.h: distances, intersections and depths
	Growth                    // growth.h
	Derivatives               // package kernels/derive
	Contacts                  // package kernels/contact
	Culling                   // package boxes
	BroadPhase                // package boxes
	kernelCount = iota
)

// Entry is one row of the table of kernels: what it answers and how calls name it. The headers say which
// rows of a call each of them declines.
type Entry struct {
	name   Kernel
	serves batch.Serves // queries, methods, precisions, and columns that it writes

	// limited reports whether it takes calls with an iteration limit. The decision must not depend on the columns,
	// which change no answer.
	limited func(limit int) bool
}

// freeSteps exceeds the evaluations of any row in the kernels: 64 of GJK in float32, 200 in
// float64, 180 for local minima and their certificates, and 208 of EPA, when its memory is full. A larger
// iteration limit has no effect there.
const freeSteps = 1024

var (
	methods    = []batch.Method{batch.Auto, batch.GJK, batch.RTR} // there is no accelerated GJK
	precisions = []batch.Precision{batch.Single, batch.Double}

	// written are the columns that store.h writes, and the bits, which follow from the status.
	written = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB |
		batch.ColStatus | batch.ColIterations | batch.ColMethod | batch.ColBits

	table = []Entry{
		{
			name: Growth,
			serves: batch.Serves{{Query: batch.Growth, Methods: []batch.Method{batch.Auto}, Precisions: precisions,
				Columns: written | batch.ColPoint}},
			// Only package ref counts the iterations of a limit.
			limited: func(limit int) bool { return limit > freeSteps },
		},
		{
			name: Pairs,
			serves: batch.Serves{
				{Query: batch.Distance, Methods: methods, Precisions: precisions, Columns: written},
				{Query: batch.Collide, Methods: methods, Precisions: precisions, Columns: written},
				{Query: batch.Penetration, Methods: methods, Precisions: precisions, Columns: written},
			},
			// A row takes two evaluations of the support function at least, one for a step and one for its proof.
			limited: func(limit int) bool { return limit > 1 },
		},
	}

	// Serves is the table of queries, methods, precisions and columns that the kernels support.
	Serves = serves()
)

func serves() (all batch.Serves) {
	for _, k := range table {
		all = append(all, k.serves...)
	}
	return all
}

// For returns the kernel that answers calls with the options o, nil if there is none.
func For(o *batch.Options) *Entry {
	for i := range table {
		k := &table[i]
		if k.serves.Has(o) && (o.MaxIterations == 0 || k.limited(o.MaxIterations)) {
			return k
		}
	}
	return nil
}

// BlockRows is the largest number of rows of one [Solver.Run].
const BlockRows = 2048

// Constants of the broad phase.
const (
	BoxLanes  = 8  // boxes of a leaf, and children of a node
	BoxLevels = 10 // of a hierarchy of 2^28 boxes
	BoxSorted = 64 // the longest row that is sorted
	BoxSpare  = 16 // numbers behind the end of an array that a kernel may use
)

// BoxArrays are the arrays of a [BoxSearch], none of which is empty.
type BoxArrays struct {
	First                   []int    // block of each level, from the boxes up
	Blocks                  *float64 // bounds: lower x, y, z, upper x, y, z of BoxLanes boxes each
	IDs                     []int32  // of the boxes of each leaf, -1 for none
	Last                    []int32  // the largest of each leaf
	Near, Next, Lanes, Rows []int32  // memory for leaves, three times, and for rows, with BoxSpare behind
	Length                  []int64  // receives the length of the row of each box
}

// Stats are counters of a solver's loops, for profiles: rows started, steps of a
// vector, and active lanes of these.
type Stats struct {
	Rows32, Steps32, Lanes32 int64 // float32
	Rows64, Steps64, Lanes64 int64 // float64

	Shared int64 // of Rows32: rows of runs that share both shapes

	// RTR: rows started, rows answered, and evaluations of the model, per lane.
	RowsRTR, DoneRTR, StepsRTR int64
}
