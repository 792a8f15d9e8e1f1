package simd

// Stats sums up what a solver's loops did, for profiles: rows taken, steps of a whole
// vector, and lanes that worked in them.
type Stats struct {
	Rows32, Steps32, Lanes32 int64 // float32
	Rows64, Steps64, Lanes64 int64 // float64

	// RTR: rows taken, rows answered, and evaluations of the model in single lanes.
	RowsRTR, DoneRTR, StepsRTR int64
}

// BlockRows is the largest number of rows of one [Solver.Run].
const BlockRows = 2048
