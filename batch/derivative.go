package batch

import (
	"context"
	"fmt"
	"math"
)

// Derivative says which derivatives a query takes. The zero value asks for exact ones.
type Derivative struct {
	Mode DerivativeMode

	// Epsilon is the amount of noise: metres for Gumbel, where 0 means 1e-2 times the size of the pair; radians for
	// Gaussian, where 0 means 1e-1; relative to the size for order zero, where 0 means 1e-2.
	Epsilon float64

	// Samples is the number of samples of Gaussian, where 0 means 20, and of order zero, where 0 means 50.
	Samples int

	// Rings, for Gumbel on hulls, takes the vertices up to that many edges from the supporting vertex, edge or face, as
	// the paper does from a vertex. 0: all vertices that have a weight of more than e⁻²⁰ relative to the largest.
	Rings int

	// Seed of the noise. The number of the row is part of its key, so that equal rows of a batch have different noise.
	Seed uint64
}

// MaxDerivativeSamples is the largest number of samples.
const MaxDerivativeSamples = 1 << 24

// Check reports an option that is out of range.
func (o *Derivative) Check() error {
	switch {
	case o.Mode >= DerivativeModeCount:
		return fmt.Errorf("derivative: unknown %v", o.Mode)
	case !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0):
		return fmt.Errorf("derivative: epsilon is %g; want a number above 0, or 0 for the default", o.Epsilon)
	case o.Samples < 0 || o.Samples > MaxDerivativeSamples:
		return fmt.Errorf("derivative: %d samples; want 1 to %d, or 0 for the default", o.Samples,
			MaxDerivativeSamples)
	case o.Rings < 0:
		return fmt.Errorf("derivative: %d rings; want 0 or more", o.Rings)
	}
	return nil
}

// Noise returns the amount of noise and the number of samples with the defaults filled in, but for the amount of Gumbel
// noise, whose default depends on the pair.
func (o *Derivative) Noise() (epsilon float64, samples int) {
	epsilon, samples = o.Epsilon, o.Samples
	defaults := [DerivativeModeCount]Derivative{GaussianDerivative: {Epsilon: 1e-1, Samples: 20},
		ZerothDerivative: {Epsilon: 1e-2, Samples: 50}}
	if epsilon == 0 {
		epsilon = defaults[o.Mode].Epsilon
	}
	if samples == 0 {
		samples = defaults[o.Mode].Samples
	}
	return epsilon, samples
}

// Answers answers all rows of a job into its results. Rows that it does not answer are undecided.
type Answers func(ctx context.Context, job *Job) error

// DerivativeMode says which derivatives are taken. The smoothed ones are those of a problem in which the support
// functions, or the answers, are averaged over noise [AGIMUS2023, Randomized Smoothing]: they see the curvature that a
// polytope stands for. Codes are part of the C interface: append, never renumber.
type DerivativeMode uint8

// Modes of derivatives.
const (
	// ExactDerivative: the derivatives of the answer itself.
	ExactDerivative DerivativeMode = iota

	// GumbelDerivative: first order. The support point of a polytope becomes the mean of its vertices, weighted by
	// softmax(<v, n>/ε), with ε a length; its Hessian is closed form [eq. 27-28]. Discs are smoothed likewise; smooth
	// shapes keep their Hessians. The derivative of the value is exact.
	GumbelDerivative

	// GaussianDerivative: first order. The Hessian is the mean of (s(n + εz) - s(n - εz))·zᵀ/2ε over normal z [eq. 26
	// with antithetic samples], with ε an angle; then symmetric, projected to the tangent plane, and negative
	// eigenvalues set to 0, which biases it. The derivative of the value is exact.
	GaussianDerivative

	// ZerothDerivative: order zero. The Jacobian is the mean of (x(T·exp(εz)) - x(T))·zᵀ/ε over normal z in six
	// dimensions [eq. 6], lengths relative to the size of the pair: as many solutions of the pair as samples. All
	// derivatives are estimates.
	ZerothDerivative

	DerivativeModeCount
)

var derivativeModes = [DerivativeModeCount]string{"exact", "gumbel", "gaussian", "zeroth"}

func (m DerivativeMode) String() string { return name(derivativeModes[:], uint8(m), "derivative") }

// ParseDerivativeMode is the inverse of [DerivativeMode.String].
func ParseDerivativeMode(s string) (DerivativeMode, error) {
	i, err := parse(derivativeModes[:], s, "derivative")
	return DerivativeMode(i), err
}

// Smoothness says what the derivatives of a row are. Files and the C interface have the codes: append, never
// renumber.
type Smoothness uint8

// Codes of smoothness.
const (
	// NoDerivative: the row has no answer that could be differentiated: undecided, invalid, or a bound alone. All
	// derivatives are zero.
	NoDerivative Smoothness = iota

	// SmoothPair: both shapes have a Hessian at the normal; all derivatives are those of the answer.
	SmoothPair

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

	// SmoothedPair: estimates by a smoothed problem, see [DerivativeMode].
	SmoothedPair

	SmoothnessCount
)

// NotDerived is the code of rows of a call in progress whose derivatives are not computed yet. No results have it.
const NotDerived Smoothness = 0xff

var smoothnessNames = [SmoothnessCount]string{
	"none", "smooth", "unique features", "not unique", "near singular", "smoothed",
}

func (s Smoothness) String() string { return name(smoothnessNames[:], uint8(s), "smoothness") }

// Full reports whether derivatives of the normal and of the witnesses exist, not of the value alone.
func (s Smoothness) Full() bool { return s == SmoothPair || s == UniqueFeatures || s == SmoothedPair }

// Primary returns the options of the query that back ends answer: without the columns of derivatives, and with the
// columns that these need.
func (o *Options) Primary(needs Columns) Options {
	p := *o
	if o.Columns&DerivedColumns != 0 {
		p.Columns = o.Columns&^DerivedColumns | needs
	}
	return p
}
