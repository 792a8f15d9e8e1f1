package main

import (
	"fmt"
	"strings"

	"clearance/dispatch"
	"clearance/engine"
)

// deviceRows counts rows of Vulkan devices: those that the device refined in double precision,
// and those that it declined, by reason.
type deviceRows struct {
	Refined   int64 `json:"refined_in_double"`
	Kind      int64 `json:"no_shader_for_the_kind"`
	Depth     int64 `json:"depth_of_intersecting_cores"`
	Gap       int64 `json:"bounds_too_wide"`
	Budget    int64 `json:"too_many_vertices"`
	Precision int64 `json:"no_double_precision"`
	Unknown   int64 `json:"no_status"`
}

// deviceRowsOf reads the counts of the back end of a subject, nil where it has none.
func deviceRowsOf(l *subject) (sum *deviceRows) {
	chosen, err := l.dispatcher.Choose(l.backend, &l.flags.options, dispatch.UnknownRows)
	if err != nil {
		return nil
	}
	for _, b := range chosen.Share {
		if e, ok := dispatch.As[*engine.Backend](b); ok {
			s := e.Stats()
			d := s.Declined
			sum = sum.plus(&deviceRows{Refined: s.Refined, Kind: d.Kind, Depth: d.Depth, Gap: d.Gap,
				Budget: d.Budget, Precision: d.Precision, Unknown: d.Unknown})
		}
	}
	return sum
}

func (d *deviceRows) plus(o *deviceRows) *deviceRows { return d.combine(o, 1) }

func (d *deviceRows) minus(o *deviceRows) *deviceRows { return d.combine(o, -1) }

// combine adds the counts of o times a sign; nil is all zero.
func (d *deviceRows) combine(o *deviceRows, sign int64) *deviceRows {
	if o == nil {
		return d
	}
	if d == nil {
		d = new(deviceRows)
	}
	return &deviceRows{
		Refined: d.Refined + sign*o.Refined, Kind: d.Kind + sign*o.Kind, Depth: d.Depth + sign*o.Depth,
		Gap:    d.Gap + sign*o.Gap,
		Budget: d.Budget + sign*o.Budget, Precision: d.Precision + sign*o.Precision,
		Unknown: d.Unknown + sign*o.Unknown,
	}
}

// String lists the reasons why rows were declined.
func (d *deviceRows) String() string {
	var list []string
	note := func(n int64, what string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s: %s", what, thousands(n)))
		}
	}
	note(d.Depth, "depths")
	note(d.Kind, "kinds without a shader")
	note(d.Gap, "bounds too wide")
	note(d.Budget, "too many vertices")
	note(d.Precision, "no double precision on the device")
	note(d.Unknown, "no status")
	if len(list) == 0 {
		return "reasons unknown"
	}
	return strings.Join(list, ", ") + ", all rounds"
}
