package rollout

import (
	"math"
	"os"

	"clearance/batch"
	"clearance/cpu/simd"
	"clearance/dispatch"

	"gonum.org/v1/gonum/spatial/r3"
)

// vectors is what culling by the kernels of package cpu/simd needs: one body at each place, the same in all worlds, and
// one row for each world.
type vectors struct {
	variant string
	places  []int32
	bodies  []simd.CullBody
	a, b    []int32 // pairs, as indices into places
	options simd.CullOptions
	parts   []int64 // pairs of parts of each pair
	all     int64   // their sum
}

// maxCullPairs limits the pairs that are culled by kernels, which take about a hundred bytes of memory for each.
const maxCullPairs = 1 << 20

// setVectors prepares culling by kernels, where there are any and the rollout has the form for it.
func (b *Batch) setVectors() {
	variant := b.simd
	if variant == "" || !b.bounded || !b.reduce || b.stops || b.all != nil ||
		len(b.templateA) == 0 || len(b.worlds.Bodies) != b.worlds.BodiesPerWorld() ||
		len(b.templateA) > maxCullPairs || len(b.used) > maxCullPairs || b.worlds.Len() < simd.CullLanes {
		return
	}
	v := &vectors{variant: variant, places: b.used, options: simd.CullOptions{
		Stride: 7 * b.worlds.BodiesPerWorld(), Threshold: b.threshold, Valued: b.valued}}
	index := make([]int32, b.worlds.BodiesPerWorld())
	for i, k := range b.used {
		body := b.worlds.Bodies[k]
		if body == Absent {
			return
		}
		index[k] = int32(i)
		bounds := b.bodies.Bounds(body)
		in := &b.bodies.PartBounds(body)[bounds.Inner]
		v.bodies = append(v.bodies, simd.CullBody{
			Center: array(bounds.Center), Radius: bounds.Radius, Magnitude: bounds.Magnitude,
			Far: batch.MaxLength - bounds.Offset, Inner: array(in.Center), Inradius: in.Inradius, Slack: in.Slack,
		})
	}
	for p, x := range b.templateA {
		y := b.templateB[p]
		v.a, v.b = append(v.a, index[x]), append(v.b, index[y])
		n := int64(len(b.bodies.Parts(b.worlds.Bodies[x]))) * int64(len(b.bodies.Parts(b.worlds.Bodies[y])))
		v.parts, v.all = append(v.parts, n), v.all+n
	}
	b.vectors = v
}

// kernels returns the variant of the kernels that the CPU back end of a dispatcher uses, "" for none. Without that back
// end it is the variant that the environment chooses.
func kernels(d *dispatch.Dispatcher) string {
	name := os.Getenv(simd.EnvSIMD)
	for _, b := range d.Backends() {
		if x, ok := dispatch.As[interface{ SIMD() string }](b); ok {
			if name = x.SIMD(); name != simd.Off { // as that of the back end "ref" is
				break
			}
		}
	}
	variant, err := simd.Choose(name)
	if err != nil {
		return ""
	}
	return variant
}

func array(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// culler returns a culler for one goroutine, nil if there is none.
func (v *vectors) culler() *simd.Culler {
	if v == nil {
		return nil
	}
	return simd.NewCuller(v.variant, v.places, v.bodies, v.a, v.b, v.options)
}

// cullLanes culls n worlds from w on by a kernel, at most as many as it takes at a time; of fewer the last one is
// repeated. Worlds with an invalid pose, or one whose quaternion has to be scaled first, are culled one by one.
func (t *tile) cullLanes(w, n int) {
	v, p := t.c.vectors, t.place
	stride := v.options.Stride
	poses := t.c.worlds.Poses[w*stride : (w+n)*stride]
	if n < simd.CullLanes {
		p.padded = append(p.padded[:0], poses...)
		for range simd.CullLanes - n {
			p.padded = append(p.padded, poses[(n-1)*stride:]...)
		}
		poses = p.padded
	}
	valid := p.culler.Run(poses)
	for l := range n {
		if valid>>l&1 == 0 {
			t.cullWorld(w + l)
			continue
		}
		known := p.culler.World(l)
		t.cullKnown(w+l, &known)
	}
}

// cullKnown culls a world whose pairs of bodies are compared already.
func (t *tile) cullKnown(world int, known *simd.Culled) {
	c, v, p := t.c, t.c.vectors, t.place
	t.worlds = append(t.worlds, noWorld())
	p.begin()
	parts, upper := v.all, known.Upper
	for _, pair := range known.Open {
		a, b := c.templateA[pair], c.templateB[pair]
		p.placeOnce(world, a)
		p.placeOnce(world, b)
		t.row(world, int(pair), a, b, known.Beyond)
		parts -= v.parts[pair]
		if int(pair) == known.Nearest { // whose bounds follow from its parts
			upper = math.Inf(1)
		}
	}
	if culled := int64(len(v.a) - len(known.Open)); culled > 0 {
		t.count.rows += culled
		t.count.culledRows += culled
		t.count.pairs += parts
		t.count.culled += parts
		t.worlds[world-t.lo].cull(known.Least, upper)
	}
}
