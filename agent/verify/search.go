package verify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A page is the response to a search.
type page struct {
	answer     fetch.Answer
	intents    []map[string]any
	pagination map[string]any
}

func (p page) number(name string) (int, bool) {
	n, ok := p.pagination[name].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n.String())
	return i, err == nil && i >= 0
}

// search sends a query, which consists of alternating names and values. If it returns no page, the finding states the reason.
func (v *verification) search(ctx context.Context, query ...string) (page, finding) {
	u, err := url.Parse(v.searchURL)
	if err != nil {
		return page{}, point.Failed(err)
	}
	values := u.Query()
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	u.RawQuery = values.Encode()
	a, err := v.get(ctx, u.String(), maxDocument)
	switch {
	case err != nil:
		return page{}, point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return page{answer: a}, point.ServerError(a)
	case a.Status != http.StatusOK:
		return page{answer: a}, wrong("the search endpoint responds with %d", a.Status)
	}
	p := page{answer: a}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return p, wrong("%v", err)
	}
	list, ok := tree["intents"].([]any)
	if !ok {
		return p, wrong("the response has no list of intents")
	}
	for i, item := range list {
		m, _ := item.(map[string]any)
		if _, err := intents.ParseUID(uidOf(m)); err != nil {
			return p, wrong("/intents/%d: %v", i, err)
		}
		p.intents = append(p.intents, m)
	}
	p.pagination, _ = tree["pagination"].(map[string]any)
	return p, pass
}

func (v *verification) searchAnswers(ctx context.Context) finding {
	if v.service == nil {
		return skipped("agents cannot use this agents.json: %v", v.findErr)
	}
	last := skipped("the service has no search endpoint, which is optional")
	for _, address := range v.service.Endpoints().Search {
		a, err := v.get(ctx, address, maxDocument)
		switch {
		case err == nil && a.Status == http.StatusOK:
			v.searchURL = address
			return holds("%s", address)
		case v.Catalog.Discovery == "":
		case err != nil:
			last = point.Failed(err)
		case a.Status >= http.StatusInternalServerError:
			last = point.ServerError(a)
		default:
			last = wrong("uim-api-discovery responds with %d", a.Status)
		}
	}
	return last
}

func (v *verification) searchShape(ctx context.Context) finding {
	p, f := v.search(ctx)
	v.searchPage = p
	if f.Outcome == Holds && len(p.intents) == 0 {
		return wrong("a search without criteria finds nothing")
	}
	return f
}

// searchSame requests complete intents. Without the parameter view, a service may shorten them.
func (v *verification) searchSame(ctx context.Context) finding {
	p, f := v.search(ctx, "view", "full")
	if f.Outcome != Holds {
		p = v.searchPage // it does not support views
	}
	var bad []string
	for _, m := range p.intents {
		published := v.published(uidOf(m))
		if published == nil {
			continue // the search may find intents that are not in agents.json
		}
		one, errOne := strictjson.Canonical(published)
		other, errOther := strictjson.Canonical(m)
		if errOne != nil || errOther != nil || string(one) != string(other) {
			bad = append(bad, uidOf(m))
		}
	}
	return point.WrongIfAny(bad)
}

// published returns the intent with this uid in agents.json, or nil if there is none.
func (v *verification) published(uid string) (found map[string]any) {
	v.eachIntent(func(_ string, m map[string]any) {
		if uidOf(m) == uid {
			found = m
		}
	})
	return found
}

// member returns a member of a found intent, from the search or from agents.json.
func (v *verification) member(m map[string]any, name string) any {
	if message, ok := m[name]; ok {
		return message
	}
	return v.published(uidOf(m))[name]
}

func (v *verification) searchPagination(context.Context) finding {
	p := v.searchPage
	if p.pagination == nil {
		return missing("pagination is missing")
	}
	numbers := map[string]int{}
	for _, name := range []string{"total_results", "total_pages", "current_page", "page_size"} {
		n, ok := p.number(name)
		if !ok {
			return wrong("pagination has no integer %s", name)
		}
		numbers[name] = n
	}
	total, size := numbers["total_results"], numbers["page_size"]
	switch {
	case size < 1 || len(p.intents) > size:
		return wrong("there are %d intents on a page of size %d", len(p.intents), size)
	case numbers["current_page"] != 1:
		return wrong("the first page has the number %d", numbers["current_page"])
	case total < len(p.intents):
		return wrong("there are %d intents on the page, but total_results is %d", len(p.intents), total)
	case numbers["total_pages"] != (total+size-1)/size && total > 0:
		return wrong("%d results on pages of size %d do not make %d pages", total, size, numbers["total_pages"])
	}
	return pass
}

func (v *verification) searchPageSize(ctx context.Context) finding {
	if total, _ := v.searchPage.number("total_results"); total < 2 {
		return skipped("there are fewer than two intents")
	}
	p, f := v.search(ctx, "page_size", "1", "page", "1")
	if f.Outcome != Holds {
		return f
	}
	if size, _ := p.number("page_size"); len(p.intents) != 1 || size != 1 {
		return wrong("with page_size=1, the response has %d intents and a page_size of %d", len(p.intents), size)
	}
	return pass
}

func (v *verification) searchPages(ctx context.Context) finding {
	one, f := v.search(ctx, "page_size", "1", "page", "1")
	if f.Outcome != Holds {
		return f
	}
	two, f := v.search(ctx, "page_size", "1", "page", "2")
	if f.Outcome != Holds {
		return f
	}
	at, _ := two.number("current_page")
	if at != 2 || len(one.intents) != 1 || len(two.intents) != 1 || uidOf(one.intents[0]) == uidOf(two.intents[0]) {
		return wrong("the second page does not continue after the first")
	}
	return pass
}

func (v *verification) searchBound(ctx context.Context) finding {
	const most = 100
	p, f := v.search(ctx, "page_size", "100000")
	if p.answer.Status == http.StatusBadRequest {
		return pass
	}
	if f.Outcome != Holds {
		return f
	}
	if size, _ := p.number("page_size"); size > most || len(p.intents) > most {
		return wrong("page_size=100000 is accepted")
	}
	return pass
}

func (v *verification) searchBadPageSize(ctx context.Context) finding {
	p, f := v.search(ctx, "page_size", "many")
	switch {
	case p.answer.Status == http.StatusBadRequest:
		return pass
	case f.Outcome == Holds:
		return wrong("page_size=many is accepted")
	}
	return f
}
