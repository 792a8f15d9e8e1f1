package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText bounds the text of one message or name on a terminal, in characters.
const maxText = 2000

// printable is text that may come from a file, as a terminal may get it: control characters,
// characters that change the direction of writing and what is no UTF-8 are escaped, and it is
// cut to a length.
func printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				fmt.Fprintf(&b, `\x%02x`, s[i])
				continue
			}
		}
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
