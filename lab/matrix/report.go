package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/lab/folder"
	"clearance/lab/stats"
	"clearance/verify"
)

// Program is the name by which reports are known.
const Program = "lab matrix"

// Clock says what the times of a report hold.
const Clock = "end to end, from pairs in host memory to answers in host memory, results and library reused from call " +
	"to call; kernel: the solvers alone, by the clock of the device"

// Report holds the measurements. Its JSON form is stable.
type Report struct {
	Header
	Date    string   `json:"date"` // of the last part, RFC 3339, UTC
	Devices []Device `json:"devices"`
	Sets    []Set    `json:"sets"`
	Points  []Point  `json:"points"`
}

// Header holds what the parts of a report have in common.
type Header struct {
	Program   string `json:"program"`
	Version   string `json:"version"`
	Platform  string `json:"platform"`
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	SIMD      string `json:"simd"` // kernels that were forced, "" for none
	Seed      uint64 `json:"seed"`
	Rounds    int    `json:"rounds"`
	Sample    int    `json:"sample"` // rows of a point that the reference solved again, at most
	Distinct  int    `json:"distinct"`
	Clock     string `json:"clock"`
}

// NewReport returns an empty report; Program, Distinct and Clock of h are filled in.
func NewReport(h Header) *Report {
	h.Program, h.Distinct, h.Clock = Program, distinct, Clock
	return &Report{Header: h}
}

// Device is who answered for a back end.
type Device struct {
	Backend  string `json:"backend"`
	Device   string `json:"device"`
	Workers  int    `json:"workers"`  // threads of the CPU, the most there were
	Software bool   `json:"software"` // a device that is emulated on the CPU
}

// Set says what a set is made of.
type Set struct {
	Name     string   `json:"set"`
	Kinds    []string `json:"kinds"`
	Vertices float64  `json:"vertices"` // of a hull, mean over the library; 0 if not all shapes are hulls
}

// Point is one case and what was measured of it. Times are ns a pair.
type Point struct {
	Case
	Calls   int             `json:"calls"`                               // of a round
	Rounds  []verify.Number `json:"ns_per_pair_rounds"`                  // end to end
	Kernels []verify.Number `json:"kernel_ns_per_pair_rounds,omitempty"` // where the back end has a clock
	Rate    verify.Number   `json:"pairs_per_second"`                    // end to end, of the median
	// half the distance of the quartiles over the median
	Spread     verify.Number `json:"spread"`
	KernelRate verify.Number `json:"kernel_pairs_per_second,omitempty"` // of the median
	Iterations verify.Number `json:"mean_iterations"`                   // support evaluations a pair
	// pairs of a call that the back end left to another
	Declined int      `json:"declined"`
	Accuracy Accuracy `json:"accuracy"` // of the answers that were timed
}

// Accuracy says how good the answers are. Gap and error are relative to the size of the pair.
type Accuracy struct {
	WorstGap   verify.Number `json:"worst_gap_over_size"` // 0 for the collide query
	Undecided  int           `json:"undecided"`
	Invalid    int           `json:"invalid"`
	Audited    int           `json:"audited"`    // rows checked from the shapes alone
	Refuted    int           `json:"refuted"`    // of these
	Compared   int           `json:"compared"`   // rows solved again by the reference
	Mismatches int           `json:"mismatches"` // of these
	WorstError verify.Number `json:"worst_error_over_size"`
}

// Wrong is the number of faults found; a row that fails twice counts twice.
func (a *Accuracy) Wrong() int { return a.Refuted + a.Mismatches }

func (p *Point) summarize() {
	s := stats.Summarize(floats(p.Rounds))
	p.Rate, p.Spread = verify.Number(1e9/s.Median), verify.Number((s.Upper-s.Lower)/2/s.Median)
	if len(p.Kernels) > 0 {
		p.KernelRate = verify.Number(1e9 / stats.Median(floats(p.Kernels)))
	}
}

func floats(v []verify.Number) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

// Faults returns the numbers of wrong and of undecided or invalid answers.
func (r *Report) Faults() (wrong, undecided int) {
	for i := range r.Points {
		a := &r.Points[i].Accuracy
		wrong += a.Wrong()
		undecided += a.Undecided + a.Invalid
	}
	return wrong, undecided
}

