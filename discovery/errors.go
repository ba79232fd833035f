package discovery

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound means that a domain has no UIM records. ErrNoDomain and ErrNoRecords wrap it.
	ErrNotFound = errors.New("no UIM records")
	// ErrNoDomain means that the domain does not exist (NXDOMAIN).
	ErrNoDomain = fmt.Errorf("%w: the domain does not exist", ErrNotFound)
	// ErrNoRecords means that the domain exists without UIM records (NODATA).
	ErrNoRecords = fmt.Errorf("%w: the domain exists, but has no such records", ErrNotFound)
	// ErrServer means that no DNS server answered the query (SERVFAIL, REFUSED, no connection). Whether the domain has records is unknown.
	ErrServer = errors.New("the DNS servers did not answer the query")
	// ErrTimeout means that no DNS server answered in time. It wraps ErrServer.
	ErrTimeout = fmt.Errorf("%w in time", ErrServer)
	// ErrAnswer means that a DNS response is invalid. It wraps ErrServer.
	ErrAnswer = fmt.Errorf("%w with a valid response", ErrServer)
	// ErrChain means that the CNAME records of a name form a loop or a chain that is too long.
	ErrChain = errors.New("the CNAME records cannot be followed")
	// ErrConflict means that a domain has two values for one field. The error is a *ConflictError.
	ErrConflict = errors.New("the records contradict each other")
)

// A ConflictError describes two records that contradict each other. The values come from DNS and consist of printable ASCII.
type ConflictError struct {
	Name   string // the name of both records
	Field  Field
	Values [2]string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s at %s is %s and %s: remove one", ErrConflict, e.Field, e.Name, e.Values[0], e.Values[1])
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }
