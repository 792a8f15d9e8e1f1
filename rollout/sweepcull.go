package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"clearance/batch"
	"clearance/geom"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// Of rows with a largest distance, bodies are compared before their parts, by balls that contain them: first over the
// whole motion, then from one way point to the next.
//
// From one way point to the next the center of a ball moves along a line and rotates about an axis, by an angle θ, at a
// distance of at most ρ from it. It deviates from the line between its two ends, at constant speed, by at most θ²·ρ/8,
// since its second derivative is at most θ²·ρ. So the distance of two balls is at least that of two points that move
// along lines, which is least at a time in closed form, less the radii and the deviations. Over the whole motion the
// center stays within a ball that contains it at all way points, widened by the largest deviation.
//
// What a body needs is computed once for all its rows.

// waypoint is the center of the ball of a body at a way point, and the radius of a ball that, moved along the line to
// the next center, contains the body: +Inf with a half-space.
type waypoint struct {
	c r3.Vec
	r float64
}

// path bounds a body over its whole motion.
type path struct {
	ball
	first r3.Vec  // the center of its first part at the first way point
	size  float64 // of all coordinates that first was computed from
}

// culler compares the bodies of some worlds, world lo and those after it.
type sweepCuller struct {
	s      *sweeper
	ctx    context.Context
	lo     int
	used   []int32
	ways   []waypoint // [worlds,M,T]
	paths  []path     // [worlds,M]
	open   []int32    // of each row of these worlds: its pairs of parts, which have to be compared, or 0
	culled atomic.Int64
	legs   atomic.Int64 // pairs of bodies that were compared between two way points

	piece            int // bodies or rows of a piece
	pieces           int
	place, rowPieces func(worker, i int)
}

const (
	// cullWaypoints is the number of way points whose bounds are in memory at a time, at least those of one world.
	cullWaypoints = 1 << 19

	// cullRows is the same of rows.
	cullRows = 1 << 18

	// pieceWork is the number of way points, or of comparisons of two bodies between way points, of a piece: some
	// hundred microseconds, after each of which the context is looked at.
	pieceWork = 1 << 12
)

func newSweepCuller(s *sweeper) *sweepCuller {
	c := &sweepCuller{s: s, used: places(s.motions.BodiesPerWorld(), s.motions.TemplateA,
		s.motions.TemplateB)}
	c.place, c.rowPieces = c.placePiece, c.rowPiece
	return c
}

// worlds returns the number of worlds that are compared at a time.
func (c *sweepCuller) worlds() int {
	m := c.s.motions
	n := cullRows / max(1, len(m.TemplateA))
	if c.s.o.HasMaxDistance {
		n = min(n, cullWaypoints/(m.WayPoints()*max(1, m.BodiesPerWorld())))
	}
	return max(1, n)
}

// run compares the bodies of worlds lo to hi, and answers the rows that this decides.
func (c *sweepCuller) run(ctx context.Context, lo, hi int) error {
	s, m := c.s, c.s.motions
	c.ctx, c.lo = ctx, lo
	c.open = resized(c.open, (hi-lo)*len(m.TemplateA))
	if s.o.HasMaxDistance {
		c.paths = resized(c.paths, (hi-lo)*m.BodiesPerWorld())
		c.ways = resized(c.ways, (hi-lo)*m.BodiesPerWorld()*m.WayPoints())
	}
	c.inPieces((hi-lo)*len(c.used), c.place)
	s.noteBad(lo, hi, c.used)
	c.inPieces(len(c.open), c.rowPieces)
	s.report.Culled += c.culled.Swap(0)
	return ctx.Err()
}

// inPieces runs f for pieces of n bodies or rows.
func (c *sweepCuller) inPieces(n int, f func(worker, i int)) {
	c.piece = max(1, pieceWork/c.s.motions.WayPoints())
	c.pieces = n
	c.s.team.Run((n+c.piece-1)/c.piece, f)
}

// placePiece checks the poses of some bodies, and bounds their motions.
func (c *sweepCuller) placePiece(_, i int) {
	if c.ctx.Err() != nil {
		return
	}
	for b := i * c.piece; b < min((i+1)*c.piece, c.pieces); b++ {
		world, k := c.lo+b/len(c.used), c.used[b%len(c.used)]
		if c.s.motions.Body(world, k) == batch.Absent {
			continue
		}
		if bad := c.s.badWay(world, k) >= 0; bad {
			c.s.bad[world*c.s.motions.BodiesPerWorld()+int(k)] = true
		} else if c.s.o.HasMaxDistance {
			c.placeBody(world, k)
		}
	}
}

