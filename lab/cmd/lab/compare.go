package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"clearance/internal/console"
	"clearance/lab/regress"

	"github.com/spf13/cobra"
)

// percent is a flag like 5% or 0.05.
type percent float64

func (p *percent) String() string { return strconv.FormatFloat(100*float64(*p), 'g', -1, 64) + "%" }
func (p *percent) Type() string   { return "percent" }

func (p *percent) Set(s string) error {
	number, whole := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return fmt.Errorf("want a number like 5%% or 0.05")
	}
	if whole {
		v /= 100
	}
	*p = percent(v)
	return nil
}

func newCompare(e *env) *cobra.Command {
	threshold, alpha := percent(0.05), regress.DefaultAlpha
	c := &cobra.Command{
		Use:   "compare OLD.json[,OLD2.json…] NEW.json[,NEW2.json…]",
		Short: "compare two reports of 'batchbench run', 'peers' or 'matrix' for regressions",
		Long: `Compares the timings of two reports that 'batchbench run --json', 'peers --json' or 'matrix' wrote,
round by round, and exits with code 1 if a measurement became slower: its median by more than
the threshold, and significantly by the Mann-Whitney U test.

Several reports of one version, joined by commas, count as one. If the speed of the machine
varies, measure the old and the new version alternately and compare all reports.

Peers in a report are controls: they did not change, so if they became slower too, the
machine did. Only measurements of this program count.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("want two reports, the older one first; see '%s --help'", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if !(alpha > 0 && alpha < 1) {
				return fmt.Errorf("--alpha %g: want a number between 0 and 1", alpha)
			}
			return compareReports(e, args[0], args[1], regress.Options{Threshold: float64(threshold), Alpha: alpha})
		},
	}
	c.Flags().Var(&threshold, "threshold", "tolerated increase of a median")
	c.Flags().Float64Var(&alpha, "alpha", alpha, "significance level of the test")
	return c
}

func compareReports(e *env, before, after string, o regress.Options) error {
	x, err := regress.Pool(strings.Split(before, ",")...)
	if err != nil {
		return err
	}
	y, err := regress.Pool(strings.Split(after, ",")...)
	if err != nil {
		return err
	}
	for _, d := range []struct{ what, x, y string }{
		{"machine", x.Machine, y.Machine}, {"seed", fmt.Sprint(x.Seed), fmt.Sprint(y.Seed)},
	} {
		if d.x != d.y {
			e.Warn("the reports differ in their %s: %s and %s", d.what, d.x, d.y)
		}
	}
	c, err := regress.Compare(x.Samples, y.Samples, o)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", before, after, err)
	}
	if err := printComparison(e.Stdout, c); err != nil {
		return err
	}
	if slower := c.Slower(); len(slower) > 0 {
		return console.Wrong("%s slower by more than %.3g %%", plural(len(slower), "measurement"), 100*o.Threshold)
	}
	return nil
}

// printComparison writes one line per measurement.
func printComparison(w io.Writer, c *regress.Comparison) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "measurement\told ns/pair\tnew ns/pair\tchange\tp\tverdict")
	for _, r := range c.Rows {
		verdict := r.Verdict.String()
		if r.Control {
			verdict += " (control)"
		}
		fmt.Fprintf(tw, "%s\t%.4g (%.4g–%.4g)\t%.4g (%.4g–%.4g)\t%+.1f %%\t%.3f\t%s\n", r.Name,
			r.Old.Median, r.Old.Lower, r.Old.Upper, r.New.Median, r.New.Lower, r.New.Upper, 100*r.Change, r.P, verdict)
	}
	for _, name := range c.OnlyOld {
		fmt.Fprintf(tw, "%s\t\t\t\t\tonly in the older report\n", name)
	}
	for _, name := range c.OnlyNew {
		fmt.Fprintf(tw, "%s\t\t\t\t\tonly in the newer report\n", name)
	}
	return tw.Flush()
}
