package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
)

// A Problem is one finding in a configuration. Line and Column count from 1; Line 0 means the whole
// file, or what File names: a flag such as --listen, or a variable such as UIMGATE_LISTEN.
type Problem struct {
	File    string
	Line    int
	Column  int
	Level   problem.Level
	Message string
}

// String is file:line: message; a warning says that it is one.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Level == problem.Warning {
		return fmt.Sprintf("%s: warning: %s", place, p.Message)
	}
	return fmt.Sprintf("%s: %s", place, p.Message)
}

// Problems are the findings in one configuration, in the order of its lines.
type Problems []Problem

// Failed reports whether one of them is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Level == problem.Error })
}

// Err is the errors among them, one per line, or nil.
func (ps Problems) Err() error {
	var errs []error
	for _, p := range ps {
		if p.Level == problem.Error {
			errs = append(errs, errors.New(p.String()))
		}
	}
	return errors.Join(errs...)
}

// position is where a key stands in the file. Line 0 is "nowhere".
type position struct{ line, column int }

// Problemf makes a Problem at the place of path, written as Load writes it ("services[0].policy_file"),
// or of the nearest thing around it that the file has. For findings made later, from the files named.
func (c *Config) Problemf(level problem.Level, path, format string, args ...any) Problem {
	at := nearestPosition(c.positions, path)
	return Problem{c.Source.Path, at.line, at.column, level, path + ": " + fmt.Sprintf(format, args...)}
}

// nearestPosition cuts path at its ends until it names something that has a position.
func nearestPosition(positions map[string]position, path string) position {
	for {
		if at, ok := positions[path]; ok {
			return at
		}
		cut := lastStep(path)
		if cut < 0 {
			return positions[""]
		}
		path = path[:cut]
	}
}

// lastStep is where the last .key, ["key"] or [n] of path begins, or -1.
func lastStep(path string) int {
	quoted, cut := false, -1
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '.' || c == '['):
			cut = i
		}
	}
	return cut
}
