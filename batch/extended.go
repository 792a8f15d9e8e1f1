package batch

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"clearance/geom"
)

// Extended returns a library of the shapes of l and of more shapes after them, in time that depends on these alone, but
// for now and then a copy of the columns. l stays as it is. names is nil or has one name for each of the shapes that
// are added; attributes, by the index in the new library, are nil or state values of these shapes.
//
// What packages have prepared of l serves the new library: see [Library.Prepared]. The answers are those of a library
// that was made of all shapes at once, bit for bit.
//
// The error is a *[ShapeError], by the index in the new library, for the first invalid shape.
func (l *Library) Extended(shapes []geom.Shape, names []string, stated *Attributes) (*Library, error) {
	n := len(l.shapes)
	if n+len(shapes) > MaxShapes {
		return nil, fmt.Errorf("batch: library of %d shapes, want at most %d", n+len(shapes), MaxShapes)
	}
	more, err := NewLibrary(shapes, names)
	if e, ok := err.(*ShapeError); ok {
		return nil, &ShapeError{Index: n + e.Index, Name: e.Name, Err: e.Err}
	}
	if err != nil {
		return nil, err
	}
	if stated != nil {
		if err := more.state(stated, n); err != nil {
			return nil, err
		}
	}
	e := &Library{minSize: min(l.minSize, more.minSize), prepared: l.prepared.after(n)}
	own := l.prepared.extended.CompareAndSwap(false, true) // the memory behind the columns of l is nobody else's
	e.shapes = joined(l.shapes, more.shapes, own)
	e.sizes, e.hasHalf = joined(l.sizes, more.sizes, own), joined(l.hasHalf, more.hasHalf, own)
	e.inradius = joined(l.inradius, more.inradius, own)
	for a := range l.attributes {
		e.attributes[a] = joined(l.attributes[a], more.attributes[a], own)
	}
	if l.names != nil || names != nil {
		e.names = joined(padded(l.names, n), padded(more.names, len(shapes)), own && l.names != nil)
	}
	return e, nil
}

// joined appends more values to a column. Only the first library that extends another one may use the memory behind its
// columns, which no reader of the other one looks at.
func joined[T any](column, more []T, own bool) []T {
	if !own {
		column = slices.Clip(column)
	}
	return append(column, more...)
}

// padded returns one name for each of n shapes.
func padded(names []string, n int) []string {
	if names == nil {
		return make([]string, n)
	}
	return names
}

// state is [Library.WithAttributes] in place, of the shapes of a library that nobody has seen, which will be shapes
// first and following of another one.
func (l *Library) state(stated *Attributes, first int) error {
	var own Attributes
	for code, values := range stated {
		a := geom.Attribute(code)
		for _, i := range slices.Sorted(maps.Keys(values)) {
			if int(i) < first || int(i) >= first+len(l.shapes) {
				return fmt.Errorf("batch: %s of shape %d, want one that is added, in [%d, %d)", a, i, first,
					first+len(l.shapes))
			}
			own.Set(a, i-int32(first), values[i])
		}
	}
	with, err := l.WithAttributes(&own)
	if e, ok := err.(*ShapeError); ok {
		return &ShapeError{Index: first + e.Index, Name: e.Name, Err: e.Err}
	}
	if err != nil {
		return err
	}
	l.attributes, l.inradius = with.attributes, with.inradius
	return nil
}

// prepared is what packages have made of a library, by their keys.
type prepared struct {
	extended atomic.Bool // some library has been made of this one and of more shapes

	mu   sync.Mutex
	made map[any]*making
	// What was made of libraries that this one extends. A value goes once the library has its own.
	before map[any]part
}

// making is a value that is made once.
type making struct {
	mu    sync.Mutex
	value atomic.Pointer[any] // nil until it is made
}

// part is a value that was made of the first shapes of a library.
type part struct {
	value  any
	shapes int
}

// after returns what a library begins with that extends one of n shapes.
func (p *prepared) after(n int) *prepared {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &prepared{before: maps.Clone(p.before)}
	for key, m := range p.made {
		if value := m.value.Load(); value != nil {
			if next.before == nil {
				next.before = map[any]part{}
			}
			next.before[key] = part{*value, n}
		}
	}
	return next
}

// Prepared returns what a package has made of the library under a key of its own, such as a table for its kernels. It
// is made by the first call, and lives as long as the library. A failure is not kept.
//
// Where the library is [Library.Extended], make gets what was made of its first shapes under the same key, and their
// number, so that it need not do that work again; else nil. It must not change that value.
func (l *Library) Prepared(key any, make func(of any, shapes int) (any, error)) (any, error) {
	p := l.prepared
	p.mu.Lock()
	m := p.made[key]
	if m == nil {
		if p.made == nil {
			p.made = map[any]*making{}
		}
		m = new(making)
		p.made[key] = m
	}
	of := p.before[key]
	p.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if value := m.value.Load(); value != nil {
		return *value, nil
	}
	value, err := make(of.value, of.shapes)
	if err != nil {
		return nil, err
	}
	m.value.Store(&value)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.before, key)
	return value, nil
}
