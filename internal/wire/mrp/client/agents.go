package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func agentPath(k wire.Key) string { return "/v1/agents/" + k.String() }

// ask makes a request without a body and decodes the response into v; if v is nil, it ignores the response.
func (c *Client) ask(ctx context.Context, method, target string, maxBytes int64, v any) error {
	a, err := c.exchange(ctx, request{method: method, target: target, most: maxBytes})
	if err != nil || v == nil {
		return err
	}
	return unpack(a.body, v)
}

// askWith is like ask, but sends a document as the body of the request.
func (c *Client) askWith(ctx context.Context, method, target string, document, v any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	a, err := c.exchange(ctx, request{
		method: method, target: target, header: http.Header{"Content-Type": {wire.TypeJSON}}, body: body, most: maxAnswer,
	})
	if err != nil || v == nil {
		return err
	}
	return unpack(a.body, v)
}

// Profile returns the relay's profile of an agent. A request for this agent's own profile registers it with the relay.
func (c *Client) Profile(ctx context.Context, k wire.Key) (p wire.Profile, err error) {
	if err := c.ask(ctx, http.MethodGet, agentPath(k), maxAnswer, &p); err != nil {
		return wire.Profile{}, err
	}
	if p.PublicKey != k || !fit(p.DisplayName, p.Capabilities) {
		return wire.Profile{}, fmt.Errorf("%w: the response is not a valid profile of the agent", ErrAnswer)
	}
	return p, nil
}

// Update changes the profile of this agent, and returns it.
func (c *Client) Update(ctx context.Context, change wire.Change) (p wire.Profile, err error) {
	err = c.askWith(ctx, http.MethodPatch, agentPath(c.key), change, &p)
	if err == nil && (p.PublicKey != c.key || !fit(p.DisplayName, p.Capabilities)) {
		return wire.Profile{}, fmt.Errorf("%w: the response is not a valid profile of this agent", ErrAnswer)
	}
	return p, err
}

// Delete removes this agent from the relay, with its messages, blobs, access list and webhook.
func (c *Client) Delete(ctx context.Context) error {
	return c.ask(ctx, http.MethodDelete, agentPath(c.key), maxAnswer, nil)
}

// Capabilities returns the capabilities that an agent declares.
func (c *Client) Capabilities(ctx context.Context, k wire.Key) ([]wire.Capability, error) {
	var got wire.Capabilities
	if err := c.ask(ctx, http.MethodGet, agentPath(k)+"/capabilities", maxAnswer, &got); err != nil {
		return nil, err
	}
	if !fit(nil, got.Capabilities) {
		return nil, fmt.Errorf("%w: the capabilities are invalid", ErrAnswer)
	}
	return got.Capabilities, nil
}

// fit reports whether the strings of an agent's profile can be shown, and its lists are within their limits.
func fit(name *string, capabilities []wire.Capability) bool {
	if name != nil && !wire.Shown(*name) || len(capabilities) > wire.MaxCapability {
		return false
	}
	for _, item := range capabilities {
		if !wire.Shown(item.Name) || !wire.Shown(item.Version) || len(item.Tags) > wire.MaxTags {
			return false
		}
		for _, tag := range item.Tags {
			if !wire.Shown(tag) {
				return false
			}
		}
	}
	return true
}

// A Search selects agents; all set fields must match.
type Search struct {
	Tags        []string  // the agent has all of them
	Text        string    // words in its name, or in names and descriptions of capabilities
	Name        string    // part of its name
	ActiveSince time.Time // zero means any time
	Limit       int       // entries per page, 1 to 100; 0 means the relay's default
	Cursor      string    // the cursor that the previous page returned
}

