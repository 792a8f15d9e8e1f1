package scaling

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"clearance/lab/folder"
	"clearance/lab/plots"
	"clearance/verify"
)

// Report holds the measurements and predictions.
type Report struct {
	Program   string        `json:"program"`
	Version   string        `json:"version"`
	Date      string        `json:"date"`
	Platform  string        `json:"platform"`
	Processor string        `json:"processor"`
	SIMD      string        `json:"simd"`
	Pairs     int           `json:"pairs"`
	Rounds    int           `json:"rounds"`
	Seed      uint64        `json:"seed"`
	Here      int           `json:"cores_here"`
	Measured  verify.Number `json:"copied_bytes_per_second"`    // by all cores of this machine
	Bandwidth verify.Number `json:"bandwidth_bytes_per_second"` // of every machine; 0: in proportion to its cores
	Cores     []int         `json:"cores"`
	Points    []Point       `json:"points"`
}

// Point is one path of one set.
type Point struct {
	Set     string        `json:"set"`
	Path    string        `json:"path"`
	Rows    int           `json:"rows"`
	Inside  verify.Number `json:"ns_in_workers"` // CPU time of a row
	Outside verify.Number `json:"ns_outside"`
	// Own, Kernel and Runtime are what Outside consists of, by samples.
	Own     verify.Number `json:"ns_own"`
	Kernel  verify.Number `json:"ns_kernel"`
	Runtime verify.Number `json:"ns_runtime"`
	Samples int           `json:"samples"` // 0: Outside is not divided
	Bytes   verify.Number `json:"bytes"`   // of a row
	// Rates are rows per second, predicted for the cores of the report.
	Rates []verify.Number `json:"rows_per_second"`
}

// divide divides what is outside the workers by samples of it.
func (p *Point) divide(s samples) {
	p.Samples = s.all()
	part := func(n int) verify.Number { return p.Outside * verify.Number(n) / verify.Number(max(p.Samples, 1)) }
	p.Own, p.Kernel, p.Runtime = part(s.own), part(s.kernel), part(s.runtime)
}

// predict computes the rates.
func (p *Point) predict(r *Report) {
	for _, cores := range r.Cores {
		p.Rates = append(p.Rates, verify.Number(min(p.rate(cores), r.memory(cores)/float64(p.Bytes))))
	}
}

// leastSamples is the number of samples from which on they divide a figure.
const leastSamples = 20

func (p *Point) divided() bool { return p.Samples >= leastSamples }

// serial is the CPU time of a row in one goroutine, as far as it is known.
func (p *Point) serial() float64 {
	if p.divided() {
		return float64(p.Own + p.Kernel)
	}
	return float64(p.Outside)
}

// rate is the number of rows per second by CPU time alone.
func (p *Point) rate(cores int) float64 {
	parallel := float64(p.Inside+p.Outside) - p.serial()
	return 1e9 / (parallel/float64(cores) + p.serial())
}

// memory is the bandwidth of a machine, in bytes per second.
func (r *Report) memory(cores int) float64 {
	if r.Bandwidth > 0 {
		return float64(r.Bandwidth)
	}
	return float64(r.Measured) * float64(cores) / float64(r.Here)
}

