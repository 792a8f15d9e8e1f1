package lanes

import "clearance/batch"

// Samples are estimates of order zero of rows: the samples from First on, Count of each row, at other poses of B. Pair
// r·Count + s, and its answer, are those of sample s of row r.
type Samples struct {
	First, Count int
	Seed         uint64
	Epsilon      float64

	// Of rows: their numbers in the noise, sizes, poses of B, [3] and [4], and answers, [10].
	Number                       []uint64
	Size, Position, Rotation, At []float64

	Noise   []float64 // [rows,6,Stride]
	Pairs   *batch.Pairs
	Answers *batch.Results // in double precision
	Sums    []float64      // [rows,10,6]
}

// Stride is Count rounded up to full vectors.
func (s *Samples) Stride() int { return padded(s.Count) }

// padded is n rounded up to full vectors.
func padded(n int) int { return (n + 3) / 4 * 4 }
