package view

import (
	"image"
	"image/draw"
	"strings"

	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// Cells of the font, in pixels at scale 1.
const (
	GlyphWidth  = 7
	GlyphHeight = 13
	// glyphColumns is the number of glyphs of a row of the atlas.
	glyphColumns = 16
)

// The atlas has the printable ASCII characters, then one for what is not printable, then a filled cell.
const (
	firstGlyph  = ' '
	unprintable = int('~'-firstGlyph) + 1
	filled      = unprintable + 1
)

// Atlas returns the glyphs of a font of fixed width as coverage, [GlyphWidth]×[GlyphHeight] pixels each.
func Atlas() *image.Alpha {
	rows := (filled + glyphColumns) / glyphColumns
	atlas := image.NewAlpha(image.Rect(0, 0, glyphColumns*GlyphWidth, rows*GlyphHeight))
	for i := range filled {
		c := rune(firstGlyph + i)
		if i == unprintable {
			c = '\ufffd'
		}
		at := image.Pt(i%glyphColumns*GlyphWidth, i/glyphColumns*GlyphHeight)
		dot := fixed.P(at.X, at.Y+basicfont.Face7x13.Ascent)
		r, mask, from, _, ok := basicfont.Face7x13.Glyph(dot, c)
		if ok {
			draw.DrawMask(atlas, r.Intersect(cellOf(i)), image.Opaque, image.Point{}, mask, from, draw.Over)
		}
	}
	draw.Draw(atlas, cellOf(filled), image.Opaque, image.Point{}, draw.Src)
	return atlas
}

// cellOf is the place of a glyph in the atlas.
func cellOf(i int) image.Rectangle {
	at := image.Pt(i%glyphColumns*GlyphWidth, i/glyphColumns*GlyphHeight)
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(GlyphWidth, GlyphHeight))}
}

// A Quad is a rectangle of the screen, in pixels from the left upper corner, with its part of the atlas, in pixels.
type Quad struct {
	Screen image.Rectangle
	Atlas  image.Rectangle
	Color  Color
}

// Printable returns a text in the characters of the font: others, as names in files may have them, become "\ufffd", and
// a text of more than limit characters ends in "...".
func Printable(text string, limit int) string {
	clean := strings.Map(func(c rune) rune {
		if c >= firstGlyph && c <= '~' {
			return c
		}
		return '\ufffd'
	}, text)
	if r := []rune(clean); len(r) > limit {
		return string(r[:max(limit-3, 0)]) + "..."
	}
	return clean
}

// appendText appends the quads of lines of text with the left upper corner at x, y.
func appendText(quads []Quad, x, y, scale int, color Color, text string) []Quad {
	column := 0
	for _, c := range text {
		if c == '\n' {
			column, y = 0, y+scale*(GlyphHeight+2)
			continue
		}
		i := int(c) - firstGlyph
		if i < 0 || i >= unprintable {
			i = unprintable
		}
		if i > 0 { // not a space
			at := image.Pt(x+scale*GlyphWidth*column, y)
			quads = append(quads, Quad{image.Rectangle{at, at.Add(image.Pt(scale*GlyphWidth, scale*GlyphHeight))},
				cellOf(i), color})
		}
		column++
	}
	return quads
}

// panel appends a text on a panel, which begins at x, y, and returns the size of the panel.
func panel(quads []Quad, x, y, scale int, text string) ([]Quad, image.Point) {
	lines := strings.Split(text, "\n")
	columns := 0
	for _, l := range lines {
		columns = max(columns, len([]rune(l)))
	}
	margin := 6 * scale
	size := image.Pt(columns*GlyphWidth*scale+2*margin, len(lines)*(GlyphHeight+2)*scale+2*margin)
	at := image.Pt(x, y)
	full := cellOf(filled)
	quads = append(quads, Quad{image.Rectangle{at, at.Add(size)}, full.Inset(2), colorPanel})
	return appendText(quads, x+margin, y+margin, scale, colorText, text), size
}
