package peers

import (
	"fmt"
	"runtime"
	"slices"

	"clearance/lab/stats"
	"clearance/verify"
)

// Clock says what the times of a report hold.
const Clock = "CPU time of the solving thread (CLOCK_THREAD_CPUTIME_ID), one pinned core, contestants in turn within " +
	"each round, each after a run without the clock; " +
	"peers start from poses in their own type, Clearance from columns of positions and quaternions; " +
	"everyone ends with answers in the world frame"

// Setting is where and how a report was measured.
type Setting struct {
	Program   string `json:"program"`
	Version   string `json:"version"`
	Date      string `json:"date"` // RFC 3339, UTC
	Platform  string `json:"platform"`
	Processor string `json:"processor"`
	Core      int    `json:"core"`
	Seed      uint64 `json:"seed"`
	Rows      int    `json:"rows"`
	Rounds    int    `json:"rounds"`
}

// settingOf is that of a measurement on this machine, without program, version, date and core.
func settingOf(o *Options) Setting {
	return Setting{
		Platform: runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(), Processor: processor(),
		Seed: o.Seed, Rows: o.Rows, Rounds: o.Rounds,
	}
}

// Report is the outcome of a measurement. Its JSON form is stable.
type Report struct {
	Setting
	Clock       string    `json:"clock"`
	Contestants []Info    `json:"contestants"`
	Missing     []Missing `json:"missing"`
	Tables      []Table   `json:"tables"`
}

// Processor is the name of this machine's processor, "unknown" where it has none.
func Processor() string { return processor() }

// Missing is a peer that took no part.
type Missing struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Table holds what everyone made of one question on one set.
type Table struct {
	Set      string  `json:"set"`
	Question string  `json:"question"`
	Rows     int     `json:"rows"`
	Entries  []Entry `json:"entries"` // in the order of the contestants, ours first

	Fastest      string        `json:"fastest_peer"` // "" if no peer answered
	Ratio        verify.Number `json:"ratio"`        // its time over ours
	FastestSound string        `json:"fastest_sound_peer"`
	RatioSound   verify.Number `json:"ratio_sound"`
}

// Entry is one contestant in a table. Times are ns a pair.
type Entry struct {
	Name          string  `json:"name"`
	Missing       string  `json:"missing,omitempty"` // why there is no measurement
	Configuration string  `json:"configuration,omitempty"`
	Tried         []Tried `json:"tried,omitempty"`
	Timing
	Accuracy *Accuracy `json:"accuracy,omitempty"`
}

// Timing is the time of each round and what follows from them, ns a pair.
type Timing struct {
	Rounds []verify.Number `json:"ns_per_pair_rounds,omitempty"`
	Median verify.Number   `json:"ns_per_pair"`
	Lower  verify.Number   `json:"ns_per_pair_lower_quartile"`
	Upper  verify.Number   `json:"ns_per_pair_upper_quartile"`
}

// add adds the round that took so many seconds for so many pairs.
func (t *Timing) add(seconds float64, pairs int) {
	t.Rounds = append(t.Rounds, nsAPair(seconds, pairs))
}

// nsAPair is a time in seconds for so many pairs, in ns a pair.
func nsAPair(seconds float64, pairs int) verify.Number {
	return verify.Number(1e9 * seconds / float64(pairs))
}

func (t *Timing) summarize() {
	s := stats.Summarize(floats(t.Rounds))
	t.Median, t.Lower, t.Upper = verify.Number(s.Median), verify.Number(s.Lower), verify.Number(s.Upper)
}

// cell is the median, and the quartiles in brackets.
func (t *Timing) cell() string {
	return fmt.Sprintf("%.0f (%.0f–%.0f)", t.Median, t.Lower, t.Upper)
}

// Tried is a configuration and its time before the rounds, ns a pair.
type Tried struct {
	Configuration string        `json:"configuration"`
	Ns            verify.Number `json:"ns_per_pair"`
}

// SoundTolerance is the error in metres up to which a peer counts as sound: peers
// are asked for 1e-6 and may miss it by a factor of 100.
const SoundTolerance = 1e-4

// Our contestants come first; [Ours] makes them.
const ourContestants = 2

// best is the time of the fastest round. Rounds alternate, and what else runs on the
// machine slows them down only, vector code more than scalar code.
func (e *Entry) best() verify.Number { return slices.Min(e.Rounds) }

// bestRounds returns the ratio to ours of the sound peer with the fastest round, by the
// fastest round of each, and its name; "" if there is none.
func (t *Table) bestRounds() (ratio verify.Number, who string) {
	if t.Entries[0].Missing != "" {
		return 0, ""
	}
	for i := ourContestants; i < len(t.Entries); i++ {
		e := &t.Entries[i]
		if e.Missing != "" || !e.Accuracy.Sound(SoundTolerance) {
			continue
		}
		if r := e.best() / t.Entries[0].best(); who == "" || r < ratio {
			ratio, who = r, e.Name
		}
	}
	return ratio, who
}

// compare finds the fastest peers.
func (t *Table) compare() {
	ours := t.Entries[0].Median
	best, sound := verify.Number(0), verify.Number(0)
	for i := ourContestants; i < len(t.Entries); i++ {
		e := &t.Entries[i]
		if e.Missing != "" {
			continue
		}
		if t.Fastest == "" || e.Median < best {
			t.Fastest, best = e.Name, e.Median
		}
		if e.Accuracy.Sound(SoundTolerance) && (t.FastestSound == "" || e.Median < sound) {
			t.FastestSound, sound = e.Name, e.Median
		}
	}
	if t.Entries[0].Missing == "" {
		t.Ratio, t.RatioSound = best/ours, sound/ours
	}
}
