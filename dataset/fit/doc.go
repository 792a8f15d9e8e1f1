// Package fit finds smooth shapes near convex bodies: a smooth hull of few points (paper 002,
// eq. 17, as in its sec. V-C) or a superquadric (eq. 16), by least squares between support
// functions over a grid of directions.
//
// The Hausdorff distance of two convex bodies is the largest difference of their support
// functions over all unit directions. [Measure] takes it over a finer grid than the fit, one side
// at a time: how far the fitted body sticks out of the other, and how far it falls short.
//
// Layer: below commands and experiments, above geom. Lengths are metres. A fit is a local
// minimum from a fixed start: the same body gives the same shape on every machine of one processor
// architecture. Safe for concurrent use. Errors say which body cannot be fitted.
package fit
