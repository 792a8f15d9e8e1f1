package main

import (
	"context"

	"clearance/bench/peers"
)

// runPeerDerivatives is `peers --derivatives`.
func runPeerDerivatives(ctx context.Context, e *env, f *peersFlags) error {
	if _, err := f.check(); err != nil {
		return err
	}
	var report *peers.DerivativeReport
	err := measurePeers(func(core int, work string) error {
		coal, err := peers.OpenOne("coal", f.build, work)
		if err != nil {
			return err
		}
		defer coal.Close()
		bar, last := e.progress("peers", int64(len(f.sets))), 0
		defer bar.done()
		report, err = peers.MeasureDerivatives(ctx, coal, versionString(), peers.Options{
			Sets: f.sets, Rows: f.rows, Rounds: f.rounds, Seed: f.seed,
			Progress: func(done, _ int) { bar.add(done - last); last = done },
		})
		if err == nil {
			report.Core = core
		}
		return err
	})
	if err != nil {
		return err
	}
	report.Program, report.Version, report.Date = "batchbench peers --derivatives", versionString(), now()
	return f.print(e, report)
}
