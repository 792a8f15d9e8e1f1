// Package fit approximates convex bodies by smooth shapes: a smooth hull of few points
// ([RTR, eq. 17], as in Sec. V-C there) or a superquadric (eq. 16). It minimizes the squared
// difference of the support functions over a grid of directions.
//
// The Hausdorff distance of two convex bodies is the largest difference of their support
// functions over all unit directions. [Measure] evaluates it over a finer grid than the fit,
// and for each side: by how much the fitted body extends beyond the other, and by how much it
// falls short of it.
//
// fit imports geom. Lengths are in metres. A fit is a local minimum from a fixed start: the
// same body gives the same shape on every machine of one processor architecture. The functions
// are safe for concurrent use. Errors name the body that cannot be fitted.
package fit
