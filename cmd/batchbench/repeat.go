package main

import (
	"math"

	"clearance/batch"
)

// differingRows returns the number of rows that are not bit-identical in two results of the
// same job.
func differingRows(a, b *batch.Results) int64 {
	var rows int64
	for i := range a.N {
		if !sameRow(a, b, i) {
			rows++
		}
	}
	return rows
}

func sameRow(a, b *batch.Results, i int) bool {
	return sameFloats(&a.Distance, &b.Distance, i, 1) &&
		sameFloats(&a.Normal, &b.Normal, i, 3) &&
		sameFloats(&a.WitnessA, &b.WitnessA, i, 3) &&
		sameFloats(&a.WitnessB, &b.WitnessB, i, 3) &&
		(a.Gap == nil || math.Float32bits(a.Gap[i]) == math.Float32bits(b.Gap[i])) &&
		(a.Status == nil || a.Status[i] == b.Status[i]) &&
		(a.Iterations == nil || a.Iterations[i] == b.Iterations[i]) &&
		(a.Method == nil || a.Method[i] == b.Method[i])
}

// sameFloats compares row i of a column of the given width bit by bit. Absent columns are
// equal.
func sameFloats(a, b *batch.Floats, i, width int) bool {
	for k := width * i; k < width*(i+1); k++ {
		switch {
		case a.F64 != nil:
			if math.Float64bits(a.F64[k]) != math.Float64bits(b.F64[k]) {
				return false
			}
		case a.F32 != nil:
			if math.Float32bits(a.F32[k]) != math.Float32bits(b.F32[k]) {
				return false
			}
		}
	}
	return true
}
