package simd

import "clearance/batch"

// Serves is the table of queries, methods and precisions that the kernels support. They have no accelerated GJK.
var (
	methods    = []batch.Method{batch.Auto, batch.GJK, batch.RTR}
	precisions = []batch.Precision{batch.Single, batch.Double}

	Serves = batch.Serves{
		{Query: batch.Growth, Methods: []batch.Method{batch.Auto}, Precisions: precisions},
		{Query: batch.Distance, Methods: methods, Precisions: precisions},
		{Query: batch.Collide, Methods: methods, Precisions: precisions},
		{Query: batch.Penetration, Methods: methods, Precisions: precisions},
	}
)
