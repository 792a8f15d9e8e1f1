package gpucost

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/engine"
)

// Executed counts the PTX instructions that the rows of a set execute: an estimate of the work of a GPU, without one. A
// row counts the instructions of its own thread. A warp executes each basic block as often as the thread of it that
// runs the block most often, as if diverging threads joined again at once; its counts are divided by its rows.
type Executed struct {
	Set       string          `json:"set"`
	Precision string          `json:"precision"` // as in a Use
	Rows      int             `json:"rows"`
	Stages    []ExecutedStage `json:"stages"`
}

// ExecutedStage is one stage of an Executed. Quotients, roots and such count as the instructions that weights has.
type ExecutedStage struct {
	Stage      string  `json:"stage"`
	Row        float64 `json:"row"`      // instructions of a row, without those in double precision
	Row64      float64 `json:"row_f64"`  // in double precision
	Warp       float64 `json:"warp"`     // per row of a warp
	Warp64     float64 `json:"warp_f64"` // per row of a warp
	Bytes      float64 `json:"bytes"`    // of the sectors that the stage touches, per row
	Efficiency float64 `json:"efficiency"`
}

// Sets, and rows of each: separated pairs, which end without a depth.
var simulated = []string{"boxes", "ellipsoids", "hull32"}

const (
	simulatedRows = 2048
	sectorBytes   = 32
	chunkRows     = 1 << 18 // among which a GPU shares one reading of the library, see engine.Options.ChunkRows
)

// ofLibrary are the buffers that all rows share.
var ofLibrary = []string{"Shapes", "Vertices", "Shapes64", "Vertices64", "Cells"}

// weights are the instructions that a GPU of NVIDIA takes for one of PTX that has no counterpart, from the machine code
// of such functions; classes that are not here count as one. Moves between registers are left out: most of them vanish
// in machine code.
var weights = map[string]float64{
	"div.f64": 12, "sqrt.f64": 14, "special.f64": 2, "div.f32": 8, "sqrt.f32": 6, "move": 0, "param": 0,
}

// ofDepths are the stages that separated rows do not take.
var ofDepths = []string{"depth", "depth_certificate", "epa_float32"}