// badWay returns the first way point at which the pose of a body is invalid, -1 if there is none.
func (s *sweeper) badWay(world int, k int32) int {
	body := s.motions.Body(world, k)
	for way := range s.motions.WayPoints() {
		if s.bodies.CheckPose(body, s.motions.Pose(world, way, k)) != nil {
			return way
		}
	}
	return -1
}

// noteBad lists the bodies of some worlds with an invalid way point.
func (s *sweeper) noteBad(lo, hi int, used []int32) {
	for world := lo; world < hi && len(s.report.RowErrors) < s.maxErrors; world++ {
		for _, k := range used {
			if !s.bad[world*s.motions.BodiesPerWorld()+int(k)] || len(s.report.RowErrors) >= s.maxErrors {
				continue
			}
			way := s.badWay(world, k)
			err := s.bodies.CheckPose(s.motions.Body(world, k), s.motions.Pose(world, way, k))
			reason := err.Error()
			var row *batch.RowError
			if errors.As(err, &row) {
				reason = row.Column + ": " + row.Reason
			}
			s.report.RowErrors = append(s.report.RowErrors, &RowError{World: s.world + world, Body: int(k), Pair: -1,
				Column: "poses", Reason: fmt.Sprintf("way point %d: %s", way, reason)})
		}
	}
}

// placeBody bounds the motion of a body whose poses are valid.
func (c *sweepCuller) placeBody(world int, k int32) {
	s, m := c.s, c.s.motions
	body := m.Body(world, k)
	b, ways := s.bodies.Bounds(body), c.waysOf(world, k)
	offset := r3.Norm(b.Center)
	var last geom.Pose
	var lastSize float64
	lo, hi := r3.Vec{X: math.Inf(1), Y: math.Inf(1), Z: math.Inf(1)}, r3.Vec{X: math.Inf(-1), Y: math.Inf(-1),
		Z: math.Inf(-1)}
	for t := range ways {
		q, _ := m.Pose(world, t, k).Normalized() // it is valid
		v, p := q.Position, q.Apply(b.Center)
		size := math.Abs(v.X) + math.Abs(v.Y) + math.Abs(v.Z)
		ways[t] = waypoint{p, b.Radius + placeSlack*(size+b.Magnitude)}
		lo = r3.Vec{X: min(lo.X, p.X), Y: min(lo.Y, p.Y), Z: min(lo.Z, p.Z)}
		hi = r3.Vec{X: max(hi.X, p.X), Y: max(hi.Y, p.Y), Z: max(hi.Z, p.Z)}
		if t > 0 {
			x, y := last.Rotation, q.Rotation
			deviation := 0.0
			if offset > 0 && x != y {
				cos := math.Abs(x.Real*y.Real + x.Imag*y.Imag + x.Jmag*y.Jmag + x.Kmag*y.Kmag)
				angle := 2 * math.Acos(math.Min(1, cos))
				deviation = angle * angle * offset / 8 * (1 + placeSlack)
			}
			ways[t-1].r = b.Radius + deviation + placeSlack*(b.Magnitude+lastSize+size)
		}
		last, lastSize = q, size
	}
	p := &c.paths[(world-c.lo)*m.BodiesPerWorld()+int(k)]
	p.c = r3.Scale(0.5, r3.Add(lo, hi))
	reach, radius := 0.0, 0.0
	for t := range ways {
		reach, radius = max(reach, distance(p.c, ways[t].c)), max(radius, ways[t].r)
	}
	p.r = reach*roundUp + radius
	p.first, p.size = s.firstPart(world, 0, k)
}

// waysOf returns the way points [T] of a body.
func (c *sweepCuller) waysOf(world int, k int32) []waypoint {
	n := c.s.motions.WayPoints()
	return c.ways[((world-c.lo)*c.s.motions.BodiesPerWorld()+int(k))*n:][:n]
}

// firstPart returns the center of the first part of a body at a way point, and the size of all coordinates that it was
// computed from.
func (s *sweeper) firstPart(world, way int, k int32) (c r3.Vec, size float64) {
	body := s.motions.Body(world, k)
	part := &s.bodies.Parts(body)[0]
	pose, _ := s.motions.Pose(world, way, k).Normalized()
	c = pose.Compose(part.Pose).Apply(s.bodies.Library().Shape(part.Shape).Center())
	return c, r3.Norm(c) + r3.Norm(pose.Position) + s.bodies.Bounds(body).Magnitude
}

