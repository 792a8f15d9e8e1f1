package layout

import (
	"testing"

	"clearance/batch"
)

// TestColumns: the table holds each stored column once, in the order of the codes, by which shaders place them, and of
// types that shaders write.
func TestColumns(t *testing.T) {
	set := batch.Columns(0)
	for i := range Columns {
		c := &Columns[i]
		if c.Code <= set {
			t.Errorf("%s is not in the order of the codes", c.Name)
		}
		set |= c.Code
		info := c.Code.Info()
		if c.Code != batch.ColStatus && info.Type != batch.Real && info.Type != batch.Float32 {
			t.Errorf("%s has values of type %v, which devices do not store", c.Name, info.Type)
		}
		if words := c.Words(true); words != info.Width && (!c.Real || words != 2*info.Width) {
			t.Errorf("%s takes %d words in double precision", c.Name, words)
		}
		if c.Index() != c.Code.Index() || c.Index() >= 32 {
			t.Errorf("%s has the number %d, and a query record room for 32", c.Name, c.Index())
		}
	}
	if set != Stored {
		t.Errorf("Stored is %v, the table has %v", Stored, set)
	}
}
