// Package contact solves contact problems of rigid bodies: given the contacts of many worlds, it finds the contact
// impulses and the velocities that follow.
//
// # Problems and answers
//
// A [Problem] holds the bodies and contacts of W worlds in columns. [Solve] answers every world under one
// [Model]: Coulomb's law (NCP), or its convex relaxation (CCP). It sweeps by projected Gauss-Seidel in velocity
// space first, and ends worlds that remain by a proximal Newton method. Package ref has these and other solvers in
// a dense form.
//
// Every answer states its residual in m/s, recomputed in float64 from the impulses, and the speed scale of its
// island. A world in which their ratio exceeds the tolerance is [Undecided], and a world of invalid input [Invalid].
// A residual is no error: for the CCP, whose velocity is unique, [Options].Bound asks for a proved bound of the error
// in velocity. For the NCP there is none, since its solutions need not be unique.
//
// # Layers and threads
//
// Functions may be called from several goroutines, on different values. A [Solver] and a [Solution] belong to one
// call at a time. The answer of a world has the same bits for any number of workers and whatever worlds lie beside
// it, on machines with the same variant of package kernels/contact, which solves in C. [Options].SIMD chooses the
// variant, or [Off]; builds without cgo solve in Go.
package contact

//go:generate go run ../cmd/genlayout -constants ../contact,../contact/internal/proximal,../kernels/contact,../geom -c ../kernels/contact/include/constants.h -kernels ../kernels/contact
