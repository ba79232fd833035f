package yamlconf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
)

const (
	maxProblems = 100   // maximum number of problems that are reported
	maxKept     = 2_000 // maximum number of problems that are kept and sorted by line
)

// A Problem is one finding in a document. Line and Column count from 1. If Line is 0, the problem concerns the whole file, or File names a
// flag such as --listen or a variable such as UIMGATE_LISTEN.
type Problem struct {
	File    string
	Line    int
	Column  int
	Level   problem.Level
	Message string
}

// String returns file:line: message, with "warning:" before the message of a warning.
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

// Problems are the findings in one document, in the order of its lines.
type Problems []Problem

// Failed reports whether one of the problems is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Level == problem.Error })
}

// Err returns an error with all problems that are errors, one per line. It returns nil if there are none.
func (ps Problems) Err() error {
	var errs []error
	for _, p := range ps {
		if p.Level == problem.Error {
			errs = append(errs, errors.New(p.String()))
		}
	}
	return errors.Join(errs...)
}

// A Position is the position of a key in the file, counted from 1. The zero Position is unknown.
type Position struct{ Line, Column int }

// Positions maps the paths of the keys and items of a document, such as "services[0].policy_file", to their positions.
type Positions map[string]Position

// Nearest returns the position of path or, if the document does not contain it, of the innermost enclosing path that it contains.
func (ps Positions) Nearest(path string) Position {
	for {
		if at, ok := ps[path]; ok {
			return at
		}
		cut := lastStep(path)
		if cut < 0 {
			return ps[""]
		}
		path = path[:cut]
	}
}

// lastStep returns the offset of the last .key, ["key"] or [n] of path, or -1.
func lastStep(path string) int {
	inQuotes, cut := false, -1
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && inQuotes:
			i++
		case c == '"':
			inQuotes = !inQuotes
		case !inQuotes && (c == '.' || c == '['):
			cut = i
		}
	}
	return cut
}

// Errorf adds an error at the position of path. The message begins with path.
func (d *Document) Errorf(path, format string, args ...any) {
	d.add(problem.Error, path, fmt.Sprintf(format, args...))
}

// Warnf is like Errorf, but adds a warning.
func (d *Document) Warnf(path, format string, args ...any) {
	d.add(problem.Warning, path, fmt.Sprintf(format, args...))
}

func (d *Document) add(level problem.Level, path, message string) {
	if origin, ok := d.origins[path]; ok {
		d.keep(Problem{origin, 0, 0, level, message}, path)
		return
	}
	at := d.positions.Nearest(path)
	d.keep(Problem{d.file, at.Line, at.Column, level, message}, path)
}

// errorAt adds an error about path at another position.
func (d *Document) errorAt(at Position, path, message string) {
	d.keep(Problem{d.file, at.Line, at.Column, problem.Error, message}, path)
}

// keep adds a problem about path if the value at path is needed. If there are already too many problems, it only counts the problem.
func (d *Document) keep(p Problem, path string) {
	d.failed[path] = true
	if !d.needs(path, false) {
		return
	}
	if len(d.problems) == maxKept {
		d.dropped++
		d.droppedError = d.droppedError || p.Level == problem.Error
		return
	}
	if path != "" {
		p.Message = path + ": " + p.Message
	}
	d.problems = append(d.problems, p)
}

// Failed reports whether a problem about exactly this path was added. Use it to report each mistake only once.
func (d *Document) Failed(path string) bool { return d.failed[path] }

// Problems returns the problems found so far, sorted by line, with those without a line last. If there are more than 100, it returns the
// first 100, and a Problem with the number of the rest.
func (d *Document) Problems() Problems {
	key := func(p Problem) int { return cmp.Or(p.Line, math.MaxInt) }
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.Column, b.Column))
	})
	more := len(d.problems) - maxProblems + d.dropped
	if more <= 0 {
		return d.problems
	}
	level := problem.Warning
	if d.droppedError || d.problems[maxProblems:].Failed() {
		level = problem.Error
	}
	return append(d.problems[:maxProblems:maxProblems], Problem{d.file, 0, 0, level, fmt.Sprintf("and %d more problems", more)})
}
