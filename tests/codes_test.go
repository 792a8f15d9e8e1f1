package tests

import (
	"testing"

	"clearance/batch"
	"clearance/ref"
)

// TestStatusCodes holds the statuses of package ref, which shares no code with package
// batch, to the codes that batch stores in its columns.
func TestStatusCodes(t *testing.T) {
	pairs := []struct {
		ref   ref.Status
		batch batch.Status
	}{
		{ref.Separated, batch.Separated},
		{ref.Touching, batch.Touching},
		{ref.Penetrating, batch.Penetrating},
		{ref.Undecided, batch.Undecided},
		{ref.Invalid, batch.Invalid},
	}
	if len(pairs) != int(batch.StatusCount) {
		t.Errorf("package batch has %d statuses, this test knows %d", batch.StatusCount, len(pairs))
	}
	for _, p := range pairs {
		if uint8(p.ref) != uint8(p.batch) || p.ref.String() != p.batch.String() {
			t.Errorf("package ref has %d %q, package batch %d %q", p.ref, p.ref, p.batch, p.batch)
		}
	}
	// None that batch does not know.
	if s := ref.Status(batch.StatusCount).String(); s != "status(5)" {
		t.Errorf("package ref has a status %q more than package batch", s)
	}
}
