package admin

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
)

// A query reads the parameters of a request. It rejects unknown parameters, because a misspelt filter must not be ignored.
type query struct {
	values url.Values
	id     string // the record that the path names
	// resolve returns the id of the service that a request names, or of the only service if the name is empty.
	resolve func(name string) (id string, err error)
	known   []string
	err     error  // the first error
	meant   string // the id of the service
}

func readQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, reason.MalformedRequest.Refusal("The query string cannot be parsed.")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 {
			return nil, reason.MalformedRequest.Refusal("A query parameter occurs more than once.")
		}
		if v := values.Get(name); len(v) > api.MaxText || !api.Printable(v) {
			return nil, reason.MalformedRequest.Refusal(fmt.Sprintf("Each query parameter must be one line of at most %d bytes.", api.MaxText))
		}
	}
	return values, nil
}

func (q *query) take(name string) string {
	q.known = append(q.known, name)
	return q.values.Get(name)
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

func (q *query) Service(value *string) {
	id, err := q.resolve(q.take("service"))
	if err != nil {
		q.fail(err)
	}
	*value, q.meant = id, id
}

func (q *query) Record(value *string) { *value = q.id }

func (q *query) Text(name string, value *string) { *value = q.take(name) }

func (q *query) OneOf(name string, value *string, values ...string) {
	*value = q.take(name)
	if *value != "" && !slices.Contains(values, *value) {
		q.fail(api.WrongParameter(name, "must be "+strings.Join(values, " or ")))
	}
}

func (q *query) Page(value *api.PageRequest) {
	if text := q.take("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > api.MaxLimit {
			q.fail(api.WrongParameter("limit", fmt.Sprintf("must be a number from 1 to %d", api.MaxLimit)))
		}
		value.Limit = n
	}
	value.After = q.take("after")
}

func (q *query) Number(name string, value *int64) {
	text := q.take(name)
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		q.fail(api.WrongParameter(name, "must be a number of 0 or more"))
		return
	}
	*value = n
}

// Moment parses a time in RFC 3339 format and converts it to UTC. It leaves *value unchanged if the parameter is absent.
func (q *query) Moment(name string, value *time.Time) {
	v := q.take(name)
	if v == "" {
		return
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		q.fail(api.WrongParameter(name, "must be a time such as 2026-11-01T00:00:00Z"))
		return
	}
	*value = t.UTC()
}

// done returns the error of the first invalid or unknown parameter.
func (q *query) done() error {
	if q.err != nil {
		return q.err
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if slices.Contains(q.known, name) {
			continue
		}
		f := reason.MalformedRequest.Refusal("The query has an unknown parameter.").With("known", append([]string{}, q.known...))
		if near := suggest.Name(name, q.known); near != "" {
			f.Message = "The query has an unknown parameter. Did you mean " + near + "?"
		}
		return f
	}
	return nil
}
