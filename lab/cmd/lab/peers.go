package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"clearance/internal/console"
	"clearance/lab/peers"

	"github.com/spf13/cobra"
)

// peersFlags are the flags of `peers`.
type peersFlags struct {
	sets, questions []string
	rows, rounds    int
	seed            uint64
	build           string
	json, markdown  string
	from, pictures  string
	derivatives     bool
}

// maxPeerRows is the largest number of pairs of a set.
const maxPeerRows = 1 << 22

// peerSets are the sets that peers are compared on.
func peerSets() []string { return setsWithout("mixed", "adversarial", "mesh") }

func newPeers(e *env) *cobra.Command {
	var f peersFlags
	var all []string
	for _, q := range peers.Questions() {
		all = append(all, q.Name)
	}
	c := &cobra.Command{
		Use:   "peers",
		Short: "measure other collision libraries beside this one",
		Long: `Runs other collision libraries and this one on the same pairs, one after the other
within each round, on one pinned core, checks the answers of all of them against the
certified reference, and prints the tables as Markdown.

'make peers' installs the libraries by package name and builds their drivers. Missing
ones are listed with the reason; if all are missing, the exit code is 3.

With --derivatives the answers' derivatives are measured beside finite differences over
the calls of coal: time, and error.

Sets: ` + strings.Join(peerSets(), ", ") + ".\nQuestions: " + strings.Join(all, ", ") + ".",
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.derivatives {
				for _, name := range []string{"questions", "from", "pictures"} {
					if c.Flags().Changed(name) {
						return fmt.Errorf("--derivatives has no --%s", name)
					}
				}
				if !c.Flags().Changed("sets") {
					f.sets = []string{"ellipsoids", "boxes", "hull32"}
				}
				return runPeerDerivatives(c.Context(), e, &f)
			}
			return runPeers(c.Context(), e, &f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.sets, "sets", peerSets(), "sets to run")
	fs.StringSliceVar(&f.questions, "questions", all, "questions to measure")
	fs.IntVar(&f.rows, "rows", 6144, "pairs of each set")
	fs.IntVar(&f.rounds, "rounds", 7, "rounds; the tables show medians and quartiles")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the sets")
	fs.StringVar(&f.build, "build", "lab/peers/build", "folder of the drivers, made by 'make peers'")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the "+
		"tables")
	fs.StringVar(&f.markdown, "markdown", "", "write the tables to this file as well")
	fs.StringVar(&f.pictures, "pictures", "", "write the figures to this folder as well, as SVG")
	fs.StringVar(&f.from, "from", "", "read this report of an earlier --json instead of measuring")
	fs.BoolVar(&f.derivatives, "derivatives", false, "compare derivatives with finite differences over coal instead, "+
		"by default on ellipsoids, boxes and hull32")
	return c
}

// check returns the questions, or an error for a flag out of range.
func (f *peersFlags) check() ([]peers.Question, error) {
	switch {
	case f.rows < 3:
		return nil, fmt.Errorf("--rows %d: want 3 or more, so that each third of a set has a pair", f.rows)
	case f.rows > maxPeerRows:
		return nil, fmt.Errorf("--rows %d: want at most %d, since the reference solves every row", f.rows, maxPeerRows)
	case f.rounds < 1 || f.rounds > maxRounds:
		return nil, fmt.Errorf("--rounds %d: want 1 to %d", f.rounds, maxRounds)
	case len(f.sets) == 0 || len(f.questions) == 0:
		return nil, errors.New("--sets and --questions need at least one name each")
	}
	if err := checkSets("--sets", f.sets, peerSets()); err != nil {
		return nil, err
	}
	var questions []peers.Question
	for _, name := range f.questions {
		q, err := peers.ParseQuestion(name)
		if err != nil {
			return nil, fmt.Errorf("--questions: %w", err)
		}
		questions = append(questions, q)
	}
	for _, out := range []struct{ flag, path string }{{"json", f.json}, {"markdown", f.markdown}} {
		if err := console.CheckWritable(out.path); err != nil {
			return nil, fmt.Errorf("--%s: %w", out.flag, err)
		}
		if out.path != "" && f.from != "" && console.SameFile(out.path, f.from) {
			return nil, fmt.Errorf("--from and --%s are one file, %s", out.flag, out.path)
		}
	}
	if f.markdown != "" && f.json != "" && f.json != "-" && console.SameFile(f.json, f.markdown) {
		return nil, fmt.Errorf("--json and --markdown are one file, %s", f.json)
	}
	return questions, nil
}

func runPeers(ctx context.Context, e *env, f *peersFlags) error {
	questions, err := f.check()
	if err != nil {
		return err
	}
	if f.from != "" {
		report, err := peers.Load(f.from)
		if err != nil {
			return err
		}
		return f.write(e, report)
	}
	var report *peers.Report
	err = measurePeers(func(core int, work string) error {
		contestants, missing, err := openContestants(f.build, work)
		for _, m := range missing {
			e.Warn("%s is not measured: %s", m.Name, m.Why)
		}
		if err != nil {
			return err
		}
		defer func() {
			for _, c := range contestants {
				c.Close()
			}
		}()
		bar, last := e.Progress("peers", int64(len(contestants)*len(f.sets)*len(questions))), 0
		defer bar.Done()
		report, err = peers.Measure(ctx, contestants, peers.Options{
			Sets: f.sets, Questions: questions, Rows: f.rows, Rounds: f.rounds, Seed: f.seed,
			Progress: func(done, _ int) { bar.Add(done - last); last = done },
		})
		if err != nil {
			return err
		}
		report.Core, report.Missing = core, missing
		return nil
	})
	if err != nil {
		return err
	}
	report.Program, report.Version, report.Date = "lab peers", console.Version(), console.Now()
	return f.write(e, report)
}

// measurePeers calls f on one core with a folder for its files. Without a peer the exit code is console.ExitNoBackend.
func measurePeers(f func(core int, work string) error) error {
	work, err := os.MkdirTemp("", "lab-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	err = peers.WithPinned(func(core int) error { return f(core, work) })
	if errors.Is(err, peers.ErrNoPeers) {
		return console.Exitf(console.ExitNoBackend, "%w", err)
	}
	return err
}

// openContestants returns the contestants of this module and the available peers.
func openContestants(build, work string) ([]peers.Contestant, []peers.Missing, error) {
	others, missing, err := peers.Open(build, work)
	if err != nil {
		return nil, missing, err
	}
	list, err := peers.Ours(console.Version())
	return append(list, others...), missing, err
}

// write prints the report and writes the requested files.
func (f *peersFlags) write(e *env, r *peers.Report) error {
	if err := f.print(e, r); err != nil || f.pictures == "" {
		return err
	}
	_, err := r.WriteFigures(f.pictures)
	return err
}

// print prints a report and writes it to the requested files.
func (f *peersFlags) print(e *env, r interface{ WriteMarkdown(io.Writer) error }) error {
	var page bytes.Buffer
	if err := r.WriteMarkdown(&page); err != nil {
		return err
	}
	if f.json != "-" {
		if _, err := e.Stdout.Write(page.Bytes()); err != nil {
			return err
		}
	}
	if f.markdown != "" {
		if err := console.WriteFile(f.markdown, page.Bytes()); err != nil {
			return err
		}
	}
	if f.json == "" {
		return nil
	}
	return console.WriteJSON(e.Stdout, f.json, r)
}
