package main

import "clearance/batch"

// differingRows returns the number of rows that are not bit-identical in two results of the
// same job.
func differingRows(a, b *batch.Results) int64 {
	var rows int64
	for i := range a.N {
		if a.Differs(i, b, i) != 0 {
			rows++
		}
	}
	return rows
}
