package page

import (
	"cmp"
	"context"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
)

const (
	frontIntents  = 20     // intents on one page
	frontArticles = 48_000 // bytes of intents that are shown in full; further intents are shown without details
	frontTopTags  = 12     // tags that are always visible
	frontRareTags = 60     // tags under "More tags"
	maxSearch     = 200    // characters of a search text or tag
)

// A Query selects the intents on the front page.
type Query struct {
	Text, Tag string
	Intent    string // the uid of a single intent; empty: any
	Page      int    // from 1
}

// ParseQuery reads the parameters q, tag, intent and page. If q is empty, it reads query instead, as the search endpoint does. It ignores
// invalid values, so that there is always a page to show.
func ParseQuery(values url.Values) Query {
	get := func(name string) string {
		text := strings.TrimSpace(values.Get(name))
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxSearch {
			return ""
		}
		return text
	}
	q := Query{Text: cmp.Or(get("q"), get("query")), Tag: get("tag"), Intent: strings.TrimSpace(values.Get("intent")), Page: 1}
	if n, err := strconv.Atoi(values.Get("page")); err == nil && n > 1 && n < 1_000_000 {
		q.Page = n
	}
	return q
}

// IsZero reports whether the query is empty and selects the first page.
func (q Query) IsZero() bool { return q == Query{Page: 1} || q == Query{} }

// address returns the relative URL of a page of the query's results.
func (q Query) address(page int) string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "tag": q.Tag} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if page > 1 {
		values.Set("page", strconv.Itoa(page))
	}
	return "?" + values.Encode() + "#intents"
}

// A foundView is the template data of the intents that a query finds.
type foundView struct {
	Query
	Cards          []template.HTML
	Count, Total   int    // number of intents that the query finds, and of all offered intents
	From, To       int    // positions of the first and last shown intent in the result, from 1
	Pages          int    // the number of pages of the result
	Before, After  string // URLs of the previous and next page; may be empty
	All            string // URL of the page with all intents
	Tags, RareTags []tagView
	MoreTags       int
	OnlyOne, Empty bool
}

// A tagView is a tag with its number of intents.
type tagView struct {
	Name    string
	Count   int
	Address string // URL of the intents with the tag or, if it is Chosen, of the query without the tag
	Chosen  bool
}

// found returns the intents that a query finds. After frontArticles bytes, it shows further intents without their details.
func (f *Front) found(ctx context.Context, q Query) (*foundView, error) {
	s := f.service
	q.Page = max(q.Page, 1)
	search := intents.Query{Text: q.Text, UID: q.Intent, Page: q.Page, PageSize: frontIntents}
	if q.Tag != "" {
		search.Tags = []string{q.Tag}
	}
	result := s.Catalog.Search(search)
	if last := max(result.TotalPages, 1); q.Page > last {
		q.Page, search.Page = last, last
		result = s.Catalog.Search(search)
	}
	v := &foundView{
		Query: q, Count: result.TotalResults, Total: f.total, Pages: result.TotalPages, All: Query{}.address(1),
		OnlyOne: q.Intent != "", Empty: result.TotalResults == 0,
	}
	v.From = (result.CurrentPage-1)*result.PageSize + 1
	v.To = v.From + len(result.Intents) - 1
	if q.Page > 1 {
		v.Before = q.address(q.Page - 1)
	}
	if q.Page < result.TotalPages {
		v.After = q.address(q.Page + 1)
	}
	v.choose(f.tags)
	room := frontArticles
	for n, found := range result.Intents {
		in, err := s.Intent(found.UID.String())
		if err != nil {
			continue // cannot happen: the catalogue contains only intents of this service
		}
		view := newIntentView(ctx, s, in)
		view.Open = len(result.Intents) <= 3
		card, err := fragment("intent", view)
		if err != nil {
			return nil, err
		}
		if len(card) > room && n > 0 {
			view.Brief = true
			if card, err = fragment("intent", view); err != nil {
				return nil, err
			}
		}
		room -= len(card)
		v.Cards = append(v.Cards, card)
	}
	return v, nil
}

// choose sorts the tags into those that are always visible, including the chosen tag, those under "More tags", and a number of further
// tags.
func (v *foundView) choose(all []tagView) {
	for n, t := range all {
		t.Address = Query{Text: v.Text, Tag: t.Name}.address(1)
		if t.Chosen = strings.EqualFold(t.Name, v.Tag); t.Chosen {
			t.Address = Query{Text: v.Text}.address(1)
		}
		switch {
		case n < frontTopTags || t.Chosen:
			v.Tags = append(v.Tags, t)
		case len(v.RareTags) < frontRareTags:
			v.RareTags = append(v.RareTags, t)
		default:
			v.MoreTags++
		}
	}
}

// tagsOf returns the tags of the offered intents, each with its number of intents, most frequent first. Tags that differ only in case count
// as one. It omits tags that a search cannot find.
func tagsOf(offered []*service.Intent) []tagView {
	counts := map[string]*tagView{}
	for _, in := range offered {
		seen := map[string]bool{}
		for _, tag := range in.Tags {
			key := strings.ToLower(strings.TrimSpace(tag))
			if key == "" || seen[key] || strings.Contains(key, ",") || utf8.RuneCountInString(key) > maxSearch {
				continue
			}
			seen[key] = true
			if counts[key] == nil {
				counts[key] = &tagView{Name: strings.TrimSpace(tag)}
			}
			counts[key].Count++
		}
	}
	list := make([]tagView, 0, len(counts))
	for _, t := range counts {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b tagView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return list
}
