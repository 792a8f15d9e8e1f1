package system

// Velocities i and j are joined where M_ij is not zero, and where a contact has both of them in its Jacobian. What is
// joined, with its contacts, is an island: a problem of its own. Islands are solved and differentiated one after the
// other, so that the cost of a world is the sum of theirs, and no island loosens the tolerance of another one.

// islands are those of a world that have contacts.
type islands struct {
	parent     []int // of velocities, then of contacts: trees, one for each island
	number     []int // of roots; -1 without a contact
	velocities members
	contacts   members
}

// members are velocities or contacts, island after island: those of island k are list[first[k]:first[k+1]].
type members struct{ list, first []int }

func (m *members) of(k int) []int { return m.list[m.first[k]:m.first[k+1]] }

// find finds the islands of a valid world, and returns their number.
func (s *islands) find(p *Problem, w int) (islands int) {
	n, count := p.Velocities, int(p.Count[w])
	resize(&s.parent, n+count)
	resize(&s.number, n+count)
	for i := range s.parent {
		s.parent[i], s.number[i] = i, -1
	}
	for i := range n {
		for j, x := range p.Mass[(w*n+i)*n : (w*n+i)*n+i] {
			if x != 0 {
				s.join(i, j)
			}
		}
	}
	for i := range count {
		for row := range 3 {
			at := (3*(w*p.Contacts+i) + row) * n
			for j, x := range p.Jacobian[at : at+n] {
				if x != 0 {
					s.join(n+i, j)
				}
			}
		}
	}
	for i := range count {
		if r := s.root(n + i); s.number[r] < 0 {
			s.number[r] = islands
			islands++
		}
	}
	s.sort(0, n, islands, &s.velocities)
	s.sort(n, n+count, islands, &s.contacts)
	return islands
}

// root is the root of the tree of an element.
func (s *islands) root(i int) int {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

func (s *islands) join(i, j int) {
	a, b := s.root(i), s.root(j)
	s.parent[max(a, b)] = min(a, b)
}

// sort lists the elements from lo to hi, counted from lo, by island.
func (s *islands) sort(lo, hi, islands int, to *members) {
	resize(&to.list, hi-lo)
	resize(&to.first, islands+2)
	clear(to.first)
	for i := lo; i < hi; i++ {
		if k := s.number[s.root(i)]; k >= 0 {
			to.first[k+2]++
		}
	}
	for k := range islands {
		to.first[k+2] += to.first[k+1]
	}
	for i := lo; i < hi; i++ { // first[k+1] is where the next one of island k goes, and the end at last
		if k := s.number[s.root(i)]; k >= 0 {
			to.list[to.first[k+1]] = i - lo
			to.first[k+1]++
		}
	}
}
