// Package conformance is the suite that every back end passes: one set of rows in
// which each kind of shape meets each other kind, asked with every query, method
// and precision.
//
// # Rows
//
// A row is placed by support points, without any solver: B is moved until its
// support point against a direction coincides with that of A along it, and then
// apart by a given length, which is the exact distance; or until two inner points
// coincide, and the shapes certainly intersect. So every row comes with what is
// known of its answer, see [Expect].
//
// # Requirements on a back end
//
// In every configuration every answer passes [verify.Audit], agrees with what is
// known of its row and with the bounds of a reference solve, and none is
// undecided. Rows that make no sense are invalid and cost no other row. Queries
// and methods that are not built give an error that wraps
// [batch.ErrNotAvailable], and nothing else does.
//
// The suite notes in a [Matrix] what it ran and how that ended. docs/support.md and
// docs/support-vulkan.md are written from it:
//
//	go test ./tests/conformance -run TestSupportMatrix -update
//	go test ./engine -run TestConformance -stride 1 -update
//
// # Layers and threads
//
// Tests of back ends import this package; nothing else does. Run uses the goroutine
// of the test. A Matrix belongs to one goroutine.
package conformance
