package model

import (
	"fmt"

	"github.com/uimgate/uimgate/internal/problem"
)

const (
	// maxErrors is the number of errors after which the reading of a document stops.
	maxErrors = 100
	// maxWarnings is the maximum number of warnings for one document. The last one only states that more are omitted.
	maxWarnings = 100
)

// Findings collects the problems of one document. It records each problem once, because a rule that is split into several would otherwise
// repeat its problems. Errorf and Warnf do nothing on a nil Findings.
type Findings struct {
	List     problem.List
	seen     map[problem.Problem]bool
	errors   int
	warnings int
	Lenient  bool // Doubtf adds warnings, not errors
}

// Errorf adds an error, which means that the policy is refused. After maxErrors errors, it does nothing.
func (f *Findings) Errorf(code, pointer, format string, args ...any) {
	if f == nil || f.Full() {
		return
	}
	p := problem.Problem{Level: problem.Error, Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
	if f.seen[p] {
		return
	}
	f.add(p)
	f.errors++
	if f.Full() {
		f.add(problem.Problem{Level: problem.Error, Code: "too-many", Pointer: pointer, Message: "there may be more problems: fix these first"})
	}
}

// Doubtf adds a problem that does not prevent the policy from being evaluated: an error in strict mode, a warning in lenient mode. f must
// not be nil.
func (f *Findings) Doubtf(code, pointer, format string, args ...any) {
	if f.Lenient {
		f.Warnf(code, pointer, format, args...)
		return
	}
	f.Errorf(code, pointer, format, args...)
}

// Warnf adds a warning. After maxWarnings warnings, it does nothing.
func (f *Findings) Warnf(code, pointer, format string, args ...any) {
	if f == nil {
		return
	}
	p := problem.Problem{Level: problem.Warning, Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
	if f.Warned() || f.seen[p] {
		return
	}
	if f.warnings++; f.warnings == maxWarnings {
		p = problem.Problem{Level: problem.Warning, Code: "too-many", Pointer: pointer, Message: "further warnings are omitted"}
	}
	f.add(p)
}

func (f *Findings) add(p problem.Problem) {
	if f.seen == nil {
		f.seen = map[problem.Problem]bool{}
	}
	f.seen[p] = true
	f.List = append(f.List, p)
}

// Full reports whether the maximum number of errors has been reached.
func (f *Findings) Full() bool { return f.errors >= maxErrors }

// Warned reports whether the maximum number of warnings has been reached.
func (f *Findings) Warned() bool { return f.warnings >= maxWarnings }

// Failed reports whether there is an error, which means that the policy is refused.
func (f *Findings) Failed() bool { return f.errors > 0 }
