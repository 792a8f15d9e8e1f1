package plots

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// figures are one of each kind; name is a text that must be in the SVG.
var figures = map[string]interface{ Draw(string) error }{
	"lines": &Lines{Title: "t", X: "x", Y: "y", LogY: true,
		Lines: []Line{{Name: "name", X: []float64{1, 2}, Y: []float64{0, 3}, Lo: []float64{0, 2},
			Hi: []float64{1, 4}}}},
	"beside": &Lines{Title: "t", X: "x", Y: "y", LogX: true, LogY: true, Beside: true,
		Lines: []Line{{Name: "name", X: []float64{1, 1e6}, Y: []float64{1, 3}, Dashed: true}}},
	"bars": &Bars{Title: "t", Y: "y", Groups: []string{"a", "b"}, Series: []Series{
		{Name: "name", Values: []float64{1, 100}, Label: true}, {Name: "other", Values: []float64{math.NaN(), 3},
			Color: 1}}},
	"scatter": &Scatter{Title: "t", X: "x", Y: "y", LeastY: 1e-16,
		Clouds: []Cloud{{Name: "name", X: []float64{1, 2}, Y: []float64{0, 1e-6}}}},
}

// TestDraw draws every kind of figure twice: both files are there, are what their
// names say, and come out the same.
func TestDraw(t *testing.T) {
	for name, f := range figures {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var files [2][]byte
			for i := range files {
				base := filepath.Join(dir, name)
				if err := f.Draw(base); err != nil {
					t.Fatal(err)
				}
				svg, err := os.ReadFile(base + Extension)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(svg, []byte("<svg")) || !bytes.Contains(svg, []byte(">name<")) {
					t.Errorf("the SVG lacks the name of its series")
				}
				files[i] = svg
			}
			if !bytes.Equal(files[0], files[1]) {
				t.Error("drawn again it is another picture")
			}
		})
	}
}

// TestBarsRise compares the length of bars with the logarithm of their values: three bars a
// decade apart rise by the same step.
func TestBarsRise(t *testing.T) {
	f := &Bars{Groups: []string{"a", "b", "c"}, Series: []Series{{Name: "s", Values: []float64{1, 10, 100}}}}
	base := filepath.Join(t.TempDir(), "bars")
	if err := f.Draw(base); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(base + Extension)
	if err != nil {
		t.Fatal(err)
	}
	// A bar is a rectangle of its colour: left and bottom, left and top, right and top, right and bottom.
	c := paint(0)
	rectangle := regexp.MustCompile(`<path d="M[\d.]+,([\d.]+)L[\d.]+,([\d.]+)L[\d.]+,[\d.]+L[\d.]+,[\d.]+Z" ` +
		fmt.Sprintf(`style="fill:#%02X%02X%02X"`, c.R, c.G, c.B))
	var lengths []float64
	for _, m := range rectangle.FindAllStringSubmatch(string(data), -1) {
		bottom, _ := strconv.ParseFloat(m[1], 64)
		top, _ := strconv.ParseFloat(m[2], 64)
		if top-bottom > 20 { // not that of the legend
			lengths = append(lengths, top-bottom)
		}
	}
	if len(lengths) != 3 {
		t.Fatalf("lengths of bars %v, want three", lengths)
	}
	if first, second := lengths[1]-lengths[0], lengths[2]-lengths[1]; first < 20 ||
		math.Abs(first-second) > 0.1 {
		t.Errorf("bars of 1, 10 and 100 have the lengths %v, want equal steps", lengths)
	}
}

