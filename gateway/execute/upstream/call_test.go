package upstream_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

func TestCallOutcomes(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	for _, tt := range []struct {
		name, answer string
		want         store.Outcome
		err          error // errors.Is
		text         string
	}{
		{name: "complete", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", want: store.Done},
		{name: "a byte order mark", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\xef\xbb\xbf{}", want: store.Done},
		{name: "created", answer: "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n[]", want: store.Done},
		{name: "204", answer: "HTTP/1.1 204 No Content\r\n\r\n", want: store.Done},
		{name: "chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", want: store.Done},
		{name: "until closed", answer: "HTTP/1.0 200 OK\r\n\r\n{}", want: store.Done},
		{name: "500", answer: "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", want: store.Failed, text: "status 500"},
		{name: "endless 500", answer: "HTTP/1.1 500 Oops\r\nContent-Length: 9999999999\r\n\r\n", want: store.Failed, text: "status 500"},
		{name: "401", answer: "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", want: store.Failed, text: "status 401"},
		{
			name: "302", answer: "HTTP/1.1 302 Found\r\nLocation: http://evil.example/canary\r\nContent-Length: 0\r\n\r\n",
			want: store.Failed, text: "status 302",
		},
		{name: "half a body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", want: store.Unknown, err: upstream.ErrBroken},
		{
			name: "half a chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}", want: store.Unknown,
			err: upstream.ErrBroken,
		},
		{
			name: "no final chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", want: store.Unknown,
			err: upstream.ErrBroken,
		},
		{name: "half an error", answer: "HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\n{}", want: store.Unknown, err: upstream.ErrBroken},
		{name: "half a header", answer: "HTTP/1.1 200 OK\r\nContent-Len", want: store.Unknown, err: upstream.ErrBroken},
		{name: "nothing", answer: "", want: store.Unknown, err: upstream.ErrBroken},
		{name: "not HTTP", answer: "SSH-2.0-canary\r\n", want: store.Unknown, err: upstream.ErrBroken},
		{
			name: "two lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", want: store.Unknown,
			err: upstream.ErrBroken,
		},
		{name: "endless header", answer: "HTTP/1.1 200 OK\r\nX: " + long + "\r\n\r\n{}", want: store.Unknown, err: upstream.ErrBroken},
		{
			name: "1xx flood", answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 50_000), want: store.Unknown,
			err: upstream.ErrBroken,
		},
		{
			name: "a few 1xx", answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 3) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
			want: store.Done,
		},
		{
			name: "switching protocols", answer: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", want: store.Unknown,
			err: upstream.ErrBroken,
		},
		{
			name: "HTML", answer: "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", want: store.Done,
			text: "text/html, not JSON",
		},
		{name: "not JSON", answer: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{canary}", want: store.Done, text: "not acceptable JSON: line 1"},
		{name: "too long by its length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", want: store.Done, text: "max_response"},
		{name: "too long by its bytes", answer: "HTTP/1.0 200 OK\r\n\r\n" + long, want: store.Done, text: "max_response"},
		{name: "brotli", answer: "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}", want: store.Done, text: "encoding"},
		{name: "no gzip", answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", want: store.Done, text: "gzip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := raw(t, tt.answer)
			u := open(t, settings(t, s.URL))
			answer, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, live)
			var tree any
			if err == nil {
				tree, err = answer.Tree(t.Context())
			}
			if outcome != tt.want {
				t.Errorf("outcome %q, %v; want %q", outcome, err, tt.want)
			}
			if wanted := tt.err != nil || tt.text != ""; wanted != (err != nil) {
				t.Fatalf("err = %v", err)
			}
			if (tt.err != nil && !errors.Is(err, tt.err)) || (err != nil && !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("err = %v, want %v with %q", err, tt.err, tt.text)
			}
			if err != nil && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "canary")) {
				t.Errorf("the error contains the address or a secret: %v", err)
			}
			if err == nil && tree == nil {
				t.Error("no body")
			}
			if n := s.Requests.Load(); n != 1 {
				t.Errorf("the service received %d requests for a POST, want 1", n)
			}
		})
	}
}

func TestResponsesAreLimitedWhileRead(t *testing.T) {
	var sent atomic.Int64
	s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n["))
		chunk := bytes.Repeat([]byte("1,"), 32<<10)
		for sent.Load() < 1<<30 {
			n, err := c.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return false
			}
		}
		return false
	})
	u := open(t, settings(t, s.URL))
	_, outcome, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, live)
	if _, ok := errors.AsType[*upstream.ResponseError](err); outcome != store.Done || !ok {
		t.Fatalf("got %q, %v", outcome, err)
	}
	if n := sent.Load(); n > 256<<20 {
		t.Errorf("the service could send %d bytes, want at most %v", n, 256<<20)
	}
}