func (s Search) query() string {
	q := url.Values{}
	for _, tag := range s.Tags {
		q.Add("tag", tag)
	}
	for name, value := range map[string]string{"q": s.Text, "name": s.Name, "cursor": s.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !s.ActiveSince.IsZero() {
		q.Set("active_since", s.ActiveSince.UTC().Format(time.RFC3339Nano))
	}
	if s.Limit > 0 {
		q.Set("limit", strconv.Itoa(s.Limit))
	}
	return withQuery("/v1/discover", q)
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Discover returns a page of public agents, the most recently active first, and the cursor of the next page, or "" if this is the
// last page. It omits entries that cannot be shown.
func (c *Client) Discover(ctx context.Context, s Search) (agents []wire.Agent, next string, err error) {
	var page struct {
		Agents     []json.RawMessage `json:"agents"`
		HasMore    bool              `json:"has_more"`
		NextCursor *string           `json:"next_cursor"`
	}
	if err := c.ask(ctx, http.MethodGet, s.query(), maxAgents, &page); err != nil {
		return nil, "", err
	}
	for _, document := range page.Agents {
		var a wire.Agent
		if unpack(document, &a) == nil && fit(a.DisplayName, a.Capabilities) {
			agents = append(agents, a)
		}
	}
	return agents, cursorOf(page.HasMore, page.NextCursor), nil
}

// maxPages limits how many pages a relay can make All and Listen read.
const maxPages = 1000

// All returns each agent on the pages of Discover once. It reads at most 1,000 pages. After an error, the sequence ends.
func (c *Client) All(ctx context.Context, s Search) iter.Seq2[wire.Agent, error] {
	return func(yield func(wire.Agent, error) bool) {
		seen := map[wire.Key]bool{}
		for range maxPages {
			agents, next, err := c.Discover(ctx, s)
			if err != nil {
				yield(wire.Agent{}, err)
				return
			}
			for _, a := range agents {
				if !seen[a.PublicKey] && !yield(a, nil) {
					return
				}
				seen[a.PublicKey] = true
			}
			if next == "" || next == s.Cursor {
				return
			}
			s.Cursor = next
		}
	}
}

// Tags returns a page of the tags of all public agents, with the number of agents that have each tag, and the cursor of the next
// page.
func (c *Client) Tags(ctx context.Context, cursor string) ([]wire.TagCount, string, error) {
	q := url.Values{}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	var page wire.TagCounts
	if err := c.ask(ctx, http.MethodGet, withQuery("/v1/capabilities", q), maxAnswer, &page); err != nil {
		return nil, "", err
	}
	for _, t := range page.Capabilities {
		if !wire.Shown(t.Name) {
			return nil, "", fmt.Errorf("%w: a tag is invalid", ErrAnswer)
		}
	}
	return page.Capabilities, cursorOf(page.HasMore, page.NextCursor), nil
}

// Permit sets the entry of a peer in the access list of this agent, and returns the entry.
func (c *Client) Permit(ctx context.Context, peer wire.Key, t wire.EntryType) (e wire.Entry, err error) {
	err = c.askWith(ctx, http.MethodPut, agentPath(c.key)+"/acl", map[string]any{"peer_key": peer, "entry_type": t}, &e)
	return e, err
}

// Entries returns a page of the access list of this agent, and the cursor of the next page. An empty t selects entries of both
// types.
func (c *Client) Entries(ctx context.Context, t wire.EntryType, cursor string) ([]wire.Entry, string, error) {
	q := url.Values{}
	if t != "" {
		q.Set("type", string(t))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	var page wire.Entries
	if err := c.ask(ctx, http.MethodGet, withQuery(agentPath(c.key)+"/acl", q), maxAnswer, &page); err != nil {
		return nil, "", err
	}
	return page.Entries, cursorOf(page.HasMore, page.NextCursor), nil
}

// Entry returns the entry of a peer in the access list. If there is none, the error is a *wire.Error with the code not_found.
func (c *Client) Entry(ctx context.Context, peer wire.Key) (e wire.Entry, err error) {
	err = c.ask(ctx, http.MethodGet, agentPath(c.key)+"/acl/"+peer.String(), maxAnswer, &e)
	return e, err
}

// Forget removes a peer from the access list.
func (c *Client) Forget(ctx context.Context, peer wire.Key) error {
	return c.ask(ctx, http.MethodDelete, agentPath(c.key)+"/acl/"+peer.String(), maxAnswer, nil)
}
