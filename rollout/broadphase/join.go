package broadphase

// node is a node of the tree on the stack of a traversal.
type node struct{ level, index int32 }

// joinLeaf appends the pairs of a box of the given leaf and a box of the same or a later leaf.
func (t *tree) joinLeaf(b *Boxes, leaf int, out []pair) []pair {
	first := leafBoxes * leaf
	own := t.boxes[first:min(first+leafBoxes, len(t.boxes))]
	for i := range own {
		for j := i + 1; j < len(own); j++ {
			if meet(&own[i], &own[j]) {
				out = t.emit(b, first+i, first+j, out)
			}
		}
	}
	var stack [(fan-1)*maxLevels + 1]node
	q := &t.levels[0][leaf]
	stack[0].level = int32(len(t.levels) - 1)
	for top := 1; top > 0; {
		top--
		at := stack[top]
		if at.level == 0 {
			if int(at.index) > leaf {
				out = t.joinLeaves(b, leaf, int(at.index), out)
			}
			continue
		}
		level := at.level - 1
		nodes := t.levels[level]
		end := min(int(at.index+1)<<fanBits, len(nodes))
		from := max(int(at.index)<<fanBits, (leaf+1)>>(fanBits*level)) // branches of earlier leaves only are skipped
		for i := end - 1; i >= from; i-- {
			if meet(q, &nodes[i]) {
				stack[top] = node{level, int32(i)}
				top++
			}
		}
	}
	return out
}

// joinLeaves appends the pairs of a box of leaf l and a box of leaf m.
func (t *tree) joinLeaves(b *Boxes, l, m int, out []pair) []pair {
	firstL, firstM := leafBoxes*l, leafBoxes*m
	of := t.boxes[firstL:min(firstL+leafBoxes, len(t.boxes))]
	with := t.boxes[firstM:min(firstM+leafBoxes, len(t.boxes))]
	whole := &t.levels[0][m]
	for i := range of {
		x := &of[i]
		if !meet(x, whole) {
			continue
		}
		for j := range with {
			if meet(x, &with[j]) {
				out = t.emit(b, firstL+i, firstM+j, out)
			}
		}
	}
	return out
}

// emit appends the pair of boxes at places i and j of the order, if they meet in float64 as well.
func (t *tree) emit(b *Boxes, i, j int, out []pair) []pair {
	p := pair{t.ids[i], t.ids[j]}
	if !surelyMeet(&t.boxes[i], &t.boxes[j]) && !b.Meet(int(p.a), int(p.b)) {
		return out
	}
	if p.a > p.b {
		p.a, p.b = p.b, p.a
	}
	return append(out, p)
}