func TestGzipIsLimitedAfterDecompression(t *testing.T) {
	pack := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		packed string
		fits   bool
	}{
		"small":     {pack(`{"a":1}`), true},
		"bomb":      {pack(`"` + strings.Repeat("0", 2<<20) + `"`), false},
		"truncated": {pack(`{"a":1}`)[:20], false},
	} {
		t.Run(name, func(t *testing.T) {
			u := open(t, settings(t, raw(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s",
				len(tt.packed), tt.packed)).URL))
			answer, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, live)
			_, invalid := errors.AsType[*upstream.ResponseError](err)
			if outcome != store.Done || (err == nil) != tt.fits || invalid == tt.fits {
				t.Fatalf("got %q, %v", outcome, err)
			}
			if tt.fits && string(answer.JSON) != `{"a":1}` {
				t.Errorf("got %s", answer.JSON)
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	for name, begin := range map[string]string{
		"no response": "", "slow headers": "HTTP/1.1 200 OK\r\nX: ", "slow body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
				_, _ = c.Write([]byte(begin))
				<-release
				return false
			})
			defer close(release)
			cfg := settings(t, s.URL)
			cfg.Timeout = 50 * time.Millisecond
			u := open(t, cfg)
			for _, method := range []string{"GET", "POST"} {
				_, outcome, err := u.Call(t.Context(), prepare(t, u, method), upstream.Identity{}, live)
				if outcome != store.Unknown || !errors.Is(err, upstream.ErrTimeout) {
					t.Errorf("%s: %q, %v; want %v, %v", method, outcome, err, store.Unknown, upstream.ErrTimeout)
				}
			}
			if n := s.Requests.Load(); n != 2 {
				t.Errorf("got %d requests, want 2", n)
			}
		})
	}
}

func TestUnreachableService(t *testing.T) {
	for name, address := range map[string]string{
		"connection refused": closedPort(t), "cannot be resolved": "http://no-such-host.invalid",
	} {
		u := open(t, settings(t, address))
		requests := 0
		_, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, granted("", func() error { requests++; return nil }))
		if outcome != store.NotSent || !errors.Is(err, upstream.ErrUnreachable) || !strings.HasSuffix(err.Error(), name) {
			t.Errorf("%q, %v; want %s", outcome, err, name)
		}
		if requests != 3 {
			t.Errorf("%s: %d attempts, want 3", name, requests)
		}
	}
}

// A call that gets no connection before its timeout was not sent.
func TestCallWithoutConnection(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
		close(arrived)
		<-release
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
		return false
	})
	cfg := settings(t, s.URL)
	cfg.Pool.MaxConns = 1
	u := open(t, cfg)
	first := make(chan store.Outcome, 1)
	p := prepare(t, u, "POST")
	go func() {
		_, outcome, _ := u.Call(t.Context(), p, upstream.Identity{}, live)
		first <- outcome
	}()
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, outcome, err := u.Call(ctx, p, upstream.Identity{}, live); outcome != store.NotSent || !errors.Is(err, upstream.ErrUnreachable) {
		t.Errorf("got %q, %v; want %v, %v", outcome, err, store.NotSent, upstream.ErrUnreachable)
	}
	close(release)
	if outcome := <-first; outcome != store.Done || s.Requests.Load() != 1 {
		t.Errorf("%q, %d requests", outcome, s.Requests.Load())
	}
}

func TestCanceledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	s := serve(t, func(_ int64, _ net.Conn, _ *http.Request) bool { cancel(); <-release; return false })
	defer close(release)
	cfg := settings(t, s.URL)
	cfg.Breaker.Failures = 1
	u := open(t, cfg)
	p := prepare(t, u, "POST")
	for _, want := range []store.Outcome{store.Unknown, store.NotSent} {
		_, outcome, err := u.Call(ctx, p, upstream.Identity{}, live)
		if outcome != want || !errors.Is(err, context.Canceled) {
			t.Errorf("%q, %v; want %q", outcome, err, want)
		}
	}
	if err := p.Ready("", false); err != nil {
		t.Error("a canceled call counts as a failure of the service:", err)
	}
}

