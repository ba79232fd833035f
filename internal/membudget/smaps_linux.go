package membudget

import (
	"bufio"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A mapping is a range of the memory of the process, as proc_pid_smaps(5) describes it.
type mapping struct {
	from, to uintptr
	resident int64 // bytes
}

// unchangedMappings parses the format of proc_pid_smaps(5). It returns the mappings of a file that contain only the contents of the file:
// they are not writable, and have no private page, in memory or in swap, and no locked page. It omits a mapping that lacks one of these
// fields, or whose first line cannot be parsed. It returns an error if a line is longer than 64 KiB.
func unchangedMappings(smaps io.Reader, path string) ([]mapping, error) {
	var found []mapping
	var d description
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		if name, value, ok := parseField(lines.Text()); ok {
			d.field(name, value)
			continue
		}
		if d.unchanged() {
			found = append(found, d.mapping)
		}
		d = describe(lines.Text(), path)
	}
	if d.unchanged() {
		found = append(found, d.mapping)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return found, nil
}

// changes are the fields that are 0 in a mapping that contains only the contents of its file.
var changes = []string{"Anonymous", "Swap", "Locked"}

// A description holds the fields of a mapping that have been read so far.
type description struct {
	mapping
	eligible bool     // false once a line has excluded the mapping
	none     []string // the fields of changes that were 0
	sized    bool     // the field Rss was read
}

// describe parses the first line of a mapping, such as "00400000-01ad2000 r-xp 00000000 fe:00 262 /usr/bin/uimgate".
func describe(line, path string) description {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 6 || len(fields[1]) != 4 || fields[1][1] != '-' || path == "" || strings.TrimLeft(fields[5], " ") != path {
		return description{}
	}
	from, to, _ := strings.Cut(fields[0], "-")
	begin, err := strconv.ParseUint(from, 16, bits.UintSize)
	if err != nil {
		return description{}
	}
	end, err := strconv.ParseUint(to, 16, bits.UintSize)
	if err != nil || end <= begin {
		return description{}
	}
	return description{mapping: mapping{from: uintptr(begin), to: uintptr(end)}, eligible: true}
}

// field adds a field of the mapping.
func (d *description) field(name, value string) {
	switch size, ok := bytesOf(value); {
	case name == "Rss" && !d.sized && ok:
		d.resident, d.sized = size, true
	case name == "Rss":
		d.eligible = false
	case !slices.Contains(changes, name):
	case ok && size == 0 && !slices.Contains(d.none, name):
		d.none = append(d.none, name)
	default:
		d.eligible = false
	}
}

func (d *description) unchanged() bool {
	return d.eligible && d.sized && len(d.none) == len(changes)
}

// parseField parses a line such as "Rss: 1024 kB". ok is false for any other line: it is the first line of the next mapping.
func parseField(line string) (name, value string, ok bool) {
	first, value, _ := strings.Cut(line, " ")
	name, ok = strings.CutSuffix(first, ":")
	return name, value, ok
}

// bytesOf parses a size such as "     1024 kB", and returns it in bytes.
func bytesOf(text string) (int64, bool) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(text), " kB")
	n, err := strconv.ParseUint(digits, 10, 50) // 50 bits are enough, and the number of bytes fits in an int64
	return int64(n) << 10, ok && err == nil
}