// TestRefuse draws what cannot be drawn.
func TestRefuse(t *testing.T) {
	bar := func(v ...float64) *Bars {
		return &Bars{Groups: []string{"a"}, Series: []Series{{Name: "s", Values: v}}}
	}
	for _, tt := range []struct {
		name string
		f    interface{ Draw(string) error }
		want string
	}{
		{"no lines", &Lines{}, "nothing to draw"},
		{"no bars", &Bars{}, "nothing to draw"},
		{"NaN alone", bar(math.NaN()), "nothing to draw"},
		{"a bar of 0", bar(0), "value 0"},
		{"an infinite bar", bar(math.Inf(1)), "value +Inf"},
		{"two values for a group", bar(1, 2), "2 values for 1 groups"},
		{"no points", &Scatter{LeastY: 1}, "nothing to draw"},
		{"a point at 0", &Scatter{LeastY: 1, Clouds: []Cloud{{Name: "c", X: []float64{0}, Y: []float64{1}}}},
			"point (0, 1)"},
		{"a bar that leaves no room above", bar(math.MaxFloat64), "cannot show"},
		{"a point that leaves no room above", &Scatter{LeastY: 1,
			Clouds: []Cloud{{Name: "c", X: []float64{1}, Y: []float64{1.7e308}}}}, "cannot show"},
		{"a line at 0 of a logarithmic axis", &Lines{LogX: true,
			Lines: []Line{{Name: "l", X: []float64{0, 1}, Y: []float64{1, 2}}}}, "point (0, 1)"},
		{"a line to infinity", &Lines{Lines: []Line{{Name: "l", X: []float64{0, 1}, Y: []float64{1, math.Inf(1)}}}},
			"point (1, +Inf)"},
		{"a band without end", &Lines{Lines: []Line{{Name: "l", X: []float64{0}, Y: []float64{1}, Lo: []float64{0},
			Hi: []float64{math.Inf(1)}}}}, "band from 0 to +Inf"},
		{"more bars than a page", &Bars{Groups: make([]string, 101), Series: []Series{{Values: make([]float64, 101)}}},
			"101 groups"},
		{"no such folder", figures["bars"], "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.f.Draw(filepath.Join(t.TempDir(), "none", "x"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to say %q", err, tt.want)
			}
			if tt.want == "no such file" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("error %v is not that of the system", err)
			}
		})
	}
}

// TestDrawExtremes draws what an axis made for plain data has no room for: one value
// alone, values at the ends of what is shown, and names wider than the page.
func TestDrawExtremes(t *testing.T) {
	lines := func(log bool, x, y []float64) *Lines {
		return &Lines{LogX: log, LogY: log, Beside: log, Lines: []Line{{Name: "l", X: x, Y: y}}}
	}
	for name, f := range map[string]interface{ Draw(string) error }{
		"one value":           lines(true, []float64{1, 1, 1}, []float64{0, 0, 0}),
		"one large value":     lines(false, []float64{1e20, 1e20}, []float64{-1e20, -1e20}),
		"the ends, linear":    lines(false, []float64{-most, most}, []float64{-most, most}),
		"the ends":            lines(true, []float64{1 / most, most}, []float64{1 / most, most}),
		"the ends, one value": lines(true, []float64{most, most}, []float64{1 / most, 1 / most}),
		"bars at the ends": &Bars{Groups: []string{"a", "b"},
			Series: []Series{{Values: []float64{1 / most, most}}}},
		"points at the ends": &Scatter{LeastY: 1e-16,
			Clouds: []Cloud{{X: []float64{1 / most, most}, Y: []float64{0, most}}}},
		"a name without end": &Bars{Groups: []string{"a"},
			Series: []Series{{Name: strings.Repeat("name", 1000), Values: []float64{1}}}},
		"a name that is no text": &Bars{Groups: []string{"\x00"},
			Series: []Series{{Name: "\ufffd\n\n", Values: []float64{1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := f.Draw(filepath.Join(t.TempDir(), "x")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTickText(t *testing.T) {
	for _, tt := range []struct {
		m    float64
		e    int
		want string
	}{{1, 0, "1"}, {5, -1, "0.5"}, {2, 3, "2000"}, {1, 6, "1e6"}, {1, -9, "1e-9"}} {
		if got := tickText(tt.m, tt.e); got != tt.want {
			t.Errorf("%g·10^%d is %q, want %q", tt.m, tt.e, got, tt.want)
		}
	}
}
