package derive

// Smoothness says what the derivatives of a row are. Files and the C interface have the codes: append, never
// renumber.
type Smoothness uint8

// Codes of smoothness.
const (
	// None: the row has no answer that could be differentiated: undecided, invalid, or a bound alone. All
	// derivatives are zero.
	None Smoothness = iota

	// Smooth: both shapes have a Hessian at the normal; all derivatives are those of the answer.
	Smooth

	// UniqueFeatures: an edge or a face meets a feature of the other shape in one pair of witnesses, inside both
	// features. All derivatives are those of the answer.
	UniqueFeatures

	// NotUnique: there are several pairs of witnesses or several normals, or a witness lies on the boundary of
	// its feature, where derivatives differ from side to side. The derivative of the distance is that of the
	// reported witnesses and normal, one of the directional derivatives; the others are zero.
	NotUnique

	// NearSingular: the system is singular to the accuracy of float64, the Hessian of a support function is not
	// finite, or the optimality of the answer could not be verified. Derivatives as for NotUnique.
	NearSingular

	// Smoothed: estimates by a smoothed problem, see [Mode].
	Smoothed

	SmoothnessCount
)

var smoothnessNames = [SmoothnessCount]string{
	"none", "smooth", "unique features", "not unique", "near singular", "smoothed",
}

func (s Smoothness) String() string {
	if s < SmoothnessCount {
		return smoothnessNames[s]
	}
	return "smoothness out of range"
}

// Full reports whether derivatives of the normal and of the witnesses exist, not of the value alone.
func (s Smoothness) Full() bool { return s == Smooth || s == UniqueFeatures || s == Smoothed }
