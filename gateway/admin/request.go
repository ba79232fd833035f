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
	// maxText bounds an id, a value of a query and a reason, in bytes.
	maxText = 512
)

// A Request is the input of an operation. Its query parameters are named in one place, for both sides of HTTP.
type Request interface{ parameters(p parameters) }

// A requestBody is the JSON object of a request that also has these members.
type requestBody interface{ members(m *wire.Members) error }

// parameters reads or writes the parameters of a request.
type parameters interface {
	// service is the selected service. When it is read, it becomes the id of an existing one.
	service(value *string)
	// record returns the id of the record in the path.
	record(value *string)
	text(name string, value *string)
	// oneOf is a text that is empty or one of these.
	oneOf(name string, value *string, values ...string)
	moment(name string, value *time.Time)
	page(value *PageRequest)
}

// A Record names one record of a service.
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
	After string // Next of the page before; empty: from the start
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
	Next  string `json:"next,omitempty"` // Paging.After of the next page; empty if this is the last one
}

// pageOf turns records into a page; a page that is not full is the last.
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

// service returns the service with this id, or the only one if it is empty.
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
		f.Message = "This gateway has no such service; perhaps " + near + " is meant."
	}
	return nil, f
}

// wrongParameter rejects the value of a query parameter.
func wrongParameter(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The query parameter "+name+" "+what+".").With("parameter", name)
}

// wrongMember rejects the value of a member of the body.
func wrongMember(name, what string) *reason.Refusal {
	return reason.MalformedRequest.Refusal("The member "+name+" "+what+".").With("pointer", "/"+name)
}

// Values returns the query parameters of a request.
func Values(r Request) url.Values {
	v := url.Values{}
	r.parameters(written(v))
	return v
}

// written are parameters as a client sends them, without empty ones.
type written url.Values

func (w written) text(name string, value *string) {
	if *value != "" {
		url.Values(w).Set(name, *value)
	}
}

func (w written) service(value *string)                         { w.text("service", value) }
func (w written) record(*string)                                {}
func (w written) oneOf(name string, value *string, _ ...string) { w.text(name, value) }

func (w written) moment(name string, value *time.Time) {
	if !value.IsZero() {
		url.Values(w).Set(name, value.UTC().Format(time.RFC3339Nano))
	}
}

func (w written) page(value *PageRequest) {
	if value.Limit != 0 {
		url.Values(w).Set("limit", strconv.Itoa(value.Limit))
	}
	w.text("after", &value.After)
}

// A Revocation ends a record, for a reason.
type Revocation struct {
	Record `json:"-"`
	Reason string `json:"reason,omitempty"` // one line of at most 512 bytes; empty: by the operator
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
