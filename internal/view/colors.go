package view

import (
	"clearance/batch"
)

// A Color is red, green, blue and opacity, from 0 to 1.
type Color [4]float32

// Class is a group of statuses that share a color.
type Class uint8

// The classes, the worse the later. A body has the class of its worst pair, so that no pair without an answer is
// hidden.
const (
	Unknown   Class = iota // not in any pair
	Clear                  // proved to be separated
	Contact                // touching or penetrating
	Undecided              // without an answer
	Invalid                // bad input
)

var classColors = [...]Color{
	Unknown: {0.55, 0.57, 0.60, 1}, Clear: {0.45, 0.58, 0.74, 1}, Contact: {0.86, 0.10, 0.08, 1},
	Undecided: {1, 0.86, 0.05, 1}, Invalid: {0.85, 0.10, 0.85, 1},
}

// Color returns the color of a class: contacts are red, pairs without an answer yellow.
func (c Class) Color() Color { return classColors[min(c, Invalid)] }

// ClassOf returns the class of a status.
func ClassOf(s batch.Status) Class {
	switch s {
	case batch.Separated:
		return Clear
	case batch.Touching, batch.Penetrating:
		return Contact
	case batch.Undecided:
		return Undecided
	}
	return Invalid // codes that this version does not know, too
}

// Colors of the two sides of a pair, and of what is drawn about them.
var (
	colorA      = Color{0.30, 0.55, 0.90, 1}
	colorB      = Color{0.93, 0.62, 0.25, 1}
	colorOther  = Color{0.62, 0.64, 0.67, 1}
	colorGround = Color{0.80, 0.81, 0.82, 1}
	colorText   = Color{0.10, 0.11, 0.13, 1}
	colorPanel  = Color{1, 1, 1, 0.82}
	colorStep   = Color{0.05, 0.45, 0.20, 1}
	colorOrigin = Color{0, 0, 0, 1}
)

// Background is the color behind all, EdgeColor the color of edges.
var (
	Background = Color{0.93, 0.94, 0.95, 1}
	EdgeColor  = Color{0.12, 0.13, 0.15, 1}
)

// withAlpha returns c with another opacity.
func (c Color) withAlpha(a float32) Color { c[3] = a; return c }

// dark returns a darker color.
func (c Color) dark() Color {
	for i := range 3 {
		c[i] *= 0.55
	}
	return c
}
