//go:build !cgo

package engine

import (
	"errors"
	"strings"
	"testing"

	"clearance/engine/internal/vk"
)

// Without cgo the back end says why it is not there.
func TestWithoutCgo(t *testing.T) {
	if _, err := Open(Options{}); !errors.Is(err, vk.NoCgo) || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
		t.Errorf("Open: %v", err)
	}
	if _, err := Devices(); !errors.Is(err, vk.NoCgo) {
		t.Errorf("Devices: %v", err)
	}
}
