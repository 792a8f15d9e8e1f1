package kernels

// Stats are counters of a solver's loops, for profiles: rows started, steps of a
// vector, and active lanes of these.
type Stats struct {
	Rows32, Steps32, Lanes32 int64 // float32
	Rows64, Steps64, Lanes64 int64 // float64

	Shared int64 // of Rows32: rows of runs that share both shapes

	// RTR: rows started, rows answered, and evaluations of the model, per lane.
	RowsRTR, DoneRTR, StepsRTR int64
}
