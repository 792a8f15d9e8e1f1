package rollout

import (
	"math"

	"clearance/batch"
)

// stop answers a world of a Boolean query in which the balls within two bodies prove a contact, so that no row of it
// needs a solver. A world with a row that is invalid is left to the rows.
func (t *tile) stop(world int) bool {
	c, p, contact := t.c, t.place, -1
	for _, k := range p.used {
		if p.state[k] == invalid {
			return false
		}
	}
	for i, lower := range t.lowers {
		a, b := c.templateA[i], c.templateB[i]
		switch {
		case lower > 0 || p.state[a]|p.state[b] != placed:
		case math.IsInf(p.radius[a], 1) && math.IsInf(p.radius[b], 1):
			return false // perhaps two half-spaces
		case contact < 0 && t.upper(i) < 0:
			contact = i
		}
	}
	if contact < 0 {
		return false
	}
	for i, a := range c.templateA {
		b := c.templateB[i]
		t.count.rows++
		if p.state[a]|p.state[b] != placed {
			t.count.absent++
			continue
		}
		t.count.culledRows++
		t.count.pairs += p.count[a] * p.count[b]
		t.count.culled += p.count[a] * p.count[b]
	}
	w := &t.worlds[world-t.lo]
	w.pairs, w.contact, w.contactPair, w.contacts = 1, batch.Penetrating, int32(contact), 1
	return true
}
