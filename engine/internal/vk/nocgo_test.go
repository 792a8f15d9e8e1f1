//go:build !cgo || 386 || arm || mips || mipsle

package vk

import (
	"errors"
	"testing"
)

// TestOpenWithoutCgo checks that Open says why there is no Vulkan.
func TestOpenWithoutCgo(t *testing.T) {
	in, err := Open(Options{})
	if in != nil || !errors.Is(err, NoCgo) {
		t.Errorf("Open returned %v, %v", in, err)
	}
}
