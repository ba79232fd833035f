// Package almanac finds the endpoints of agents of the uAgents protocol in a directory called an Almanac. Each agent registers its
// endpoints there in a signed statement. A Client uses the Almanacs of others; a Registry is an Almanac.
package almanac

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Path is the path of an Almanac, below its base URL.
const Path = "/v1/almanac"

const (
	// requestTimeout is the timeout for one request to an Almanac.
	requestTimeout = 5 * time.Second
	// remembered is how long a response is cached, including one without an endpoint and a failure.
	remembered    = time.Minute
	maxRemembered = 4 << 20   // bytes of cached responses; agents choose how long their endpoints are
	perRecord     = 256       // bytes of a cached response in addition to its endpoints
	maxRecord     = 256 << 10 // bytes of a response
	maxValues     = 10_000    // JSON values in a response
)

// ErrAnswer means that an Almanac returned an unexpected response.
var ErrAnswer = errors.New("unexpected response from the Almanac")

// A Client uses Almanacs that the operator has chosen, at any address. It is safe for concurrent use.
type Client struct {
	fetch *fetch.Client
	known *cache.Cache[[2]string, record] // by base and address
}

type record struct {
	endpoints []delivery.Endpoint
	err       error
}

// NewClient makes a Client.
func NewClient() *Client {
	return &Client{
		fetch: fetch.New(fetch.Options{AllowInsecure: true, Timeout: requestTimeout}),
		known: cache.New(cache.Options[[2]string, record]{Max: maxRemembered, Weigh: weight, SinceWrite: remembered}),
	}
}

// weight returns the approximate size of a response in bytes.
func weight(key [2]string, r record) uint32 {
	n := perRecord + len(key[0]) + len(key[1])
	for _, e := range r.endpoints {
		n += len(e.URL)
	}
	return uint32(n) // endpoints and their URLs are bounded
}

// Close drops idle connections.
func (c *Client) Close() { c.fetch.Close() }

// Endpoints returns the endpoints that an agent has registered in the Almanac at a base URL; there may be none. Endpoints omits invalid
// endpoints. The result is at most a minute old, and so is an error.
func (c *Client) Endpoints(ctx context.Context, base string, of identity.Address) ([]delivery.Endpoint, error) {
	key := [2]string{base, string(of)}
	r, known := c.known.Get(key)
	if !known {
		r.endpoints, r.err = c.ask(ctx, base, of)
		if ctx.Err() == nil {
			c.known.Set(key, r)
		}
	}
	return r.endpoints, r.err
}

// Forget drops the cached response for an agent. Call it when the agent cannot be reached at its endpoints.
func (c *Client) Forget(base string, of identity.Address) {
	c.known.Remove([2]string{base, string(of)})
}

// A Statement is an agent's statement about itself.
type Statement struct {
	Endpoints []delivery.Endpoint
	Protocols []string // digests
	At        time.Time
}

// Register registers the agent with the given key in the Almanac at a base URL, and declares it active.
func (c *Client) Register(ctx context.Context, base string, key identity.Key, s Statement) error {
	endpoints := make([]any, 0, len(s.Endpoints))
	for _, e := range s.Endpoints {
		endpoints = append(endpoints, map[string]any{"url": e.URL, "weight": number(e.Weight)})
	}
	protocols := make([]any, 0, len(s.Protocols))
	for _, p := range s.Protocols {
		protocols = append(protocols, p)
	}
	err := c.post(ctx, base+Path+"/agents", key, strictjson.Object{
		"endpoints": endpoints, "protocols": protocols, "metadata": nil, "timestamp": number(s.At.Unix()),
	})
	if err != nil {
		return err
	}
	return c.SetStatus(ctx, base, key, true, s.At)
}

// SetStatus declares the agent with the given key active or inactive in the Almanac at a base URL.
func (c *Client) SetStatus(ctx context.Context, base string, key identity.Key, active bool, at time.Time) error {
	return c.post(ctx, base+Path+"/agents/"+string(key.Address())+"/status", key,
		strictjson.Object{"is_active": active, "timestamp": number(at.Unix())})
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// post posts an agent's statement about itself.
func (c *Client) post(ctx context.Context, url string, key identity.Key, statement strictjson.Object) error {
	body, err := Attest(key, statement)
	if err != nil {
		return err
	}
	answer, err := c.fetch.Do(ctx, fetch.Request{
		Method: http.MethodPost, URL: url, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Max: maxRecord,
	})
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK:
		return fmt.Errorf("%w: status %d", ErrAnswer, answer.Status)
	}
	return nil
}

func (c *Client) ask(ctx context.Context, base string, of identity.Address) ([]delivery.Endpoint, error) {
	answer, err := c.fetch.Do(ctx, fetch.Request{
		Method: http.MethodGet, URL: base + Path + "/agents/" + string(of), Header: http.Header{"Accept": {"application/json"}},
		Max: maxRecord,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Status == http.StatusNotFound:
		return nil, nil
	case answer.Status != http.StatusOK:
		return nil, fmt.Errorf("%w: status %d", ErrAnswer, answer.Status)
	}
	tree, err := strictjson.DecodeObjectOf(answer.Body, maxValues)
	if err != nil {
		return nil, ErrAnswer
	}
	if tree.Text("expiry") == "" || tree.Text("address") != string(of) { // not registered, or about another agent
		return nil, nil
	}
	return endpointsIn(tree.List("endpoints")), nil
}

// endpointsIn returns the valid endpoints in a list, at most as many as an agent may have.
func endpointsIn(list []any) []delivery.Endpoint {
	var endpoints []delivery.Endpoint
	for _, item := range list[:min(len(list), delivery.MaxEndpoints)] {
		member, _ := strictjson.AsObject(item)
		weight, _ := member.Number("weight").Int64()
		if e := (delivery.Endpoint{URL: member.Text("url"), Weight: weight}); e.Check() == nil {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}
