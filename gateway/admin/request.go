package admin

import (
	"fmt"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
	// maxText bounds an id, the value of a query parameter and a reason, in bytes.
	maxText = 512
)

// A Request is the input of an operation. The server and the client use the same method for its query parameters.
type Request interface{ parameters(p parameters) }

// A requestBody is a Request that also has members in a JSON body.
type requestBody interface{ members(m *wire.Members) error }

// A largeBody is a request whose body may be larger than maxBody.
type largeBody interface{ maxBody() int64 }

// maxBody is the maximum size of the body of a request, in bytes.
const maxBody = 64 << 10

// parameters reads or writes the parameters of a request: each method sets *value from the parameter, or the parameter from *value.
type parameters interface {
	// service handles the parameter service. When it reads, it sets *value to the id of an existing service.
	service(value *string)
	// record handles the id of the record in the path. It writes nothing.
	record(value *string)
	text(name string, value *string)
	// oneOf handles a string that is empty or one of values.
	oneOf(name string, value *string, values ...string)
	// number handles a number of 0 or more.
	number(name string, value *int64)
	moment(name string, value *time.Time)
	page(value *PageRequest)
}

// A Record identifies one record of a service.
type Record struct {
	Service string // id; empty: the only service
	ID      string
}

func (r *Record) parameters(p parameters) {
	p.service(&r.Service)
	p.record(&r.ID)
}

// A PageRequest selects a part of a listing.
type PageRequest struct {
	Limit int    // number of records, 1 to 1000; 0: 100
	After string // Next of the previous page; empty: from the start
}

func (p *PageRequest) limit() int {
	if p.Limit == 0 {
		return defaultLimit
	}
	return p.Limit
}

// A Page is one page of a listing.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // PageRequest.After of the next page; empty if this is the last one
}

// pageOf converts records into a page. A page with fewer than limit records is the last page, and has no Next.
func pageOf[R, T any](records []R, limit int, show func(R) T, cursor func(R) string) Page[T] {
	p := Page[T]{Items: make([]T, 0, len(records))}
	for _, r := range records {
		p.Items = append(p.Items, show(r))
	}
	if len(records) >= limit {
		p.Next = cursor(records[len(records)-1])
	}
	return p
}

// wrongParameter returns a refusal of the value of a query parameter.
func wrongParameter(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The query parameter "+name+" "+what+".").With("parameter", name)
}

// wrongMember returns a refusal of the value of a member of the body.
func wrongMember(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The member "+name+" "+what+".").With("pointer", "/"+name)
}

// A Revocation ends a record for the given reason.
type Revocation struct {
	Record `json:"-"`
	Reason string `json:"reason,omitempty"` // one line of at most 512 bytes; empty: "by the operator"
}

func (r Revocation) detail() map[string]string { return map[string]string{"reason": r.Reason} }

func (r *Revocation) members(m *wire.Members) error {
	r.Reason = m.Text("reason", false)
	return m.Done()
}

func (r *Revocation) reason() (string, error) {
	switch {
	case len(r.Reason) > maxText || !printableText(r.Reason):
		return "", wrongMember("reason", fmt.Sprintf("must be one line of at most %d bytes", maxText))
	case r.Reason == "":
		return "by the operator", nil
	default:
		return r.Reason, nil
	}
}
