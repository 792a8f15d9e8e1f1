package kernels

import "clearance/batch"

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
