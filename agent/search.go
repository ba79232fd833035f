package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Query is a query of the search endpoint. See UIM core, section 5.4.
type Query = intents.Query

const maxPage = 8 << 20

// Search queries the service's search endpoint; if the service has none, Search reads agents.json and searches it locally. It returns
// complete intents, unless the query asks for the brief view, which omits the parameters. The error wraps an *Error, ErrAnswer or an error
// of package fetch.
func (s *Service) Search(ctx context.Context, q Query) (intents.Page, error) {
	from := s.agentsURL()
	for _, address := range s.Endpoints().Search {
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		values := u.Query()
		for name, value := range queryValues(q) {
			values.Set(name, value)
		}
		u.RawQuery = values.Encode()
		answer, err := s.client.fetch.Get(ctx, u.String(), fetch.Document{Max: maxPage, From: from})
		if err == nil && answer.Status == http.StatusBadRequest { // a service that does not know views may reject the parameter
			values.Del("view")
			u.RawQuery = values.Encode()
			answer, err = s.client.fetch.Get(ctx, u.String(), fetch.Document{Max: maxPage, From: from})
		}
		if err != nil {
			return intents.Page{}, fmt.Errorf("searching: %w", err)
		}
		if pathMissing(answer) {
			continue
		}
		if answer.Status != http.StatusOK {
			return intents.Page{}, fmt.Errorf("searching: %w", readError(answer))
		}
		return s.page(answer, q)
	}
	catalog, err := s.Catalog(ctx)
	if err != nil {
		return intents.Page{}, err
	}
	return catalog.Search(q), nil
}

func queryValues(q Query) map[string]string {
	all := map[string]string{
		"query": q.Text, "service_name": q.ServiceName, "intent_name": q.IntentName, "uid": q.UID, "namespace": q.Namespace,
		"category": q.Category, "description": q.Description, "tags": strings.Join(q.Tags, ","), "view": "full",
	}
	if q.Brief {
		all["view"] = "brief"
	}
	if q.Page > 0 {
		all["page"] = strconv.Itoa(q.Page)
	}
	if q.PageSize > 0 {
		all["page_size"] = strconv.Itoa(q.PageSize)
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}

// page parses a response of the search endpoint: {"intents": […], "pagination": {…}}, or the list alone.
func (s *Service) page(a fetch.Answer, q Query) (intents.Page, error) {
	body := a.Body
	tree, err := strictjson.Decode(body)
	if err != nil {
		return intents.Page{}, fmt.Errorf("searching: %w", answerError(err))
	}
	if _, ok := tree.([]any); ok {
		body = fmt.Appendf(nil, `{"intents":%s}`, body)
		tree = map[string]any{}
	}
	catalog, problems := intents.Parse(body, intents.Options{})
	if catalog == nil {
		return intents.Page{}, fmt.Errorf("searching: %w: %s", ErrAnswer, clean(problems[0].String()))
	}
	found := catalog.Intents()
	outer, _ := tree.(map[string]any)
	brief := outer["view"] == "brief"
	if !brief {
		s.keepFound(found)
	}
	p := intents.Page{Brief: brief, Intents: found, TotalResults: len(found), TotalPages: 1, CurrentPage: max(q.Page, 1), PageSize: len(found)}
	pagination, _ := outer["pagination"].(map[string]any)
	for name, to := range map[string]*int{
		"total_results": &p.TotalResults, "total_pages": &p.TotalPages, "current_page": &p.CurrentPage, "page_size": &p.PageSize,
	} {
		if n, ok := pagination[name].(json.Number); ok {
			if i, err := strconv.Atoi(n.String()); err == nil && i >= 0 {
				*to = i
			}
		}
	}
	return p, nil
}

const maxRemembered = 1000

// keepFound caches found intents, which agents.json may not list, so that calling one needs no further request. It keeps at most
// maxRemembered intents: before it would keep more, it drops those of earlier searches.
func (s *Service) keepFound(found []*intents.Intent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unlisted == nil || len(s.unlisted)+len(found) > maxRemembered {
		s.unlisted = map[string]*intents.Intent{}
	}
	for _, in := range found[:min(len(found), maxRemembered)] {
		s.unlisted[in.UID.String()] = in
	}
}

// lookup finds an intent by its UID. It returns false if uid is malformed, or the catalogue does not have the intent.
func lookup(c *intents.Catalog, uid string) (*intents.Intent, bool) {
	parsed, err := intents.ParseUID(uid)
	if err != nil {
		return nil, false
	}
	return c.Lookup(parsed)
}

// Intent returns the description of one intent, from agents.json or from the service's intent endpoint. If the service does not have the
// intent, the error wraps an *Error (ErrIntentNotFound, ErrVersionConflict).
func (s *Service) Intent(ctx context.Context, uid string) (*intents.Intent, error) {
	catalog, err := s.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if in, ok := lookup(catalog, uid); ok {
		return in, nil
	}
	s.mu.Lock()
	known := s.unlisted[uid]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	from := s.agentsURL()
	var refusal error = &Error{Status: http.StatusNotFound, Reason: string(ErrIntentNotFound), Message: "the service has no such intent"}
	for _, address := range s.Endpoints().Intents {
		answer, err := s.client.fetch.Get(ctx, address+url.PathEscape(uid), fetch.Document{Max: maxPage, From: from})
		if err != nil {
			return nil, fmt.Errorf("requesting the intent: %w", err)
		}
		if answer.Status == http.StatusOK {
			return s.oneIntent(answer, uid)
		}
		if e := readError(answer); e.Reason != "" && !pathMissing(answer) {
			refusal = e
			break
		}
	}
	return nil, fmt.Errorf("requesting the intent: %w", refusal)
}

func (s *Service) oneIntent(a fetch.Answer, uid string) (*intents.Intent, error) {
	if _, err := strictjson.DecodeObject(a.Body); err != nil { // the body becomes part of another document
		return nil, fmt.Errorf("requesting the intent: %w", answerError(err))
	}
	catalog, problems := intents.Parse(fmt.Appendf(nil, `{"intents":[%s]}`, a.Body), intents.Options{})
	if catalog == nil {
		return nil, fmt.Errorf("requesting the intent: %w: %s", ErrAnswer, clean(problems[0].String()))
	}
	in, ok := lookup(catalog, uid)
	if !ok {
		return nil, fmt.Errorf("requesting the intent: %w: the body describes a different intent", ErrAnswer)
	}
	s.keepFound([]*intents.Intent{in})
	return in, nil
}
