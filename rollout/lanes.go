package rollout

import (
	"fmt"
	"slices"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/kernels"

	"gonum.org/v1/gonum/spatial/r3"
)

// vectors is culling by the kernels of a back end: one body at each place, the same in all worlds, and one row for each
// world.
type vectors struct {
	kernels dispatch.CullingKernels
	worlds  int // that a culler takes at a time
	batch.Culling
	parts []int64 // pairs of parts of each pair
	all   int64   // their sum
}

// maxCullPairs limits the pairs that are culled by kernels, which take about a hundred bytes of memory for each.
const maxCullPairs = 1 << 20

// Boxes are compared by kernels for pairs of at most maxBoxedParts pairs of parts. The bodies have at most maxCullParts
// parts in all, each of which takes 1.3 kB for the worlds of a call, and the pairs maxCullItems pairs of parts, of
// 0.2 kB.
const (
	maxBoxedParts = 16
	maxCullParts  = 1 << 12
	maxCullItems  = 1 << 16
)

// setVectors prepares culling by kernels, where there are any and the rollout has the form for it.
func (b *Batch) setVectors() {
	if b.kernels == nil || !b.bounded || !b.reduce || b.stops || b.all != nil ||
		len(b.templateA) == 0 || !b.worlds.Shared() ||
		len(b.templateA) > maxCullPairs || len(b.used) > maxCullPairs || b.worlds.Count() < b.kernels.CullWorlds() {
		return
	}
	v := &vectors{kernels: b.kernels, worlds: b.kernels.CullWorlds(), Culling: batch.Culling{Places: b.used,
		Stride: 7 * b.worlds.BodiesPerWorld(), Threshold: b.threshold, Valued: b.valued}}
	parts, items := 0, 0
	index := make([]int32, b.worlds.BodiesPerWorld())
	for i, k := range b.used {
		body := b.worlds.Body(0, k)
		if body == batch.Absent {
			return
		}
		index[k] = int32(i)
		bounds := b.bodies.Bounds(body)
		in := &b.bodies.PartBounds(body)[bounds.Inner]
		x := batch.CullBody{
			Center: array(bounds.Center), Radius: bounds.Radius, Magnitude: bounds.Magnitude,
			Far: batch.MaxLength - bounds.Offset, Inner: array(in.Center), Inradius: in.Inradius, Slack: in.Slack,
			Parts: cullParts(b.bodies.PartBounds(body)),
		}
		if x.Plane = isPlane(b.bodies.PartBounds(body)); x.Plane {
			x.Center, x.Radius, x.Inner = array(in.Center), in.Radius, array(column(&in.Axes, 2))
		}
		v.Bodies = append(v.Bodies, x)
		parts += len(v.Bodies[i].Parts)
	}
	for p, x := range b.templateA {
		y := b.templateB[p]
		v.A, v.B = append(v.A, index[x]), append(v.B, index[y])
		n := int64(len(b.bodies.Parts(b.worlds.Body(0, x)))) * int64(len(b.bodies.Parts(b.worlds.Body(0, y))))
		v.parts, v.all = append(v.parts, n), v.all+n
		known := len(v.Bodies[index[x]].Parts) > 0 && len(v.Bodies[index[y]].Parts) > 0
		boxed := known && n <= maxBoxedParts && parts <= maxCullParts && items+int(n) <= maxCullItems
		if v.Boxed = append(v.Boxed, boxed); boxed {
			items += int(n)
		}
	}
	b.vectors = v
}

// cullParts returns the bounds of the parts of a body, nil if it has more than kernels compare or a part has no bounds.
func cullParts(bounds []batch.PartBounds) []batch.CullPart {
	if len(bounds) > maxBoxedParts {
		return nil
	}
	var parts []batch.CullPart
	for i := range bounds {
		b := &bounds[i]
		if b.Unbounded {
			return nil
		}
		parts = append(parts, batch.CullPart{Center: array(b.Center), Radius: b.Radius, Inradius: b.Inradius,
			Slack: b.Slack, Box: array(b.Box), Half: array(b.Half), Axes: b.Axes})
	}
	return parts
}

