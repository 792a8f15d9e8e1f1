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

var derivatives = Names[DerivativeMode]{"derivative", derivativeModes[:]}

func (m DerivativeMode) String() string { return derivatives.Name(m) }

// ParseDerivativeMode is the inverse of [DerivativeMode.String].
func ParseDerivativeMode(s string) (DerivativeMode, error) { return derivatives.Parse(s) }

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

func (s Smoothness) String() string {
	return Names[Smoothness]{"smoothness", smoothnessNames[:]}.Name(s)
}

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

// Widths of the vectors of a [Product]: of answers (value, normal, both witnesses), of the twists of both bodies, and
// of the gradient with respect to the twist of one.
const (
	AnswerWidth = 10
	TwistWidth  = 12
	BodyWidth   = 6
)

// ProductKind says which product of the Jacobian of an answer is taken.
type ProductKind uint8

// Kinds of products.
const (
	NoProduct ProductKind = iota

	// VJP: a cotangent of the answer, [N,10], times the Jacobian: the gradient with respect to the twists, [N,12].
	VJP

	// ValueVJP: a cotangent of the value alone, [N], times its derivative, in closed form in normal and witnesses as
	// they are: [N,12].
	ValueVJP

	// JVP: the Jacobian times the twists of both bodies, [N,12]: the tangent of the answer, [N,10].
	JVP

	productKinds
)

// productWidths are those of an operand and of a result, by kind.
var productWidths = [productKinds][2]int{VJP: {AnswerWidth, TwistWidth}, ValueVJP: {1, TwistWidth},
	JVP: {TwistWidth, AnswerWidth}}

// Widths returns the widths of the operands and of the results, in numbers per row.
func (k ProductKind) Widths() (operand, result int) {
	if k >= productKinds {
		return 0, 0
	}
	return productWidths[k][0], productWidths[k][1]
}

// Product is products of the Jacobians of the answers of a job with vectors. Rows without an answer, or beyond a
// cut-off, have zeros.
type Product struct {
	Kind     ProductKind
	Operands []float64
	Results  []float64

	// Sums, if not nil, says that the results are sums of gradients by body, [W,M,6], and which rows count.
	Sums *Sums
}

// Check reports arrays of other lengths than the input has.
func (p *Product) Check(in Input) error {
	if p.Kind == NoProduct || p.Kind >= productKinds {
		return fmt.Errorf("batch: no product of kind %d", p.Kind)
	}
	operand, result := p.Kind.Widths()
	n := in.Len()
	want := result * n
	if p.Sums != nil {
		if p.Kind == JVP {
			return fmt.Errorf("batch: sums by body: the product is a tangent")
		}
		var err error
		if n, want, err = p.Sums.check(in); err != nil {
			return fmt.Errorf("batch: sums by body: %w", err)
		}
	}
	if len(p.Operands) != operand*n || len(p.Results) != want {
		return fmt.Errorf("batch: product of %d rows: arrays of %d and %d numbers, want %d and %d", n, len(p.Operands),
			len(p.Results), operand*n, want)
	}
	return nil
}

// Sums says how the gradients of rows are added up by body of their worlds.
//
// Without sets, the input is [Worlds] of shapes, all of whose rows count, and a body is one shape. Else rows are pairs
// of parts of bodies. Rows of two bodies form a set; of each group of sets only the row of the least value counts, the
// first of equals: a group is two bodies, or all pairs of bodies of a world. Operands are those of the groups.
//
// The gradient of a part moves to its body, see [RowParts.AddTo]. The gradients of a body are added in the order of its
// rows or sets.
type Sums struct {
	Sets   []int32 // set s is rows Sets[s] to Sets[s+1]-1; [S+1], from 0 to the number of rows, ascending
	Groups []int32 // group g is sets Groups[g] to Groups[g+1]-1; [G+1], from 0 to S, ascending
	Worlds []int32 // world w is groups Worlds[w] to Worlds[w+1]-1; [W+1], from 0 to G, ascending

	// Others are the least lower and upper bounds of pairs of a group that are no rows, [G,2]: +Inf if there are none,
	// -Inf if the group has no answer. A group whose bounds are not those of the row that counts is left to the host.
	Others []float64

	Bodies    []int32   // the two bodies of each set, in its world, [S,2]
	PerWorld  int       // M
	Positions []float64 // of the bodies, [W,M,3]
}

