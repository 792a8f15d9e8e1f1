package main

import (
	"bytes"
	"context"
	"errors"
	"os"

	"clearance/bench/peers"
)

// runPeerDerivatives is `peers --derivatives`.
func runPeerDerivatives(ctx context.Context, e *env, f *peersFlags) error {
	if _, err := f.check(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "batchbench-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var report *peers.DerivativeReport
	err = peers.WithPinned(func(core int) error {
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
	if errors.Is(err, peers.ErrNoPeers) {
		return exitf(exitNoBackend, "%w", err)
	}
	if err != nil {
		return err
	}
	report.Program, report.Version, report.Date = "batchbench peers --derivatives", versionString(), now()
	var page bytes.Buffer
	if err := report.WriteMarkdown(&page); err != nil {
		return err
	}
	if f.json != "-" {
		if _, err := e.stdout.Write(page.Bytes()); err != nil {
			return err
		}
	}
	if f.markdown != "" {
		if err := writeFile(f.markdown, page.Bytes()); err != nil {
			return err
		}
	}
	if f.json == "" {
		return nil
	}
	return writeJSON(e.stdout, f.json, report)
}
