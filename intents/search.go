package intents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// defaultPageSize is the page size of a search that names none.
	defaultPageSize = 20
	// MaxPageSize is the largest page size.
	MaxPageSize  = 100
	maxQueryText = 500 // characters of one filter
	maxWords     = 20  // of query and description
)

// A Query is a search for intents. Its filters are ANDed; empty filters match everything. Letters match in any case.
// UIM core 5.4.
type Query struct {
	Text        string   // ranked: intents that contain more of its words, in places of larger weight, come first
	ServiceName string   // part of the service's name
	IntentName  string   // part of intent_name
	UID         string   // the UID, or its namespace:name
	Namespace   string   // exactly
	Category    string   // exactly
	Description string   // words that must all occur in the description
	Tags        []string // tags that must all be present
	Page        int      // from 1; 0 is 1
	PageSize    int      // 0 is 20; above MaxPageSize is MaxPageSize
}

// A Page is one page of the answer to a Query. Its JSON is the wire form of the search endpoint.
type Page struct {
	Intents      []*Intent
	TotalResults int
	TotalPages   int
	CurrentPage  int
	PageSize     int
	Clamped      bool // the requested page size was above MaxPageSize; PageSize is the one used
}

// MarshalJSON writes {"intents": […], "pagination": {…}}, the intents as their operator wrote them.
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
	out, err := json.Marshal(struct {
		Intents    []json.RawMessage `json:"intents"`
		Pagination pagination        `json:"pagination"`
	}{list, pagination{p.TotalResults, p.TotalPages, p.CurrentPage, p.PageSize}})
	if err != nil {
		return nil, fmt.Errorf("writing a page: %w", err)
	}
	return out, nil
}

// ErrQuery means that a parameter of a search has no valid meaning.
var ErrQuery = errors.New("this search cannot be made")

// queryNames are the parameters of the search endpoint.
var queryNames = []string{
	"query", "service_name", "intent_name", "uid", "namespace", "category", "description", "tags",
	"page", "page_size",
}

// ParseQuery reads the parameters of the search endpoint: query, service_name, intent_name, uid,
// namespace, category, description, tags (comma-separated), page and page_size. Others are ignored.
// The error wraps ErrQuery and names the parameter.
func ParseQuery(values map[string][]string) (Query, error) {
	got := map[string]string{}
	for _, name := range queryNames {
		switch list := values[name]; {
		case len(list) == 0:
		case len(list) > 1 && name != "tags":
			return Query{}, fmt.Errorf("%s is given %d times: %w", name, len(list), ErrQuery)
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
			return Query{}, fmt.Errorf("%s must be a whole number from 1: %w", name, ErrQuery)
		}
		*to = n
	}
	return q, nil
}

// Search answers a Query from the index made at load. It does not return retired intents. Intents of equal rank, and
// all of them where Text is empty, are in the order of the document.
func (c *Catalog) Search(q Query) Page {
	found := c.index.find(q)
	p := Page{CurrentPage: max(q.Page, 1), PageSize: q.PageSize, TotalResults: len(found)}
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
