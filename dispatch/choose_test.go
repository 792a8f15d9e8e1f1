package dispatch

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"clearance/batch"
)

// device is a fake on a device of some kind.
func device(name string, kind batch.DeviceKind, model string) *fake {
	return &fake{name: name, device: batch.Device{Kind: kind, Name: model}}
}

// rated is a back end with an estimate of its own.
type rated struct {
	*fake
	call, row time.Duration
}

func (r rated) Estimate(rows int, o *batch.Options) time.Duration {
	return r.call + time.Duration(rows)*r.row
}

// Small batches run on the CPU and large ones on the GPU. The size at which that changes
// depends on the estimates alone, and the same call always gives the same choice.
func TestChooseBySize(t *testing.T) {
	gpu := device("vulkan", batch.DiscreteGPU, "")
	cpu := device("cpu", batch.CPU, "")
	stated := rated{device("vulkan", batch.DiscreteGPU, ""), time.Millisecond, time.Nanosecond}
	slow := rated{device("cpu", batch.CPU, ""), 0, time.Microsecond}
	for _, c := range []struct {
		what string
		d    *Dispatcher
		rows int
		want string
	}{
		{"nothing", New(gpu, cpu), 0, "cpu"},
		{"a few", New(gpu, cpu), 50, "cpu"},
		{"ten million", New(gpu, cpu), 10_000_000, "vulkan"},
		{"a stream of unknown length", New(gpu, cpu), UnknownRows, "vulkan"},
		{"below what they state", New(stated, slow), 1000, "cpu"},
		{"above what they state", New(stated, slow), 1002, "vulkan"},
	} {
		for range 3 {
			got, err := c.d.Choose(Auto, new(batch.Options), c.rows)
			if err != nil || got.Name() != c.want || len(got.Spare) != 1 {
				t.Errorf("%s: %+v, %v, want %s", c.what, got, err, c.want)
			}
		}
	}
	// The report names the choice and the reason.
	lib, pairs := testPairs(t, 50)
	rep, err := New(gpu, cpu).Run(t.Context(), &batch.Job{Library: lib, Input: pairs}, Options{})
	if err != nil || rep.Backend != "cpu" || !strings.Contains(rep.Why, "50 rows: cpu ") || !strings.Contains(rep.Why,
		"vulkan") {
		t.Errorf("report %+v, %v", rep, err)
	}
	// A stream with a known length is the same batch.
	if rep, err = New(gpu, cpu).RunStream(t.Context(), lib, &sizedSource{slowSource{pairs: pairs}},
		allColumns, new(sink), Options{}); err != nil || rep.Backend != "cpu" {
		t.Errorf("report %+v, %v", rep, err)
	}
}

// Devices share the rows if they are named together, or if they are alike.
func TestChooseSeveral(t *testing.T) {
	a0, a1 := device("vulkan:0", batch.DiscreteGPU, "A"), device("vulkan:1", batch.DiscreteGPU, "A")
	b2 := device("vulkan:2", batch.DiscreteGPU, "B")
	gone := &fake{name: "vulkan:3", device: batch.Device{Reason: "lost"}}
	cpu := device("cpu", batch.CPU, "")
	d := New(a0, b2, a1, gone, cpu)
	for _, c := range []struct {
		name string
		want []Backend
	}{
		{Auto, []Backend{a0, a1}},
		{"vulkan", []Backend{a0, b2, a1}},
		{"vulkan:1", []Backend{a1}},
		{"vulkan:1+vulkan:0", []Backend{a1, a0}},
		{"vulkan:1+vulkan:1", []Backend{a1}},
		{"vulkan+cpu", []Backend{a0, b2, a1, cpu}},
	} {
		got, err := d.Choose(c.name, new(batch.Options), 1<<20)
		if err != nil || !slices.Equal(got.Share, c.want) || (len(got.Spare) > 0) != (c.name == Auto) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	for name, want := range map[string]string{
		"vulkan:3": "vulkan:3: lost", "vulkan:1+vulkan:3": "vulkan:3: lost", "vulkan:9": `named "vulkan:9"`,
		"cpu+": `named ""`, "+": `named ""`,
	} {
		if _, err := d.Choose(name, new(batch.Options), 1); !errors.Is(err, ErrNoBackend) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
	// Two back ends of one name share as well, as two engines on one device.
	twin := New(a0, device("vulkan:0", batch.DiscreteGPU, "A"))
	if got, err := twin.Choose("vulkan:0", new(batch.Options), 1); err != nil || len(got.Share) != 2 ||
		got.Name() != "vulkan:0+vulkan:0" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A label does not hide optional methods.
func TestLabel(t *testing.T) {
	p := &picky{fake: device("gpu", batch.DiscreteGPU, ""), declines: third, chunk: 64}
	l := Label(Label(p, "x"), "gpu:7")
	lib, pairs := testPairs(t, 300)
	rep, err := New(l, device("cpu", batch.CPU, "")).Run(t.Context(), &batch.Job{Library: lib, Input: pairs},
		Options{Backend: "gpu:7"})
	if err != nil || rep.Backend != "gpu:7" || rep.Declined() != 100 || rep.KernelRows != 300 ||
		rep.Shares[0].Chunks != 5 {
		t.Errorf("report %+v, %v", rep, err)
	}
}

// An absent back end gives the reason and is never run.
func TestAbsent(t *testing.T) {
	d := New(Absent("vulkan", batch.DiscreteGPU, "no loader"), device("cpu", batch.CPU, ""))
	if got, err := d.Choose(Auto, new(batch.Options), UnknownRows); err != nil || got.Name() != "cpu" ||
		len(got.Spare) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := d.Choose("vulkan", new(batch.Options), 1); !errors.Is(err, ErrNoBackend) ||
		!strings.Contains(err.Error(), "vulkan: no loader") {
		t.Errorf("error %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
