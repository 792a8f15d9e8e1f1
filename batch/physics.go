package batch

// Physics are what a body states of itself for time steps of package contact, by the names that library files have.
// What is nil is not stated. Nothing is judged here: package contact does that.
type Physics struct {
	// Fixed bodies are not moved by impulses and forces.
	Fixed bool `json:"fixed,omitempty"`
	// Mass is in kg; Density, in kg/m³, gives it where it is not stated.
	Mass    *float64 `json:"mass,omitempty"`
	Density *float64 `json:"density,omitempty"`
	// Inertia has 6 numbers, in kg·m², about the center of mass in the axes of the body: xx, yy, zz, xy, xz, yz. Where
	// it is not stated, it is the inertia of a uniform body of this mass.
	Inertia []float64 `json:"inertia,omitempty"`
	// Center has 3 numbers: the center of mass in the frame of the body, in metres.
	Center []float64 `json:"center_of_mass,omitempty"`
	// Friction is a coefficient; Restitution lies in [0, 1].
	Friction    *float64 `json:"friction,omitempty"`
	Restitution *float64 `json:"restitution,omitempty"`
	// Parts has the surface of each part, or is nil. What a part does not state is that of the body.
	Parts []PartPhysics `json:"parts,omitempty"`
}

// PartPhysics are what a part of a body states of its surface.
type PartPhysics struct {
	Friction    *float64 `json:"friction,omitempty"`
	Restitution *float64 `json:"restitution,omitempty"`
}

// PairPhysics are what a library file states of the contacts of two bodies of its table, or of one part of either;
// a part of -1 stands for all of them.
type PairPhysics struct {
	A           int32    `json:"a"`
	PartA       int32    `json:"part_a"`
	B           int32    `json:"b"`
	PartB       int32    `json:"part_b"`
	Friction    *float64 `json:"friction,omitempty"`
	Restitution *float64 `json:"restitution,omitempty"`
}

// Stated reports whether anything is stated.
func (p *Physics) Stated() bool {
	return p.Fixed || p.Mass != nil || p.Density != nil || p.Inertia != nil || p.Center != nil || p.Friction != nil ||
		p.Restitution != nil || p.Parts != nil
}
