package engine

import (
	"fmt"
	"slices"
	"strings"

	"clearance/engine/internal/vk"
)

// Proof is the arithmetic that proves the answers of single precision on a device. Those of double precision are always
// proved in double precision.
type Proof int

// The proofs.
const (
	// ProofAuto is ProofTwoFloats on devices without double precision and on those on which it is slow, by a table of
	// kinds of devices; nothing is measured. Else it is ProofFloat64.
	ProofAuto Proof = iota
	// ProofFloat64 takes double precision.
	ProofFloat64
	// ProofTwoFloats takes sums of two floats, see shaders/two_floats.glsl. Rows that they do not prove are continued
	// in double precision where the device has it, and are else declined.
	ProofTwoFloats
)

// String returns the name of the arithmetic.
func (p Proof) String() string {
	switch p {
	case ProofFloat64:
		return "double precision"
	case ProofTwoFloats:
		return "two floats"
	}
	return "auto"
}

// arithmetic is the arithmetic of the pipelines of a device.
type arithmetic struct {
	float64   bool // the device has double precision
	twoFloats bool // proofs of single precision take sums of two floats
	fused     bool // fma() of floats rounds once
}

// slowFloat64 lists the vendors, by their number in Vulkan, whose GPUs compute at most an eighth as many operations in
// double precision as in single precision, each with parts of the names of those that do not.
var slowFloat64 = map[uint32][]string{
	vendorNVIDIA: {"A100", "A30 ", "A800", "B100", "B200", "GB200", "GH200", "GP100", "GV100", "H100", "H20", "H200",
		"H800", "P100", "TITAN V", "V100"},
	vendorAMD: {"Instinct", "MI100", "MI200", "MI210", "MI250", "MI300", "MI50", "MI60", "Radeon VII", "Vega 20",
		"VEGA20", "gfx906", "gfx908", "gfx90a", "gfx942"},
	vendorIntel: {"Data Center GPU Max"},
}

// Numbers of vendors in Vulkan.
const (
	vendorAMD    = 0x1002
	vendorNVIDIA = 0x10de
	vendorIntel  = 0x8086
)

// describeProof names the arithmetic of proofs on a device for [batch.Device].
func describeProof(p Proof, float64 bool) string {
	if !float64 {
		return p.String() + ", no double precision"
	}
	return p.String()
}

// proofFor returns the arithmetic of proofs on a device.
func (o *Options) proofFor(d *vk.DeviceInfo) Proof {
	switch {
	case !o.features(d).Has(vk.Float64):
		return ProofTwoFloats
	case o.Proof != ProofAuto:
		return o.Proof
	}
	fast, slow := slowFloat64[d.VendorID]
	slow = slow && (d.Type == vk.Discrete || d.Type == vk.Integrated) &&
		!slices.ContainsFunc(fast, func(part string) bool { return strings.Contains(d.Name, part) })
	if !slow && !o.slow {
		return ProofFloat64
	}
	return ProofTwoFloats
}

// ProofOf returns the proof that a discrete GPU with double precision gets by its vendor and its name.
func ProofOf(vendor, name string) (Proof, error) {
	number, ok := map[string]uint32{"AMD": vendorAMD, "Intel": vendorIntel, "NVIDIA": vendorNVIDIA}[vendor]
	if !ok {
		return ProofAuto, fmt.Errorf("engine: the vendor %q is not in the table", vendor)
	}
	d := vk.DeviceInfo{Name: name, VendorID: number, Type: vk.Discrete, Features: vk.Float64}
	return new(Options).proofFor(&d), nil
}

// features returns what a device can do, without what a test takes from it.
func (o *Options) features(d *vk.DeviceInfo) vk.Feature { return d.Features &^ o.disable }

// checkProof reports that a device cannot prove as it is told to.
func (o *Options) checkProof(d *vk.DeviceInfo) error {
	if o.Proof == ProofFloat64 && !o.features(d).Has(vk.Float64) {
		return fmt.Errorf("engine: %s has no %v, so that it cannot prove in double precision", d.Name, vk.Float64)
	}
	return nil
}
