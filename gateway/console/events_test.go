package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/console"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// follow opens a stream of events until ctx is done.
func (b *browser) follow(ctx context.Context) *http.Response {
	b.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.listener.URL+"/console/events", nil)
	b.Must(err)
	resp, err := b.client.Do(r)
	b.Must(err)
	b.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestEventsFollowTheFigures(t *testing.T) {
	g := newConsoleGate(t, approval)
	lines := bufio.NewScanner(g.as(api.RoleViewer).follow(t.Context()).Body)
	agreed := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var figures map[string]string
		if err := json.Unmarshal([]byte(data), &figures); err != nil {
			t.Fatal(err)
		}
		if !agreed {
			if figures["waiting_agents"] != "0" || figures["breaker"] != "closed" || figures["ready"] != "yes" {
				t.Fatalf("got %v", figures)
			}
			g.Agree("agent-1")
			agreed = true
			g.Pass(time.Minute)
			continue
		}
		if figures["waiting_agents"] == "1" {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// Figures that cannot be read are not those of an earlier time.
func TestFiguresThatCannotBeRead(t *testing.T) {
	g := newConsoleGate(t, approval)
	b := g.as(api.RoleViewer)
	gone, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlstore.Options{Now: g.Now})
	g.Must(err)
	pages := console.New(console.Config{
		Operator:  admin.New(admin.Config{Directory: g.Directory, Store: gone, Keys: g.Keys, View: g.View, Log: g.Log, Now: g.Now}),
		Directory: g.Directory, Store: g.Store, Tokens: signin.NewTokenCheck(func() string { return "" }, g.Now), Log: g.Log, Now: g.Now,
	})
	g.listener.Config.Handler = pages
	t.Cleanup(pages.Shutdown)
	lines := bufio.NewScanner(b.follow(t.Context()).Body)
	closed := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var figures map[string]string
		g.Must(json.Unmarshal([]byte(data), &figures))
		switch {
		case !closed && figures["waiting_agents"] == "0":
			g.Must(gone.Close())
			closed = true
			g.Pass(5 * time.Second)
		case closed && figures["waiting_agents"] == "?":
			return
		default:
			t.Fatalf("got %v", figures)
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

func TestStreamsAreBounded(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 8 {
		if resp := b.follow(ctx); resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("got %d", resp.StatusCode)
		}
	}
	if resp := b.follow(ctx); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a ninth stream of one session: %d", resp.StatusCode)
	}
	for range 7 {
		other := g.as(api.RoleViewer)
		for range 8 {
			if resp := other.follow(ctx); resp.StatusCode != http.StatusOK {
				t.Fatalf("got %d", resp.StatusCode)
			}
		}
	}
	if resp := g.as(api.RoleViewer).follow(ctx); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a stream beyond the bound of all sessions: %d", resp.StatusCode)
	}
	g.pages.Shutdown() // ends all streams, so that the server can shut down
	if resp := g.as(api.RoleViewer).get("/console/"); resp.status != http.StatusOK {
		t.Errorf("got %d", resp.status)
	}
}
