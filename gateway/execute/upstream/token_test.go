package upstream_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

const clientSecret = "s3cret-client"

// A tokenServer issues token-1, token-2 and so on, each for expires seconds, and counts requests. answer replaces its handler.
type tokenServer struct {
	URL      string
	expires  atomic.Int64 // 0: the responses have no expires_in
	requests atomic.Int64
	answer   atomic.Pointer[http.HandlerFunc]
	form     atomic.Pointer[string] // of the last request
}

func newTokenServer(tb testing.TB) *tokenServer {
	tb.Helper()
	s := &tokenServer{}
	s.expires.Store(3600)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.requests.Add(1)
		_ = r.ParseForm()
		id, secret, _ := r.BasicAuth()
		form := fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.PostForm.Encode(), " ", id, ":", secret)
		s.form.Store(&form)
		if other := s.answer.Load(); other != nil {
			(*other)(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		expires := ""
		if e := s.expires.Load(); e != 0 {
			expires = fmt.Sprintf(`,"expires_in":%d`, e)
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer"%s}`, n, expires)
	}))
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *tokenServer) answers(h http.HandlerFunc) { s.answer.Store(&h) }

// A clock changes only when advance is called.
type clock struct{ past atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_800_000_000, 0).Add(time.Duration(c.past.Load())) }
func (c *clock) advance(d time.Duration) { c.past.Add(int64(d)) }

// A protectedService is a service that accepts one token and records the tokens that it receives.
type protectedService struct {
	URL  string
	mu   sync.Mutex
	want string // empty: any
	seen []string
}

func newProtectedService(tb testing.TB) *protectedService {
	tb.Helper()
	g := &protectedService{}
	s := serve(tb, func(_ int64, c net.Conn, r *http.Request) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		given := r.Header.Get("Authorization")
		g.seen = append(g.seen, given)
		status := 200
		if g.want != "" && given != "Bearer "+g.want {
			status = 401
		}
		_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\n{}", status)
		return true
	})
	g.URL = s.URL
	return g
}

func (g *protectedService) expect(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.want, g.seen = token, nil
}

func (g *protectedService) received() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.seen, ", ")
}

func withTokens(tb testing.TB, service string, s *tokenServer, c *clock) *upstream.Upstream {
	tb.Helper()
	cfg := settings(tb, service)
	cfg.Now = c.now
	cfg.OAuth2 = config.OAuth2{
		TokenURL: mustURL(tb, s.URL+"/token"), ClientID: "gate", ClientSecret: config.NewSecret(clientSecret), Scopes: []string{"a", "b"},
	}
	return open(tb, cfg)
}

// once makes one call as the executor does: it takes a place first.
func once(tb testing.TB, u *upstream.Upstream, method string) (store.Outcome, error) {
	tb.Helper()
	leave, err := u.Enter(tb.Context(), "agent-1", false)
	if err != nil {
		return store.NotSent, err
	}
	defer leave()
	_, outcome, err := u.Call(tb.Context(), prepare(tb, u, method), upstream.Identity{}, live)
	return outcome, err
}

func TestAccessTokenIsFetchedOnceAndRenewedEarly(t *testing.T) {
	var c clock
	tokens, service := newTokenServer(t), newProtectedService(t)
	u := withTokens(t, service.URL, tokens, &c)
	for range 3 {
		if outcome, err := once(t, u, "POST"); outcome != store.Done {
			t.Fatalf("got %q, %v; want %v", outcome, err, store.Done)
		}
	}
	if got, want := *tokens.form.Load(), "POST /token grant_type=client_credentials&scope=a+b gate:"+clientSecret; got != want {
		t.Errorf("asked by %s, want %s", got, want)
	}
	if got := service.received(); got != "Bearer token-1, Bearer token-1, Bearer token-1" {
		t.Errorf("the service saw %s, want %q", got, "Bearer token-1, Bearer token-1, Bearer token-1")
	}
	c.advance(time.Hour - 29*time.Second) // due: the next call uses the old token while a new one is fetched
	service.expect("")
	if outcome, err := once(t, u, "POST"); outcome != store.Done {
		t.Fatalf("got %q, %v; want %v", outcome, err, store.Done)
	}
	for !strings.HasSuffix(service.received(), "Bearer token-2") {
		if outcome, err := once(t, u, "GET"); outcome != store.Done {
			t.Fatalf("got %q, %v; want %v", outcome, err, store.Done)
		}
	}
	c.advance(2 * time.Hour) // expired: the next call waits for a new one
	service.expect("token-3")
	if outcome, err := once(t, u, "POST"); outcome != store.Done || tokens.requests.Load() != 3 {
		t.Errorf("%q, %v, after %d requests for a token", outcome, err, tokens.requests.Load())
	}
}

