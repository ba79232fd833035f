package connections_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea/connections/httpclient"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

var skillID = wire.PublicID{Author: "shop", Name: "caller", Version: "1.0.0"}

// calling runs a skill in a synctest bubble. ask makes the skill send a request over the connection, and returns the response. Servers
// run outside the bubble, so a goroutine that waits for a server does not count as idle.
func calling(t *testing.T) (ask func(wire.PublicID, protocol.HTTPMessage) protocol.HTTPMessage, r *runtime.Runtime) {
	t.Helper()
	answers := make(chan protocol.HTTPMessage, 1)
	r = runtime.New("gw", runtime.Options{Now: time.Now})
	err := r.Resources().Add(runtime.Skill{ID: skillID, Handlers: []runtime.Handler{{
		Protocol: &protocol.HTTP, Handle: func(_ context.Context, m runtime.Message) error {
			got, _ := m.Content.(protocol.HTTPMessage)
			if m.Sender != "uimgate/http_client" || !m.Confidential {
				t.Errorf("got %+v", m)
			}
			answers <- got
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Options{})
	t.Cleanup(client.Close)
	if err := r.Connect(httpclient.New(client, time.Now), runtime.ConnectionOptions{Inside: true}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	synctest.Wait() // for the connection to start
	return func(spec wire.PublicID, m protocol.HTTPMessage) protocol.HTTPMessage {
		t.Helper()
		m.Performative = protocol.HTTPRequest
		_, err := r.Start(skillID, spec, "uimgate/http_client", m)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-answers:
			return got
		case <-time.After(30 * time.Second):
			t.Fatalf("no answer: %+v", r.Status())
			return protocol.HTTPMessage{}
		}
	}, r
}

func TestSkillRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"] = nil
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Add("Told", r.Method+" "+r.URL.String()+" "+r.Header.Get("Topic"))
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(append([]byte("you said "), body...))
	}))
	defer server.Close()
	synctest.Test(t, func(t *testing.T) {
		ask, _ := calling(t)
		for _, spec := range protocol.HTTP.Specs {
			got := ask(spec, protocol.HTTPMessage{
				Method: "POST", URL: server.URL + "/hook?a=b", Header: http.Header{"Topic": {"lamps"}}, Body: []byte("hello"),
			})
			want := protocol.HTTPMessage{
				Performative: protocol.HTTPResponse, Status: 202, StatusText: "Accepted", Body: []byte("you said hello"),
				Header: http.Header{"Content-Length": {"14"}, "Content-Type": {"text/plain"}, "Told": {"POST /hook?a=b lamps"}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		}
		if got := ask(protocol.HTTP.Specs[0], protocol.HTTPMessage{Method: "GET", URL: server.URL + "/elsewhere"}); got.Status != 302 {
			t.Errorf("a redirect was followed: %+v", got)
		}
	})
}

// TestRefusedServers checks that the skill gets the framework's own status, without a reason, if the connection refuses a server or the
// server does not respond.
func TestRefusedServers(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20+1))
	}))
	defer large.Close()
	synctest.Test(t, func(t *testing.T) {
		ask, r := calling(t)
		for name, m := range map[string]protocol.HTTPMessage{
			"a private network": {Method: "GET", URL: "https://10.0.0.1/"},
			"plain http":        {Method: "GET", URL: "http://example.com/"},
			"no server":         {Method: "GET", URL: gone.URL},
			"no URL":            {Method: "GET", URL: "%"},
			"no method":         {Method: "A B", URL: gone.URL},
			"too much":          {Method: "GET", URL: large.URL},
		} {
			want := protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: 600, StatusText: "HTTPConnection request error."}
			if diff := cmp.Diff(want, ask(protocol.HTTP.Specs[0], m)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if s := r.Status().Connections[0]; s.LastError == "" {
			t.Errorf("got %+v", s)
		}
	})
}
