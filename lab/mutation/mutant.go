package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// file is a source file that may be broken.
type file struct {
	name  string
	lines []string
	tests []string
}

// mutant is one broken line.
type mutant struct {
	file     *file
	line     int
	operator string
	text     string
}

// sources reads the files that guards names.
func sources(tree string) (files []*file, err error) {
	for _, g := range guards {
		for _, pattern := range []string{"*.go", "*.h"} {
			names, err := filepath.Glob(filepath.Join(tree, g.dir, pattern))
			if err != nil {
				return nil, err
			}
			for _, path := range names {
				name, err := filepath.Rel(tree, path)
				if err != nil {
					return nil, err
				}
				if elsewhere(name) {
					continue
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				if strings.Contains(string(data[:min(len(data), 400)]), "Code generated") {
					continue
				}
				files = append(files, &file{filepath.ToSlash(name), strings.Split(string(data), "\n"), g.tests})
			}
		}
	}
	return files, nil
}

func elsewhere(name string) bool {
	for _, part := range otherMachines {
		if strings.Contains(filepath.Base(name), part) {
			return true
		}
	}
	return false
}

// draw breaks a random line of a random file; lines are drawn with equal chances. It fails on
// lines that have nothing to break.
func draw(rng *rand.Rand, files []*file) (*mutant, bool) {
	total := 0
	for _, f := range files {
		total += len(f.lines)
	}
	at := rng.IntN(total)
	for _, f := range files {
		if at < len(f.lines) {
			changes := breaks(f.lines[at])
			if len(changes) == 0 {
				return nil, false
			}
			c := changes[rng.IntN(len(changes))]
			return &mutant{file: f, line: at, operator: c.operator, text: c.text}, true
		}
		at -= len(f.lines)
	}
	panic("unreachable")
}

// change is a line as an operator leaves it.
type change struct{ operator, text string }

var (
	swaps = map[string]string{
		" < ": " >= ", " > ": " <= ", " <= ": " > ", " >= ": " < ", " == ": " != ", " != ": " == ",
		" && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ", " * ": " / ", " += ": " -= ", " -= ": " += ",
	}
	infix     = regexp.MustCompile(` (?:<=|>=|==|!=|&&|\|\||\+=|-=|[-<>+*]) `)
	number    = regexp.MustCompile(`\b\d+(?:\.\d+)?(?:e-?\d+)?f?\b`)
	statement = regexp.MustCompile(`^\s*(?:[\w.\[\]>()*&, -]+ (?:[-+*/|&]?=) .*|[\w.>-]+\(.*\)|continue|break);?$`)
	declares  = regexp.MustCompile(`:=|^\s*(?:const|var|return|if|for|case|static|else|func|type|#)\b`)
)

// breaks returns all changes of one line: an operator swapped for its opposite, a constant
// scaled by 1.1 or raised by 1, or the statement dropped.
func breaks(line string) (changes []change) {
	code, rest := line, ""
	if at := strings.Index(line, "//"); at >= 0 {
		code, rest = line[:at], line[at:]
	}
	trimmed := strings.TrimSpace(code)
	if trimmed == "" || strings.ContainsAny(trimmed[:1], "#*\"`/") || strings.ContainsAny(code, "\"`'") ||
		strings.HasPrefix(trimmed, "import") || strings.HasPrefix(trimmed, "func ") {
		return nil
	}
	for _, at := range infix.FindAllStringIndex(code, -1) {
		was := code[at[0]:at[1]]
		changes = append(changes, change{"operator", code[:at[0]] + swaps[was] + code[at[1]:] + rest})
	}
	for _, at := range number.FindAllStringIndex(code, -1) {
		if at[0] > 0 && strings.ContainsAny(code[at[0]-1:at[0]], ".xp") {
			continue // part of another number
		}
		if scaled, ok := scale(code[at[0]:at[1]]); ok {
			changes = append(changes, change{"constant", code[:at[0]] + scaled + code[at[1]:] + rest})
		}
	}
	if statement.MatchString(code) && !declares.MatchString(code) {
		changes = append(changes, change{"statement dropped", rest})
	}
	return changes
}

// scale returns 1.1 times a number that has a point or an exponent, and one more than any other.
func scale(text string) (string, bool) {
	digits := strings.TrimSuffix(text, "f")
	suffix := text[len(digits):]
	if n, err := strconv.ParseUint(digits, 10, 32); err == nil && suffix == "" {
		return strconv.FormatUint(n+1, 10), true
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || v == 0 {
		return "", false
	}
	scaled := strconv.FormatFloat(1.1*v, 'g', -1, 64)
	if suffix != "" && !strings.ContainsAny(scaled, ".e") {
		scaled += ".0"
	}
	return scaled + suffix, true
}
