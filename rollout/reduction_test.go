package rollout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/tests/need"
)

// TestDeviceReduction: results and reports are the same, bit for bit, whether or not a device returns all answers: of
// every query, reduction, precision and set of columns, with and without culling, in chunks of any size.
func TestDeviceReduction(t *testing.T) {
	for _, chunk := range []int{64, 0} {
		t.Run(fmt.Sprintf("chunks of %d", chunk), func(t *testing.T) { testDeviceReduction(t, chunk) })
	}
}

func testDeviceReduction(t *testing.T, chunkRows int) {
	device, err := engine.Open(engine.Options{ChunkRows: chunkRows, Validation: true})
	if err != nil {
		need.Vulkan(t, err.Error())
	}
	d := dispatch.New(device, dispatcher(t).Backends()[0])
	rng := rand.New(rand.NewPCG(4, 21))
	bodies := table(t, rng)
	w := scene(rng, bodies, 24, 8, 30, true)
	invalid := 24 / 2 * 8 * 7
	w.Poses[invalid+3] = math.NaN()
	cloud := crowd(rng, bodies, 3, 14, 2)
	compounds := scene(rng, bodies, 12, 8, 20, false)
	for k := range compounds.Bodies {
		compounds.Bodies[k] = int32(bodies.Len() - 2 - k%2) // of three and four parts
	}
	omitted, declined, undecided := int64(0), 0, 0
	for i, o := range reductionVariants() {
		if chunkRows != 0 && !need.All() && i%3 != 1 {
			continue // every third has all queries, reductions, precisions and columns among them
		}
		in := w
		switch i % 5 {
		case 3:
			in = cloud
		case 1, 4:
			in = compounds
		}
		if i%7 < 3 {
			o.MaxIterations = 8 + i%7*4 // rows that the device declines, and that no back end decides
		}
		run := dispatch.Options{Backend: "vulkan"}
		if i%4 < 2 {
			run.ChunkRows = 192
		}
		answer := func(whole bool) (*Results, Report) {
			o.NoDeviceReduction = whole
			job := &Job{Bodies: bodies, Worlds: in, Options: o}
			rep, err := Run(t.Context(), d, job, run)
			if err != nil || rep.Backend != "vulkan" {
				t.Fatalf("%+v: back end %q, error %v", o, rep.Backend, err)
			}
			return job.Results, rep
		}
		want, whole := answer(true)
		got, rep := answer(false)
		name := fmt.Sprintf("%v, %v, %v, columns %v, variant %d", o.Query, o.Reduce, o.Precision, o.Columns, i)
		sameResults(t, name, got, want)
		omitted += rep.Omitted
		if rep.Omitted > 0 {
			declined += rep.Declined
			undecided += rep.Counts[batch.Undecided]
		}
		if whole.Omitted != 0 || rep.Omitted > 0 && rep.BytesDown >= whole.BytesDown {
			t.Errorf("%s: %d and %d answers omitted, %d and %d bytes", name, rep.Omitted, whole.Omitted, rep.BytesDown,
				whole.BytesDown)
		}
		for _, r := range []*Report{&rep, &whole} {
			r.Omitted, r.BytesDown, r.Kernel, r.Wall = 0, 0, 0, 0
		}
		if fmt.Sprint(rep) != fmt.Sprint(whole) {
			t.Errorf("%s: report\n%+v, want\n%+v", name, rep, whole)
		}
	}
	if omitted == 0 || declined == 0 || undecided == 0 {
		t.Errorf("%d answers omitted, beside %d declined ones and %d results without a decision", omitted, declined,
			undecided)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for _, m := range device.Messages() {
		t.Error(m)
	}
}

// reductionVariants are options of every query, reduction and precision.
func reductionVariants() (list []Options) {
	some := batch.ColDistance | batch.ColGap | batch.ColStatus
	for _, q := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration, batch.Growth} {
		for _, reduce := range []Reduce{ReduceWorld, ReduceNone} {
			for _, p := range []batch.Precision{batch.Single, batch.Double} {
				for _, columns := range []batch.Columns{some, 0, batch.ColStatus, some | batch.ColMethod} {
					o := Options{Reduce: reduce, Workers: 2}
					o.Query, o.Precision, o.Columns = q, p, columns
					o.NoCulling = len(list)%2 == 0
					list = append(list, o)
					if q == batch.Distance {
						o.MaxDistance, o.HasMaxDistance, o.NoCulling = 0.3, true, false
						list = append(list, o)
					}
				}
			}
		}
	}
	return list
}

