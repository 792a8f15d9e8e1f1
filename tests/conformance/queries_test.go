package conformance

import (
	"testing"

	"clearance/batch"
)

// The suite knows the answers to every query that is answered.
func TestEveryQueryIsKnown(t *testing.T) {
	for q, k := range factsOf {
		switch answered := batch.Query(q).Info().Answered; {
		case answered != (k != nil):
			t.Errorf("query %v: answered is %t, and the table has a row: %t", batch.Query(q), answered, k != nil)
		case k != nil && (k.interval == nil || k.truth == nil || k.status == nil):
			t.Errorf("query %v: a function of its row is missing", batch.Query(q))
		}
	}
}
