package scaling

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	clearance "clearance"
	"clearance/internal/meter"
	"clearance/verify"
)

// backend answers the rows: work of devices is not CPU time.
const backend = "cpu"

// Options configure a measurement.
type Options struct {
	Sets   []string
	Paths  []string // beginnings of the names of the paths to measure; none: all
	Pairs  int      // of a call
	Rounds int      // of each path, after one that warms up
	Seed   uint64
	Cores  []int // that are predicted

	// Bandwidth in bytes per second is that of the memory of every machine that is predicted; with 0 each core brings
	// the share that a core has of the bandwidth measured here.
	Bandwidth float64

	// Samples is the CPU time in which each path is sampled to divide what is outside the workers; 0: not divided.
	Samples time.Duration

	SIMD     string
	Progress func(points int) // called after each point; may be nil
}

// PathNames are the paths of a set, in the order in which they are measured.
func PathNames() []string {
	names := []string{fresh, reused, heldRows, heldLeast, heldAll, swept}
	for _, format := range formats {
		names = append(names, scoring+format, verifying+format)
	}
	return names
}

// Measure adds the points of all paths of all sets to the report, and the bandwidth.
func Measure(ctx context.Context, o *Options, r *Report) error {
	h, err := clearance.Open(clearance.WithBackend(backend), clearance.WithSIMD(o.SIMD))
	if err != nil {
		return err
	}
	defer h.Close()
	folder, err := os.MkdirTemp("", "scaling")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if !slices.ContainsFunc(PathNames(), o.wants) {
		return fmt.Errorf("no path is called %s, want beginnings of %s", strings.Join(o.Paths, ", "),
			strings.Join(PathNames(), ", "))
	}
	r.Measured = verify.Number(copyBandwidth())
	for _, set := range o.Sets {
		s, err := newScene(ctx, set, o.Seed, o.Pairs)
		if err != nil {
			return err
		}
		list, done, err := s.paths(h, folder)
		if err != nil {
			return err
		}
		for _, p := range list {
			if !o.wants(p.name) {
				continue
			}
			point, err := o.measure(ctx, &p)
			if err != nil {
				done()
				return err
			}
			point.Set = set
			point.predict(r)
			r.Points = append(r.Points, *point)
			if o.Progress != nil {
				o.Progress(1)
			}
		}
		done()
		debug.FreeOSMemory()
	}
	return nil
}

// wants reports whether a path is to be measured.
func (o *Options) wants(name string) bool {
	return len(o.Paths) == 0 || slices.ContainsFunc(o.Paths, func(p string) bool { return strings.HasPrefix(name, p) })
}

// measure runs a path, once to warm up.
func (o *Options) measure(ctx context.Context, p *path) (*Point, error) {
	var best *Point
	for round := 0; round <= o.Rounds; round++ {
		var rows int
		var bytes float64
		if err := p.clear(); err != nil {
			return nil, err
		}
		inside, outside, err := meter.Measure(func() (err error) {
			rows, bytes, err = p.run(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		n := float64(max(rows, 1))
		q := &Point{Path: p.name, Rows: rows, Bytes: verify.Number(bytes / n),
			Inside: verify.Number(float64(inside) / n), Outside: verify.Number(float64(outside) / n)}
		if round > 0 && (best == nil || q.Inside+q.Outside < best.Inside+best.Outside) {
			best = q
		}
	}
	if o.Samples == 0 {
		return best, nil
	}
	outside, err := sample(o.Samples, p.clear, func() error {
		_, _, err := p.run(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	best.divide(outside)
	return best, nil
}

// clear removes the output of the last run.
func (p *path) clear() error {
	if p.output == "" {
		return nil
	}
	if err := os.Remove(p.output); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copyBandwidth is the rate at which all cores copy memory, in bytes read and written per second.
func copyBandwidth() float64 {
	const size, rounds = 64 << 20, 4
	cores := runtime.GOMAXPROCS(0)
	from, to := make([]byte, size), make([]byte, size)
	for i := range from {
		from[i] = byte(i)
	}
	copy(to, from)
	start := time.Now()
	var all sync.WaitGroup
	for k := range cores {
		lo, hi := size*k/cores, size*(k+1)/cores
		all.Go(func() {
			for range rounds {
				copy(to[lo:hi], from[lo:hi])
			}
		})
	}
	all.Wait()
	return 2 * size * rounds / time.Since(start).Seconds()
}
