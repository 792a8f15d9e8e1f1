package main

import (
	"path/filepath"
	"strings"
	"testing"

	"clearance/internal/console"
	"clearance/verify"
)

// TestSampleShares: the shares of the chunks add up to the sample.
func TestSampleShares(t *testing.T) {
	for _, c := range []checker{{total: 10, sample: 3}, {total: 1000003, sample: 1000}, {total: 7, sample: 7},
		{total: 5, sample: 0}, {total: 1 << 62, sample: 1 << 61}} {
		var sum, last int64
		step := c.total/1000 + 3
		for row := int64(0); row < c.total; row += step {
			hi := min(row+step, c.total)
			n := c.share(hi, c.sample) - c.share(row, c.sample)
			if n < 0 || n > hi-row {
				t.Fatalf("%d rows of [%d, %d) in the sample", n, row, hi)
			}
			sum, last = sum+n, hi
		}
		if sum != c.sample || last != c.total {
			t.Errorf("a sample of %d of %d rows became %d", c.sample, c.total, sum)
		}
	}
}

// TestProofVerdict: a depth that is refuted is a wrong answer, and one that is neither proved nor refuted is not good.
func TestProofVerdict(t *testing.T) {
	for _, c := range []struct {
		proof *verify.Proof
		code  int
		says  string
	}{
		{nil, exitGood, ""}, {&verify.Proof{Proved: 3}, exitGood, ""},
		{&verify.Proof{Refuted: 2}, exitWrong, "2 wrong answers"},
		{&verify.Proof{Unproved: 1}, exitWrong, "1 depth neither proved nor refuted"},
	} {
		r := verifyReport{Audit: new(verify.Report), Compare: new(verify.Comparison), Proof: c.proof}
		err := r.verdict()
		if c.code == exitGood && err != nil ||
			c.code != exitGood && (err == nil || console.ExitCode(err) != c.code ||
				!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c.proof, err)
		}
	}
	s := setReport{Disproved: 1}
	if s.good() || s.wrong() != 1 {
		t.Errorf("a refuted depth is good")
	}
}

// Pairs of flat shapes have no growth distance. The adversarial set has some; they are no faults of a run, but a row
// that is invalid without such a reason is.
func TestRunWithoutValue(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run.json")
	text := command("run", "--query", "growth", "--sets", "adversarial", "--pairs", "300", "--rounds", "1", "--sample",
		"20", "--backend", "cpu", "--json", out).want(t, exitGood).stdout
	total := readReport[runReport](t, out).Total
	if total.Undefined == 0 || total.Undefined != total.Counts.Invalid {
		t.Errorf("%d rows without a value, %d invalid", total.Undefined, total.Counts.Invalid)
	}
	if want := plural(total.Undefined, "row") + " without a value of the query"; !strings.Contains(text, want) ||
		!strings.Contains(text, "every answer is good") || strings.Contains(text, "is invalid:") {
		t.Errorf("want %q and no faults:\n%s", want, text)
	}
	total.Undefined--
	if total.good() {
		t.Error("a row is invalid without a reason, and every answer good")
	}
}
