package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// nowhere is the name of an intent that no service has.
const nowhere = "uimgate-verify-no-such-intent"

// A page is what a search answered.
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

// find searches; the finding holds, or says why there is no page.
func (v *visit) findIntents(ctx context.Context, query ...string) (page, finding) {
	u, err := url.Parse(v.searchURL)
	if err != nil {
		return page{}, broken(err)
	}
	values := u.Query()
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	u.RawQuery = values.Encode()
	a, err := v.get(ctx, u.String(), maxDocument)
	switch {
	case err != nil:
		return page{}, broken(err)
	case a.Status >= http.StatusInternalServerError:
		return page{answer: a}, failed(a)
	case a.Status != http.StatusOK:
		return page{answer: a}, wrong("the search is answered %d", a.Status)
	}
	p := page{answer: a}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return p, wrong("%v", err)
	}
	list, ok := tree["intents"].([]any)
	if !ok {
		return p, wrong("the answer has no list of intents")
	}
	for i, item := range list {
		m, _ := item.(map[string]any)
		if _, err := intents.ParseUID(uidOf(m)); err != nil {
			return p, wrong("/intents/%d: %v", i, err)
		}
		p.intents = append(p.intents, m)
	}
	p.pagination, _ = tree["pagination"].(map[string]any)
	return p, good
}

func (v *visit) searchAnswers(ctx context.Context) finding {
	if v.service == nil {
		return skipped("no agent reads this agents.json: %v", v.findErr)
	}
	last := skipped("there is no search endpoint, which is optional")
	for _, address := range v.service.Endpoints().Search {
		a, err := v.get(ctx, address, maxDocument)
		switch {
		case err == nil && a.Status == http.StatusOK:
			v.searchURL = address
			return holds("%s", address)
		case v.catalog.Discovery == "":
		case err != nil:
			last = broken(err)
		case a.Status >= http.StatusInternalServerError:
			last = failed(a)
		default:
			last = wrong("uim-api-discovery answers %d", a.Status)
		}
	}
	return last
}

func (v *visit) searchShape(ctx context.Context) finding {
	p, f := v.findIntents(ctx)
	v.results = p
	if f.outcome == Holds && len(p.intents) == 0 {
		return wrong("searching for nothing in particular finds nothing")
	}
	return f
}

func (v *visit) searchSame(context.Context) finding {
	own := map[string]any{}
	v.written(func(_ string, m map[string]any) { own[uidOf(m)] = m })
	var bad []string
	for _, m := range v.results.intents {
		published, ok := own[uidOf(m)]
		if !ok {
			continue // search may know more than the file
		}
		one, errOne := strictjson.Canonical(published)
		other, errOther := strictjson.Canonical(m)
		if errOne != nil || errOther != nil || string(one) != string(other) {
			bad = append(bad, uidOf(m))
		}
	}
	return offenders(bad)
}

func (v *visit) searchPagination(context.Context) finding {
	p := v.results
	if p.pagination == nil {
		return missing("there is no pagination")
	}
	numbers := map[string]int{}
	for _, name := range []string{"total_results", "total_pages", "current_page", "page_size"} {
		n, ok := p.number(name)
		if !ok {
			return wrong("pagination has no whole number %s", name)
		}
		numbers[name] = n
	}
	total, size := numbers["total_results"], numbers["page_size"]
	switch {
	case size < 1 || len(p.intents) > size:
		return wrong("%d intents on a page of %d", len(p.intents), size)
	case numbers["current_page"] != 1:
		return wrong("the first page says it is number %d", numbers["current_page"])
	case total < len(p.intents):
		return wrong("%d intents of %d", len(p.intents), total)
	case numbers["total_pages"] != (total+size-1)/size && total > 0:
		return wrong("%d results on pages of %d are not %d pages", total, size, numbers["total_pages"])
	}
	return good
}

func (v *visit) searchPageSize(ctx context.Context) finding {
	if total, _ := v.results.number("total_results"); total < 2 {
		return skipped("there is one intent only")
	}
	p, f := v.findIntents(ctx, "page_size", "1", "page", "1")
	if f.outcome != Holds {
		return f
	}
	if size, _ := p.number("page_size"); len(p.intents) != 1 || size != 1 {
		return wrong("page_size=1 gets %d intents, and is told as %d", len(p.intents), size)
	}
	return good
}

func (v *visit) searchPages(ctx context.Context) finding {
	one, f := v.findIntents(ctx, "page_size", "1", "page", "1")
	if f.outcome != Holds {
		return f
	}
	two, f := v.findIntents(ctx, "page_size", "1", "page", "2")
	if f.outcome != Holds {
		return f
	}
	if at, _ := two.number("current_page"); at != 2 || len(one.intents) != 1 || len(two.intents) != 1 || uidOf(one.intents[0]) == uidOf(two.intents[0]) {
		return wrong("the second page is not another one")
	}
	return good
}

func (v *visit) searchBound(ctx context.Context) finding {
	const most = 100
	p, f := v.findIntents(ctx, "page_size", "100000")
	if p.answer.Status == http.StatusBadRequest {
		return good
	}
	if f.outcome != Holds {
		return f
	}
	if size, _ := p.number("page_size"); size > most || len(p.intents) > most {
		return wrong("page_size=100000 is taken")
	}
	return good
}

func (v *visit) searchBadPageSize(ctx context.Context) finding {
	p, f := v.findIntents(ctx, "page_size", "many")
	switch {
	case p.answer.Status == http.StatusBadRequest:
		return good
	case f.outcome == Holds:
		return wrong("page_size=many is taken")
	}
	return f
}

