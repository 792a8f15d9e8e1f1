package geom

// Family says which support function a core has. Kinds of one family differ in how their parameters
// are given and in the ball around the core: kernels, shaders and solvers tell families apart, not kinds.
type Family uint8

// The families of cores.
const (
	FamilyNone             Family = iota // of what is no kind
	FamilyPoint                          // the center
	FamilySegment                        // along local z
	FamilyFrustum                        // of two discs about local z, one of which may be a point
	FamilyBox                            // along the local axes
	FamilyEllipsoid                      // along the local axes
	FamilySuperquadric                   // the same
	FamilySmoothHull                     // a sum of powers over vertices
	FamilySmoothRevolution               // a sum of powers over the points of a profile
	FamilyHull                           // of vertices
	FamilyHalfspace
	FamilyCount // number of families, not a family
)

// Traits are what solvers and back ends need to know of a family.
type Traits struct {
	// Smooth: the support function is twice differentiable in almost all directions, and its Hessian
	// tells the curvature of the core. A point counts, whose Hessian is zero.
	Smooth bool

	// StrictlyConvex: the core has an interior, and no segment in its boundary.
	StrictlyConvex bool

	// Polyhedral: the core is an intersection of finitely many half-spaces, so that a facet of a
	// Minkowski difference can be met exactly.
	Polyhedral bool

	// Revolution: the core is a solid of revolution about local z, whatever its parameters.
	Revolution bool

	// Powers: the support function takes powers, with rounding errors of their own.
	Powers bool

	// Unbounded: the core has no support point in most directions, and no bounding ball.
	Unbounded bool
}

var traits = [FamilyCount]Traits{
	FamilyPoint:            {Smooth: true, Polyhedral: true, Revolution: true},
	FamilySegment:          {Polyhedral: true, Revolution: true},
	FamilyFrustum:          {Revolution: true},
	FamilyBox:              {Polyhedral: true},
	FamilyEllipsoid:        {Smooth: true, StrictlyConvex: true},
	FamilySuperquadric:     {Smooth: true, StrictlyConvex: true, Powers: true},
	FamilySmoothHull:       {Smooth: true, StrictlyConvex: true, Powers: true},
	FamilySmoothRevolution: {Smooth: true, StrictlyConvex: true, Revolution: true, Powers: true},
	FamilyHull:             {Polyhedral: true},
	FamilyHalfspace:        {Polyhedral: true, Unbounded: true},
}

// Traits returns the traits of a family; those of [FamilyNone] are all false.
func (f Family) Traits() Traits {
	if f < FamilyCount {
		return traits[f]
	}
	return Traits{}
}

// Traits returns the traits of the family of a kind.
func (k Kind) Traits() Traits { return k.Family().Traits() }

// PointOrSegment reports whether the cores of a family have no extent across local z.
func (f Family) PointOrSegment() bool { return f == FamilyPoint || f == FamilySegment }

// HasFormula reports whether the distance of bounded cores of two families is a formula.
func HasFormula(a, b Family) bool {
	if b == FamilyPoint {
		a, b = b, a
	}
	return a.PointOrSegment() && b.PointOrSegment() || a == FamilyPoint && b == FamilyBox
}
