package view

import (
	"fmt"
	"math"
	"strings"

	"clearance/batch"
)

// An Action is left to the window by a key.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	Screenshot
	Quit
)

// A Key is a key of the keyboard by its name, and what it does.
type Key struct {
	Name, Help string
	press      func(*App) Action
}

// Keys are all keys, in the order in which the screen shows them.
func Keys() []Key {
	return []Key{
		{"1", "one world or row", func(a *App) Action { a.show(CellView); return NoAction }},
		{"2", "all in a grid", func(a *App) Action { a.show(GridView); return NoAction }},
		{"3", "the pair, with solver steps", func(a *App) Action { a.show(PairView); return NoAction }},
		{"left", "previous world or row", func(a *App) Action { a.Select(a.Cell - 1); return NoAction }},
		{"right", "next world or row", func(a *App) Action { a.Select(a.Cell + 1); return NoAction }},
		{"n", "next one that is in contact or has no answer", (*App).nextBad},
		{"tab", "next pair of the world", (*App).nextPair},
		{"down", "next step of the solver", func(a *App) Action { a.Steps.Move(1); return NoAction }},
		{"up", "previous step of the solver", func(a *App) Action { a.Steps.Move(-1); return NoAction }},
		{"m", "another method of the steps", (*App).nextMethod},
		{"space", "play or pause", (*App).play},
		{"home", "back to the first pose or step", (*App).home},
		{"-", "half the speed", func(a *App) Action { a.Speed /= 2; return NoAction }},
		{"=", "twice the speed", func(a *App) Action { a.Speed *= 2; return NoAction }},
		{"l", "answers of the file or of the engine", (*App).toggleStored},
		{"o", "outlines", func(a *App) Action { a.Outlines = !a.Outlines; return NoAction }},
		{"x", "see through", func(a *App) Action { a.SeeThrough = !a.SeeThrough; return NoAction }},
		{"f", "fit the camera", func(a *App) Action { a.fitted[a.View] = false; return NoAction }},
		{"p", "save a screenshot", func(*App) Action { return Screenshot }},
		{"h", "show or hide the keys", func(a *App) Action { a.Help = !a.Help; return NoAction }},
		{"q", "quit", func(*App) Action { return Quit }},
	}
}

var keys = Keys()

// Press does what a key does; keys without a meaning do nothing.
func (a *App) Press(name string) Action {
	for i := range keys {
		if keys[i].Name == name {
			a.Message = ""
			return keys[i].press(a)
		}
	}
	return NoAction
}

// keysText is the table of the keys, in two columns.
func keysText() string {
	var b strings.Builder
	for i := range keys {
		fmt.Fprintf(&b, "%-6s %s\n", keys[i].Name, keys[i].Help)
	}
	return b.String() + "mouse  drag: rotate, right: move, wheel: zoom, click: pick"
}

func (a *App) nextBad() Action {
	r := a.Doc.Results
	if !a.Stored || r == nil {
		r = a.all // of the grid, the last time that it was shown
	}
	if r == nil {
		a.Message = "no answers of all worlds yet: show the grid first (2)"
		return NoAction
	}
	classes := make([]Class, a.Doc.Worlds.BodiesPerWorld())
	for i := 1; i <= a.Doc.Count(); i++ {
		cell := (a.Cell + i) % a.Doc.Count()
		r.Classes(cell, a.Time, classes)
		for _, c := range classes {
			if c > Clear {
				a.Select(cell)
				return NoAction
			}
		}
	}
	a.Message = "nothing is in contact, and all have answers"
	return NoAction
}

func (a *App) nextPair() Action {
	order := a.order(func(Answer) bool { return true })
	for i, at := range order {
		if at == a.Pair {
			a.choose(order[(i+1)%len(order)])
			return NoAction
		}
	}
	if len(order) > 0 {
		a.choose(order[0])
	}
	return NoAction
}

// nextMethod has the steps of the next method that answers the pair.
func (a *App) nextMethod() Action {
	if x := a.Answer(); x != nil && x.Factor {
		a.Message = "growth distances have no choice of methods"
		return NoAction
	}
	for range batch.MethodCount {
		a.Method = (a.Method + 1) % batch.MethodCount
		a.Message = ""
		if a.findSteps(); a.Steps != nil {
			a.Message = "method " + a.Method.String()
			return NoAction
		}
	}
	return NoAction
}

func (a *App) play() Action {
	switch {
	case !a.Doc.Moves():
		a.Message = "nothing moves here"
	case !a.Playing && a.Time >= a.Doc.mover.Length():
		a.seek(0)
		a.Playing = true
	default:
		a.Playing = !a.Playing
	}
	return NoAction
}

func (a *App) home() Action {
	if a.View == PairView {
		a.Steps.Move(math.MinInt32)
		return NoAction
	}
	a.seek(0)
	return NoAction
}

func (a *App) seek(t float64) {
	if err := a.Seek(t); err != nil {
		a.Message = err.Error()
	}
}

func (a *App) toggleStored() Action {
	switch {
	case a.Doc.Results == nil:
		a.Message = "there is no file of results: these are answers of the engine"
	case a.Live == nil:
		a.Message = "there is no engine: these are answers of the file"
	default:
		a.Stored = !a.Stored
		a.stale()
	}
	return NoAction
}
