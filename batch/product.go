package batch

import "fmt"

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
