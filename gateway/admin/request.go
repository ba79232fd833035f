package admin

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
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

// service returns the service with the given id. If id is empty, it returns the only service.
func (o *Operator) service(id string) (*service.Service, error) {
	snapshot := o.directory.Current()
	ids := make([]string, 0, len(snapshot.Services()))
	for _, s := range snapshot.Services() {
		ids = append(ids, s.ID)
	}
	switch {
	case id == "" && len(ids) == 1:
		return snapshot.Services()[0], nil
	case id == "":
		return nil, reason.ServiceMissing.Refusal("").With("services", ids)
	}
	if s := snapshot.Service(id); s != nil {
		return s, nil
	}
	f := reason.UnknownService.Refusal("").With("services", ids)
	if near := suggest.Name(id, ids); near != "" {
		f.Message = "This gateway has no such service. Did you mean " + near + "?"
	}
	return nil, f
}

// wrongParameter returns a refusal of the value of a query parameter.
func wrongParameter(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The query parameter "+name+" "+what+".").With("parameter", name)
}

// wrongMember returns a refusal of the value of a member of the body.
func wrongMember(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The member "+name+" "+what+".").With("pointer", "/"+name)
}

// Values returns the query parameters of a request.
func Values(r Request) url.Values {
	v := url.Values{}
	r.parameters(encoder(v))
	return v
}

// An encoder collects the parameters that a client sends. It omits empty parameters.
type encoder url.Values

func (w encoder) text(name string, value *string) {
	if *value != "" {
		url.Values(w).Set(name, *value)
	}
}

func (w encoder) service(value *string)                         { w.text("service", value) }
func (w encoder) record(*string)                                {}
func (w encoder) oneOf(name string, value *string, _ ...string) { w.text(name, value) }

func (w encoder) number(name string, value *int64) {
	if *value != 0 {
		url.Values(w).Set(name, strconv.FormatInt(*value, 10))
	}
}

func (w encoder) moment(name string, value *time.Time) {
	if !value.IsZero() {
		url.Values(w).Set(name, value.UTC().Format(time.RFC3339Nano))
	}
}

func (w encoder) page(value *PageRequest) {
	if value.Limit != 0 {
		url.Values(w).Set("limit", strconv.Itoa(value.Limit))
	}
	w.text("after", &value.After)
}

// A Revocation ends a record for the given reason.
type Revocation struct {
	Record `json:"-"`
	Reason string `json:"reason,omitempty"` // one line of at most 512 bytes; empty: "by the operator"
}

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
