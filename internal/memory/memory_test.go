package memory

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestCheck: what would take more than there is, is refused with both amounts.
func TestCheck(t *testing.T) {
	if err := Check("nothing much", small); err != nil {
		t.Error(err)
	}
	for _, bytes := range []float64{1 << 60, 0x1p63 * 0x1p63, math.Inf(1), math.NaN()} {
		var e *Error
		err := Check("7 worlds", bytes)
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "7 worlds would take "+Text(bytes)) {
			t.Errorf("%g bytes: %v", bytes, err)
		}
	}
	if have := Available(); !(have > 1<<20) {
		t.Errorf("%g bytes are available", have)
	}
	for bytes, want := range map[float64]string{0: "0 B", 999: "999 B", 1e6: "1 MB", 123456789: "123 MB",
		9.999e14: "1 PB"} {
		if got := Text(bytes); got != want {
			t.Errorf("%g bytes are %q, want %q", bytes, got, want)
		}
	}
}

// TestRoom: as many items as there is memory for.
func TestRoom(t *testing.T) {
	if n := Room(1000, 8); n != 1000 {
		t.Errorf("room for %d of 1000 numbers", n)
	}
	if n := Room(1<<60, 1024); float64(n) > 1<<37 || n < 1<<10 {
		t.Errorf("room for %d items of a kilobyte", n)
	}
}
