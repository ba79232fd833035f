// Package api has what the requests and results of all operations of the operator have in common: records, pages, callers and changes.
package api

import (
	"fmt"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	// DefaultLimit is the number of records of a page if the request does not name one.
	DefaultLimit = 100
	// MaxLimit is the largest number of records of a page.
	MaxLimit = 1000
	// MaxText bounds an id, the value of a query parameter and a reason, in bytes.
	MaxText = 512
)

// A Body is a request that reads the members of its JSON body itself. Other requests are read by ReadMembers.
type Body interface{ Members(m *wire.Members) error }

// A LargeBody is a request whose body may be larger than MaxBody.
type LargeBody interface{ MaxBody() int64 }

// MaxBody is the maximum size of the body of a request, in bytes.
const MaxBody = 64 << 10

// Parameters reads or writes the parameters of a request: each method sets *value from the parameter, or the parameter from *value.
type Parameters interface {
	// Service handles the parameter service. When it reads, it sets *value to the id of an existing service.
	Service(value *string)
	// Record handles the id of the record in the path. It writes nothing.
	Record(value *string)
	Text(name string, value *string)
	// OneOf handles a string that is empty or one of values.
	OneOf(name string, value *string, values ...string)
	// Number handles a number of 0 or more.
	Number(name string, value *int64)
	Moment(name string, value *time.Time)
	Page(value *PageRequest)
}

// A Record identifies one record of a service.
type Record struct {
	Service string `json:"-" query:"service"` // id; empty: the only service
	ID      string `json:"-" path:"id"`
}

// A PageRequest selects a part of a listing.
type PageRequest struct {
	Limit int    // number of records, 1 to 1000; 0: 100
	After string // Next of the previous page; empty: from the start
}

// SetPage replaces the PageRequest of a query in which it is embedded.
func (p *PageRequest) SetPage(page PageRequest) { *p = page }

// Max returns the maximum number of records of the page.
func (p *PageRequest) Max() int {
	if p.Limit == 0 {
		return DefaultLimit
	}
	return p.Limit
}

// A Page is one page of a listing.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // PageRequest.After of the next page; empty if this is the last one
}

// PageOf converts records into a page. A page with fewer than limit records is the last page, and has no Next.
func PageOf[R, T any](records []R, limit int, show func(R) T, cursor func(R) string) Page[T] {
	p := Page[T]{Items: make([]T, 0, len(records))}
	for _, r := range records {
		p.Items = append(p.Items, show(r))
	}
	if len(records) >= limit {
		p.Next = cursor(records[len(records)-1])
	}
	return p
}

// WrongParameter returns a refusal of the value of a query parameter.
func WrongParameter(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The query parameter "+name+" "+what+".").With("parameter", name)
}

// WrongMember returns a refusal of the value of a member of the body.
func WrongMember(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The member "+name+" "+what+".").With("pointer", "/"+name)
}

// A Revocation ends a record for the given reason.
type Revocation struct {
	Record `json:"-"`
	Reason string `json:"reason,omitempty"` // one line of at most 512 bytes; empty: "by the operator"
}

// Details returns the details of the change for the audit stream.
func (r Revocation) Details() map[string]string { return map[string]string{"reason": r.Reason} }

// Text returns the reason to record. The error is a *reason.Refusal.
func (r *Revocation) Text() (string, error) {
	switch {
	case len(r.Reason) > MaxText || !Printable(r.Reason):
		return "", WrongMember("reason", fmt.Sprintf("must be one line of at most %d bytes", MaxText))
	case r.Reason == "":
		return "by the operator", nil
	default:
		return r.Reason, nil
	}
}
