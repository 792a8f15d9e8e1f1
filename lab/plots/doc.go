// Package plots draws the figures of the reports: curves with bands, bars on a
// logarithmic axis, and scattered points, each as an SVG.
//
// It imports no other package of the module. Drawing depends on the figure alone, so
// that the same results give the same files. A figure without anything to draw, or
// with a value that a logarithmic axis cannot show, is an error that names the file.
package plots
