package console

import (
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/pat"
)

const (
	rowsShown   = 50
	mostShown   = 100     // with limit=
	rowsAtOnce  = 1000    // of a download
	mostRows    = 100_000 // of a download
	downloading = 2 * time.Minute
)

// A column is one column of a listing.
type column[T any] struct {
	name string
	cell func(T) cell
}

// A listing shows pages of records, and downloads them as CSV.
type listing[T any] struct {
	caption, empty string
	columns        []column[T]
	fetch          func(context.Context, api.PageRequest) (api.Page[T], error)
}

// pagesOf returns the pages of records that an operation selects with a query.
func pagesOf[Q, T any, P interface {
	*Q
	SetPage(page api.PageRequest)
}](r *request, op operation.Operation[Q, api.Page[T]], q Q) func(context.Context, api.PageRequest) (api.Page[T], error) {
	return func(ctx context.Context, page api.PageRequest) (api.Page[T], error) {
		P(&q).SetPage(page)
		return admin.Call(ctx, r.console.Operator, op, q)
	}
}

// table returns the page of a listing that the request selects.
func (l listing[T]) table(r *request) (*table, error) {
	found, err := l.fetch(r.Context(), api.PageRequest{Limit: r.limit(), After: r.URL.Query().Get("after")})
	if err != nil {
		return nil, err
	}
	out := &table{Caption: l.caption, Empty: l.empty}
	var sample T
	for _, c := range l.columns {
		head := cell{Text: c.name}
		if len(found.Items) > 0 {
			sample = found.Items[0]
			head.Number = c.cell(sample).Number
		}
		out.Columns = append(out.Columns, head)
	}
	for _, item := range found.Items {
		row := make([]cell, 0, len(l.columns))
		for _, c := range l.columns {
			row = append(row, c.cell(item))
		}
		out.Rows = append(out.Rows, row)
	}
	out.Next, out.CSV = r.same("after", found.Next), r.same("format", "csv")
	if found.Next == "" {
		out.Next = ""
	}
	return out, nil
}

// page shows the listing below filters, with sections after it. If the request asks for CSV, it sends all pages instead.
func (l listing[T]) page(r *request, p pageView, f *filters, after ...section) error {
	if r.URL.Query().Get("format") == "csv" {
		return l.download(r)
	}
	t, err := l.table(r)
	if err != nil {
		return err
	}
	p.Sections = append(p.Sections, section{Filters: f, Table: t})
	p.Sections = append(p.Sections, after...)
	return r.show(http.StatusOK, p)
}

// download sends all pages as CSV. If there are more than mostRows rows, the last line states that the download is incomplete.
func (l listing[T]) download(r *request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), downloading)
	defer cancel()
	var out *csv.Writer
	next := api.PageRequest{Limit: rowsAtOnce}
	for n := 0; ; {
		found, err := l.fetch(ctx, next)
		if err != nil && out == nil {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the download ends as incomplete
		}
		if out == nil {
			r.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			r.w.Header().Set("Content-Disposition", `attachment; filename="`+r.fileName()+`.csv"`)
			out = csv.NewWriter(r.w)
			row := make([]string, 0, len(l.columns))
			for _, c := range l.columns {
				row = append(row, c.name)
			}
			_ = out.Write(row)
		}
		for _, item := range found.Items {
			row := make([]string, 0, len(l.columns))
			for _, c := range l.columns {
				row = append(row, csvOf(c.cell(item)))
			}
			_ = out.Write(row) // Error reports the first error
		}
		n += max(1, len(found.Items))
		if found.Next != "" && n >= mostRows {
			_ = out.Write([]string{"INCOMPLETE: a download has at most " + strconv.Itoa(mostRows) + " rows. Use filters, or the uimgate command."})
		}
		out.Flush()
		// The deadline of the request ends before that of the download: only context.Canceled means that the browser has disconnected.
		if out.Error() != nil || found.Next == "" || n >= mostRows || errors.Is(r.Context().Err(), context.Canceled) {
			return nil
		}
		next.After = found.Next
	}
}

// fileName returns the path of the page without its parameters, such as money-ledger.
func (r *request) fileName() string {
	_, path, _ := strings.Cut(r.Pattern, admin.ConsolePath)
	segments := slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return strings.HasPrefix(s, "{") })
	return strings.Join(segments, "-")
}

func csvOf(c cell) string {
	if !c.Time.IsZero() {
		return c.Time.UTC().Format(time.RFC3339Nano)
	}
	return lines.CSV(c.Text)
}

// agent returns the agent that the request selects, or an empty string.
func (r *request) agent() pat.AgentID { return pat.AgentID(r.URL.Query().Get("agent")) }

// limit returns how many rows the page shows.
func (r *request) limit() int {
	n, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || n < 1 {
		return rowsShown
	}
	return min(n, mostShown)
}

// same returns the address of the request with a different value of one parameter. It omits the parameters that do not select records.
func (r *request) same(name, value string) string {
	q := r.URL.Query()
	q.Del("done")
	q.Del("format")
	if name == "format" {
		q.Del("after")
	}
	q.Set(name, value)
	return (&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: q.Encode()}).String()
}

// search is a field of filters for text.
func (r *request) search(name, label string) field {
	return field{ID: name, Name: name, Label: label, Type: "search", Value: r.URL.Query().Get(name)}
}

// choice is a field of filters with options. The first option selects everything.
func (r *request) choice(name, label string, values ...string) field {
	f := field{ID: name, Name: name, Label: label, Options: []option{{Label: "all"}}}
	for _, v := range values {
		f.Options = append(f.Options, option{Value: v, Label: v, Selected: r.URL.Query().Get(name) == v})
	}
	return f
}

// filtered returns filters for the listing of the request.
func (r *request) filtered(fields ...field) *filters {
	f := &filters{Action: r.URL.EscapedPath(), Fields: fields}
	if len(r.console.Directory.Current().Services()) > 1 {
		f.Hidden = []field{{Name: "service", Value: r.service()}}
	}
	return f
}

// moment returns the time in a parameter, in UTC, or the zero time.
func (r *request) moment(name string) time.Time {
	value := r.URL.Query().Get(name)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
