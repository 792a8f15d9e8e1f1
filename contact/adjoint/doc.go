// Package adjoint differentiates contact: the solution of a contact problem by all that the problem is made from.
//
// At a solution every contact is open, sticks or slides. While these modes last the law is a system of smooth
// equations, and the implicit function theorem gives the derivative; where a mode is about to change there is none, or
// one from each side. So each world states with its derivative how far its solution is from the nearest change of mode,
// and a [Smoothness]. Nothing is ever NaN: where no derivative exists, gradients are zero and the world says so.
//
// [Problems] has the products of cotangents and of tangents with the derivative of a [contact.Problem]. Package ref
// has the same derivative in a dense form.
//
// [Steps] has the products of cotangents with the derivative of a step of a simulation, from its record: through
// contact points, targets, the contact problem, momenta and rotations. [Run] makes the steps of a run with a [Tape],
// which has the gradient of a function of its states.
package adjoint
