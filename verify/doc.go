// Package verify audits answers. [Audit] checks every row of a batch from the
// shapes and poses alone: it runs no solver. [Prove] proves depths by branch and
// bound, also without a solver. [Compare] solves a sample, or every row, again
// with package ref.
//
// # What an audit proves
//
// An answer claims that the signed distance σ of a pair lies in distance ± gap.
// With D = A − B and its support function h, σ = max over unit n of −h(n), so
//
//   - any direction n proves σ ≥ −h(n): the stored normal must prove
//     σ ≥ distance − gap (check "plane"), whatever the status;
//   - two points of the shapes prove σ ≤ |a − b|: the stored witnesses must prove
//     σ ≤ distance + gap where distance ≥ 0 (checks "member_a", "member_b" and
//     "witnesses");
//   - in penetration no single plane bounds σ from above, since every direction
//     would have to be tried. The audit tries to refute the claim instead: no
//     direction tried may prove σ > distance + gap (checks "directions" and
//     "descent"). The axes of both bodies and their cross products are among the
//     directions, so for two boxes, and for any pair with a half-space, this is a
//     proof; for other pairs it is a search.
//
// [Prove] proves σ ≤ distance + gap in penetration for pairs of every kind, up to the rounding
// error of a support value, by branch and bound over all directions (prove.go). A row takes some
// hundred evaluations of the support function.
//
// # Growth distances
//
// Both ends of the interval of a growth distance α are proved from the shapes and the
// centers of growth. With p = c_B − c_A, D = (A − c_A) − (B − c_B) and a proved radius r of
// a ball about the origin in D,
//
//   - the stored normal n proves α ≥ <n, p>/h(n) (check "plane");
//   - the stored witnesses, as they lie in the shapes, give the point s = a − b of D. With
//     τ = <s, p>/|p| and e = s − τp/|p| they prove α ≤ |p|·(r + |e|)/(τ·r) (checks
//     "member_a", "member_b" and "witnesses"). Where they coincide within the gap
//     once they are scaled, and prove less, a triangle of support points around n has to prove it;
//   - next to a half-space, which does not grow, the same follows from its plane;
//   - the column point has to be c_A + α·(a − c_A) (check "point").
//
// Where columns are missing, a status is tried like that of a signed distance, whose sign
// changes where α passes 1.
//
// # What it cannot see
//
// A gap that was enlarged within the tolerance is still a true bound. Witnesses
// that slide together along faces, or a normal that rotates within the cone of
// directions that prove the same bound (two vertices that touch), are other
// right answers. Iterations are only checked for sense. What the columns do not
// hold cannot be checked: every check says on how many rows it ran and on how
// many a missing column kept it from running.
//
// # Bounds
//
// Every check allows for the rounding errors of the columns and of its own arithmetic,
// and for nothing else; u is the unit roundoff of the columns (2⁻²⁴ single, 2⁻⁵³ double),
// eps = 2⁻⁵³:
//
//   - rounding a point of the world to the columns moves it by at most u·|point|;
//   - rounding a unit vector rotates it by at most u, which lowers the bound that it
//     proves by at most u times the reach of D sideways of it;
//   - a support value of the audit has an error of at most 24·eps·scale, see frame.go.
//
// # Contact impulses
//
// [AuditContacts] recomputes velocities, residuals and the identity of energy of a solution of package contact from its
// impulses. Residuals of Coulomb's law bound no error. Bounds of the convex relaxation are tried by a second solution.
// [AuditSystems] does the same for mechanisms of package contact/system; it refutes bounds below what contacts violate.
//
// # Contact points
//
// [ContactPoints] audits where contacts of steps lie. The points half a gap from a position along the normal have to
// lie in the named parts, which proves the gap as an upper bound; the planes of the normal have to prove the distance
// that package ref finds. That the gap is no larger than need be, and what an ID names, is compared with the features
// that package contact finds for the normal of the file.
//
// # Layers and threads
//
// verify imports geom, batch, ref and the types of contact. Solvers of ref are called by
// Compare, by AuditContacts where it tries bounds, and by ContactPoints, which also finds
// features by package contact; Audit calls
// ref.SmoothPair, to check that the solver in the method column applies to a pair. Audits
// read the job and run on their own goroutines; a report belongs to one goroutine. The
// report is the same for any number of workers and any split into chunks. A row allocates
// nothing unless its input is invalid.
package verify
