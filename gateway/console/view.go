package console

import (
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
)

// A pageView is the content of one page.
type pageView struct {
	Title    string
	Lead     string
	Sections []section
	Live     string // address of the events that keep the figures up to date; empty: they are not kept up to date
	Refresh  bool   // the page sends the browser to the same address
}

// A section is one part of a page. Only the parts that are set are shown.
type section struct {
	Title, Text string
	Sub         string // a title below that of the section before
	Links       []cell
	Cards       []card
	Facts       []fact
	Filters     *filters
	Table       *table
	Charts      []chart
	Forms       []form
	Lines       []string
	Pre         string
}

// A card is one figure.
type card struct {
	Label, Value, Note, Href string
	Live                     string // identifies the figure in the stream of events; empty: it is not in the stream
	Warn                     bool
}

// A fact is a named value.
type fact struct {
	Name  string
	Value cell
}

// A cell is one value.
type cell struct {
	Text   string
	Short  string // shown instead of Text, which is then the title of the link
	Href   string
	Time   time.Time // shown instead of Text
	Number bool      // aligned to the right
	Code   bool
	State  string // ok, warn or bad
	More   string // further text below
}

// A table is a part of a listing.
type table struct {
	Caption   string
	Columns   []cell // only Text and Number
	Rows      [][]cell
	Next, CSV string // addresses; empty: none
	Empty     string // shown instead of a table without rows
}

// filters are the form that selects a part of a listing.
type filters struct {
	Action string
	Button string // empty: Search
	Fields []field
	Hidden []field
}

// A field is one input of a form.
type field struct {
	ID, Name, Label, Type, Value, Hint string
	Required                           bool
	Rows                               int // of a textarea; 0: depends on Value
	Options                            []option
}

type option struct {
	Value, Label string
	Selected     bool
}

// A form starts an action. It is shown only to people who may use it.
type form struct {
	Path, Title, Text, Button string
	Fields                    []field
	Danger, Wide              bool
	CSRF                      string
}

// at returns the address of a page of the console. It escapes each segment.
func at(segments ...string) string {
	return strings.TrimSuffix(admin.ConsolePath, "/") + api.JoinPath(segments...)
}

// with returns an address with query parameters, given as names and values. It omits empty values.
func with(address string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return address
	}
	return address + "?" + q.Encode()
}

// heads returns the heads of columns. A name that begins with # is that of a column of numbers.
func heads(names ...string) (out []cell) {
	for _, name := range names {
		of, number := strings.CutPrefix(name, "#")
		out = append(out, cell{Text: of, Number: number})
	}
	return out
}

func text(s string) cell      { return cell{Text: s} }
func code(s string) cell      { return cell{Text: s, Code: true} }
func when(t time.Time) cell   { return cell{Time: t} }
func number(n int64) cell     { return cell{Text: strconv.FormatInt(n, 10), Number: true} }
func amount(s, c string) cell { return cell{Text: strings.TrimSpace(s + " " + c), Number: true} }

func link(s, href string) cell { return cell{Text: s, Href: href} }

// facts omits the facts without a value.
func facts(list ...fact) []fact {
	out := list[:0]
	for _, f := range list {
		if f.Value.Text != "" || !f.Value.Time.IsZero() {
			out = append(out, f)
		}
	}
	return out
}

var functions = template.FuncMap{
	"utc":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"isZero": time.Time.IsZero,
	"exact":  exact,
}