func TestErrorResponses(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		status       int
		header, body string
		want         error
	}{
		{400, "", `{"error":"name is too long"}`, &upstream.RejectedError{
			Code: upstream.InvalidParameter, Status: 400,
			Message: "name is too long",
		}},
		{422, "", `{"title":"t","detail":"d","message":7}`, &upstream.RejectedError{Code: upstream.InvalidParameter, Status: 422, Message: "d"}},
		{404, "", `<html>`, &upstream.RejectedError{Code: upstream.NotFound, Status: 404}},
		{410, "", `{"error":{"code":"X","message":"gone"}}`, &upstream.RejectedError{Code: upstream.NotFound, Status: 410, Message: "gone"}},
		{409, "", `{"message":"a\u0007b\nc\u202ed"}`, &upstream.RejectedError{Code: upstream.Conflict, Status: 409, Message: "ab cd"}},
		{
			412, "", `{"message":"` + strings.Repeat("é", 400) + `"}`,
			&upstream.RejectedError{Code: upstream.Conflict, Status: 412, Message: strings.Repeat("é", 300)},
		},
		{429, "Retry-After: 7\r\n", `{"message":"slow down"}`, &upstream.BusyError{RetryAfter: 7 * time.Second, Message: "slow down"}},
		{429, "Retry-After: Fri, 02 Jan 2026 03:05:05 GMT\r\n", "", &upstream.BusyError{RetryAfter: time.Minute}},
		{429, "Retry-After: 99999999999999999999\r\n", "", &upstream.BusyError{}},
		{429, "Retry-After: -5\r\n", "", &upstream.BusyError{}},
		{401, "", `{"message":"bad key s3cret"}`, &upstream.StatusError{Status: 401}},
		{403, "", `{"message":"forbidden for gateway"}`, &upstream.StatusError{Status: 403}},
		{418, "", `{"message":"teapot"}`, &upstream.StatusError{Status: 418, Message: "teapot"}},
		{400, "", `{"message":"you sent s3cret"}`, &upstream.RejectedError{Code: upstream.InvalidParameter, Status: 400}},
		{500, "", `{"message":"stack trace"}`, &upstream.StatusError{Status: 500}},
		{503, "Retry-After: 7\r\n", `{"message":"stack trace"}`, &upstream.StatusError{Status: 503}},
		{300, "", `{"message":"choose"}`, &upstream.StatusError{Status: 300}},
	} {
		t.Run(fmt.Sprint(tt.status, tt.body), func(t *testing.T) {
			answer := fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s", tt.status, tt.header, len(tt.body), tt.body)
			cfg := settings(t, raw(t, answer).URL)
			cfg.AuthHeaders = headers("X-Api-Key", "s3cret")
			cfg.Now = func() time.Time { return now }
			u := open(t, cfg)
			_, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, live)
			if outcome != store.Failed {
				t.Errorf("outcome %q, want %q", outcome, store.Failed)
			}
			if diff := cmp.Diff(tt.want, err); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestHeaders(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = w.Write([]byte("{}"))
	}))
	defer srv.Close()
	cfg := settings(t, srv.URL)
	cfg.IdempotencyHeader = "Idempotency-Key"
	cfg.AuthHeaders = headers("Authorization", "Basic Z2F0ZTpwYXNz")
	u := open(t, cfg)
	id := upstream.Identity{
		AgentID: "agent-1", AgentKey: "jkt", Assurance: "fresh", TokenID: "jti",
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
	if _, _, err := u.Call(t.Context(), prepare(t, u, "POST"), id, granted("0190-x", alive)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Uim-Agent-Id": {"agent-1"}, "Uim-Agent-Key": {"jkt"}, "Uim-Agreement-Assurance": {"fresh"}, "Uim-Token-Id": {"jti"},
		"Uim-Execution-Id": {"0190-x"}, "Idempotency-Key": {"0190-x"}, "Traceparent": {id.Traceparent},
		"Authorization": {"Basic Z2F0ZTpwYXNz"}, "Content-Type": {"application/json"}, "Content-Length": {"2"},
		"Accept": {"application/json"}, "Accept-Encoding": {"identity"}, "User-Agent": {"uimgate"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if _, _, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, live); err != nil {
		t.Fatal(err)
	}
	if got.Get("Traceparent") != "" || got.Get("Uim-Agent-Id") != "" {
		t.Error(got)
	}
	_, outcome, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{AgentID: "a\r\nX-Admin: 1"}, live)
	if outcome != store.NotSent || !errors.Is(err, upstream.ErrIdentity) || strings.Contains(err.Error(), "Admin") {
		t.Errorf("got %q, %v", outcome, err)
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"proto":"` + r.Proto + `"}`))
	}))
	srv.Config.ErrorLog = log.New(t.Output(), "", 0)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	u := open(t, settings(t, srv.URL))
	_, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, live)
	if outcome != store.NotSent || !errors.Is(err, upstream.ErrUnreachable) || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("got %q, %v", outcome, err)
	}
	cfg := settings(t, srv.URL)
	cfg.RootCAs = srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	u = open(t, cfg)
	for range 3 {
		answer, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, live)
		if outcome != store.Done || err != nil || string(answer.JSON) != `{"proto":"HTTP/1.1"}` {
			t.Errorf("got %s, %q, %v", answer.JSON, outcome, err)
		}
	}
	if _, outcome, err := u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{},
		granted("", func() error { return errGone })); outcome != store.NotSent || !errors.Is(err, errGone) {
		t.Errorf("got %q, %v; want %v, %v", outcome, err, store.NotSent, errGone)
	}
}

func TestConcurrentCallsGetTheirResponses(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%q", r.Header.Get("UIM-Agent-Id"))
	}))
	defer srv.Close()
	u := open(t, settings(t, srv.URL))
	p := prepare(t, u, "GET")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf("a%d-%d", i, j)
				answer, _, err := u.Call(t.Context(), p, upstream.Identity{AgentID: want}, live)
				if err != nil || string(answer.JSON) != strconv.Quote(want) {
					t.Errorf("%s, %v; want %s", answer.JSON, err, want)
				}
			}
		})
	}
	wg.Wait()
}
