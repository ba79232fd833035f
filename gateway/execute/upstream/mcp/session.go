package mcp

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// stateless is the first revision in which every request is independent.
	stateless = "2026-07-28"
	// latest is the revision that initialize offers.
	latest = "2025-11-25"

	metaPrefix              = "io.modelcontextprotocol/"
	codeUnsupportedRevision = -32022
	codeInvalidParams       = -32602
)

// earlier are the revisions with initialize.
var earlier = []string{latest, "2025-06-18", "2025-03-26", "2024-11-05"}

// probeTime is how long a process may take to respond to server/discover. Servers of earlier revisions may ignore requests before
// initialize.
const probeTime = 5 * time.Second

// open returns the session of the slot, and opens one if there is none. If a process does not open it in time, open may end the process.
func (t *slot) open(ctx context.Context) (*session, error) {
	s, err := t.opened(ctx)
	if err != nil && ctx.Err() != nil {
		t.transport.doubtOpening()
	}
	return s, err
}

// opened returns the session of the slot. Only one caller opens it; the others wait.
func (t *slot) opened(ctx context.Context) (*session, error) {
	if s := t.current.Load(); s != nil && t.transport.good(s) {
		return s, nil
	}
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := t.current.Load(); s != nil && t.transport.good(s) {
		return s, nil
	}
	of, err := t.transport.begin(ctx)
	if err != nil {
		return nil, err
	}
	s, err := t.discover(ctx, of)
	if err == nil && s == nil {
		s, err = t.initialize(ctx, of)
	}
	if err != nil {
		return nil, err
	}
	t.current.Store(s)
	return s, nil
}

// admitted is the admit function for requests that prepare calls. They have no effects, so they need no Grant.
func admitted() error { return nil }

// discover asks the server whether it supports the revision without sessions. It returns nil if the server does not. See MCP 2026-07-28,
// server/discover.
func (t *slot) discover(ctx context.Context, of any) (*session, error) {
	s := &session{revision: stateless, of: of}
	probe := ctx
	if of != nil {
		var cancel context.CancelFunc
		probe, cancel = context.WithTimeout(ctx, probeLimit(ctx))
		defer cancel()
	}
	r, err := t.prepare(probe, s, "server/discover", nil)
	if err != nil {
		if of != nil && probe.Err() != nil && ctx.Err() == nil && t.transport.good(s) {
			return nil, nil //nolint:nilnil // no session: the process is silent, as servers of earlier revisions may be
		}
		return nil, err
	}
	if r.Status >= 500 || r.Status == 401 || r.Status == 403 || r.Status == 429 {
		return nil, &StatusError{r}
	}
	tree, err := strictjson.DecodeObject(r.Result)
	if r.Result == nil || err != nil {
		return nil, nil //nolint:nilnil // no session: the server does not know the request
	}
	if !slices.Contains(tree.List("supportedVersions"), any(stateless)) {
		return nil, nil //nolint:nilnil // as above
	}
	return s, nil
}

// probeLimit returns probeTime, but at most half of the remaining time, so that enough time is left for initialize.
func probeLimit(ctx context.Context) time.Duration {
	until, limited := ctx.Deadline()
	if !limited {
		return probeTime
	}
	return min(probeTime, time.Until(until)/2)
}

// A StatusError means that the server refused a request that prepares a call, with an HTTP status.
type StatusError struct{ Reply Reply }

func (e *StatusError) Error() string { return "the server refused to open a session" }

// initialize opens a session of an earlier revision. See MCP 2025-11-25, basic/lifecycle, Initialization.
func (t *slot) initialize(ctx context.Context, of any) (*session, error) {
	s := &session{of: of}
	r, err := t.prepare(ctx, s, "initialize", func(b *params) {
		b.text("protocolVersion", latest)
		b.raw("capabilities", []byte("{}"))
		b.raw("clientInfo", t.server.clientInfo())
	})
	if err != nil {
		return nil, err
	}
	if r.Result == nil {
		if r.Status >= 300 {
			return nil, &StatusError{r}
		}
		return nil, ErrRevision
	}
	tree, err := strictjson.DecodeObject(r.Result)
	if err != nil {
		return nil, ErrNotMCP
	}
	if s.revision = tree.Text("protocolVersion"); !slices.Contains(earlier, s.revision) {
		return nil, ErrRevision
	}
	if id := r.Header.Get(sessionID); id != "" {
		if len(id) > maxSessionID || strings.ContainsFunc(id, func(c rune) bool { return c < 0x21 || c > 0x7e }) {
			return nil, ErrNotMCP
		}
		s.id = id
	}
	m, err := t.server.request(s, "notifications/initialized", "", nil, false, nil)
	if err != nil {
		return nil, err
	}
	m.id = 0
	if m.header, err = t.server.auth(ctx); err != nil {
		return nil, err
	}
	if r, _, err = t.transport.send(ctx, s, m, admitted); err != nil {
		return nil, err
	}
	if r.Status >= 300 {
		return nil, &StatusError{r}
	}
	return s, nil
}

// maxSessionID is the maximum length of a session id, in bytes.
const maxSessionID = 1024

// prepare sends a request that prepares calls.
func (t *slot) prepare(ctx context.Context, s *session, method string, write func(*params)) (Reply, error) {
	m, err := t.server.request(s, method, "", nil, false, write)
	if err != nil {
		return Reply{}, err
	}
	if m.header, err = t.server.auth(ctx); err != nil {
		return Reply{}, err
	}
	r, _, err := t.transport.send(ctx, s, m, admitted)
	return r, err
}

func (s *Server) auth(ctx context.Context) (pool.Fields, error) {
	if s.cfg.Auth == nil {
		return nil, nil
	}
	return s.cfg.Auth(ctx)
}

func (s *Server) clientInfo() []byte {
	out, err := strictjson.Append(nil, map[string]any{"name": "uimgate", "version": s.cfg.Version})
	if err != nil {
		return []byte(`{"name":"uimgate","version":"0"}`)
	}
	return out
}
