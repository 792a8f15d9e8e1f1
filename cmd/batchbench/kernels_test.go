package main

import (
	"path/filepath"
	"testing"

	"clearance/cpu/instructions"
	"clearance/cpu/simd"
	native "clearance/kernels/contact"
)

// TestUnknownKernels: every command that has kernels solve refuses a name that there are none of, of the environment
// and of its option, before it reads a file.
func TestUnknownKernels(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	pairs := []string{"--shapes", none, "--pairs", none}
	worlds := []string{"--shapes", none, "--worlds", none}
	with := func(command []string, flags ...[]string) []string {
		for _, f := range flags {
			command = append(command[:len(command):len(command)], f...)
		}
		return command
	}
	out, results := []string{"--out", none + ".npz"}, []string{"--results", none}
	for _, c := range []struct {
		args   []string
		option bool // has --simd
	}{
		{[]string{"run"}, true}, {[]string{"throughput"}, true}, {[]string{"matrix"}, true},
		{[]string{"scaling"}, true},
		{with([]string{"score"}, pairs, out), true}, {with([]string{"rollout"}, worlds, out), true},
		{with([]string{"sweep"}, worlds, out), true}, {with([]string{"derive"}, pairs, results, out), false},
		{[]string{"contact"}, false}, {with([]string{"contact", "--problems", none}), false},
		{with([]string{"step", "--scene", "stack4"}, out), true}, {with([]string{"step"}, worlds, out), true},
		{with([]string{"verify"}, pairs, results), false},
		{with([]string{"verify", "rollout"}, worlds, results), false},
		{with([]string{"verify", "sweep"}, worlds, results), false},
		{with([]string{"verify", "derivatives"}, pairs, results), false},
		{with([]string{"verify", "contact"}, results), false},
	} {
		const says = `unknown SIMD variant "bogus", want one of avx512, avx2, neon, portable, or off`
		t.Setenv(simd.EnvSIMD, "bogus")
		command(c.args...).want(t, exitBadInput).says(t, "environment variable CLEARANCE_SIMD: "+says)
		t.Setenv(simd.EnvSIMD, "")
		if c.option {
			command(with(c.args, []string{"--simd", "bogus"})...).want(t, exitBadInput).says(t, says)
		}
	}
}

// TestKernelsOfContacts: problems and steps are solved by every name of kernels that this machine has, in a variant
// that is not above it, and with "off" in Go.
func TestKernelsOfContacts(t *testing.T) {
	out := filepath.Join(t.TempDir(), "problems.npz")
	for _, name := range append(simd.Supported(), simd.Off) {
		t.Setenv(simd.EnvSIMD, name)
		command("contact", "--scene", "slide", "--worlds", "3", "--out", out).want(t, exitGood)
		command("verify", "contact", "--results", out).want(t, exitGood)
		f := stepFlags{}
		if err := f.chooseKernels(); err != nil {
			t.Fatal(err)
		}
		if want := instructions.Best(name, native.Supported()); f.options.Solve.SIMD != want {
			t.Errorf("%s: contacts have the kernels %s, want %s", name, f.options.Solve.SIMD, want)
		}
	}
}
