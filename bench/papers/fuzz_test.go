package papers

import "testing"

// Results are refused or printed, or it is said what they lack, whatever they hold.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"pairs": 1, "seconds": {"qp": 1}, "generic": [{}], "convergence": [{}], "sweeps": [{}], "gear": [{}], "rtr": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data)
		if err != nil {
			return
		}
		if text, err := r.Markdown(); err == nil && text == "" {
			t.Error("an empty page")
		}
	})
}
