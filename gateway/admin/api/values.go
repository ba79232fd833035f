package api

import (
	"net/url"
	"strconv"
	"time"
)

// Values returns the query parameters of a request.
func Values(r Request) url.Values {
	v := url.Values{}
	r.Query(encoder(v))
	return v
}

// An encoder collects the parameters that a client sends. It omits empty parameters.
type encoder url.Values

func (w encoder) Text(name string, value *string) {
	if *value != "" {
		url.Values(w).Set(name, *value)
	}
}

func (w encoder) Service(value *string)                         { w.Text("service", value) }
func (w encoder) Record(*string)                                {}
func (w encoder) OneOf(name string, value *string, _ ...string) { w.Text(name, value) }

func (w encoder) Number(name string, value *int64) {
	if *value != 0 {
		url.Values(w).Set(name, strconv.FormatInt(*value, 10))
	}
}

func (w encoder) Moment(name string, value *time.Time) {
	if !value.IsZero() {
		url.Values(w).Set(name, value.UTC().Format(time.RFC3339Nano))
	}
}

func (w encoder) Page(value *PageRequest) {
	if value.Limit != 0 {
		url.Values(w).Set("limit", strconv.Itoa(value.Limit))
	}
	w.Text("after", &value.After)
}
