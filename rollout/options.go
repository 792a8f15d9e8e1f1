package rollout

import (
	"math"

	"clearance/batch"
)

// threshold is the distance beyond which a pair is not solved: +Inf if all are.
func threshold(o *Options) float64 {
	switch q := o.Query.Info(); {
	case !q.SignedDistance:
		return math.Inf(1)
	case q.Boolean() || q.CutOff == batch.CutOffAtTouch:
		return 0
	case o.HasMaxDistance:
		return o.MaxDistance
	}
	return math.Inf(1)
}

// ofParts returns the options of the query that the back end answers: those of the caller, with the
// columns from which rows follow, and the largest distance as a cut-off.
func ofParts(o *Options) batch.Options {
	p := o.Options
	columns := o.EffectiveColumns()
	p.Columns = columns&^batch.ColBits | batch.ColStatus
	if !o.StatusAlone() || columns&(batch.ColDistance|batch.ColGap) != 0 {
		p.Columns |= batch.ColDistance | batch.ColGap
	}
	if o.HasMaxDistance && o.Query.Info().CutOff == batch.CallersCutOff && !(o.HasCutOff && o.CutOff < o.MaxDistance) {
		p.CutOff, p.HasCutOff = o.MaxDistance, true
	}
	return p
}