// EveryRow reports whether all rows count, those of worlds of shapes.
func (s *Sums) EveryRow() bool { return s.Sets == nil }

func (s *Sums) sets() int   { return len(s.Sets) - 1 }
func (s *Sums) groups() int { return len(s.Groups) - 1 }
func (s *Sums) worlds() int { return len(s.Worlds) - 1 }

// RowsTo returns the number of rows of the worlds before w.
func (s *Sums) RowsTo(w int) int { return int(s.Sets[s.Groups[s.Worlds[w]]]) }

// check returns the number of operands and of results of sums of an input, and an error if they are not those of it.
func (s *Sums) check(in Input) (operands, results int, err error) {
	if !s.EveryRow() {
		return s.groups(), BodyWidth * s.worlds() * s.PerWorld, s.checkSets(in.Len())
	}
	w, ok := in.(*Worlds)
	if !ok || w.Bodies != nil || w.AllPairs {
		return 0, 0, fmt.Errorf("of all rows: the input is %T, want worlds of shapes with pairs", in)
	}
	return w.Len(), BodyWidth * w.Count() * w.BodiesPerWorld(), nil
}

// checkSets returns an error if the sets are not those of n rows.
func (s *Sums) checkSets(n int) error {
	if err := checkEnds("sets", s.Sets, n); err != nil {
		return err
	}
	if err := checkEnds("groups", s.Groups, s.sets()); err != nil {
		return err
	}
	if err := checkEnds("worlds", s.Worlds, s.groups()); err != nil {
		return err
	}
	if len(s.Others) != 2*s.groups() || len(s.Bodies) != 2*s.sets() ||
		len(s.Positions) != 3*s.worlds()*s.PerWorld {
		return fmt.Errorf("arrays of %d, %d and %d numbers for %d groups, %d sets and %d worlds", len(s.Others),
			len(s.Bodies), len(s.Positions), s.groups(), s.sets(), s.worlds())
	}
	for i, b := range s.Bodies {
		if b < 0 || int(b) >= s.PerWorld {
			return fmt.Errorf("body %d of set %d, of %d bodies", b, i/2, s.PerWorld)
		}
	}
	return nil
}

// RolloutProduct is a product of the Jacobians of the R rows of a step of a rollout with vectors, for W worlds of M
// bodies.
type RolloutProduct struct {
	// Kind says what the operands are: VJP, cotangents of the rows, [R,10]; ValueVJP, of their values alone, [R]; JVP,
	// twists of the bodies, [W,M,6]. The results are gradients of the bodies, [W,M,6]; of a JVP the tangents of the
	// rows, [R,10].
	Kind     ProductKind
	Operands []float64
	Results  []float64

	// ByRow leaves gradients apart by row: with respect to the twists of both bodies, [R,12].
	ByRow bool

	// Smoothness, if not nil, receives the codes of [Smoothness] of the rows, [R]. With NoProduct they are all that is
	// taken.
	Smoothness []uint8
}

// Check reports arrays of other lengths than those of n rows and so many bodies of all worlds.
func (p *RolloutProduct) Check(n, bodies int) error {
	var operands, results int
	switch operand, result := p.Kind.Widths(); {
	case p.Kind >= productKinds:
		return fmt.Errorf("batch: no product of kind %d", p.Kind)
	case p.Kind == NoProduct:
	case p.Kind == JVP:
		operands, results = BodyWidth*bodies, result*n
	case p.ByRow:
		operands, results = operand*n, result*n
	default:
		operands, results = operand*n, BodyWidth*bodies
	}
	if len(p.Operands) != operands || len(p.Results) != results || p.Smoothness != nil && len(p.Smoothness) != n {
		return fmt.Errorf("batch: product of %d rows of %d bodies: arrays of %d, %d and %d numbers, want %d, %d and "+
			"none or %d", n, bodies, len(p.Operands), len(p.Results), len(p.Smoothness), operands, results, n)
	}
	return nil
}

