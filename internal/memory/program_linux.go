package memory

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// UnmapProgram takes the pages of the program's own file out of the process, and returns how many bytes were resident. Those that are used
// come back by themselves, from the page cache; those that only the start has touched do not. The system may then drop these first, and
// they do not count as resident. A mapping in which a page was changed, such as by relocations, a debugger or a probe, is left alone.
func UnmapProgram() (resident int64, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	var m mapping
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if next, ok := parseMapping(lines.Text()); ok {
			m = next
			continue
		}
		name, size, _ := strings.Cut(lines.Text(), ":")
		switch {
		case m.writable || m.path != program:
		case name == "Rss":
			m.resident = kilobytes(size)
		case name == "Anonymous" && kilobytes(size) == 0: // stands after Rss
			if _, _, failed := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); failed != 0 {
				return resident, fmt.Errorf("taking the pages of %s out of the process: %w", program, failed)
			}
			resident += m.resident
		}
	}
	return resident, lines.Err()
}

// A mapping is a part of the memory of the process, as proc_pid_smaps(5) shows it.
type mapping struct {
	from, to uintptr
	writable bool
	path     string
	resident int64
}

// parseMapping reads the first line of a mapping, such as "00400000-01ad2000 r-xp 00000000 fe:00 262 /usr/bin/uimgate".
func parseMapping(line string) (mapping, bool) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 6 {
		return mapping{}, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	begin, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return mapping{}, false
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return mapping{}, false
	}
	return mapping{
		from: uintptr(begin), to: uintptr(end), writable: strings.Contains(fields[1], "w"), path: strings.TrimLeft(fields[5], " "),
	}, true
}

// kilobytes reads a size such as "     1024 kB", in bytes; -1 is what cannot be read.
func kilobytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
	if err != nil {
		return -1
	}
	return n << 10
}
