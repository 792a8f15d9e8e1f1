package simd

import "clearance/batch"

// Serves is the table of queries, methods, precisions and columns that the kernels support. They have no accelerated
// GJK.
var (
	methods    = []batch.Method{batch.Auto, batch.GJK, batch.RTR}
	precisions = []batch.Precision{batch.Single, batch.Double}

	// written are the columns that store.h writes, and the bits, which follow from the status.
	written = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB |
		batch.ColStatus | batch.ColIterations | batch.ColMethod | batch.ColBits

	Serves = batch.Serves{
		{Query: batch.Growth, Methods: []batch.Method{batch.Auto}, Precisions: precisions,
			Columns: written | batch.ColPoint},
		{Query: batch.Distance, Methods: methods, Precisions: precisions, Columns: written},
		{Query: batch.Collide, Methods: methods, Precisions: precisions, Columns: written},
		{Query: batch.Penetration, Methods: methods, Precisions: precisions, Columns: written},
	}
)
