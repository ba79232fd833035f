package admin

import (
	"net/url"
	"strconv"
	"time"
)

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