// rowPiece answers those of some rows that need no parts, and marks the others.
func (c *sweepCuller) rowPiece(_, i int) {
	if c.ctx.Err() != nil {
		return
	}
	culled, legs := int64(0), 0
	for r := i * c.piece; r < min((i+1)*c.piece, c.pieces); r++ {
		row := c.lo*len(c.s.motions.TemplateA) + r
		c.open[r] = 0
		if !c.s.begin(row) {
			continue
		}
		world, a, b := c.s.of(row)
		c.open[r] = int32(c.s.pairsOf(world, a, b)) // at most maxSweepPairs
		if !c.s.o.HasMaxDistance {
			continue
		}
		lower, compared, ok := c.beyond(world, a, b)
		if legs += compared; ok {
			m := c.s.motions.BodiesPerWorld()
			x, y := &c.paths[(world-c.lo)*m+int(a)], &c.paths[(world-c.lo)*m+int(b)]
			c.s.noteUpper(row, 0, distance(x.first, y.first), x.size+y.size)
			out := c.s.out
			out.Lower[row], out.State[row], out.T0[row] = lower, uint8(sweep.Free), float64(c.s.motions.WayPoints()-1)
			culled += int64(c.open[r])
			c.open[r] = 0
		}
	}
	c.culled.Add(culled)
	c.legs.Add(int64(legs))
}

// beyond bounds the distance of two bodies over their whole motion from below, where that exceeds what matters, and
// returns the number of legs that it looked at.
func (c *sweepCuller) beyond(world int, a, b int32) (lower float64, legs int, ok bool) {
	m := c.s.motions.BodiesPerWorld()
	x, y := &c.paths[(world-c.lo)*m+int(a)], &c.paths[(world-c.lo)*m+int(b)]
	if math.IsInf(x.r+y.r, 1) {
		return 0, 0, false // a half-space
	}
	if lower, ok = c.matters(distance(x.c, y.c), 0, x.r, y.r); ok {
		return lower, 0, true
	}
	lower = math.Inf(1)
	for leg := range c.s.motions.WayPoints() - 1 {
		l, ok := c.separation(world, leg, a, b)
		if !ok {
			return 0, leg + 1, false
		}
		lower = min(lower, l)
	}
	return lower, c.s.motions.WayPoints() - 1, true
}

// separation bounds the distance of two bodies between two way points from below, where that exceeds what matters.
func (c *sweepCuller) separation(world, leg int, a, b int32) (lower float64, ok bool) {
	x, y := c.waysOf(world, a)[leg:leg+2], c.waysOf(world, b)[leg:leg+2]
	if math.IsInf(x[0].r+y[0].r, 1) {
		return 0, false // a half-space
	}
	from, to := r3.Sub(y[0].c, x[0].c), r3.Sub(y[1].c, x[1].c)
	step := r3.Sub(to, from)
	time := 0.0
	if n := r3.Dot(step, step); n > 0 {
		time = max(0, min(1, -r3.Dot(from, step)/n))
	}
	nearest := r3.Add(from, r3.Scale(time, step))
	// A time that is rounded, or that an underflow leaves at 0, moves the point by less than the slack.
	far := math.Sqrt(max(r3.Dot(from, from), r3.Dot(to, to)))
	return c.matters(math.Sqrt(r3.Dot(nearest, nearest)), far, x[0].r, y[0].r)
}

// matters returns a lower bound of the distance of two balls whose centers are that far from one another, and far away
// at most, and whether it exceeds what matters: the largest distance, that of contacts, and rounding.
func (c *sweepCuller) matters(centers, far, ra, rb float64) (lower float64, ok bool) {
	far = max(far, centers) + ra + rb
	lower = centers*roundDown - ra - rb - placeSlack*far
	return lower, lower > max(c.s.o.MaxDistance, 2*c.s.o.Tolerance*(ra+rb), 0x1p-36*far)
}

// pairsOf returns the number of pairs of parts of two bodies.
func (s *sweeper) pairsOf(world int, a, b int32) int64 {
	return int64(len(s.bodies.Parts(s.motions.Body(world, a)))) * int64(len(s.bodies.Parts(s.motions.Body(world, b))))
}

// noteSeparation takes the lower bound of a leg that needs no parts. The centers of the first parts at its beginning
// bound the distance from above. The caller counts its pairs.
func (s *sweeper) noteSeparation(row int, lower float64) {
	world, a, b := s.of(row)
	x, sizeA := s.firstPart(world, s.leg, a)
	y, sizeB := s.firstPart(world, s.leg, b)
	s.out.Lower[row] = min(s.out.Lower[row], lower)
	s.noteUpper(row, s.leg, distance(x, y), sizeA+sizeB)
}

// noteUpper takes an upper bound of the distance: of the centers of the first parts at a way point, computed from
// coordinates of the given size.
func (s *sweeper) noteUpper(row, way int, distance, size float64) {
	r := s.out
	if upper := distance*roundUp + placeSlack*size; upper < r.Upper[row] {
		r.Upper[row], r.Closest[row], r.PartA[row], r.PartB[row] = upper, float64(way), 0, 0
	}
}
