package dispatch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"clearance/batch"
)

// UnknownRows stands for the length of a batch that nobody knows, as that of some streams.
const UnknownRows = -1

// manyRows is what is assumed where the length is not known: only rates count.
const manyRows = 1 << 30

// Choice says who answers a call.
type Choice struct {
	// Share has the back ends that share the rows, one in most calls.
	Share []Backend

	// Spare has those that take over when all of Share have failed, best first. It is
	// empty where back ends were asked for by name.
	Spare []Backend

	Why string // in a line, for people
}

// Name is the names of the back ends that share the rows, joined by "+".
func (c *Choice) Name() string {
	var names []string
	for _, b := range c.Share {
		names = append(names, b.Name())
	}
	return strings.Join(names, "+")
}

// Choose says who answers a call of so many rows, or [UnknownRows], with options o.
//
// A name takes the back ends of that name, or those of "name:…" if none is called just
// that; several names joined by "+" take all of theirs. For "" and [Auto] the back end
// with the shortest estimate is taken, together with its like: back ends of the same name
// on devices that describe themselves in the same words. A Vulkan driver that runs on the
// CPU comes after everything else. Estimates are declared, not measured ([Estimator]), so
// that the same call is answered by the same back end every time.
//
// The error wraps [ErrNoBackend] and gives the reason of each back end turned down.
func (d *Dispatcher) Choose(backend string, o *batch.Options, rows int) (*Choice, error) {
	if rows < 0 {
		rows = manyRows
	}
	if backend == "" || backend == Auto {
		return d.best(o, rows)
	}
	return d.named(backend, o)
}

// named returns the back ends of a list of names.
func (d *Dispatcher) named(list string, o *batch.Options) (*Choice, error) {
	c := &Choice{Why: "asked for by name"}
	for _, name := range strings.Split(list, "+") {
		all := d.called(name)
		if len(all) == 0 {
			return nil, fmt.Errorf("dispatch: %w is named %q, want one of %v", ErrNoBackend, name, d.names())
		}
		usable, reasons := sift(all, o)
		if len(usable) == 0 {
			return nil, noneUsable(reasons)
		}
		for _, b := range usable {
			if !slices.Contains(c.Share, b) {
				c.Share = append(c.Share, b)
			}
		}
	}
	return c, nil
}

// called returns the back ends of a name.
func (d *Dispatcher) called(name string) (all []Backend) {
	for _, b := range d.backends {
		if b.Name() == name {
			all = append(all, b)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, b := range d.backends {
		if family(b) == name {
			all = append(all, b)
		}
	}
	return all
}

// family is the name without what tells devices apart.
func family(b Backend) string {
	name, _, _ := strings.Cut(b.Name(), ":")
	return name
}

func (d *Dispatcher) names() (names []string) {
	for _, b := range d.backends {
		names = append(names, b.Name())
	}
	return names
}

// sift separates the back ends that can serve a call from the reasons of the others.
func sift(all []Backend, o *batch.Options) (usable []Backend, reasons []string) {
	for _, b := range all {
		device := b.Device()
		if !device.Usable() {
			reasons = append(reasons, b.Name()+": "+device.Reason)
		} else if err := b.Check(o); err != nil {
			reasons = append(reasons, b.Name()+": "+err.Error())
		} else {
			usable = append(usable, b)
		}
	}
	return usable, reasons
}

func noneUsable(reasons []string) error {
	return fmt.Errorf("dispatch: %w (%s)", ErrNoBackend, strings.Join(reasons, "; "))
}

// best ranks the usable back ends by what they are estimated to take.
func (d *Dispatcher) best(o *batch.Options, rows int) (*Choice, error) {
	usable, reasons := sift(d.backends, o)
	if len(usable) == 0 {
		if len(reasons) == 0 {
			return nil, fmt.Errorf("dispatch: %w", ErrNoBackend)
		}
		return nil, noneUsable(reasons)
	}
	var groups []group
	for _, b := range usable {
		i := slices.IndexFunc(groups, func(g group) bool { return alike(g.members[0], b) })
		if i < 0 {
			i, groups = len(groups), append(groups, group{})
		}
		groups[i].members = append(groups[i].members, b)
	}
	for i := range groups {
		g := &groups[i]
		g.takes = estimate(g.members[0], (rows+len(g.members)-1)/len(g.members), o)
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		switch {
		case a.takes < b.takes:
			return -1
		case a.takes > b.takes:
			return 1
		}
		return 0
	})
	c := &Choice{Share: groups[0].members, Why: why(groups, rows)}
	for _, g := range groups[1:] {
		c.Spare = append(c.Spare, g.members...)
	}
	return c, nil
}

// group is back ends that are alike.
type group struct {
	members []Backend
	takes   time.Duration
}

// alike reports whether two back ends give the same bits, as far as devices tell: then
// it does not matter which of them answers a row.
func alike(a, b Backend) bool {
	x, y := a.Device(), b.Device()
	return family(a) == family(b) && x.Kind == y.Kind && x.Name == y.Name && x.Driver == y.Driver
}

// why tells people how the groups rank.
func why(groups []group, rows int) string {
	var s strings.Builder
	for i, g := range groups {
		if i > 0 {
			s.WriteString(", ")
		}
		c := Choice{Share: g.members}
		fmt.Fprintf(&s, "%s %s", c.Name(), estimateText(g.takes))
	}
	if rows == manyRows {
		return "estimated for very many rows: " + s.String()
	}
	return fmt.Sprintf("estimated for %d rows: %s", rows, s.String())
}

func estimateText(d time.Duration) string {
	if d == math.MaxInt64 {
		return "never before others"
	}
	if d > time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond / 10).String()
}
