// Package papers repeats experiments of the papers that the reference solvers
// implement, and holds the solvers to what they show:
//
//   - iterations of Frank-Wolfe, GJK and accelerated GJK (Table II of "Collision
//     Detection Accelerated", RSS 2022, which is Table III of GJK++);
//   - accuracy of GJK with Signed Volumes and with Johnson's sub-algorithm on
//     nearly flat contacts (sec. 5.1 of "Improving the GJK Algorithm", 2017);
//   - warm starts along a trajectory (sec. IV-D of GJK++).
//
// The results stand in docs/results/papers.md and papers.json. An ordinary run
// repeats every experiment on fewer pairs and compares; with -update the full
// experiments run and the tables in those files are written anew:
//
//	go test ./tests/papers -update
package papers
