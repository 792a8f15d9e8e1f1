package verify

import (
	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

// jacobianColumns are the columns of three rows of twelve.
var jacobianColumns = [3]batch.Columns{batch.ColDNormal, batch.ColDWitnessA, batch.ColDWitnessB}

// jacobian has the derivatives of the normal and of both witnesses.
type jacobian struct {
	rows [3][3]twists12
	has  [3]bool

	// What rounding may add to derivatives by angular velocities, of the normal and of witnesses: a normal moves by
	// K⁻¹·H·(ω×n), with K = δP + H_A + H_B, and a witness by H times the difference of that and ω×n.
	rounding [3]float64
}

// set sets the rounding for Hessians of a size, from the derivatives of the normal, which are those of K⁻¹.
func (j *jacobian) set(hessian, size float64) {
	inverse, _ := j.scale(0)
	if !j.has[0] {
		inverse = 1 / size
	}
	turn := 64 * eps * hessian * inverse
	j.rounding = [3]float64{turn, turn * hessian, turn * hessian}
}

// column returns the derivative of the normal or of a witness by velocity c.
func (j *jacobian) column(m, c int) r3.Vec {
	return r3.Vec{X: j.rows[m][0][c], Y: j.rows[m][1][c], Z: j.rows[m][2][c]}
}

// scale is the largest derivative of the normal or of a witness, by velocities and by angular velocities.
func (j *jacobian) scale(m int) (linear, angular float64) {
	for k := range j.rows[m] {
		l, w := j.rows[m][k].scales()
		linear, angular = max(linear, l), max(angular, w)
	}
	return linear, angular
}

// identities checks what holds between the columns of a row, whatever its Hessians are:
//
//   - n·dn = 0, since n is a unit vector.
//   - n·da = n·v_a with v_a the velocity of the witness as a point of A, and likewise of B: a support point moves
//     within its support plane. Of signed distances the right-hand sides are parts of d_distance.
//   - ∂n/∂v_B is symmetric: it is the matrix of second derivatives of the signed distance by p_B.
//   - ∂n/∂ω_B = (∂((b - p_B)×n)/∂v_B)ᵀ: both are second derivatives by p_B and a rotation of B.
//
// Smoothed Hessians are symmetric too, so that estimates of the first order satisfy them.
func (a *derivativeAuditor) identities(g *twists12, j *jacobian, v *reported) {
	signed := a.job.Options.Query.Info().SignedDistance
	relative := 4*a.rounding() + 1e-8 // that of a polished normal
	if j.has[0] {
		linear, angular := j.scale(0)
		for c := range 12 {
			scale := linear + angular/a.size
			if c%6 >= 3 {
				scale *= a.size
			}
			a.near(batch.ColDNormal, "part along the normal", r3.Dot(v.n, j.column(0, c)), 0,
				relative*scale+j.rounding[0])
		}
		if signed {
			a.symmetric(j, linear+angular/a.size)
		}
		if signed && j.has[2] {
			a.reciprocal(j, v)
		}
	}
	for m := 1; m < 3 && signed; m++ {
		if !j.has[m] {
			continue
		}
		linear, angular := j.scale(m)
		for c := range 12 {
			want, scale := 0.0, linear+1
			if c/6 == m-1 {
				want = g[c]
			}
			if m == 1 {
				want = -want
			}
			if c%6 >= 3 {
				scale = angular + a.size + r3.Norm(a.offset)
			}
			a.near(jacobianColumns[m], "part along the normal", r3.Dot(v.n, j.column(m, c)), want,
				relative*scale+j.rounding[m])
		}
	}
}

// symmetric requires that the second derivatives of the signed distance by p_B are symmetric.
func (a *derivativeAuditor) symmetric(j *jacobian, scale float64) {
	for k := range 3 {
		for m := range k {
			a.near(batch.ColDNormal, "second derivative by v_B in the other order", j.rows[0][k][6+m],
				j.rows[0][m][6+k], (4*a.rounding()+1e-8)*scale)
		}
	}
}

// reciprocal requires that second derivatives by v_B and ω_B do not depend on the order.
func (a *derivativeAuditor) reciprocal(j *jacobian, v *reported) {
	linear, angular := j.scale(0)
	moved, _ := j.scale(2)
	lever := norm(v.b)
	allowed := (4*a.rounding()+1e-8)*(angular+moved+1+lever*linear) + v.error*linear + j.rounding[0] +
		j.rounding[2]/a.size
	for k, axis := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		db := r3.Sub(j.column(2, 6+k), axis)
		d := r3.Add(r3.Cross(db, v.n), r3.Cross(v.b, j.column(0, 6+k)))
		for m, want := range [3]float64{d.X, d.Y, d.Z} {
			a.near(batch.ColDNormal, "second derivative by v_B and ω_B in the other order", j.rows[0][k][9+m], want,
				allowed)
		}
	}
}
