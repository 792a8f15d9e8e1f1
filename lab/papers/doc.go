// Package papers repeats the experiments of the papers that the project implements,
// with the reference solvers of package ref, and prints them as one report: tables
// "paper | ours | ratio", figures, and the reasons where they differ.
//
//   - Iterations of Frank-Wolfe, projected gradient, GJK and accelerated GJK (Table II
//     of "Collision Detection Accelerated", RSS 2022, which is Table III of GJK++).
//   - Iterations and time against the distance, convergence, normalised directions
//     (Fig. 7 to 11 and Table I of GJK++), a QP solver beside GJK (Table II).
//   - Warm starts along a trajectory (sec. IV-D of GJK++).
//   - Accuracy of Signed Volumes and of Johnson's sub-algorithm on nearly flat simplices
//     and contacts (sec. 5.1 of "Improving the GJK Algorithm", 2017).
//   - The Riemannian trust region beside GJK and EPA ([RTR], Tables I and II, Fig. 6 and 8).
//   - The growth distance by the simplex method, by internal expansion and by Newton's method
//     ([Growth], Table III, Fig. 3 to 5).
//   - Derivatives of witnesses by randomised smoothing beside finite differences ([AGIMUS2023, Randomized Smoothing],
//     Tables I and II, Fig. 5 and 6), and their bias and deviation.
//
// The layers: an [Experiment] fills its part of [Results]; [Results.Write] prints
// them through the template report.md.tmpl, which holds the words. Counts follow
// from the seed alone; times are of the machine. Package tests repeat every
// experiment on fewer pairs, compare the counts with the committed results,
// and fail if what the report says no longer holds.
//
// An experiment runs on the calling goroutine. Errors name the experiment.
package papers
