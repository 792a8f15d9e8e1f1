package system

import "math"

// Dense matrices in rows.

// factored sets lower to L of m = LLᵀ, of which it reads the lower half, and reports whether m is positive definite.
func factored(m []float64, n int, lower []float64) bool {
	clear(lower)
	for i := range n {
		for j := range i + 1 {
			sum := m[i*n+j]
			for k := range j {
				sum -= lower[i*n+k] * lower[j*n+k]
			}
			switch {
			case i != j:
				lower[i*n+j] = sum / lower[j*n+j]
			case !(sum > 1e-14*m[i*n+i]):
				return false
			default:
				lower[i*n+i] = math.Sqrt(sum)
			}
		}
	}
	return true
}

// intoFactor sets x to L⁻¹x.
func intoFactor(lower []float64, n int, x []float64) {
	for i := range n {
		sum := x[i]
		for k, l := range lower[i*n : i*n+i] {
			sum -= l * x[k]
		}
		x[i] = sum / lower[i*n+i]
	}
}

// fromFactor sets x to L⁻ᵀx.
func fromFactor(lower []float64, n int, x []float64) {
	for i := n - 1; i >= 0; i-- {
		x[i] /= lower[i*n+i]
		for k, l := range lower[i*n : i*n+i] {
			x[k] -= l * x[i]
		}
	}
}

func identity(m []float64, n int) {
	clear(m)
	for i := range n {
		m[i*n+i] = 1
	}
}

// factorLU factors a matrix in place with the largest pivots of the columns. It reports false if it is singular.
func factorLU(m []float64, n int, pivots []int) bool {
	for k := range n {
		p := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[p*n+k]) {
				p = i
			}
		}
		pivots[k] = p
		if p != k {
			for j := range n {
				m[k*n+j], m[p*n+j] = m[p*n+j], m[k*n+j]
			}
		}
		pivot := m[k*n+k]
		if !(math.Abs(pivot) > 0) {
			return false
		}
		from := m[k*n : (k+1)*n]
		for i := k + 1; i < n; i++ {
			line := m[i*n : (i+1)*n]
			if line[k] == 0 {
				continue
			}
			f := line[k] / pivot
			line[k] = f
			for j := k + 1; j < n; j++ {
				line[j] -= f * from[j]
			}
		}
	}
	return true
}

// solveLU replaces x by the solution, or by that of the transposed matrix.
func solveLU(m []float64, n int, pivots []int, x []float64, transposed bool) {
	if !transposed {
		for k, p := range pivots[:n] {
			x[k], x[p] = x[p], x[k]
		}
		for i := range n {
			x[i] -= dot(m[i*n:i*n+i], x)
		}
		for i := n - 1; i >= 0; i-- {
			x[i] = (x[i] - dot(m[i*n+i+1:(i+1)*n], x[i+1:])) / m[i*n+i]
		}
		return
	}
	for i := range n {
		x[i] /= m[i*n+i]
		for j := i + 1; j < n; j++ {
			x[j] -= m[i*n+j] * x[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := range i {
			x[j] -= m[i*n+j] * x[i]
		}
	}
	for k := n - 1; k >= 0; k-- {
		x[k], x[pivots[k]] = x[pivots[k]], x[k]
	}
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
