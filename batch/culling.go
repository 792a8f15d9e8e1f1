package batch

// Culling describes bodies at places that are the same in many worlds, and pairs of them, so that a [Culler] can
// compare their bounds.
type Culling struct {
	Places []int32    // the bodies, as places in a world
	Bodies []CullBody // of each place
	A, B   []int32    // the pairs, as indices into Places
	Boxed  []bool     // of each pair, whether the boxes of its parts are compared

	Stride    int     // numbers of the poses of a world, 7 for each place
	Threshold float64 // distance beyond which no pair matters
	Valued    bool    // pairs that are not the least of a world do not matter either
}

// CullBody is what culling needs of a body at a place of all worlds, in the frame of the body. See package rollout.
type CullBody struct {
	Plane     bool       // the body is one half-space
	Center    [3]float64 // of the ball that contains it; of a half-space a point of its plane
	Radius    float64    // of that ball; of a half-space its margin
	Magnitude float64    // of all coordinates of its bounds
	Far       float64    // largest coordinate of a valid position
	Inner     [3]float64 // center of the ball within it; of a half-space its normal
	Inradius  float64
	Slack     float64 // Inner is this close to a point of the body
	Parts     []CullPart
}

// CullPart is what culling needs of a part of a body, in the frame of the body.
type CullPart struct {
	Center   [3]float64 // of the ball that contains it, and of that within it
	Radius   float64
	Inradius float64
	Slack    float64    // Center is this close to a point of the part
	Box      [3]float64 // center of the box that contains it
	Half     [3]float64
	Axes     [9]float64 // the columns are the axes of the box
}

// A Culler compares pairs of bodies in several worlds at once: their balls, then the boxes of their parts. It belongs
// to one goroutine.
type Culler interface {
	// Run culls as many worlds as the culler takes at a time, whose poses are given. It returns the set of worlds whose
	// poses are all valid, with quaternions of norms near 1; of the others nothing is known.
	Run(poses []float64) (valid uint)

	// World returns what the last Run found of a world. It is valid until the next one.
	World(i int) Culled

	// Parts returns the bounds of the parts of an open pair: of each part of the first body those with the parts of
	// the second. They are valid until the next Run.
	Parts(o CullOpen) CullBounds
}

// Culled is what is known of a world.
type Culled struct {
	Open   []CullOpen // pairs that bounds do not rule out, ascending
	Upper  float64    // an upper bound of the distances of the culled pairs, +Inf for none
	Beyond float64    // distance beyond which pairs are culled
	Least  float64    // least lower bound of the culled pairs, +Inf for none
}

// CullOpen is a pair that bounds do not rule out, and the first of its pairs of parts among those of [Culler.Parts]; -1
// if boxes could not cull the pair.
type CullOpen struct{ Pair, First int32 }

// CullBounds are bounds of the distances of pairs of parts: from below by balls and by boxes, and from above.
type CullBounds struct{ Balls, Boxes, Upper []float64 }
