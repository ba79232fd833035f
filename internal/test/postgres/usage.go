package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc on all platforms of Linux that Go supports.
const tick = 10 * time.Millisecond

// CPU returns the CPU time that the processes of the server have used, in steps of 10 ms. It works on Linux only.
func (c *Cluster) CPU() (time.Duration, error) {
	pid, err := c.pid()
	if err != nil {
		return 0, err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	if len(stats) == 0 {
		return 0, errors.New("the CPU time of PostgreSQL is read from /proc, which this system does not have")
	}
	total := 0
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		id := filepath.Base(filepath.Dir(path))
		_, after, _ := strings.Cut(string(text), ") ") // the name of the program precedes it
		fields := strings.Fields(after)
		const parent, user, childrenSystem = 1, 11, 14
		if len(fields) <= childrenSystem {
			return 0, fmt.Errorf("%s has an unexpected form", path)
		}
		counted := fields[user : user+2]
		switch strconv.Itoa(pid) {
		case id: // with those of its processes that have ended
			counted = fields[user : childrenSystem+1]
		case fields[parent]:
		default:
			continue
		}
		for _, f := range counted {
			n, err := strconv.Atoi(f)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			total += n
		}
	}
	return time.Duration(total) * tick, nil
}
