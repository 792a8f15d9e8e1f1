package main

import (
	"context"

	"clearance/internal/console"
	"clearance/lab/peers"
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
		bar, last := e.Progress("peers", int64(len(f.sets))), 0
		defer bar.Done()
		report, err = peers.MeasureDerivatives(ctx, coal, console.Version(), peers.Options{
			Sets: f.sets, Rows: f.rows, Rounds: f.rounds, Seed: f.seed,
			Progress: func(done, _ int) { bar.Add(done - last); last = done },
		})
		if err == nil {
			report.Core = core
		}
		return err
	})
	if err != nil {
		return err
	}
	report.Program, report.Version, report.Date = "lab peers --derivatives", console.Version(), console.Now()
	return f.print(e, report)
}