// Table writes the points as a table in Markdown.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	last := r.Cores[len(r.Cores)-1]
	divided := slices.ContainsFunc(r.Points, func(p Point) bool { return p.divided() })
	fmt.Fprint(&b, "| set | path | ns in workers | ns outside |")
	if divided {
		fmt.Fprint(&b, " own | kernel | runtime | samples |")
	}
	fmt.Fprint(&b, " bytes | one goroutine: at most, M/s |")
	for _, c := range r.Cores {
		fmt.Fprintf(&b, " %d cores, M/s |", c)
	}
	columns := len(r.Cores) + 5
	if divided {
		columns += 4
	}
	fmt.Fprintf(&b, " GB/s by %d cores |\n|---|---|%s\n", last, strings.Repeat("--:|", columns))
	for i := range r.Points {
		p := &r.Points[i]
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s |", p.Set, p.Path, float64(p.Inside), digits(p.Outside))
		switch {
		case p.divided():
			fmt.Fprintf(&b, " %s | %s | %s | %d |", digits(p.Own), digits(p.Kernel), digits(p.Runtime), p.Samples)
		case divided:
			fmt.Fprintf(&b, " – | – | – | %d |", p.Samples)
		}
		fmt.Fprintf(&b, " %.0f | %.3g |", float64(p.Bytes), 1e3/p.serial())
		for _, rate := range p.Rates {
			fmt.Fprintf(&b, " %.3g |", float64(rate)/1e6)
		}
		fmt.Fprintf(&b, " %.0f |\n", p.rate(last)*float64(p.Bytes)/1e9)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// digits writes nanoseconds with a digit behind the point below 10.
func digits(ns verify.Number) string {
	if ns < 10 {
		return fmt.Sprintf("%.1f", float64(ns))
	}
	return fmt.Sprintf("%.0f", float64(ns))
}

// page is the report as a page.
func (r *Report) page() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Scaling\n\n`%s`, version %s, %s: %s, %d cores, %s, %s kernels. %d pairs per call, seed %d, "+
		"the least of %d rounds. Copies of memory by all cores read and write %.1f GB/s.\n\n", r.Program, r.Version,
		r.Date, r.Processor, r.Here, r.Platform, r.SIMD, r.Pairs, r.Seed, r.Rounds, float64(r.Measured)/1e9)
	memory := "the bandwidth measured here grows with the cores"
	if r.Bandwidth > 0 {
		memory = fmt.Sprintf("the memory of every machine moves %.0f GB/s", float64(r.Bandwidth)/1e9)
	}
	fmt.Fprintf(&b, "[What the columns mean, and which machine they speak for](../../docs/performance.md#more-cores). "+
		"Rates are predicted, not measured; %s. The last column is what the most cores would move if no memory held "+
		"them.\n\n", memory)
	if err := r.Table(&b); err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "\n![Predicted rows per second by cores](%s/%s.svg)\n", figureDir, figure)
	return b.Bytes(), nil
}

const (
	figureDir = "pictures"
	figure    = "scaling"
)

// lines is the figure: the rates of the first set.
func (r *Report) lines() *plots.Lines {
	f := &plots.Lines{Title: "Predicted rows per second, " + r.Points[0].Set, X: "cores", Y: "million rows a second",
		LogX: true, LogY: true, Beside: true}
	for i := range r.Points {
		p := &r.Points[i]
		if p.Set != r.Points[0].Set {
			continue
		}
		l := plots.Line{Name: p.Path, Color: len(f.Lines), Dashed: len(f.Lines) >= 6}
		for k, c := range r.Cores {
			l.X, l.Y = append(l.X, float64(c)), append(l.Y, float64(p.Rates[k])/1e6)
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// Write writes the page, the results and the figure into dir.
func (r *Report) Write(dir string) error {
	draw := func(dir string) error { return r.lines().Draw(filepath.Join(dir, figure)) }
	names := folder.Names{Page: "scaling.md", Results: "scaling.json", Figures: figureDir}
	return folder.Write(dir, names, draw, r, r.page)
}

// Check returns an error for options that nothing can be measured with.
func (o *Options) Check(mostPairs int) error {
	switch {
	case len(o.Sets) == 0:
		return fmt.Errorf("no set, want at least one")
	case o.Pairs < 1 || o.Pairs > mostPairs:
		return fmt.Errorf("%d pairs, want 1 to %d", o.Pairs, mostPairs)
	case o.Rounds < 1:
		return fmt.Errorf("%d rounds, want at least 1", o.Rounds)
	case len(o.Cores) == 0 || slices.Min(o.Cores) < 1:
		return fmt.Errorf("cores %d, want numbers of at least 1", o.Cores)
	case o.Samples < 0:
		return fmt.Errorf("samples of %v, want a duration, or 0 for none", o.Samples)
	case !(o.Bandwidth >= 0):
		return fmt.Errorf("a bandwidth of %g, want a number of bytes per second, or 0", o.Bandwidth)
	}
	return nil
}
