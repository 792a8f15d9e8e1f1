package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"clearance/verify"
)

// throughputClock describes what the times of `throughput` include.
const throughputClock = "end to end, from pairs in host memory to answers in host memory, results and library reused " +
	"from call to call; kernel: the solvers alone, by the clock of the device"

// throughputReport is the report of `throughput --json`.
type throughputReport struct {
	Program     string            `json:"program"`
	Version     string            `json:"version"`
	Date        string            `json:"date"`
	Platform    string            `json:"platform"`
	Cores       int               `json:"cores"`
	Backends    []backendReport   `json:"backends"`
	Query       string            `json:"query"`
	Method      string            `json:"method"`
	Precision   string            `json:"precision"`
	Tolerance   verify.Number     `json:"tolerance"`
	Columns     []string          `json:"columns"`
	Seed        uint64            `json:"seed"`
	Separated   bool              `json:"separated"`   // only separated pairs
	Penetrating bool              `json:"penetrating"` // only penetrating pairs
	Clock       string            `json:"clock"`
	Points      []throughputPoint `json:"points"`
}

// backendReport is a back end and its device.
type backendReport struct {
	Name   string `json:"backend"`
	Device string `json:"device"`
}

// throughputPoint is one size of one set on one back end. Times are medians of the calls.
type throughputPoint struct {
	Set            string         `json:"set"`
	Backend        string         `json:"backend"`
	Rows           int            `json:"pairs"`
	Calls          int            `json:"calls"`
	Seconds        verify.Number  `json:"seconds"` // per call, end to end
	Spread         verify.Number  `json:"spread"`  // half the interquartile range over the median
	PairsPerSecond verify.Number  `json:"pairs_per_second"`
	KernelSeconds  *verify.Number `json:"kernel_seconds"` // null where the back end has no device clock
	KernelPerSec   *verify.Number `json:"kernel_pairs_per_second"`
	Declined       int            `json:"declined"`   // rows per call that the back end declined
	BytesUp        *int64         `json:"bytes_up"`   // per call, to the device; null if there is none
	BytesDown      *int64         `json:"bytes_down"` // and back
	LinkShare      *verify.Number `json:"link_share"` // see moved; null without --link
}

// moved records the bytes per call. LinkShare is the time that they take at the bandwidths of
// the link (MB/s up and down), one direction after the other, relative to that of the call.
func (p *throughputPoint) moved(up, down int64, call float64, link []float64) {
	p.BytesUp, p.BytesDown = &up, &down
	if len(link) == 2 && p.Rows > 0 {
		share := verify.Number((float64(up)/link[0] + float64(down)/link[1]) / 1e6 / call)
		p.LinkShare = &share
	}
}

// pairsText describes the pairs that are measured.
func pairsText(separated, penetrating bool) string {
	switch {
	case separated:
		return "separated pairs"
	case penetrating:
		return "penetrating pairs"
	}
	return "all pairs"
}

// print writes the report as text.
func (r *throughputReport) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "batchbench %s, %s, %s\n", r.Version, r.Date, r.Platform)
	for _, back := range r.Backends {
		fmt.Fprintf(&b, "%s: %s\n", back.Name, back.Device)
	}
	fmt.Fprintf(&b, "query %s, method %s, precision %s%s, seed %d, %s\n", r.Query, r.Method, r.Precision,
		toleranceText(r.Tolerance, r.Query), r.Seed, pairsText(r.Separated, r.Penetrating))
	fmt.Fprintf(&b, "clock: %s\n\n", r.Clock)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := len("set")
	for i := range r.Points {
		width = max(width, len(r.Points[i].Set))
	}
	fmt.Fprintf(tw, "%-*s\tpairs/call\tby\tcalls\tcall\tspread\tpairs/s\tkernel\tkernel/s\tdeclined\tB/pair "+
		"up\tdown\tlink\t\n", width, "set")
	for i := range r.Points {
		p := &r.Points[i]
		rate, kernel, kernelRate, up, down, link := "-", "-", "-", "-", "-", "-"
		if p.Rows > 0 {
			rate = perSecond(float64(p.PairsPerSecond))
		}
		if p.KernelSeconds != nil {
			kernel, kernelRate = seconds(*p.KernelSeconds), perSecond(float64(*p.KernelPerSec))
		}
		if p.BytesUp != nil && p.Rows > 0 {
			up, down = fmt.Sprintf("%.0f", float64(*p.BytesUp)/float64(p.Rows)),
				fmt.Sprintf("%.0f", float64(*p.BytesDown)/float64(p.Rows))
		}
		if p.LinkShare != nil {
			link = fmt.Sprintf("%.0f %%", 100*float64(*p.LinkShare))
		}
		fmt.Fprintf(tw, "%-*s\t%s\t%s\t%s\t%s\t±%.0f%%\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", width, p.Set,
			thousands(p.Rows), p.Backend,
			thousands(p.Calls), seconds(p.Seconds), 100*float64(p.Spread), rate, kernel, kernelRate,
			thousands(p.Declined), up, down, link)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// seconds formats a time with three significant digits.
func seconds(s verify.Number) string {
	v := float64(s)
	for _, unit := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g %s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f ns", v*1e9)
}
