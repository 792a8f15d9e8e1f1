package main

import (
	"testing"

	"clearance/internal/console"
)

func TestGPUCostUsage(t *testing.T) {
	command(t, "gpu-cost", "x").want(t, console.ExitBadInput).says(t, `unexpected argument "x"`)
	command(t, "gpu-cost", "--nothing").want(t, console.ExitBadInput).says(t, "--nothing")
	command(t, "gpu-cost", "--print-only", "--out", t.TempDir()).want(t, console.ExitBadInput).says(t, "gpu-cost.json")
}
