// Package memory says how much memory the process can still take, so that work that would take more is refused before
// it begins: Go ends a process that runs out of memory. It may be called from any goroutine.
package memory

import "fmt"

// small needs no look at what the machine has.
const small = 64 << 20

// Error is the error of work that would take more memory than there is.
type Error struct {
	What        string  // would take it
	Bytes, Have float64 // more, of the one, than the other
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s would take %s of memory, and %s is available", e.What, Text(e.Bytes), Text(e.Have))
}

// Check returns an *[Error] if so many bytes are more than there are. They may be any product of sizes.
func Check(what string, bytes float64) error {
	if bytes <= small {
		return nil
	}
	if have := min(Available(), 1<<47); !(bytes <= have) { // an address space
		return &Error{what, bytes, have}
	}
	return nil
}

// Room returns how many items of a size there is memory for, at most the given number.
func Room(most int64, bytes float64) int64 {
	if float64(most)*bytes <= small {
		return most
	}
	return min(most, int64(min(Available(), 1<<47)/bytes))
}

// Text is an amount of memory as a text.
func Text(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	i := 0
	for n >= 999.5 && i < len(units)-1 {
		n /= 1000
		i++
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}
