package connections_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/httpserver"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

var httpserverSkillID = wire.PublicID{Author: "shop", Name: "page", Version: "1.0.0"}

// serving runs a skill behind the connection and returns its URL.
func serving(t *testing.T, handle func(context.Context, runtime.Message) error) (url string, r *runtime.Runtime) {
	t.Helper()
	r = runtime.New("gw", runtime.Options{Now: time.Now})
	s := runtime.Skill{ID: httpserverSkillID, Handlers: []runtime.Handler{{Protocol: &protocol.HTTP, Handle: handle}}}
	if err := r.Resources().Add(s); err != nil {
		t.Fatal(err)
	}
	c, err := httpserver.Listen(t.Context(), "127.0.0.1:0", httpserverSkillID, httpserver.Bounds{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Connect(c, runtime.ConnectionOptions{Inside: true}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return "http://" + c.Address(), r
}

func ask(t *testing.T, method, url, body string) (status int, header http.Header, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Topic", "lamps")
	a, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	return a.StatusCode, a.Header, string(data)
}

// TestRequestsReachSkill checks that requests become messages, and replies become responses, as with the framework's http_server.
func TestRequestsReachSkill(t *testing.T) {
	t.Parallel()
	got := make(chan runtime.Message, 1)
	url, r := serving(t, func(_ context.Context, m runtime.Message) error {
		got <- m
		return m.Reply(protocol.HTTPMessage{
			Performative: protocol.HTTPResponse, Status: http.StatusTeapot, Body: []byte("short and stout"),
			Header: http.Header{"Kettle": {"on"}, "Content-Length": {"99"}, "Connection": {"close"}},
		})
	})
	for method, want := range map[string]string{http.MethodPost: "short and stout", http.MethodGet: "short and stout", http.MethodHead: ""} {
		status, header, text := ask(t, method, url+"/tea?sugar=2", "a cup")
		if status != http.StatusTeapot || header.Get("Kettle") != "on" || text != want {
			t.Errorf("%s: got %d %v %q", method, status, header, text)
		}
		m := <-got
		q, _ := m.Content.(protocol.HTTPMessage)
		if q.Method != strings.ToLower(method) || q.URL != url+"/tea?sugar=2" || q.Version != "" || q.Header.Get("Topic") != "lamps" ||
			string(q.Body) != "a cup" || m.Sender != httpserver.ID.String() || !m.Inside() || !m.Confidential {
			t.Errorf("%s: got %+v of %q", method, q, m.Sender)
		}
	}
	if s := r.Status().Connections[0]; s.Received != 3 || s.Sent != 3 || s.Queued != 0 || s.Dropped != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestRequestsWithoutReply checks the responses when the skill sends nothing useful, or is gone.
func TestRequestsWithoutReply(t *testing.T) {
	t.Parallel()
	late := make(chan runtime.Message, 1)
	url, r := serving(t, func(_ context.Context, m runtime.Message) error {
		q, _ := m.Content.(protocol.HTTPMessage)
		switch {
		case strings.HasSuffix(q.URL, "/invalid"):
			return m.Reply(protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: http.StatusContinue})
		case strings.HasSuffix(q.URL, "/late"):
			late <- m
		}
		return nil
	})
	var asking sync.WaitGroup
	for _, path := range []string{"/invalid", "/late", "/never"} {
		asking.Go(func() {
			if status, _, text := ask(t, http.MethodGet, url+path, ""); status != http.StatusRequestTimeout || text != "" {
				t.Errorf("%s: got %d %q, want %d", path, status, text, http.StatusRequestTimeout)
			}
		})
	}
	asking.Wait()
	if err := (<-late).Reply(protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: http.StatusOK}); err == nil {
		t.Error("a late reply was accepted")
	}
	if status, _, _ := ask(t, http.MethodPost, url, strings.Repeat("x", 1<<20+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("too long: got %d, want %d", status, http.StatusRequestEntityTooLarge)
	}
	if err := r.Filter().SetEnabled(httpserverSkillID, false); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := ask(t, http.MethodGet, url, ""); status != http.StatusRequestTimeout {
		t.Errorf("a disabled skill: got %d, want %d", status, http.StatusRequestTimeout)
	}
}

// TestManyRequests checks that requests beyond the limit get 503 at once, and that those in progress get their replies.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url, _ := serving(t, func(_ context.Context, m runtime.Message) error {
		<-release
		q, _ := m.Content.(protocol.HTTPMessage)
		return m.Reply(protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: http.StatusOK, Body: []byte(q.URL)})
	})
	const requests = 40 // 32 places
	var asking sync.WaitGroup
	statuses := make(chan int, requests)
	for i := range requests {
		asking.Go(func() {
			at := fmt.Sprintf("%s/%d", url, i)
			status, _, text := ask(t, http.MethodGet, at, "")
			if status == http.StatusOK && text != at {
				t.Errorf("got the reply %q to %q", text, at)
			}
			statuses <- status
		})
	}
	for range requests - 32 {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("got %d, want %d", status, http.StatusServiceUnavailable)
		}
	}
	close(release)
	asking.Wait()
	for range 32 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("got %d, want %d", status, http.StatusOK)
		}
	}
}
