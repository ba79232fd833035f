// Package problem defines the problems that are found while a document is loaded.
package problem

import (
	"fmt"
	"slices"
)

// A Level is the severity of a Problem. A document with an Error cannot be used.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// A Problem is one finding in a document. Pointer (RFC 6901) names the node. Code is stable and meant for programs, and Message is meant
// for people.
type Problem struct {
	Level   Level  `json:"level"`
	Code    string `json:"code"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// A List collects problems while a document is read.
type List []Problem

// Errorf adds an error.
func (l *List) Errorf(code, pointer, format string, args ...any) {
	*l = append(*l, Problem{Error, code, pointer, fmt.Sprintf(format, args...)})
}

// Warnf adds a warning.
func (l *List) Warnf(code, pointer, format string, args ...any) {
	*l = append(*l, Problem{Warning, code, pointer, fmt.Sprintf(format, args...)})
}

// Failed reports whether the list contains an error.
func (l List) Failed() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Level == Error })
}
