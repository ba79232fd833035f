package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/internal/playground"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// An adminGate is a gateway with an admin listener.
type adminGate struct {
	*gatetest.Gate
	operator *admin.Operator
	settings admin.Config // of operator
	listener *httptest.Server
	problems config.Problems // the result of the next reload
	// meanwhile runs during the next reload; deadline reports whether the last one had a deadline.
	meanwhile func()
	deadline  bool
}

const adminToken = "admin-token-canary-0123456789"

func newAdminGate(t *testing.T, settings string) *adminGate {
	t.Helper()
	g := &adminGate{Gate: gatetest.New(t, settings)}
	g.settings = admin.Config{
		Directory: g.Directory, Store: g.Store, Keys: g.Keys, Receipts: g.Receipts, View: g.View, Log: g.Log, Now: g.Now,
		Reload: func(context.Context, bool) config.Problems { return g.problems },
	}
	g.settings.Doors, g.settings.Index, g.settings.Figures, g.settings.ProcessID = g.Modules, g.Index, g.Figures, g.Replica.ID()
	g.settings.Intents = g.Intents
	g.settings.Playground = playground.New(playground.Options{API: g.Handler, Key: g.Data.PrivateKey, Doors: g.Modules, Now: g.Now})
	g.operator = admin.New(g.settings)
	g.listener = httptest.NewServer(g.handler(g.operator, adminToken))
	t.Cleanup(g.listener.Close)
	return g
}

func (g *adminGate) handler(o *admin.Operator, token string) http.Handler {
	return admin.Handler(o, admin.Listener{Tokens: signin.NewTokenCheck(func() string { return token }, g.Now), Metrics: g.Metrics.Registry()})
}

// administer changes the token of the admin listener, and disables reloads.
func (g *adminGate) administer(token string) {
	settings := g.settings
	settings.Reload = nil
	g.listener.Config.Handler = g.handler(admin.New(settings), token)
}

func (g *adminGate) request(method, path string, body any) *http.Request {
	g.Helper()
	var text io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		text = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(body)
		g.Must(err)
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(g.Context(), method, g.listener.URL+path, text)
	g.Must(err)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do calls the admin API with the token. The response must be as openapi.json describes it and, if it is 200, the request too.
func (g *adminGate) do(method, path string, body any) gatetest.Answer {
	g.Helper()
	a := g.Send(g.request(method, "/admin/v1"+path, body))
	g.described(g.request(method, "/admin/v1"+path, body), a)
	return a
}

// ask calls the admin API, expects status 200 and decodes the response.
func ask[T any](g *adminGate, method, path string, body any) T {
	g.Helper()
	a := g.do(method, path, body)
	if a.Status != http.StatusOK {
		g.Fatalf("%s %s: %d %s; want %v", method, path, a.Status, a.Body, http.StatusOK)
	}
	return decode[T](g, a)
}

func decode[T any](g *adminGate, a gatetest.Answer) T {
	g.Helper()
	var v T
	dec := json.NewDecoder(bytes.NewReader(a.Body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		g.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

func items[T any](g *adminGate, path string) []T {
	g.Helper()
	return ask[api.Page[T]](g, "GET", path, nil).Items
}

func names[T any, S ~string](list []T, name func(T) S) []S {
	out := make([]S, 0, len(list))
	for _, v := range list {
		out = append(out, name(v))
	}
	slices.Sort(out)
	return out
}
