package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/problem"
)

// Discover finds the agents.json of a service and parses it. The target is the URL of the file, an origin, or a domain. For an origin or a
// domain, Discover tries /agents.json and then /.well-known/agents.json; for a domain, Discover first tries the first four URLs that
// Options.Locate returns. A file found by DNS may only use names that its domain vouches for; otherwise Discover rejects the file with a
// *NamespaceError. Every error wraps ErrTarget or ErrNoService. See UIM core, section 5.3.
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
			failures = append(failures, fmt.Errorf("DNS records of %s: %w", t.domain, err))
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
			err = c.checkNamespaces(ctx, s, t.domain)
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

func (c *Client) discover(ctx context.Context, address string, from *url.URL, request string) (*Service, error) {
	catalog, problems, at, err := c.agentsFile(ctx, address, from)
	if err != nil {
		return nil, err
	}
	session := Session{
		Endpoints: endpointsOf(at, catalog), Issuer: issuerOf(catalog), AgentID: c.id, KeyID: c.key.Thumbprint(),
		Dialect: catalog.Dialect, kept: kept{Target: request},
	}
	problems = slices.Concat(problems, c.unusableEndpoints(session.Endpoints, at))
	return &Service{client: c, session: session, catalog: catalog, warnings: problems}, nil
}

// unusableEndpoints returns a warning for each address that package fetch will refuse to use.
func (c *Client) unusableEndpoints(e Endpoints, at *url.URL) problem.List {
	var list problem.List
	for _, what := range []struct {
		name      string
		addresses []string
	}{{"policy", e.Policy}, {"search", e.Search}, {"execute", e.Execute}, {"agreement", e.Issue}} {
		for _, a := range what.addresses {
			u, err := url.Parse(a)
			if err == nil {
				err = c.fetch.Check(u, at)
			}
			if err != nil {
				list.Warnf("url", "", "the %s URL cannot be used: %v", what.name, clean(err.Error()))
			}
		}
	}
	return list
}

// agentsFile fetches and parses an agents.json, and returns its problems and, after redirects, its final URL. If the document has not
// changed, agentsFile returns the cached result.
func (c *Client) agentsFile(ctx context.Context, address string, from *url.URL) (*intents.Catalog, problem.List, *url.URL, error) {
	had, known := c.agents.get(address)
	answer, err := c.document(ctx, address, from, c.o.MaxDocument, had.etag)
	if err != nil {
		return nil, nil, nil, err
	}
	if known && answer.Status == http.StatusNotModified {
		return had.catalog, had.problems, had.at, nil
	}
	catalog, problems := intents.Parse(answer.Body, intents.Options{Now: c.o.Now()})
	if catalog == nil {
		return nil, nil, nil, fmt.Errorf("%w: %s did not send an agents.json: %s",
			ErrAnswer, fetch.Origin(answer.URL), clean(problems[0].String()))
	}
	c.agents.put(address, cachedAgents{answer.Header.Get("ETag"), catalog, problems, answer.URL})
	return catalog, problems, answer.URL, nil
}

// document fetches a document whose status is 200 and whose type is JSON. If etag is the ETag of a cached copy, document also accepts
// status 304.
func (c *Client) document(ctx context.Context, address string, from *url.URL, maxBytes int64, etag string) (fetch.Answer, error) {
	answer, err := c.fetch.Get(ctx, address, fetch.Document{
		Accept: "application/json, application/ld+json;q=0.9", Max: maxBytes, From: from, ETag: etag,
	})
	if err != nil {
		return fetch.Answer{}, err
	}
	if etag != "" && answer.Status == http.StatusNotModified {
		return answer, nil
	}
	if answer.Status != 200 {
		return fetch.Answer{}, fmt.Errorf("a request to %s for %s: %w", fetch.Origin(answer.URL), clean(answer.URL.Path), readError(answer))
	}
	if kind := mediaType(answer.Header); !jsonType(kind) {
		return fetch.Answer{}, fmt.Errorf("%w: %s at %s is %s, not JSON",
			ErrAnswer, clean(answer.URL.Path), fetch.Origin(answer.URL), clean(kind))
	}
	return answer, nil
}

// issuerOf returns the name of the service in agreements: uim-issuer, or the namespace of its first intent, or the host of its
// own URL.
func issuerOf(c *intents.Catalog) string {
	if c.Issuer != "" {
		return c.Issuer
	}
	if spaces := c.Namespaces(); len(spaces) > 0 {
		return spaces[0]
	}
	return hostOf(c.Service.URL)
}
