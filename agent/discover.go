package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
)

// A Service is one UIM service and what this agent has agreed with it. It is safe for concurrent use.
type Service struct {
	client   *Client
	renewing singleflight.Group

	mu       sync.Mutex
	session  Session
	catalog  *intents.Catalog // nil until needed, where the service was resumed
	warnings problem.List
	foreign  map[string]*intents.Intent // by uid: found by asking, not in agents.json
	prove    map[string]bool            // by uid: the service asked for a proof of key before
}

// Discover finds the agents.json of a service and reads it. The target is its URL, an origin, or a domain:
// then Options.Locate is asked first, and /agents.json and /.well-known/agents.json after it. A file that
// DNS leads to must keep to names its domain vouches for, or it is a *NamespaceError. The error wraps
// ErrTarget or ErrNoService. UIM core 5.3.
func (c *Client) Discover(ctx context.Context, where string) (*Service, error) {
	t, err := parseTarget(where)
	if err != nil {
		return nil, err
	}
	var failures []error
	urls := t.urls
	if t.domain != "" && c.o.Locate != nil {
		located, err := c.o.Locate(ctx, t.domain)
		if err != nil {
			failures = append(failures, fmt.Errorf("DNS of %s: %w", t.domain, err))
		}
		const most = 4
		urls = slices.Concat(located[:min(len(located), most)], urls)
	}
	for n, address := range urls {
		var from *url.URL
		if n < len(urls)-len(t.urls) { // named by DNS, not by the caller
			from, _ = url.Parse(t.urls[0])
		}
		s, err := c.discover(ctx, address, from, t.urls[0])
		if err == nil && from != nil {
			err = c.located(s, t.domain)
		}
		if err == nil {
			return s, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrNoService, errors.Join(failures...))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

func (c *Client) discover(ctx context.Context, address string, from *url.URL, asked string) (*Service, error) {
	catalog, problems, at, err := c.agentsFile(ctx, address, from)
	if err != nil {
		return nil, err
	}
	session := Session{
		Endpoints: endpointsOf(at, catalog), Issuer: issuerOf(catalog), AgentID: c.o.AgentID, KeyID: string(c.key.Thumbprint()),
		Dialect: catalog.Dialect, asked: asked,
	}
	problems = slices.Concat(problems, c.unusable(session.Endpoints, at))
	return &Service{client: c, session: session, catalog: catalog, warnings: problems}, nil
}

// unusable warns of addresses that will be refused when they are used.
func (c *Client) unusable(e Endpoints, at *url.URL) problem.List {
	var list problem.List
	for _, what := range []struct {
		name      string
		addresses []string
	}{{"policy", e.Policy}, {"search", e.Search}, {"execute", e.Execute}, {"agreement", e.Issue}} {
		for _, a := range what.addresses {
			u, err := url.Parse(a)
			if err == nil {
				err = c.fetch.Judge(u, at)
			}
			if err != nil {
				list.Warnf("url", "", "the %s URL cannot be used: %v", what.name, clean(err.Error()))
			}
		}
	}
	return list
}

// agentsFile fetches and reads an agents.json.
func (c *Client) agentsFile(ctx context.Context, address string, from *url.URL) (*intents.Catalog, problem.List, *url.URL, error) {
	had, known := c.copies.of(address)
	answer, err := c.document(ctx, address, from, c.o.MaxDocument, had.etag)
	if err != nil {
		return nil, nil, nil, err
	}
	if known && answer.Status == http.StatusNotModified {
		return had.catalog, had.problems, had.at, nil
	}
	catalog, problems := intents.Parse(answer.Body, intents.Options{})
	if catalog == nil {
		return nil, nil, nil, fmt.Errorf("%w: %s is no agents.json: %s", ErrAnswer, fetch.Origin(answer.URL), clean(problems[0].String()))
	}
	c.copies.keep(address, agentsCopy{answer.Header.Get("ETag"), catalog, problems, answer.URL})
	return catalog, problems, answer.URL, nil
}

// document fetches a JSON document that is there and says that it is one.
// With the ETag of a copy, 304 is an answer too.
func (c *Client) document(ctx context.Context, address string, from *url.URL, most int64, etag string) (fetch.Answer, error) {
	answer, err := c.fetch.Get(ctx, address, fetch.Document{Accept: "application/json, application/ld+json;q=0.9", Max: most, From: from, ETag: etag})
	if err != nil {
		return fetch.Answer{}, err
	}
	if etag != "" && answer.Status == http.StatusNotModified {
		return answer, nil
	}
	if answer.Status != 200 {
		return fetch.Answer{}, fmt.Errorf("asking %s for %s: %w", fetch.Origin(answer.URL), clean(answer.URL.Path), readError(answer))
	}
	if kind := mediaType(answer.Header); !jsonType(kind) {
		return fetch.Answer{}, fmt.Errorf("%w: %s at %s is %s, not JSON", ErrAnswer, clean(answer.URL.Path), fetch.Origin(answer.URL), clean(kind))
	}
	return answer, nil
}

// issuerOf is the name in which a service makes contracts: uim-issuer, else the namespace of its first
// intent, else the host of its own URL.
func issuerOf(c *intents.Catalog) string {
	if c.Issuer != "" {
		return c.Issuer
	}
	if spaces := c.Namespaces(); len(spaces) > 0 {
		return spaces[0]
	}
	return hostOf(c.Service.URL)
}

// String names the service and says nothing of the PAT.
func (s *Service) String() string {
	u := s.Endpoints().Agents
	return "UIM service " + s.Issuer() + " (" + u + ")"
}

// Format writes String, whatever the verb: none may print a secret.
func (s *Service) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// Endpoints are where the service is asked for what.
func (s *Service) Endpoints() Endpoints { return s.Session().Endpoints }

// Issuer is the name agreements and proofs are made out to.
func (s *Service) Issuer() string { return s.Session().Issuer }

// Warnings say what of the agents.json could not be understood.
func (s *Service) Warnings() problem.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Catalog is what the service offers. Of a resumed Service it is fetched when first asked for, and what
// it then says of endpoints and issuer changes nothing: those stay as they were agreed under.
func (s *Service) Catalog(ctx context.Context) (*intents.Catalog, error) {
	s.mu.Lock()
	catalog, at := s.catalog, s.session.Endpoints.Agents
	s.mu.Unlock()
	if catalog != nil {
		return catalog, nil
	}
	catalog, problems, _, err := s.client.agentsFile(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.warnings = catalog, problems
	return catalog, nil
}
