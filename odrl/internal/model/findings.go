package model

import (
	"fmt"

	"github.com/uimgate/uimgate/internal/problem"
)

const (
	// maxErrors is how many errors of one document are reported; reading stops after them.
	maxErrors = 100
	// maxWarnings is how many warnings are reported; the rest are left out, which the last one notes.
	maxWarnings = 100
)

// Findings collects the problems of one document, each once: a rule that splits into many would have the same problem in each. A nil
// Findings takes nothing.
type Findings struct {
	List     problem.List
	seen     map[problem.Problem]bool
	errors   int
	warnings int
	Lenient  bool // Doubtf warns
}

// Errorf adds an error, which refuses the policy.
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
		f.add(problem.Problem{Level: problem.Error, Code: "too-many", Pointer: pointer, Message: "more problems may follow: mend these first"})
	}
}

// Doubtf adds what refuses a policy in strict reading and is otherwise a warning, because the policy can still be evaluated.
func (f *Findings) Doubtf(code, pointer, format string, args ...any) {
	if f.Lenient {
		f.Warnf(code, pointer, format, args...)
		return
	}
	f.Errorf(code, pointer, format, args...)
}

// Warnf adds a warning.
func (f *Findings) Warnf(code, pointer, format string, args ...any) {
	if f == nil {
		return
	}
	p := problem.Problem{Level: problem.Warning, Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
	if f.Warned() || f.seen[p] {
		return
	}
	if f.warnings++; f.warnings == maxWarnings {
		p = problem.Problem{Level: problem.Warning, Code: "too-many", Pointer: pointer, Message: "more warnings follow"}
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

// Full reports whether enough errors were found.
func (f *Findings) Full() bool { return f.errors >= maxErrors }

// Warned reports whether no more warnings are taken.
func (f *Findings) Warned() bool { return f.warnings >= maxWarnings }

// Failed reports whether the policy is refused.
func (f *Findings) Failed() bool { return f.errors > 0 }
