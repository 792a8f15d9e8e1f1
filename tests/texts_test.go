package tests

import (
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A prose is a text of a file: a comment, a string literal, or the whole of a document, with
// every run of white space replaced by one space.
type prose struct {
	text  string
	lines []lineStart
}

// A lineStart is where a line of the file begins in a text.
type lineStart struct{ offset, line int }

// lineOf returns the line of the file that holds a place of the text.
func (p *prose) lineOf(offset int) int {
	i, found := slices.BinarySearchFunc(p.lines, offset, func(l lineStart, o int) int { return l.offset - o })
	if !found {
		i--
	}
	return p.lines[max(i, 0)].line
}

var (
	white  = regexp.MustCompile(`\s+`)
	marker = regexp.MustCompile(`^\s*(//+|/\*+|\*/|\*|#)`)
)

// add appends the lines of a text, which begins on a line of the file, less comment markers
// and line breaks.
func (p *prose) add(text string, line int, comment bool) {
	for s := range strings.SplitSeq(text, "\n") {
		if comment {
			s = strings.TrimSuffix(strings.TrimSpace(marker.ReplaceAllString(s, "")), "*/")
		}
		if p.text != "" && !strings.HasSuffix(p.text, " ") {
			p.text += " "
		}
		p.lines = append(p.lines, lineStart{len(p.text), line})
		p.text += strings.TrimSpace(white.ReplaceAllString(s, " "))
		line++
	}
}

// textsOf returns the texts of a source that people read: comments and string literals of Go,
// C and GLSL; the whole of scripts and documents.
func textsOf(path, source string) []prose {
	switch filepath.Ext(path) {
	case ".go":
		return goTexts(source)
	case ".c", ".h", ".glsl", ".comp":
		return cTexts(source)
	default:
		var p prose
		p.add(source, 1, filepath.Ext(path) != ".md" && filepath.Ext(path) != ".tmpl")
		return []prose{p}
	}
}

// A collector joins comments on adjacent lines.
type collector struct {
	texts []prose
	next  int // the line after the last comment, if comments alone may be joined to it
}

func (c *collector) comment(text string, line int) {
	if line != c.next || len(c.texts) == 0 {
		c.texts = append(c.texts, prose{})
	}
	c.texts[len(c.texts)-1].add(text, line, true)
	c.next = line + strings.Count(text, "\n") + 1
}

func (c *collector) literal(text string, line int) {
	c.texts = append(c.texts, prose{})
	c.texts[len(c.texts)-1].add(text, line, false)
	c.next = 0
}

func goTexts(source string) []prose {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	s.Init(file, []byte(source), nil, scanner.ScanComments)
	var c collector
	for {
		at, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return c.texts
		case token.COMMENT:
			c.comment(lit, file.Line(at))
		case token.STRING:
			c.literal(lit[1:len(lit)-1], file.Line(at))
		}
	}
}

var (
	cToken  = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)|"(?:[^"\\\n]|\\.)*"`) // a comment or a string
	include = regexp.MustCompile(`^\s*#\s*include\s*$`)
)

func cTexts(source string) []prose {
	var c collector
	line, last := 1, 0
	for _, at := range cToken.FindAllStringIndex(source, -1) {
		line += strings.Count(source[last:at[0]], "\n")
		text := source[at[0]:at[1]]
		begin := strings.LastIndexByte(source[:at[0]], '\n') + 1
		if include.MatchString(source[begin:at[0]]) {
			// The name of a file is no prose.
		} else if text[0] == '"' {
			c.literal(text[1:len(text)-1], line)
		} else {
			c.comment(text, line)
		}
		line += strings.Count(text, "\n")
		last = at[1]
	}
	return c.texts
}
