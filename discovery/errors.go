package discovery

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound means that a domain has no UIM records. It is one of the two below.
	ErrNotFound = errors.New("no UIM records")
	// ErrNoDomain means that there is no such domain (NXDOMAIN).
	ErrNoDomain = fmt.Errorf("%w: there is no such domain", ErrNotFound)
	// ErrNoRecords means that the domain exists without UIM records (NODATA).
	ErrNoRecords = fmt.Errorf("%w: the domain has none", ErrNotFound)
	// ErrServer means that no DNS server answered (SERVFAIL, REFUSED, no connection). It is unknown whether the domain has records.
	ErrServer = errors.New("the DNS servers did not answer the question")
	// ErrTimeout means that no DNS server answered in time. It is an ErrServer.
	ErrTimeout = fmt.Errorf("%w in time", ErrServer)
	// ErrAnswer means that a DNS answer cannot be used. It is an ErrServer.
	ErrAnswer = fmt.Errorf("%w with anything of use", ErrServer)
	// ErrChain means that the CNAME records of a name lead in a circle or too far.
	ErrChain = errors.New("the CNAME records lead nowhere")
	// ErrConflict means that a domain has two values for one field. The error is a *ConflictError.
	ErrConflict = errors.New("the records contradict each other")
)

// A ConflictError names the records that contradict each other. The values come from DNS, in visible ASCII.
type ConflictError struct {
	Name   string // of both records
	Field  Field
	Values [2]string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s at %s is %s and %s: remove one", ErrConflict, e.Field, e.Name, e.Values[0], e.Values[1])
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }
