package dispatch

// Merge adds the report of the rows after those of r. Their row numbers count from the first row of the whole, see
// Options.FirstRow. The reports of consecutive parts, merged in order, are the report of one call with the same chunks,
// but for Wall, which is their sum, and the limit of RowErrors, which is that of the first part. r is at first the
// report of the first part.
func (r *Report) Merge(next *Report) {
	r.Rows, r.Done = r.Rows+next.Rows, r.Done+next.Done
	addAll(r.Counts[:], next.Counts[:])
	addAll(r.Solvers[:], next.Solvers[:])
	for _, e := range next.RowErrors {
		if len(r.RowErrors) < r.maxRowErrors {
			r.RowErrors = append(r.RowErrors, e)
		}
	}
	r.Iterations += next.Iterations
	if next.WorstGapRow >= 0 && (r.WorstGapRow < 0 || next.WorstGap > r.WorstGap) {
		r.WorstGap, r.WorstGapRow = next.WorstGap, next.WorstGapRow
	}
	for _, s := range next.Shares {
		r.share(s)
	}
	for _, s := range next.Spans {
		r.addSpan(s)
	}
	r.Failovers = append(r.Failovers, next.Failovers...)
	for _, h := range next.Handovers {
		r.handover(h)
	}
	r.Kernel, r.KernelRows = r.Kernel+next.Kernel, r.KernelRows+next.KernelRows
	r.BytesDown += next.BytesDown
	r.Wall += next.Wall
}

// newReport returns the report of no rows.
func newReport(o *Options) Report { return Report{WorstGapRow: -1, maxRowErrors: o.MaxRowErrors} }

func addAll(to, from []int) {
	for i, n := range from {
		to[i] += n
	}
}
