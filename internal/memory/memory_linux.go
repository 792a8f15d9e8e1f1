package memory

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Available returns the bytes that the process can still take: what the system calls available, swap, and what
// the control group and the limit of the address space leave.
func Available() float64 {
	most := math.Inf(1)
	if fields, err := os.ReadFile("/proc/meminfo"); err == nil {
		if available, ok := field(fields, "MemAvailable:"); ok {
			swap, _ := field(fields, "SwapFree:")
			most = 1024 * (available + swap)
		}
	}
	most = min(most, groupMemory("/proc/self/cgroup", "/sys/fs/cgroup"))
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) == nil && limit.Cur < 1<<62 {
		if text, err := os.ReadFile("/proc/self/statm"); err == nil && len(text) > 0 {
			words := strings.Fields(string(text))
			if pages, ok := number(words[0]); ok {
				most = min(most, max(0, float64(limit.Cur)-pages*float64(os.Getpagesize())))
			}
		}
	}
	return most
}

// groupMemory returns what the control groups of the process leave, in version 2 or 1; files are given for tests.
func groupMemory(list, root string) float64 {
	most := math.Inf(1)
	text, err := os.ReadFile(list)
	if err != nil {
		return most
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && parts[1] != "memory" {
			continue
		}
		folder, names := root, [2]string{"memory.max", "memory.current"}
		if parts[1] == "memory" {
			folder, names = filepath.Join(root, "memory"), [2]string{"memory.limit_in_bytes", "memory.usage_in_bytes"}
		}
		// The limits of all groups above apply. A container may see its own group as the root.
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			most = min(most, left(filepath.Join(folder, at), names))
			if at == "/" {
				break
			}
		}
	}
	return most
}

// left returns the limit of a group less what it uses, but for the cache of files, which gives way.
func left(folder string, names [2]string) float64 {
	limit, err := os.ReadFile(filepath.Join(folder, names[0]))
	if err != nil {
		return math.Inf(1)
	}
	most, ok := number(strings.TrimSpace(string(limit)))
	if !ok { // "max"
		return math.Inf(1)
	}
	var used, cache float64
	if text, err := os.ReadFile(filepath.Join(folder, names[1])); err == nil {
		used, _ = number(strings.TrimSpace(string(text)))
	}
	if text, err := os.ReadFile(filepath.Join(folder, "memory.stat")); err == nil {
		cache, _ = field(text, "inactive_file")
	}
	return max(0, most-max(0, used-cache))
}

// field returns the number after a name at the start of a line.
func field(text []byte, name string) (float64, bool) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == name {
			return number(words[1])
		}
	}
	return 0, false
}

func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}

// free returns the bytes that the process may still take of the disk of a folder.
func free(folder string) float64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || s.Bsize <= 0 {
		return math.Inf(1)
	}
	return float64(s.Bavail) * float64(s.Bsize)
}

// deviceOf returns a number that folders of one disk share.
func deviceOf(folder string) uint64 {
	var s syscall.Stat_t
	if err := syscall.Stat(folder, &s); err != nil {
		return 0
	}
	return uint64(s.Dev)
}
