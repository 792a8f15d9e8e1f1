package conformance

import (
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// TestRollouts asks about worlds of bodies with the kernels that the processor has.
func TestRollouts(t *testing.T) {
	var m Matrix
	Rollouts(t, open(t, ""), &m)
	if n := len(m.rollouts); n != 4*2*4+1 {
		t.Errorf("%d entries of rollouts", n)
	}
	var text strings.Builder
	m.writeRollouts(&text, []string{"cpu"})
	for _, line := range []string{
		"| cpu, collide | single, double | single, double | single, double | single, double |",
		"| cpu, sweep | double |  |  |  |",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the page lacks %q:\n%s", line, &text)
		}
	}
}

// TestRolloutFaults: rows that contradict the list of parts are found, by rows and by worlds.
func TestRolloutFaults(t *testing.T) {
	d := dispatch.New(open(t, ""))
	table := bodies(t)
	scene := rolloutScene(table)
	o := batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
	for name, change := range map[string]func(rows []known){
		"none":          nil,
		"lower":         func(rows []known) { rows[40].lower += 100; rows[40].upper += 100 },
		"contact":       func(rows []known) { rows[40].contact = !rows[40].contact },
		"invalid":       func(rows []known) { rows[40].invalid = true },
		"least missing": func(rows []known) { rows[41].lower, rows[41].upper = -100, -99 },
	} {
		rows := knownRows(t, d, table, scene, o)
		if change != nil {
			change(rows)
		}
		failed := 0
		for _, s := range selections {
			if rolloutOf(d, table, scene, o, s.selection, rows) != nil {
				failed++
			}
		}
		if (failed > 0) != (change != nil) {
			t.Errorf("%s: %d selections failed", name, failed)
		}
	}
}
