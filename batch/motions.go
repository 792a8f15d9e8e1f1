package batch

import (
	"fmt"

	"clearance/geom"
)

// Motions is W worlds of M bodies, each of which moves through T way points, with one list of P pairs of bodies that
// all worlds share. Row w·P + p is pair p in world w.
//
// A body is at way point k at the time k. In between its position moves along a line at constant speed, and its
// rotation about a fixed axis at constant speed, by the shorter arc.
type Motions struct {
	// M is the number of bodies of a world; 0 stands for len(Bodies). T is the number of way points, at least 2; 0
	// stands for 2.
	M, T int

	// Bodies are indices into a [Bodies], or [Absent]: [M], the same in all worlds, or [W,M].
	Bodies []int32

	// Poses are [W,T,M,7]: x, y, z in metres, then the quaternion w, x, y, z, which is normalized on input. Those of
	// absent bodies, and of bodies in no pair, are not read.
	Poses []float64

	// TemplateA and TemplateB are the pairs: [P] indices of bodies within a world.
	TemplateA, TemplateB []int32
}

// BodiesPerWorld returns M.
func (m *Motions) BodiesPerWorld() int {
	if m.M > 0 {
		return m.M
	}
	return len(m.Bodies)
}

// WayPoints returns T.
func (m *Motions) WayPoints() int {
	if m.T == 0 {
		return 2
	}
	return m.T
}

// Len returns the number of rows, W·P.
func (m *Motions) Len() int { return m.Count() * len(m.TemplateA) }

// Count returns the number of worlds, W.
func (m *Motions) Count() int {
	if n := m.WayPoints() * m.BodiesPerWorld(); n > 0 {
		return len(m.Poses) / (7 * n)
	}
	return 0
}

// Body returns the body at place k of a world.
func (m *Motions) Body(world int, k int32) int32 {
	if n := m.BodiesPerWorld(); len(m.Bodies) > n {
		return m.Bodies[world*n+int(k)]
	}
	return m.Bodies[k]
}

// Pose returns the pose of the body at place k of a world at a way point.
func (m *Motions) Pose(world, wayPoint int, k int32) geom.Pose {
	p := m.Poses[7*((world*m.WayPoints()+wayPoint)*m.BodiesPerWorld()+int(k)):][:7]
	return poseAt(p[:3], p[3:])
}

// Slice returns worlds lo to hi, sharing the memory.
func (m *Motions) Slice(lo, hi int) *Motions {
	s, n := *m, m.BodiesPerWorld()
	s.M, s.Poses = n, m.Poses[7*n*m.WayPoints()*lo:7*n*m.WayPoints()*hi]
	if len(m.Bodies) > n {
		s.Bodies = m.Bodies[n*lo : n*hi]
	}
	return &s
}

// CheckBodies returns an error if the length of a column does not match the others, or if an index is not that of a
// body. Poses are checked by body when they are read.
func (m *Motions) CheckBodies(bodies *Bodies) error {
	n, t := m.BodiesPerWorld(), m.WayPoints()
	switch {
	case m.M < 0:
		return fmt.Errorf("batch: M = %d, want the number of bodies of a world, or 0 for len(bodies)", m.M)
	case t < 2:
		return fmt.Errorf("batch: T = %d way points, want at least 2, or 0 for 2", m.T)
	case n == 0 && len(m.Poses) != 0:
		return fmt.Errorf("batch: poses have %d numbers for no bodies", len(m.Poses))
	case n > 0 && len(m.Poses)%(7*n*t) != 0:
		return fmt.Errorf("batch: poses have %d numbers, want a multiple of 7 × %d bodies × %d way points",
			len(m.Poses), n, t)
	}
	if err := checkBodies("bodies", m.Bodies, n, m.Count(), bodies.Len()); err != nil {
		return err
	}
	return checkPairs("template", m.TemplateA, m.TemplateB, n, false)
}
