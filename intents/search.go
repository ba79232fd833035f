package intents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// defaultPageSize is the page size of a search that does not set one.
	defaultPageSize = 20
	// MaxPageSize is the maximum page size.
	MaxPageSize  = 100
	maxQueryText = 500 // characters of one parameter of a search
	maxWords     = 20  // maximum number of words of Text, and of Description, that a search considers

	briefBytes       = 960 // bytes of one intent in the brief view, so that a page of 20 intents stays below 20 kB
	briefDescription = 300 // characters of a description in the brief view
)

// The views of a search. The view determines which members of each intent the result has.
const (
	viewBrief = "brief" // uid, name, the start of the description, price and whether it is safe
	viewFull  = "full"  // the intent as its operator wrote it
)

// A Query is a search for intents. An intent must match all filters; an empty filter matches every intent. Case is ignored. See UIM core,
// section 5.4.
type Query struct {
	Text        string   // words; intents that contain more and rarer of them, or in more important places, come first
	ServiceName string   // a part of the service's name
	IntentName  string   // a part of intent_name
	UID         string   // the UID, or its namespace:name
	Namespace   string   // the whole namespace
	Category    string   // the whole category
	Description string   // words that must all occur in the description
	Tags        []string // tags that must all be present
	Page        int      // from 1; 0 means 1
	PageSize    int      // 0 means 20; MaxPageSize is the maximum
	Brief       bool     // view=brief: the JSON of the page has only the members needed to choose an intent
}

// A Page is one page of the response to a Query. Its JSON is the wire form of the search endpoint.
type Page struct {
	Intents      []*Intent
	TotalResults int
	TotalPages   int
	CurrentPage  int
	PageSize     int
	Clamped      bool // the requested page size exceeded MaxPageSize; PageSize is the size used
	Brief        bool // as in Query
	// Details is a URI template, with the variable intent_uid, for the full view of an intent. Only the JSON of a Brief page contains it.
	Details string
}

// MarshalJSON returns {"intents": […], "pagination": {…}}, with the intents as their operator wrote them. For a Brief page, it returns
// {"view": "brief", "details": …, …}. Each intent then has intent_uid, intent_name, price, safe, and the start of its description: at most
// 300 characters, and no more than keep the whole intent within 960 bytes.
func (p Page) MarshalJSON() ([]byte, error) {
	type pagination struct {
		TotalResults int `json:"total_results"`
		TotalPages   int `json:"total_pages"`
		CurrentPage  int `json:"current_page"`
		PageSize     int `json:"page_size"`
	}
	list := make([]json.RawMessage, len(p.Intents))
	for n, i := range p.Intents {
		list[n] = i.raw
	}
	view, details := "", ""
	if p.Brief {
		view, details = viewBrief, p.Details
		for n, i := range p.Intents {
			var err error
			if list[n], err = i.brief(); err != nil {
				return nil, fmt.Errorf("encoding a page: %w", err)
			}
		}
	}
	out, err := plainJSON(struct {
		View       string            `json:"view,omitempty"`
		Details    string            `json:"details,omitempty"`
		Intents    []json.RawMessage `json:"intents"`
		Pagination pagination        `json:"pagination"`
	}{view, details, list, pagination{p.TotalResults, p.TotalPages, p.CurrentPage, p.PageSize}})
	if err != nil {
		return nil, fmt.Errorf("encoding a page: %w", err)
	}
	return out, nil
}

// brief returns the JSON of the intent in the brief view.
func (i *Intent) brief() ([]byte, error) {
	b := struct {
		UID         string `json:"intent_uid"`
		Name        string `json:"intent_name"`
		Description string `json:"description,omitempty"`
		Price       string `json:"price,omitempty"`
		Safe        bool   `json:"safe"`
	}{i.UID.String(), i.Name, "", i.Price, i.Safe}
	without, err := plainJSON(b)
	if err != nil {
		return nil, err
	}
	b.Description = shorten(i.Description, briefDescription, briefBytes-len(without)-len(`"description":"",`))
	return plainJSON(b)
}

// plainJSON encodes v as JSON, without the escapes that only HTML needs.
func plainJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	w := json.NewEncoder(&out)
	w.SetEscapeHTML(false)
	if err := w.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// shorten returns text if it has at most the given number of characters, and at most room bytes in JSON. Otherwise it truncates text and