func TestTokenWithoutExpiryIsKeptUntilRefused(t *testing.T) {
	var c clock
	tokens, service := newTokenServer(t), newProtectedService(t)
	tokens.expires.Store(0)
	u := withTokens(t, service.URL, tokens, &c)
	for range 2 {
		if outcome, err := once(t, u, "GET"); outcome != store.Done {
			t.Fatalf("got %q, %v; want %v", outcome, err, store.Done)
		}
		c.advance(1000 * time.Hour)
	}
	if n := tokens.requests.Load(); n != 1 {
		t.Errorf("got %d token requests, want 1", n)
	}
}

func TestConcurrentCallsShareOneTokenRequest(t *testing.T) {
	var c clock
	tokens, service := newTokenServer(t), newProtectedService(t)
	requested, release := make(chan struct{}), make(chan struct{})
	tokens.answers(func(w http.ResponseWriter, _ *http.Request) {
		close(requested) // a second request would panic
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"one","token_type":"Bearer","expires_in":60}`))
	})
	u := withTokens(t, service.URL, tokens, &c)
	service.expect("one")
	const calls = 50
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if outcome, err := once(t, u, "POST"); outcome != store.Done {
				t.Errorf("got %q, %v; want %v", outcome, err, store.Done)
			}
		})
	}
	<-requested
	for n := 0; n < calls; n, _ = u.UnderWay() { // all calls have a place before there is a token
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	if n := tokens.requests.Load(); n != 1 {
		t.Errorf("got %d requests for a token, want 1", n)
	}
}

func TestRefusedTokenIsRenewed(t *testing.T) {
	for _, tt := range []struct {
		method, idempotency string
		age                 time.Duration
		outcome             store.Outcome
		saw                 string
		requests            int64
	}{
		{"GET", "", time.Minute, store.Done, "Bearer token-1, Bearer token-2", 2},
		{"POST", "Idempotency-Key", time.Minute, store.Done, "Bearer token-1, Bearer token-2", 2},
		{"POST", "", time.Minute, store.Failed, "Bearer token-1", 1},
		{"GET", "", 0, store.Failed, "Bearer token-1", 1}, // the token is too new to be replaced
	} {
		t.Run(fmt.Sprint(tt.method, tt.idempotency, tt.age), func(t *testing.T) {
			var c clock
			tokens, service := newTokenServer(t), newProtectedService(t)
			cfg := settings(t, service.URL)
			cfg.Now, cfg.IdempotencyHeader = c.now, tt.idempotency
			cfg.OAuth2 = config.OAuth2{TokenURL: mustURL(t, tokens.URL), ClientID: "gate", ClientSecret: config.NewSecret(clientSecret)}
			u := open(t, cfg)
			if outcome, err := once(t, u, "GET"); outcome != store.Done {
				t.Fatalf("got %q, %v; want %v", outcome, err, store.Done)
			}
			c.advance(tt.age)
			service.expect("token-2")
			if outcome, err := once(t, u, tt.method); outcome != tt.outcome {
				t.Errorf("%q, %v; want %q", outcome, err, tt.outcome)
			}
			if got := service.received(); got != tt.saw || tokens.requests.Load() != tt.requests {
				t.Errorf("the service saw %s, the token server %d requests; want %s and %d", got, tokens.requests.Load(), tt.saw, tt.requests)
			}
			c.advance(time.Minute)
			if outcome, err := once(t, u, "GET"); outcome != store.Done { // the next call has a new token
				t.Errorf("got %q, %v; want %v", outcome, err, store.Done)
			}
		})
	}
	t.Run("every token", func(t *testing.T) {
		var c clock
		tokens, service := newTokenServer(t), newProtectedService(t)
		u := withTokens(t, service.URL, tokens, &c)
		service.expect("none")
		for range 20 {
			if outcome, err := once(t, u, "GET"); outcome != store.Failed || strings.Contains(err.Error(), "token-") {
				t.Fatalf("got %q, %v", outcome, err)
			}
		}
		if n := tokens.requests.Load(); n != 1 {
			t.Errorf("got %d requests for a token within a second, want 1", n)
		}
	})
}

func TestNothingIsSentWithoutAToken(t *testing.T) {
	const canary = "s3cret-canary"
	write := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "/"+canary)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"status 401, invalid_client":      write(401, `{"error":"invalid_client","error_description":"`+canary+`"}`),
		"status 400":                      write(400, `{"error":"`+canary+`"}`),
		"status 500":                      write(500, canary),
		"status 302":                      write(302, ""),
		"its response contains no token":  write(200, `{"token":"`+canary+`"}`),
		"contains no token":               write(200, canary),
		"token type is not Bearer":        write(200, `{"access_token":"`+canary+`","token_type":"mac"}`),
		"characters that are not allowed": write(200, `{"access_token":"`+canary+`\r\nX: y","token_type":"bearer"}`),
		"too long, or contains":           write(200, `{"access_token":"`+strings.Repeat("x", 20<<10)+`","token_type":"bearer"}`),
		"from the token server: its r":    write(200, `{"access_token":"`+strings.Repeat("x", 2<<20)+`","token_type":"bearer"}`),
		"connection closed early":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			var c clock
			tokens, service := newTokenServer(t), newProtectedService(t)
			tokens.answers(answer)
			u := withTokens(t, service.URL, tokens, &c)
			var queries int64
			for n := range 5 {
				outcome, err := once(t, u, "GET")
				if outcome != store.NotSent || !errors.Is(err, upstream.ErrUnreachable) || !strings.Contains(err.Error(), name) {
					t.Errorf("got %q, %v", outcome, err)
				}
				if strings.Contains(fmt.Sprintf("%+v", err), "s3cret") || strings.Contains(err.Error(), "127.0.0.1") {
					t.Errorf("the error contains the address or a secret: %v", err)
				}
				if n == 0 {
					queries = tokens.requests.Load()
				}
			}
			if n := tokens.requests.Load(); n != queries || service.received() != "" {
				t.Errorf("%d requests for a token, after the first call %d; the service saw %q", n, queries, service.received())
			}
			if n, _ := u.UnderWay(); n != 0 {
				t.Errorf("%d places are in use", n)
			}
			tokens.answer.Store(nil)
			c.advance(2 * time.Second)
			if outcome, err := once(t, u, "GET"); outcome != store.Done {
				t.Errorf("after the token server recovered: %q, %v; want %v", outcome, err, store.Done)
			}
		})
	}
}

// A message of the service that contains the token is not passed on.
func TestTokensDoNotAppearInMessages(t *testing.T) {
	var c clock
	tokens := newTokenServer(t)
	s := raw(t, "HTTP/1.1 400 X\r\nContent-Length: 30\r\n\r\n{\"message\":\"token-1 is wrong\"}")
	u := withTokens(t, s.URL, tokens, &c)
	_, err := once(t, u, "POST")
	if rejected, ok := errors.AsType[*upstream.RejectedError](err); !ok || rejected.Message != "" {
		t.Errorf("got %v %q", err, rejected.Message)
	}
}