// Reduction says how the caller combines the answers of a batch, so that a back end may omit those that do not matter.
// The results of the job have marks then, in which the caller finds the rows that are [Omitted]; their columns hold
// anything.
// Consecutive rows form sets, and consecutive sets form groups. Of a group the caller wants the least distance with its
// bounds, the first row of the greatest status, and the number of sets that contain a contact.
//
// A back end that omits rows of a group cuts it into portions: whole sets, or consecutive rows of one set. Of each
// portion it stores
//
//   - all of its rows of a set, if one of these has no answer, or is [Undecided], [Invalid], or without a finite gap;
//   - of all other rows the first with the least distance, the first with the least distance − gap (of separated rows
//     at least the value at which shapes touch), the first with the least distance + gap, and the first of the
//     greatest status, if that is a contact. Without the distance column it is the first row of all.
//
// So a caller that goes through the rows in their order, and keeps the first of equals, has the same bits whether or
// not rows are omitted. A back end may omit none.
type Reduction struct {
	Sets   []int32 // set s is rows Sets[s] to Sets[s+1]-1; [S+1], from 0 to the number of rows, ascending
	Groups []int32 // group g is sets Groups[g] to Groups[g+1]-1; [G+1], from 0 to S, ascending

	Tally Tally // of the latest run, in the order of rows
}

// Tally is what is known of omitted rows. Their gaps are not among those of reports.
type Tally struct {
	Rows       int // that were omitted
	Counts     [StatusCount]int
	Solvers    [SolverCount]int // these and the iterations are not known of a query of statuses alone
	Iterations int64
	Portions   []Portion // that have contacts or iterations

	Bytes int64 // that the host read of a device's memory, for all rows
}

// Portion is what is known of the omitted rows of a portion of a group.
type Portion struct {
	Row        int32 // the first of the portion
	Contacts   int32 // sets that contain a contact, but none in a row that was stored
	Iterations int64 // if the iterations column was requested
}

// Reset empties a tally and keeps its memory.
func (t *Tally) Reset() { *t = Tally{Portions: t.Portions[:0]} }

// Add adds the tally of later rows.
func (t *Tally) Add(o *Tally) {
	t.Rows += o.Rows
	for i, n := range o.Counts {
		t.Counts[i] += n
	}
	for i, n := range o.Solvers {
		t.Solvers[i] += n
	}
	t.Iterations += o.Iterations
	t.Bytes += o.Bytes
	t.Portions = append(t.Portions, o.Portions...)
}

// check returns an error if a reduction is not one of n rows.
func (r *Reduction) check(n int, results *Results) error {
	if len(results.Marks) != n {
		return fmt.Errorf("batch: a reduction of %d rows, with marks of %d rows", n, len(results.Marks))
	}
	if columns := results.Columns; columns&ColBits != 0 {
		return fmt.Errorf("batch: a reduction with the column %v, which omitted rows would leave open", ColBits)
	}
	if err := checkEnds("sets", r.Sets, n); err != nil {
		return err
	}
	return checkEnds("groups", r.Groups, len(r.Sets)-1)
}

// checkEnds checks the ends of consecutive ranges from 0 to n.
func checkEnds(name string, ends []int32, n int) error {
	if len(ends) == 0 || ends[0] != 0 || int(ends[len(ends)-1]) != n {
		return fmt.Errorf("batch: the %s do not reach from 0 to %d", name, n)
	}
	for i, e := range ends[1:] {
		if e < ends[i] {
			return fmt.Errorf("batch: %s[%d] = %d is less than the one before, %d", name, i+1, e,
				ends[i])
		}
	}
	return nil
}
