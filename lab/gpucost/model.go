package gpucost

import (
	"fmt"

	"clearance/engine"
)

// gpu is a GPU in the roofline model, by the figures of its data sheet.
type gpu struct {
	vendor    string
	name      string
	units     float64 // SMs, or compute units
	clock     float64 // boost, GHz
	issue     float64 // warps of 32 for which a unit issues an instruction per clock
	double    float64 // warps of 32 per clock in double precision
	bandwidth float64 // of the memory, GB/s
}

// H200: 132 SMs of 128 lanes in single and 64 in double precision. RTX 4090: 128 SMs of 128 and 2 lanes. RX 7900 XTX:
// 96 units of two SIMDs of 32 lanes, whose dual issue is not counted; its 1.92 Tflop/s in double precision are 4 lanes.
var gpus = []gpu{
	{"NVIDIA", "H200", 132, 1.98, 4, 2, 4800}, {"NVIDIA", "RTX 4090", 128, 2.52, 4, 2. / 32, 1008},
	{"AMD", "RX 7900 XTX", 96, 2.5, 2, 4. / 32, 960},
}

// estimated reports whether the page has a line for a proof on a GPU: that in double precision has one on every GPU,
// that in two floats where package engine takes it, as own then says.
func (g *gpu) estimated(precision string) (ok, own bool, err error) {
	proof, err := engine.ProofOf(g.vendor, g.name)
	own = (proof == engine.ProofTwoFloats) == (precision == twoFloats)
	return own || precision != twoFloats, own, err
}

// Bounds of a stage.
const (
	byIssue  = "instructions"
	byDouble = "double precision"
	byMemory = "memory"
)

// estimate returns the rows per second of a GPU, in millions, and for each stage the nanoseconds of a row on the whole
// GPU and what bounds it: the largest of the times in which it issues all instructions, in which it computes those in
// double precision, and in which it moves the bytes.
func (g *gpu) estimate(e *Executed) (rows float64, stages []string) {
	total := 0.0
	for i := range e.Stages {
		s := &e.Stages[i]
		clocks := g.units * g.clock * warpThreads
		time, by := (s.Warp+s.Warp64)/(g.issue*clocks), byIssue
		if t := s.Warp64 / (g.double * clocks); t > time {
			time, by = t, byDouble
		}
		if t := s.Bytes / g.bandwidth; t > time {
			time, by = t, byMemory
		}
		total += time
		stages = append(stages, fmt.Sprintf("%s %.2f (%s)", s.Stage, time, by))
	}
	return 1e3 / total, stages
}