// simulate runs the stages of the distance in single precision on every set, with both proofs.
func (c *cuda) simulate(like *Report) (list []Executed, err error) {
	for _, precision := range []string{batch.Single.String(), twoFloats} {
		for _, set := range simulated {
			call := Use{Library: set, Query: "distance", Method: "auto", Precision: precision}
			u := like.use(&call)
			if u == nil {
				return nil, fmt.Errorf("no pipelines for %v", &call)
			}
			e, err := c.simulateSet(set, like, u)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", u, err)
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// simulateSet runs the stages before the depths on rows of a set, and checks what they compute.
func (c *cuda) simulateSet(set string, like *Report, u *Use) (e Executed, err error) {
	g, err := generate.New(set, 1, generate.Options{Shapes: 256})
	if err != nil {
		return e, err
	}
	all := batch.NewPairs(simulatedRows * 3 / 2)
	g.Fill(all, 0)
	pairs := batch.NewPairs(simulatedRows)
	var want []float64
	var r batch.Row
	for i := range all.Len() {
		if g.Separation(i) > 0 && len(want) < simulatedRows {
			all.Row(i, &r)
			pairs.SetRow(len(want), &r)
			want = append(want, g.Separation(i))
		}
	}
	pairs = pairs.Slice(0, len(want))
	chunk, err := engine.ChunkOf(g.Library(), pairs, new(batch.Options))
	if err != nil {
		return e, err
	}
	e = Executed{Set: set, Precision: u.Precision, Rows: len(want)}
	for _, k := range u.Pipelines {
		p := &like.Pipelines[k]
		if slices.Contains(ofDepths, p.Stage) {
			continue
		}
		s, err := c.simulateStage(p, chunk, len(want))
		if err != nil {
			return e, fmt.Errorf("%s: %w", p.Stage, err)
		}
		e.Stages = append(e.Stages, s)
	}
	return e, checkSimulated(chunk, pairs, want)
}

// checkSimulated compares the distances with the separations at which the rows were placed, to rounding, and relative
// positions with float64: without the error of a sum or of a product they would be off by 1e-8.
func checkSimulated(chunk *engine.Chunk, pairs *batch.Pairs, want []float64) error {
	var r batch.Row
	left := 0 // to the depths
	for i, d := range want {
		if got := chunk.Distance(i); got != got {
			left++
		} else if !(math.Abs(got-d) <= 3e-7*max(1, d)) {
			return fmt.Errorf("row %d: the simulated distance is %v, %v expected", i, got, d)
		}
		pairs.Row(i, &r)
		t, got := r.PoseA.ApplyInverse(r.PoseB.Position), chunk.Translation(i)
		off := math.Hypot(math.Hypot(got[0]-t.X, got[1]-t.Y), got[2]-t.Z)
		if far := math.Abs(t.X) + math.Abs(t.Y) + math.Abs(t.Z); !(off <= 1e-12*max(1, far)) {
			return fmt.Errorf("row %d: the simulated position of B is off by %g at %g", i, off, far)
		}
	}
	if left*100 > len(want) {
		return fmt.Errorf("%d of %d simulated rows are not answered", left, len(want))
	}
	return nil
}

var bufferOf = regexp.MustCompile(`(?m)^layout\(std430, binding = (\d+)\).* buffer (\w+) \{`)

// simulateStage runs one stage.
func (c *cuda) simulateStage(p *Pipeline, chunk *engine.Chunk, rows int) (s ExecutedStage, err error) {
	dir, err := os.MkdirTemp("", "gpucost")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	source, ptx := filepath.Join(dir, p.Stage+".cu"), filepath.Join(dir, p.Stage+".ptx")
	if err := c.translate(p, dir, source); err != nil {
		return s, err
	}
	if err := c.ptx(capabilities[0].name, source, ptx); err != nil {
		return s, err
	}
	text, err := os.ReadFile(ptx)
	if err != nil {
		return s, err
	}
	program, err := parsePTX(string(text))
	if err != nil {
		return s, err
	}
	glsl, err := os.ReadFile(filepath.Join(dir, p.source()+".comp"))
	if err != nil {
		return s, err
	}
	var buffers [][]byte
	m := &machine{shared: map[uint64]bool{}}
	for _, b := range bufferOf.FindAllStringSubmatch(string(glsl), -1) {
		name := b[2]
		memory, ok := chunk.Buffers[name]
		if !ok || b[1] != fmt.Sprint(len(buffers)) {
			return s, fmt.Errorf("buffer %s at binding %s", name, b[1])
		}
		m.shared[uint64(len(buffers))] = slices.Contains(ofLibrary, name)
		buffers = append(buffers, memory)
	}
	m.bind(append(buffers, chunk.Query)...)
	threads := rows
	if n, ok := chunk.Listed(p.Stage); ok {
		threads = n
	}
	return m.runAll(p.Stage, program, threads, rows)
}

// runAll runs the threads of a stage and sums up what they execute, per row of all rows.
func (m *machine) runAll(stage string, p *program, threads, rows int) (s ExecutedStage, err error) {
	s.Stage = stage
	own, most := make([]float64, len(p.blocks)), make([]float64, len(p.blocks))
	warp := make([]uint32, len(p.blocks))
	m.touched = map[uint64]struct{}{}
	for i := range threads {
		if err := m.run(p, i); err != nil {
			return s, err
		}
		for b, n := range m.counts {
			own[b] += float64(n)
			warp[b] = max(warp[b], n)
		}
		if i%warpThreads == warpThreads-1 || i == threads-1 {
			for b, n := range warp {
				most[b] += float64(n) * warpThreads
				warp[b] = 0
			}
		}
	}
	s.Row, s.Row64 = p.total(own, rows)
	s.Warp, s.Warp64 = p.total(most, rows)
	s.Efficiency = 1 // of a list without rows
	if threads > 0 {
		s.Efficiency = (s.Row + s.Row64) / (s.Warp + s.Warp64)
	}
	for sector := range m.touched {
		if m.shared[sector*sectorBytes/bufferSpace-1] {
			s.Bytes += sectorBytes / float64(chunkRows)
		} else {
			s.Bytes += sectorBytes / float64(rows)
		}
	}
	return s, nil
}

// total returns the instructions of so many runs of the blocks, per row: those in single precision and of integers,
// and those in double precision.
func (p *program) total(runs []float64, rows int) (single, double float64) {
	for b, classes := range p.blocks {
		for class, n := range classes {
			weight, ok := weights[class]
			if !ok {
				weight = 1
			}
			if strings.HasSuffix(class, "f64") {
				double += runs[b] * n * weight / float64(rows)
			} else {
				single += runs[b] * n * weight / float64(rows)
			}
		}
	}
	return single, double
}

// note remembers the sectors of memory that are touched, but for parameters and local memory.
func (m *machine) note(address uint64, n int) {
	if address < parameterBase && m.touched != nil {
		for a := address / sectorBytes; a <= (address+uint64(n)-1)/sectorBytes; a++ {
			m.touched[a] = struct{}{}
		}
	}
}

// load reads a number of n bytes.
func (m *machine) load(address uint64, n int) uint64 {
	m.note(address, n)
	var b [8]byte
	copy(b[:], m.at(address, n))
	return binary.LittleEndian.Uint64(b[:])
}

func (m *machine) store(address uint64, n int, v uint64) {
	m.note(address, n)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(m.at(address, n), b[:n])
}
