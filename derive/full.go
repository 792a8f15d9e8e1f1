package derive

import "gonum.org/v1/gonum/spatial/r3"

// components lists the numbers of a cotangent in the order of a full Jacobian.
func (c *Cotangent) components() [10]float64 {
	return [10]float64{c.Value, c.Normal.X, c.Normal.Y, c.Normal.Z, c.WitnessA.X, c.WitnessA.Y, c.WitnessA.Z,
		c.WitnessB.X, c.WitnessB.Y, c.WitnessB.Z}
}

// cotangentOf is the inverse of components.
func cotangentOf(v *[10]float64) Cotangent {
	at := func(i int) r3.Vec { return r3.Vec{X: v[i], Y: v[i+1], Z: v[i+2]} }
	return Cotangent{Value: v[0], Normal: at(1), WitnessA: at(4), WitnessB: at(7)}
}

func (d *Derivative) fullVJP(c *Cotangent, g *Twists) {
	for i, v := range c.components() {
		for j := range g {
			g[j] += v * d.full[i][j]
		}
	}
}

func (d *Derivative) fullJVP(t *Twists) Cotangent {
	var v [10]float64
	for i := range v {
		for j := range t {
			v[i] += d.full[i][j] * t[j]
		}
	}
	return cotangentOf(&v)
}
