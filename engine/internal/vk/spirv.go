//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	spirvMagic      = 0x07230203
	spirvHeader     = 5 // words
	opCapability    = 17
	opMemoryModel   = 14 // ends the capabilities and extensions of a module (SPIR-V 2.4, logical layout)
	spirvMinVersion = 0x00010000
)

// spirvWords returns the module as words of this machine.
func spirvWords(b []byte) ([]uint32, error) {
	if len(b) < 4*spirvHeader || len(b)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no SPIR-V module", len(b))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(b) != spirvMagic {
		order = binary.BigEndian
	}
	if order.Uint32(b) != spirvMagic {
		return nil, errors.New("not SPIR-V: the magic number is missing")
	}
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = order.Uint32(b[4*i:])
	}
	if words[1] < spirvMinVersion {
		return nil, fmt.Errorf("SPIR-V version %#x is not known", words[1])
	}
	return words, nil
}

// capabilityFeatures maps SPIR-V capabilities to the features that allow them.
var capabilityFeatures = map[uint32]Feature{
	9:    Float16,
	10:   Float64,
	11:   Int64,
	12:   Int64Atomics,
	22:   Int16,
	39:   Int8,
	4433: Storage16, // StorageBuffer16BitAccess
	4448: Storage8,  // StorageBuffer8BitAccess
	5345: MemoryModel,
	5347: BufferAddress, // PhysicalStorageBufferAddresses
}

// spirvFeatures returns the features that the module's capabilities need.
func spirvFeatures(code []uint32) Feature {
	var need Feature
	for i := spirvHeader; i < len(code); {
		n, op := int(code[i]>>16), code[i]&0xffff
		if n == 0 || i+n > len(code) || op == opMemoryModel {
			break
		}
		if op == opCapability && n == 2 {
			need |= capabilityFeatures[code[i+1]]
		}
		i += n
	}
	return need
}
