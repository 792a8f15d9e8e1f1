package main

import (
	"fmt"
	"slices"
	"strings"

	"clearance/dataset/generate"
	"clearance/internal/memory"
	"clearance/kernels"
)

// Largest values of flags: more is a slip of the keyboard.
const (
	maxRounds   = 10_000
	maxWorkers  = 1 << 12
	maxCallRows = 1 << 28 // rows that one call holds in memory
)

// callBytes is the memory of a pair of a call that is measured: itself, and its answers twice.
const callBytes = 400

// checkCall returns an error if a call of so many pairs takes more memory than there is.
func checkCall(flag string, pairs int) error {
	if err := memory.Check(fmt.Sprintf("a call of %d pairs", pairs), callBytes*float64(pairs)); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// checkKernels returns an error for kernels that this machine does not have.
func checkKernels(name string) error {
	_, err := kernels.Named(name, "--simd")
	return err
}

// checkBackends returns an error for the name of a back end that is none, or that of several.
func checkBackends(flag string, names []string) error {
	for _, name := range names {
		if name == "auto" {
			return fmt.Errorf("%s: name the back ends; auto may select a different one for each case", flag)
		}
		family, device, colon := strings.Cut(name, ":")
		if !slices.Contains([]string{"cpu", "ref", "vulkan"}, family) || colon && (family != "vulkan" || device == "") {
			return fmt.Errorf("%s %q: want cpu, ref, vulkan or a Vulkan device as vulkan:1", flag, name)
		}
	}
	return nil
}

// setsWithout are the names of the sets but for some.
func setsWithout(without ...string) []string {
	return slices.DeleteFunc(generate.Names(), func(name string) bool { return slices.Contains(without, name) })
}

// checkSets returns an error if a flag lists no sets, or others than those known.
func checkSets(flag string, sets, known []string) error {
	if len(sets) == 0 {
		return fmt.Errorf("%s is empty; want some of %s", flag, strings.Join(known, ", "))
	}
	for _, name := range sets {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: unknown set %q, want some of %s", flag, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// plural formats a count and its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}
