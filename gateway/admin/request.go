package admin

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	adminPage     = 100
	maxAdminPage  = 1000
	maxAdminValue = 512 // of a path segment or query value, in bytes
)

// An adminRequest is one call of the admin API.
type adminRequest struct {
	*http.Request
	query     *queryValues
	id        string // the record that the path names
	subject   string // what was changed, for the log
	directory *service.Directory
	service   *service.Service
}

// request reads what all operations share. The service is looked up by those that need one.
func (a *Server) request(r *http.Request) (*adminRequest, error) {
	query, err := readQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if len(id) > maxAdminValue || !printableText(id) {
		return nil, reason.NoSuchRecord.Refusal("")
	}
	return &adminRequest{Request: r, query: query, id: id, subject: id, directory: a.Directory}, nil
}

// of is the service that ?service= names, or the only one there is.
func (r *adminRequest) of() (*service.Service, error) {
	snapshot := r.directory.Current()
	name := r.query.text("service")
	ids := make([]string, 0, len(snapshot.Services()))
	for _, s := range snapshot.Services() {
		ids = append(ids, s.ID)
	}
	switch {
	case name == "" && len(ids) == 1:
		r.service = snapshot.Services()[0]
	case name == "":
		return nil, reason.ServiceMissing.Refusal("").With("services", ids)
	default:
		r.service = snapshot.Service(name)
	}
	if r.service == nil {
		f := reason.UnknownService.Refusal("").With("services", ids)
		if near := nearest.Name(name, ids); near != "" {
			f.Message = "This gateway has no such service; perhaps " + near + " is meant."
		}
		return nil, f
	}
	return r.service, nil
}

// only is the service, where the query names nothing else.
func (r *adminRequest) only() (*service.Service, error) {
	s, err := r.of()
	if err != nil {
		return nil, err
	}
	return s, r.query.done()
}

func (r *adminRequest) serviceID() string {
	if r.service == nil {
		return ""
	}
	return r.service.ID
}

// body reads the members of the body; none at all is an empty object.
func (r *adminRequest) body() (*wire.Members, error) {
	if r.ContentLength == 0 {
		return wire.NewMembers(map[string]any{}), nil
	}
	tree, err := wire.ReadObject(r.Request, adminBody)
	if err != nil {
		return nil, err
	}
	return wire.NewMembers(tree), nil
}

// noBody refuses members where none have a meaning.
func (r *adminRequest) noBody() error {
	m, err := r.body()
	if err != nil {
		return err
	}
	return m.Done()
}

// reason reads a body that holds at most why something is done.
func (r *adminRequest) reason() (string, error) {
	m, err := r.body()
	if err != nil {
		return "", err
	}
	why := m.Text("reason", false)
	if err := m.Done(); err != nil {
		return "", err
	}
	if len(why) > maxAdminValue || !printableText(why) {
		return "", m.Wrong("reason", fmt.Sprintf("must be one line of at most %d bytes", maxAdminValue))
	}
	if why == "" {
		why = "by the operator"
	}
	return why, nil
}

// printableText reports whether a text is one line that a terminal shows as it is.
func printableText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// queryValues are the query parameters of a request. One unknown is refused: a filter misspelt must not
// be a filter ignored.
type queryValues struct {
	values url.Values
	known  []string
	err    error
}

func readQuery(raw string) (*queryValues, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, reason.MalformedRequest.Refusal("The query cannot be read.")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 {
			return nil, reason.MalformedRequest.Refusal("A query parameter stands more than once.")
		}
		if v := values.Get(name); len(v) > maxAdminValue || !printableText(v) {
			return nil, reason.MalformedRequest.Refusal(fmt.Sprintf("A query parameter is not one line of at most %d bytes.", maxAdminValue))
		}
	}
	return &queryValues{values: values}, nil
}

func (q *queryValues) text(name string) string {
	q.known = append(q.known, name)
	return q.values.Get(name)
}

// oneOf takes a parameter that has one of these values, or is not there.
func (q *queryValues) oneOf(name string, values ...string) string {
	v := q.text(name)
	if v != "" && !slices.Contains(values, v) {
		q.wrong(name, "must be "+strings.Join(values, " or "))
	}
	return v
}

// flag takes a parameter that is true or false; nil where it is not there.
func (q *queryValues) flag(name string) *bool {
	v := q.oneOf(name, "true", "false")
	if v == "" {
		return nil
	}
	yes := v == "true"
	return &yes
}

// page takes after and limit.
func (q *queryValues) page() (after string, limit int) {
	limit = adminPage
	if text := q.text("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxAdminPage {
			q.wrong("limit", fmt.Sprintf("must be a number from 1 to %d", maxAdminPage))
			n = adminPage
		}
		limit = n
	}
	return q.text("after"), limit
}

func (q *queryValues) wrong(name, what string) {
	if q.err == nil {
		q.err = reason.MalformedRequest.Refusal("The query parameter "+name+" "+what+".").With("parameter", name)
	}
}

// done reports the first parameter that is wrong, or not known. Call it before anything is done.
func (q *queryValues) done() error {
	if q.err != nil {
		return q.err
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if slices.Contains(q.known, name) {
			continue
		}
		f := reason.MalformedRequest.Refusal("The query has a parameter that is not known here.").With("known", q.known)
		if near := nearest.Name(name, q.known); near != "" {
			f.Message = "The query has a parameter that is not known here; perhaps " + near + " is meant."
		}
		return f
	}
	return nil
}
