package batch

// Floats is a column of float32 (single precision) or float64 (double); exactly
// one of the two slices is in use.
type Floats struct {
	F32 []float32
	F64 []float64
}

// Results holds the answer columns of N rows. Columns that were not asked for are
// nil. See DESIGN: true value in Distance ± Gap.
type Results struct {
	N          int
	Columns    Columns
	Precision  Precision
	Distance   Floats    // [N]
	Gap        []float32 // [N]
	Normal     Floats    // [N,3] unit, world frame, from A to B
	WitnessA   Floats    // [N,3] world frame
	WitnessB   Floats    // [N,3] world frame
	Status     []uint8   // [N]
	Iterations []uint16  // [N]
}

// Len returns the number of values.
func (f *Floats) Len() int { return len(f.F32) + len(f.F64) }

// At returns value i as a float64.
func (f *Floats) At(i int) float64 {
	if f.F64 != nil {
		return f.F64[i]
	}
	return float64(f.F32[i])
}

// Set stores value i, rounded to nearest in single precision.
func (f *Floats) Set(i int, v float64) {
	if f.F64 != nil {
		f.F64[i] = v
	} else {
		f.F32[i] = float32(v)
	}
}
