package batch

import (
	"fmt"
)

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
func (k ProductKind) Widths() (operand, result int) { return productWidths[k][0], productWidths[k][1] }

// Product is products of the Jacobians of the answers of a job with vectors. Rows without an answer, or beyond a
// cut-off, have zeros.
type Product struct {
	Kind     ProductKind
	Operands []float64
	Results  []float64

	// Sums, if not nil, says which rows count, and that the results are sums of their gradients by body.
	Sums *Sums

	// Bodies says that the results are the sums of the gradients of all rows by body of a world, [W,M,6], each in the
	// order of the rows. The input is Worlds of shapes.
	Bodies bool
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
		if err := p.Sums.check(n); err != nil {
			return fmt.Errorf("batch: sums of products: %w", err)
		}
		if p.Kind == JVP || p.Bodies {
			return fmt.Errorf("batch: sums of products: the product is a tangent, or has sums by body of all rows")
		}
		n, want = p.Sums.groups(), BodyWidth*p.Sums.worlds()*p.Sums.PerWorld
	}
	if p.Bodies {
		w, ok := in.(*Worlds)
		switch {
		case !ok || w.Bodies != nil || w.AllPairs:
			return fmt.Errorf("batch: gradients by body: the input is %T, want worlds of shapes with pairs", in)
		case p.Kind == JVP:
			return fmt.Errorf("batch: gradients by body: the product is a tangent")
		}
		want = BodyWidth * w.Count() * w.BodiesPerWorld()
	}
	if len(p.Operands) != operand*n || len(p.Results) != want {
		return fmt.Errorf("batch: product of %d rows: arrays of %d and %d numbers, want %d and %d", n, len(p.Operands),
			len(p.Results), operand*n, want)
	}
	return nil
}

// Sums says which rows of a product count, and how their gradients are added up by body: [W,M,6]. Rows are pairs of
// parts. Those of two bodies form a set, and sets form groups, of which the row of the least value counts alone, the
// first of equals: a group is the parts of two bodies, or of all pairs of bodies of a world. Operands are those of the
// groups. The gradient of a part moves to its body: with the part at ρ from the position of the body,
// ω_body = ω_part + ρ × v_part. The gradients of a body are added in the order of its sets.
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

func (s *Sums) sets() int   { return len(s.Sets) - 1 }
func (s *Sums) groups() int { return len(s.Groups) - 1 }
func (s *Sums) worlds() int { return len(s.Worlds) - 1 }

// RowsTo returns the number of rows of the worlds before w.
func (s *Sums) RowsTo(w int) int { return int(s.Sets[s.Groups[s.Worlds[w]]]) }

// check returns an error if sums are not those of n rows.
func (s *Sums) check(n int) error {
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
