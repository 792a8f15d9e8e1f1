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
}

// Stated reports whether anything is stated.
func (p *Physics) Stated() bool {
	return p.Fixed || p.Mass != nil || p.Density != nil || p.Inertia != nil || p.Center != nil || p.Friction != nil ||
		p.Restitution != nil
}
