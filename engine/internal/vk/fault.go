//go:build cgo && !(386 || arm || mips || mipsle)

package vk

/*
#include "vkc.h"
*/
import "C"

import (
	"strings"
	"sync"
)

// FaultPoints returns the calls at which a fault can be injected.
func FaultPoints() []string {
	var names []string
	for i := range C.int(C.VKC_AT_COUNT) {
		names = append(names, C.GoString(C.vkc_fault_name(i)))
	}
	return names
}

// Inject arms a fault, one a call point; a later one at the same point replaces it. The
// function returned disarms the point; it may be called twice. Inject panics on a
// point that does not exist: only tests call it.
func Inject(f Fault) (disarm func()) {
	for i, name := range FaultPoints() {
		if name != f.Call {
			continue
		}
		if f.Times == 0 {
			f.Times = 1
		}
		if f.Mask == 0 {
			f.Mask = 0xff
		}
		C.vkc_fault_set(C.int(i), C.int64_t(f.After), C.int64_t(f.Times), C.VkResult(f.Result), C.uint64_t(f.Offset),
			C.uint8_t(f.Mask))
		return sync.OnceFunc(func() { C.vkc_fault_set(C.int(i), 0, 0, 0, 0, 0) })
	}
	panic(badCall("inject fault", "no call %q; there are %s", f.Call, strings.Join(FaultPoints(), ", ")))
}