// Add takes over the points of an earlier part that this report has none of. It fails
// if the two are not of the same program, machine and settings.
func (r *Report) Add(earlier *Report) error {
	if r.Header != earlier.Header {
		return fmt.Errorf("the report there is of other settings, version or machine (%+v, now %+v); choose another "+
			"folder, or delete it", earlier.Header, r.Header)
	}
	for _, p := range earlier.Points {
		if !slices.ContainsFunc(r.Points, func(q Point) bool { return q.Case == p.Case }) {
			r.put(p)
		}
	}
	for _, d := range earlier.Devices {
		r.putDevice(d)
	}
	for _, s := range earlier.Sets {
		r.putSet(s)
	}
	return nil
}

// put inserts a point in the order of the report.
func (r *Report) put(p Point) {
	r.Points = append(r.Points, p)
	slices.SortStableFunc(r.Points, func(a, b Point) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Tables(), a.Table), slices.Index(Tables(), b.Table)),
			cmp.Compare(setIndex(a.Set), setIndex(b.Set)),
			cmp.Compare(slices.Index(Regimes(), a.Regime), slices.Index(Regimes(), b.Regime)),
			cmp.Compare(queryOf(a.Query), queryOf(b.Query)), cmp.Compare(b.Precision, a.Precision),
			cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Workers, b.Workers), cmp.Compare(a.Pairs, b.Pairs))
	})
}

// queryOf is the query of a name, QueryCount if there is none.
func queryOf(name string) batch.Query {
	q, err := batch.ParseQuery(name)
	if err != nil {
		return batch.QueryCount
	}
	return q
}

func setIndex(set string) int { return slices.Index(generate.Names(), set) }

func (r *Report) putSet(s Set) {
	if !slices.ContainsFunc(r.Sets, func(t Set) bool { return t.Name == s.Name }) {
		r.Sets = append(r.Sets, s)
	}
	slices.SortFunc(r.Sets, func(a, b Set) int { return cmp.Compare(setIndex(a.Name), setIndex(b.Name)) })
}

// addSet describes a set by its library.
func (r *Report) addSet(name string, lib *batch.Library) {
	s := Set{Name: name}
	hulls, vertices := 0, 0
	for i := range lib.Len() {
		shape := lib.Shape(int32(i))
		if kind := shape.Kind().String(); !slices.Contains(s.Kinds, kind) {
			s.Kinds = append(s.Kinds, kind)
		}
		if c, ok := shape.(*geom.Convex); ok {
			hulls++
			vertices += len(c.Hull().Vertices)
		}
	}
	if hulls == lib.Len() {
		s.Vertices = float64(vertices) / float64(hulls)
	}
	r.putSet(s)
}

// addDevice describes the device of a back end.
func (r *Report) addDevice(c *Case, share []dispatch.Backend) {
	d := Device{Backend: c.Backend, Workers: c.Workers}
	var names []string
	for _, b := range share {
		dev := b.Device()
		text := dev.Name
		if dev.Driver != "" {
			text += "; " + dev.Driver
		}
		names = append(names, text)
		d.Software = d.Software || dev.Kind == batch.SoftwareGPU
	}
	d.Device = strings.Join(names, " + ")
	r.putDevice(d)
}

// putDevice keeps, of two descriptions of a back end, that with more threads.
func (r *Report) putDevice(d Device) {
	i := slices.IndexFunc(r.Devices, func(e Device) bool { return e.Backend == d.Backend })
	switch {
	case i < 0:
		r.Devices = append(r.Devices, d)
		slices.SortFunc(r.Devices, func(a, b Device) int { return cmp.Compare(a.Backend, b.Backend) })
	case r.Devices[i].Workers < d.Workers:
		r.Devices[i] = d
	}
}

// Load reads a report.
func Load(path string) (*Report, error) {
	return folder.Load(path, parse)
}

// parse reads a report and refuses one of something else.
func parse(data []byte) (*Report, error) {
	r, err := folder.Decode[Report](data)
	if err != nil {
		return nil, err
	}
	if r.Program != Program {
		return nil, fmt.Errorf("a report of %q, want one of %q", r.Program, Program)
	}
	for i := range r.Points {
		switch p := &r.Points[i]; {
		case p.Query == "":
			return nil, fmt.Errorf("point %d has no query", i)
		case p.Pairs < 1 || p.Workers < 1:
			return nil, fmt.Errorf("point %d (%s) has %d pairs and %d workers, want 1 or more of both", i, p.Name(),
				p.Pairs, p.Workers)
		}
	}
	return r, nil
}