// searched makes a search that must find in, and nothing that does not match.
func (v *visit) searched(ctx context.Context, in *intents.Intent, name, value string, match func(map[string]any) bool) finding {
	p, f := v.findIntents(ctx, name, value)
	if f.outcome != Holds {
		return f
	}
	total, counted := p.number("total_results")
	found := false
	for _, m := range p.intents {
		if !match(m) {
			return wrong("it finds %s, which does not match", uidOf(m))
		}
		found = found || uidOf(m) == in.UID.String()
	}
	if !found && (!counted || total <= len(p.intents)) {
		return wrong("it does not find %s", in.UID)
	}
	return good
}

// example is an intent that search is tried with: one that is not retired, and for which has is true.
func (v *visit) example(has func(*intents.Intent) bool) *intents.Intent {
	list := v.catalog.Intents()
	i := slices.IndexFunc(list, func(in *intents.Intent) bool { return !in.Retired && has(in) })
	if i < 0 {
		return nil
	}
	return list[i]
}

func (v *visit) searchUID(ctx context.Context) finding {
	in := v.example(func(*intents.Intent) bool { return true })
	if in == nil {
		return skipped("there is no intent to look for")
	}
	return v.searched(ctx, in, "uid", in.UID.String(), func(m map[string]any) bool { return uidOf(m) == in.UID.String() })
}

func (v *visit) searchName(ctx context.Context) finding {
	names := map[string]string{}
	v.written(func(_ string, m map[string]any) { names[uidOf(m)], _ = m["intent_name"].(string) })
	in := v.example(func(in *intents.Intent) bool { return names[in.UID.String()] != "" })
	if in == nil {
		return skipped("no intent has an intent_name")
	}
	name := names[in.UID.String()]
	return v.searched(ctx, in, "intent_name", name, func(m map[string]any) bool {
		text, _ := m["intent_name"].(string)
		return text == "" || strings.Contains(strings.ToLower(text), strings.ToLower(name))
	})
}

func (v *visit) searchTags(ctx context.Context) finding {
	in := v.example(func(in *intents.Intent) bool { return len(in.Tags) > 0 && !strings.Contains(in.Tags[0], ",") })
	if in == nil {
		return skipped("no intent has tags")
	}
	return v.searched(ctx, in, "tags", in.Tags[0], func(m map[string]any) bool {
		return slices.ContainsFunc(listed(m["tags"]), func(t any) bool { return strings.EqualFold(fmt.Sprint(t), in.Tags[0]) })
	})
}

func (v *visit) searchCategory(ctx context.Context) finding {
	in := v.example(func(in *intents.Intent) bool { return in.Category != "" })
	if in == nil {
		return skipped("no intent has a category")
	}
	return v.searched(ctx, in, "category", in.Category, func(m map[string]any) bool {
		text, _ := m["category"].(string)
		return strings.EqualFold(text, in.Category)
	})
}

func (v *visit) searchDescription(ctx context.Context) finding {
	var word string
	in := v.example(func(in *intents.Intent) bool {
		for w := range strings.FieldsSeq(in.Description) {
			if len(w) > len(word) && !strings.ContainsFunc(w, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
				word = w
			}
		}
		return word != ""
	})
	if in == nil {
		return skipped("no description has a plain word")
	}
	return v.searched(ctx, in, "description", word, func(map[string]any) bool { return true })
}

func (v *visit) searchNothing(ctx context.Context) finding {
	p, f := v.findIntents(ctx, "uid", v.noIntent())
	if p.answer.Status == http.StatusNotFound {
		return good
	}
	if f.outcome != Holds {
		return f
	}
	if len(p.intents) > 0 {
		return wrong("an intent that is not there finds %s", uidOf(p.intents[0]))
	}
	return good
}

// noIntent is a uid that the service could have and has not.
func (v *visit) noIntent() string {
	space := "example.com"
	if spaces := v.catalog.Namespaces(); len(spaces) > 0 {
		space = spaces[0]
	}
	return space + ":" + nowhere + ":v1"
}

func (v *visit) intentFound(ctx context.Context) finding {
	if v.service == nil {
		return skipped("no agent reads this agents.json: %v", v.findErr)
	}
	in := v.example(func(*intents.Intent) bool { return true })
	if in == nil {
		return skipped("there is no intent to ask for")
	}
	last := missing("there is nothing to ask")
	for _, address := range v.service.Endpoints().Intents {
		a, err := v.get(ctx, address+url.PathEscape(in.UID.String()), maxAnswer)
		switch {
		case err != nil:
			last = broken(err)
		case a.Status >= http.StatusInternalServerError:
			last = failed(a)
		case a.Status != http.StatusOK:
			last = missing("%s answers %d", shown(a.URL.Path), a.Status)
		default:
			v.intentURL = address
			m, err := strictjson.DecodeObject(a.Body)
			if err != nil {
				return wrong("%v", err)
			}
			if uidOf(m) != in.UID.String() {
				return wrong("it is another intent, or wrapped in something")
			}
			return good
		}
	}
	return last
}

func (v *visit) intentMissing(ctx context.Context) finding {
	a, err := v.get(ctx, v.intentURL+url.PathEscape(v.noIntent()), maxAnswer)
	if err != nil {
		return broken(err)
	}
	return status(a, http.StatusNotFound)
}