// appends an ellipsis, for which it reserves space in room. It truncates at a space if there is one in the second half of the result.
func shorten(text string, characters, room int) string {
	const mark = "…"
	at, word, escapes := 0, 0, len(mark) // word is the end of the last whole word
	for n, r := range text {
		switch {
		case r < ' ', r == '\u2028', r == '\u2029':
			escapes += len(`\u0000`) - utf8.RuneLen(r)
		case r == '"', r == '\\':
			escapes++
		}
		if characters--; characters < 0 || n+utf8.RuneLen(r)+escapes > room {
			if at == 0 {
				return ""
			}
			if word > at/2 {
				at = word
			}
			return strings.TrimRightFunc(text[:at], unicode.IsSpace) + mark
		}
		if unicode.IsSpace(r) {
			word = n
		}
		at = n + utf8.RuneLen(r)
	}
	return text
}

// ErrQuery means that a parameter of a search is invalid.
var ErrQuery = errors.New("the search is invalid")

// queryNames are the parameters of the search endpoint.
var queryNames = []string{
	"query", "service_name", "intent_name", "uid", "namespace", "category", "description", "tags",
	"page", "page_size", "view",
}

// ParseQuery reads the parameters of the search endpoint: query, service_name, intent_name, uid, namespace, category, description, tags
// (comma-separated), page, page_size and view. The view is full, as in UIM core 5.4, or brief; full is the default. ParseQuery ignores
// other parameters. The error wraps ErrQuery, and names the parameter but not its value.
func ParseQuery(values map[string][]string) (Query, error) {
	got := map[string]string{}
	for _, name := range queryNames {
		switch list := values[name]; {
		case len(list) == 0:
		case len(list) > 1 && name != "tags":
			return Query{}, fmt.Errorf("%s must occur once, not %d times: %w", name, len(list), ErrQuery)
		default:
			got[name] = strings.TrimSpace(strings.Join(list, ","))
		}
		if utf8.RuneCountInString(got[name]) > maxQueryText || !utf8.ValidString(got[name]) {
			return Query{}, fmt.Errorf("%s must be text of at most %d characters: %w", name, maxQueryText, ErrQuery)
		}
	}
	q := Query{
		Text: got["query"], ServiceName: got["service_name"], IntentName: got["intent_name"], UID: got["uid"],
		Namespace: got["namespace"], Category: got["category"], Description: got["description"],
		Brief: got["view"] == viewBrief,
	}
	if view := got["view"]; view != "" && view != viewBrief && view != viewFull {
		return Query{}, fmt.Errorf("view must be %s or %s: %w", viewBrief, viewFull, ErrQuery)
	}
	for tag := range strings.SplitSeq(got["tags"], ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			q.Tags = append(q.Tags, tag)
		}
	}
	for name, to := range map[string]*int{"page": &q.Page, "page_size": &q.PageSize} {
		if got[name] == "" {
			continue
		}
		n, err := strconv.Atoi(got[name])
		if err != nil || n < 1 || n > 1_000_000_000 {
			return Query{}, fmt.Errorf("%s must be a positive whole number: %w", name, ErrQuery)
		}
		*to = n
	}
	return q, nil
}

// Search returns one page of the intents that match q. Retired intents do not match. Intents of equal rank are in the order of the
// document; if Text is empty, all intents have the same rank. A page after the last one has no intents.
func (c *Catalog) Search(q Query) Page {
	found := c.index.find(q)
	p := Page{CurrentPage: max(q.Page, 1), PageSize: q.PageSize, TotalResults: len(found), Brief: q.Brief}
	if p.PageSize < 1 {
		p.PageSize = defaultPageSize
	}
	if p.PageSize > MaxPageSize {
		p.PageSize, p.Clamped = MaxPageSize, true
	}
	p.TotalPages = (len(found) + p.PageSize - 1) / p.PageSize
	if p.CurrentPage > p.TotalPages { // also keeps the product below from overflowing
		p.Intents = []*Intent{}
		return p
	}
	from := (p.CurrentPage - 1) * p.PageSize
	p.Intents = make([]*Intent, 0, p.PageSize)
	for _, n := range found[from:min(from+p.PageSize, len(found))] {
		p.Intents = append(p.Intents, c.intents[n])
	}
	return p
}
