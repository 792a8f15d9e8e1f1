package dataset

import (
	"fmt"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// smoothHull builds a smooth hull; the centre is the local origin if none is given.
func (e *entry) smoothHull() (geom.Shape, error) {
	rows, err := e.rows("vertices", 3)
	if err != nil {
		return nil, err
	}
	var sharpness real
	if err := e.get("sharpness", &sharpness); err != nil {
		return nil, err
	}
	var center r3.Vec
	if _, ok := e.values["center"]; ok {
		var v []real
		if center, err = e.vector("center", &v); err != nil {
			return nil, err
		}
	}
	s, err := geom.NewSmoothHull(vectors(rows), float64(sharpness), center)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (e *entry) smoothRevolution() (geom.Shape, error) {
	rows, err := e.rows("profile", 2)
	if err != nil {
		return nil, err
	}
	var sharpness, flatness real
	if err := e.get("sharpness", &sharpness); err != nil {
		return nil, err
	}
	if err := e.get("flatness", &flatness); err != nil {
		return nil, err
	}
	var profile []r2.Vec
	for _, v := range rows {
		profile = append(profile, r2.Vec{X: float64(v[0]), Y: float64(v[1])})
	}
	s, err := geom.NewSmoothRevolution(profile, float64(sharpness), float64(flatness))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// rows decodes a parameter that is a list of rows of width numbers.
func (e *entry) rows(name string, width int) ([][]real, error) {
	var rows [][]real
	if err := e.get(name, &rows); err != nil {
		return nil, err
	}
	for i, v := range rows {
		if len(v) != width {
			return nil, fmt.Errorf("%s: %s[%d] has %d numbers, want %d", e.kind, name, i, len(v), width)
		}
	}
	return rows, nil
}

func vectors(rows [][]real) (points []r3.Vec) {
	for _, v := range rows {
		points = append(points, r3.Vec{X: float64(v[0]), Y: float64(v[1]), Z: float64(v[2])})
	}
	return points
}
