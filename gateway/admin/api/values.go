package api

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Encode returns the path and the query parameters of a request. In the path, the id of the request replaces {id}.
func Encode(path string, request any) (string, url.Values) {
	e := encoder{values: url.Values{}}
	Query(request, &e)
	return strings.ReplaceAll(path, "{id}", escape(e.id)), e.values
}

// ServiceOf returns the id of the service that a request names; empty: none.
func ServiceOf(request any) string {
	_, values := Encode("", request)
	return values.Get("service")
}

// An encoder collects the parameters that a client sends. It omits empty parameters.
type encoder struct {
	values url.Values
	id     string
}

func (e *encoder) Text(name string, value *string) {
	if *value != "" {
		e.values.Set(name, *value)
	}
}

func (e *encoder) Service(value *string)                         { e.Text("service", value) }
func (e *encoder) Record(value *string)                          { e.id = *value }
func (e *encoder) OneOf(name string, value *string, _ ...string) { e.Text(name, value) }

func (e *encoder) Number(name string, value *int64) {
	if *value != 0 {
		e.values.Set(name, strconv.FormatInt(*value, 10))
	}
}

func (e *encoder) Moment(name string, value *time.Time) {
	if !value.IsZero() {
		e.values.Set(name, value.UTC().Format(time.RFC3339Nano))
	}
}

func (e *encoder) Page(value *PageRequest) {
	if value.Limit != 0 {
		e.values.Set("limit", strconv.Itoa(value.Limit))
	}
	e.Text("after", &value.After)
}
