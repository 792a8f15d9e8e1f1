// Package derive differentiates answers with respect to the poses of both shapes: the signed distance or the
// growth distance, the normal and both witnesses. It takes the shapes, the poses and an answer of any back end
// ([Row]), and runs after the answers are final; no solver knows of it.
//
// # Convention
//
// Each body moves by a twist (v, ω) in world axes, v being the velocity of the position of its pose: a point x
// of the body moves with v + ω×(x - p). Twelve numbers, A then B ([Twists]). Lengths are metres, angles radians.
//
// # Method
//
// The answer satisfies a system of equations in the normal n and in the coordinates y of the witnesses within
// flat features (edges and faces); its derivatives follow by the implicit function theorem. With δ the signed
// distance, P = I - nnᵀ, H the Hessians of the support functions at n and -n, T bases of the features and
// v_a, v_b the velocities of the witnesses as points of their bodies,
//
//	(δP + H_A + H_B)·dn + T_A·y_A - T_B·y_B = P(v_b - v_a) + H_A(ω_A×n) + H_B(ω_B×n)
//	T_Aᵀ(dn - ω_A×n) = 0,  T_Bᵀ(dn - ω_B×n) = 0
//	da = v_a + H_A(dn - ω_A×n) + T_A·y_A,  db = v_b - H_B(dn - ω_B×n) + T_B·y_B,  dδ = n·(v_b - v_a)
//
// [RTR, eq. 12, 15] and [AGIMUS2023, Randomized Smoothing, eq. 14-19], rewritten in n, which stays regular
// through contact, and extended by the features, on which H is infinite. The matrix is symmetric, so that one
// inverse serves products from either side. Growth distances satisfy the same system with δ = 0 on the left.
//
// The normal of an answer is as exact as its gap allows: an error of the distance of the second order is one
// of the normal of the first. [Workspace.Exact] therefore first solves the system for n by Newton's method, with the
// same matrix, and verifies the result.
//
// # Layers and threads
//
// derive imports batch, geom, geom/hull, ref, internal/fault and kernels/derive. A [Workspace] belongs to one
// goroutine; all else is safe to share. Nothing here returns NaN: a row without a derivative has zeros, and its
// [Smoothness] says why.
package derive
