package bindings_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/uagents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// A relay forwards requests to an Almanac, unless it is down, and records them.
type relay struct {
	*httptest.Server
	requests chan string // method, path and status
	down     atomic.Bool
}

func relays(t *testing.T, to string) *relay {
	t.Helper()
	l := &relay{requests: make(chan string, 64)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := "down"
		if !l.down.Load() {
			on, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.Path, r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			answer, err := http.DefaultTransport.RoundTrip(on)
			if err != nil {
				t.Error(err)
				return
			}
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			w.WriteHeader(answer.StatusCode)
			_, _ = w.Write(body)
			text = fmt.Sprint(answer.StatusCode)
		} else {
			w.WriteHeader(http.StatusBadGateway)
		}
		l.requests <- r.Method + " " + r.URL.Path + " " + text
	}))
	t.Cleanup(l.Close)
	return l
}

// saw checks that the next requests, below the path of an Almanac, are these.
func (l *relay) saw(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-l.requests:
			if got != strings.Replace(w, " ", " /v1/almanac/", 1) {
				t.Errorf("%s, want %s", got, w)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no request: want %s", w)
		}
	}
	if len(l.requests) > 0 {
		t.Errorf("unexpected request %s", <-l.requests)
	}
}

// door returns the uAgents door.
func (p *uagentsPeer) door() *uagents.Door {
	p.Helper()
	for _, d := range p.Modules {
		if own, ok := d.(*uagents.Door); ok {
			return own
		}
	}
	p.Fatal("no door")
	return nil
}

// found searches the Almanac at p for agents that support UIMProtocol, and returns the state of the one with the address.
func (p *uagentsPeer) found(address string) (status, endpoint string) {
	p.Helper()
	_, reply := p.asks("POST", "search", fmt.Sprintf(`{"text": %q}`, strings.TrimPrefix(string(protocol.UIM().Digest), "proto:")))
	for _, item := range reply.List("list") {
		agent, _ := strictjson.AsObject(item)
		if agent.Text("address") == address {
			first, _ := strictjson.AsObject(agent.List("endpoints")[0])
			return agent.Text("status"), first.Text("url")
		}
	}
	return "", ""
}

// TestServiceIsFoundInAlmanac uses one gateway as the Almanac of another.
func TestServiceIsFoundInAlmanac(t *testing.T) {
	t.Parallel()
	other := with(t, "registry: true, private_endpoints: true")
	relay := relays(t, other.URL)
	p := with(t, fmt.Sprintf("almanac: %q", relay.URL))
	shop := string(p.shop)
	both := []string{"POST agents 200", "POST agents/" + shop + "/status 200"}
	relay.saw(t, both...)
	endpoint := p.Addresses("uagents")["url"]
	if status, at := other.found(shop); status != "active" || at != endpoint {
		t.Errorf("%s at %s, want %s", status, at, endpoint)
	}
	door := p.door()
	door.Round(t.Context()) // nothing is due
	p.Pass(time.Hour - time.Second)
	door.Round(t.Context())
	relay.saw(t)
	relay.down.Store(true)
	other.Pass(time.Hour)
	p.Pass(time.Second)
	door.Round(t.Context())
	relay.saw(t, "POST agents down")
	if now := door.Activity("default").Registered; len(now) != 1 || now[0].Almanac != relay.URL || now[0].Error == "" ||
		!now[0].Retry.Equal(p.Now().Add(20*time.Second)) || !now[0].At.Equal(p.Now().Add(-time.Hour)) {
		t.Errorf("got %+v", now)
	}
	p.Pass(20 * time.Second)
	door.Round(t.Context())
	relay.saw(t, "POST agents down")
	logged := func(message string, want int) {
		t.Helper()
		if n := p.Logs.FilterMessage(message).FilterField(zap.String("almanac", relay.URL)).Len(); n != want {
			t.Errorf("%s: %d lines of the log, want %d", message, n, want)
		}
	}
	logged("not registered in an Almanac", 1) // not for each attempt
	relay.down.Store(false)
	door.Round(t.Context())
	relay.saw(t)
	logged("registered in an Almanac again", 0)
	p.Pass(40 * time.Second)
	door.Round(t.Context())
	relay.saw(t, both...)
	logged("not registered in an Almanac", 1)
	logged("registered in an Almanac again", 1)
	if now := door.Activity("default").Registered; len(now) != 1 || now[0].Error != "" || !now[0].At.Equal(p.Now()) {
		t.Errorf("got %+v", now)
	}
	p.Drain()
	relay.saw(t, both[1])
	door.Round(t.Context())
	relay.saw(t)
	if status, _ := other.found(shop); status != "offline" {
		t.Errorf("got %q, want %q", status, "offline")
	}
}

// A reload starts and ends registrations.
func TestReloadRegisters(t *testing.T) {
	t.Parallel()
	p := with(t, "")
	door := p.door()
	for _, c := range []struct {
		more   string
		status string
	}{{"", ""}, {"registry: true", "active"}, {"registry: true, path: /agent", "active"}, {"registry: true", "active"}} {
		p.Pass(time.Minute)
		p.Write("uimgate.yaml", strings.NewReplacer("UPSTREAM", "http://127.0.0.1:9", "key_file: seed.txt", "key_file: seed.txt, "+c.more).
			Replace("billing: {credit: 100 EUR}\n"+uagentsSettings))
		p.Reload()
		door.Round(t.Context())
		if c.status == "" {
			continue
		}
		status, at := p.found(string(p.shop))
		if want := p.Addresses("uagents")["url"]; status != c.status || at != want {
			t.Errorf("%s: %s at %s, want %s", c.more, status, at, want)
		}
		if now := door.Activity("default").Registered; len(now) != 1 || now[0].Almanac != "own" {
			t.Errorf("got %+v; want length 1 and [0].Almanac %q", now, "own")
		}
	}
}