// sameResults compares results bit for bit.
func sameResults(t *testing.T, name string, got, want *Results) {
	t.Helper()
	a, b := reflect.ValueOf(*bitsOf(got)), reflect.ValueOf(*bitsOf(want))
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			t.Errorf("%s: %s is %v, want %v", name, a.Type().Field(i).Name, x, y)
		}
	}
}

// columnBits are the columns of results as integers, so that NaN can be compared.
type columnBits struct {
	Columns, Of string
	Values      [][]uint64
	Any         []uint8
	Parts, Pair [2][]int32
	Counts      [2][]int32
	Offsets     []int64
	Bodies      [2][]int32
}

func bitsOf(r *Results) *columnBits {
	c := &columnBits{Columns: fmt.Sprint(r.Columns), Of: fmt.Sprint(r.N, r.Precision, r.ContactsComplete)}
	for _, x := range batch.EveryColumn() {
		var values []uint64
		for k := range r.Column(x).Len() {
			values = append(values, math.Float64bits(r.Column(x).At(k)))
		}
		c.Values = append(c.Values, values)
	}
	c.Any = r.Any
	c.Parts, c.Pair[0], c.Counts = [2][]int32{r.PartA, r.PartB}, r.Pair, [2][]int32{r.Contacts, r.Failed}
	c.Offsets, c.Bodies = r.Offsets, [2][]int32{r.BodyA, r.BodyB}
	return c
}

// BenchmarkArmVulkan measures steps of a held rollout of 512 worlds of the arm on a Vulkan device, in turns with all
// answers returned and with those that the worlds, or the pairs of bodies, follow from. Metrics: milliseconds per step
// and of the device in it, and bytes per world that the device returns.
func BenchmarkArmVulkan(b *testing.B) {
	device, err := engine.Open(engine.Options{})
	if err != nil {
		need.Vulkan(b, err.Error())
	}
	d := dispatch.New(device, dispatcher(b).Backends()[0])
	defer d.Close()
	bodies, w := arm(b, 512)
	few := batch.ColDistance | batch.ColGap | batch.ColStatus
	all := few | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB
	for _, v := range []struct {
		name string
		o    Options
	}{
		{"all-worlds", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Columns: few}}},
		{"all-worlds-vectors", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Columns: all}}},
		{"all-rows-vectors", Options{NoCulling: true, Options: batch.Options{Columns: all}}},
		{"least-worlds-vectors", Options{Reduce: ReduceWorld, Options: batch.Options{Columns: all}}},
		{"culled-worlds-vectors", Options{MaxDistance: 0.1, HasMaxDistance: true, Reduce: ReduceWorld,
			Options: batch.Options{Columns: all}}},
		{"collide-worlds", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Query: batch.Collide}}},
	} {
		b.Run(v.name, func(b *testing.B) {
			var held [2]*Batch
			var wall, kernel [2]time.Duration
			var last [2]Report
			for i := range held {
				v.o.NoDeviceReduction = i == 0
				h, err := Hold(d, bodies, w, v.o, dispatch.Options{Backend: "vulkan"})
				if err != nil {
					b.Fatal(err)
				}
				defer h.Close()
				if _, _, err := h.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
				held[i] = h
			}
			deviceTime := func() time.Duration {
				s := device.Stats()
				return s.Times.Of("reduce")
			}
			n, before := 0, deviceTime()
			for b.Loop() {
				for i, h := range held {
					_, rep, err := h.Run(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					wall[i] += rep.Wall
					kernel[i] += rep.Kernel
					last[i] = rep
				}
				n++
			}
			for i, name := range []string{"whole", "reduced"} {
				b.ReportMetric(float64(wall[i].Microseconds())/1e3/float64(n), name+"-ms")
				b.ReportMetric(float64(kernel[i].Microseconds())/1e3/float64(n), name+"-kernel-ms")
				b.ReportMetric(float64(last[i].BytesDown)/float64(w.Count()), name+"-B/world")
			}
			b.ReportMetric(float64((deviceTime()-before).Microseconds())/1e3/float64(n), "reduce-ms")
			b.ReportMetric(float64(last[1].Solved)/float64(w.Count()), "solved/world")
			b.ReportMetric(float64(last[1].Omitted)/float64(w.Count()), "omitted/world")
			b.ReportMetric(0, "ns/op")
		})
	}
}