// cullingKernels returns the kernels of culling of a dispatcher: those of its first back end that has any, nil if none
// has.
func cullingKernels(d *dispatch.Dispatcher) dispatch.CullingKernels {
	for _, b := range d.Backends() {
		if k, ok := dispatch.As[dispatch.CullingKernels](b); ok && k.CullWorlds() > 0 {
			return k
		}
	}
	return nil
}

// variantOf returns the instruction set of the broad phase, "" for none. It is what the first back end that implements
// [dispatch.CullingKernels] was opened with, "off" included. Without such a back end the environment variable or the
// processor decides.
func variantOf(d *dispatch.Dispatcher) (string, error) {
	for _, b := range d.Backends() {
		if k, ok := dispatch.As[dispatch.CullingKernels](b); ok {
			return kernels.Choose(k.SIMD())
		}
	}
	name, err := kernels.Named("", "")
	if err != nil {
		return "", fmt.Errorf("rollout: %w", err)
	}
	return kernels.Choose(name)
}

func array(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// culler returns a culler for one goroutine, nil if there is none.
func (v *vectors) culler() batch.Culler {
	if v == nil {
		return nil
	}
	return v.kernels.NewCuller(&v.Culling)
}

// cullLanes culls n worlds from w on by a kernel, at most as many as it takes at a time; of fewer the last one is
// repeated. Worlds with an invalid pose, or one whose quaternion has to be scaled first, are culled one by one.
func (t *tile) cullLanes(w, n int) {
	v, p := t.c.vectors, t.place
	stride := v.Stride
	poses := t.c.worlds.Poses[w*stride : (w+n)*stride]
	if n < v.worlds {
		p.padded = append(p.padded[:0], poses...)
		for range v.worlds - n {
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

// cullKnown culls a world of which a kernel found the pairs of bodies that may matter.
func (t *tile) cullKnown(world int, known *batch.Culled) {
	c, v, p := t.c, t.c.vectors, t.place
	t.worlds = append(t.worlds, noWorld())
	p.begin()
	parts, beyond := v.all, known.Beyond
	for _, open := range known.Open {
		parts -= v.parts[open.Pair]
		if open.First >= 0 {
			beyond = t.knownRow(world, open, beyond)
			continue
		}
		a, b := c.templateA[open.Pair], c.templateB[open.Pair]
		p.placeOnce(world, a)
		p.placeOnce(world, b)
		beyond = t.row(world, int(open.Pair), a, b, beyond)
	}
	if culled := int64(len(v.A) - len(known.Open)); culled > 0 {
		t.count.rows += culled
		t.count.culledRows += culled
		t.count.pairs += parts
		t.count.culled += parts
		t.worlds[world-t.lo].cull(known.Least, known.Upper)
	}
}

// knownRow culls the pairs of parts of a row of which a kernel has the bounds: tile.parts without their computation.
func (t *tile) knownRow(world int, open batch.CullOpen, beyond float64) float64 {
	c, p := t.c, t.place
	a, b := c.templateA[open.Pair], c.templateB[open.Pair]
	p.take(world, a)
	p.take(world, b)
	bounds := p.culler.Parts(open)
	t.count.rows++
	t.count.pairs += int64(len(bounds.Upper))
	r := openRow{world: int32(world), pair: open.Pair, first: int32(len(t.a)), least: noLeast()}
	if c.valued {
		beyond = min(beyond, max(slices.Min(bounds.Upper), 0))
	}
	parts := len(p.table.Parts(p.body[b]))
	for k, lower := range bounds.Balls {
		if lower <= beyond {
			lower = max(lower, bounds.Boxes[k])
		}
		if lower > beyond {
			t.cullPart(&r, lower, bounds.Upper[k])
		} else if !t.keepPart(&r, a, b, k/parts, k%parts) {
			return beyond
		}
	}
	t.endRow(&r)
	return beyond
}
