package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/internal/fetch"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// A recorder is a server that records every request.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	tr := &recorder{}
	tr.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.seen = append(tr.seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+r.Header.Get("UIM-Proof")+string(body))
	}))
	t.Cleanup(tr.Close)
	return tr
}

func (tr *recorder) requests() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.seen
}

func TestSecretsAreNotSentThroughRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		shop, elsewhere := agenttest.New(t, agenttest.Canonical), newRecorder(t)
		s := agreed(t, options(t, shop), shop.URL)
		fresh := discover(t, options(t, shop), shop.URL)
		shop.Config.Handler = redirecting(shop.Config.Handler, elsewhere.URL, status)
		_, executed := s.Execute(t.Context(), agenttest.Order, nil, agent.ExecuteOptions{Prove: true})
		_, renewed := s.Renew(t.Context())
		_, agreedTo := fresh.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()})
		for _, err := range []error{executed, renewed, s.Revoke(t.Context()), agreedTo} {
			if e := refusal(t, err); e.Status != status || !strings.Contains(e.Message, "redirect") {
				t.Errorf("%d: %v", status, err)
			}
		}
		if seen := elsewhere.requests(); len(seen) != 0 {
			t.Errorf("%d: sent elsewhere: %q, want none", status, seen)
		}
	}
}

func redirecting(inner http.Handler, to string, status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, to+r.URL.Path, status)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestInvalidAgentsFiles(t *testing.T) {
	t.Parallel()
	// endless serves chunk again and again until the client disconnects.
	endless := func(chunk []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	respond := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want error
	}{
		"endless spaces":           {endless(bytes.Repeat([]byte(" "), 1<<16)), fetch.ErrTooLarge},
		"endless list":             {endless([]byte(`[{"intents":[`)), fetch.ErrTooLarge},
		"html":                     {respond("text/html", `{"intents":[]}`), agent.ErrAnswer},
		"not JSON":                 {respond("application/json", `{"intents":`), agent.ErrAnswer},
		"another format":           {respond("application/json", `{"agentsJson":"0.1.0","sources":[],"flows":[]}`), agent.ErrAnswer},
		"deep":                     {respond("application/json", strings.Repeat("[", 1<<20)), agent.ErrAnswer},
		"a huge number of members": {respond("application/json", `{"intents":[`+strings.Repeat(`{},`, 1<<18)+`{}]}`), nil},
		"empty":                    {respond("application/json", ``), agent.ErrAnswer},
		"unrequested compression":  {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, nil},
		"not found":                {http.NotFound, agent.ErrNotFound},
		"endless redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		}, fetch.ErrRefused},
		"redirects to a file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, fetch.ErrRefused},
		"redirects with a password": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://a:b@127.0.0.1/", http.StatusFound)
		}, fetch.ErrRefused},
		"redirects to plain http": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}, fetch.ErrRefused},
		"redirects to metadata": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://169.254.169.254/x", http.StatusFound)
		}, fetch.ErrRefused},
		"redirects to a mapped address": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://[::ffff:10.0.0.1]/x", http.StatusFound)
		}, fetch.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, tt.h)
			o := agent.Options{MaxDocument: 1 << 21}
			s, err := clientOf(t, o).Discover(t.Context(), server.URL)
			if err == nil && tt.want == nil {
				return // the file is valid
			}
			if tt.want != nil {
				wantErr(t, err, tt.want)
			}
			wantErr(t, err, agent.ErrNoService)
			if s != nil {
				t.Error("got both a service and an error")
			}
		})
	}
}

func TestDocumentRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	hops := 0
	front := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hops++; hops < 3 {
			http.Redirect(w, r, "/again", http.StatusFound)
			return
		}
		http.Redirect(w, r, shop.URL+"/agents.json", http.StatusFound)
	})
	s := discover(t, agent.Options{}, front.URL)
	if s.Endpoints().Agents != shop.URL+"/agents.json" {
		t.Errorf("got %v, want %v", s.Endpoints().Agents, shop.URL+"/agents.json")
	}
}

func TestSlowServerTimesOut(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	started := make(chan struct{}, 1)
	shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte(`{`))
		_ = http.NewResponseController(w).Flush()
		started <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, err := s.Execute(ctx, agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, context.Canceled)
	if broken, ok := errors.AsType[*fetch.Error](err); !ok || !broken.Sent {
		t.Errorf("err = %v, want a *fetch.Error that was sent", err)
	}
}

func TestTimeoutIncludesTheBody(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	_, err := clientOf(t, agent.Options{Timeout: 20 * time.Millisecond}).Discover(t.Context(), server.URL+"/agents.json")
	wantErr(t, err, context.DeadlineExceeded)
}

func TestTooLargeResponsesAreNotRetried(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	o.MaxAnswer = 1000
	s := agreed(t, o, shop.URL)
	shop.Script(agenttest.Reply{Status: 200, Body: `"` + strings.Repeat("x", 1000) + `"`})
	_, err := s.Execute(t.Context(), agenttest.Order, nil, agent.ExecuteOptions{})
	wantErr(t, err, fetch.ErrTooLarge)
	if n := len(shop.Calls()); n != 1 {
		t.Errorf("got %d calls, want 1", n)
	}
}

func TestPATMustMatchTheAgreement(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	inner := shop.Config.Handler
	for name, body := range map[string]string{
		"no PAT":          `{}`,
		"a header":        `{"uim-pat":"a\r\nX-Evil: 1"}`,
		"a space":         `{"uim-pat":"a b"}`,
		"another type":    `{"uim-pat":7}`,
		"not JSON":        `uim-pat`,
		"too long":        `{"uim-pat":"` + strings.Repeat("a", 30<<10) + `"}`,
		"another key":     `{"uim-pat":"e30.eyJjbmYiOnsiamt0IjoiYWJjIn19.e30"}`,
		"another policy":  `{"uim-pat":"e30.eyJwb2xfZGlnZXN0Ijoic2hhLTI1NjphYmMifQ.e30"}`,
		"a long response": `{"uim-pat":"a","x":"` + strings.Repeat("a", 300<<10) + `"}`,
	} {
		shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/pat/issue" {
				inner.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write([]byte(body))
		})
		s := discover(t, o, shop.URL)
		if _, err := s.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()}); err == nil || s.Session().Agreed() {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestLoopbackMustBeNamedByCaller(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	port := shop.URL[strings.LastIndexByte(shop.URL, ':')+1:]
	o := options(t, shop)
	// The session records that the service was found at a public address, so the client must not call it at a loopback address.
	session := agreed(t, o, shop.URL).Session()
	session.Endpoints.Agents = "https://shop.example/agents.json"
	before := len(shop.Calls())
	s, err := clientOf(t, o).Resume(session)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, fetch.ErrRefused)
	_, err = s.Policy(t.Context())
	wantErr(t, err, fetch.ErrRefused)
	if len(shop.Calls()) != before {
		t.Error("the service was called")
	}
	if _, err := clientOf(t, o).Discover(t.Context(), "localhost:"+port); err != nil {
		t.Error(err)
	}
}

// A subdomain of the issuer may belong to a customer. The client trusts it only if the DNS records of the issuer's domain name it.
func TestSubdomainNeedsRecordsOfItsDomain(t *testing.T) {
	t.Parallel()
	const own = "https://api.shop.example/agents.json"
	for name, tt := range map[string]struct {
		host    string
		records []string
		err     error
		vouched bool
	}{
		"the URL of its file is named":             {"api.shop.example", []string{own}, nil, true},
		"the URL of another of its files is named": {"api.shop.example", []string{"https://api.shop.example/.well-known/agents.json"}, nil, true},
		"another host is named":                    {"customer.shop.example", []string{own}, nil, false},
		"no host is named":                         {"api.shop.example", nil, nil, false},
		"DNS does not respond":                     {"api.shop.example", nil, discovery.ErrServer, false},
		"an unrelated host is named":               {"evil.example", []string{"https://evil.example/agents.json"}, nil, false},
		"an unrelated domain with its suffix":      {"notshop.example", []string{"https://notshop.example/agents.json"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			o := options(t, shop)
			o.Locate = func(_ context.Context, domain string) ([]string, error) {
				if domain != agenttest.Issuer {
					t.Errorf("looked up the records of %s, want %s", domain, agenttest.Issuer)
				}
				return tt.records, tt.err
			}
			_, err := movedTo(t, shop, o, tt.host).Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()})
			refused, ok := errors.AsType[*agent.IssuerError](err)
			if err == nil || ok == tt.vouched {
				t.Errorf("got %v, want the issuer accepted: %v", err, tt.vouched)
			}
			if ok && refused.Unconfirmed != strings.HasSuffix(tt.host, ".shop.example") {
				t.Errorf("got %v", refused)
			}
		})
	}
}

// movedTo returns the service of a shop as if the client had found it at another host. The client never sends signed messages for that
// service, because its endpoints are on the loopback address, which that host must not name.
func movedTo(t *testing.T, shop *agenttest.Service, o agent.Options, host string) *agent.Service {
	t.Helper()
	session := discover(t, o, shop.URL).Session()
	session.Endpoints.Agents = "https://" + host + "/agents.json"
	path := t.TempDir() + "/s.json"
	if err := agent.SaveSession(path, session); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, strings.Replace(readFile(t, path), `"asked": "`+shop.URL, `"asked": "https://`+host, 1))
	session, err := agent.LoadSession(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := clientOf(t, o).Resume(session)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestForeignIssuerIsRejected(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	s := movedTo(t, shop, o, "evil.example")
	_, err := s.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()})
	if issuer, ok := errors.AsType[*agent.IssuerError](err); !ok || issuer.Issuer != agenttest.Issuer || issuer.Host != "evil.example" {
		t.Errorf("err = %v, want an *agent.IssuerError of %s at evil.example", err, agenttest.Issuer)
	}
	_, err = s.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest(), Issuer: agenttest.Issuer})
	if _, ok := errors.AsType[*agent.IssuerError](err); ok || err == nil {
		t.Errorf("err = %v, want the issuer accepted and the loopback address refused", err)
	}
}

func TestErrorsHaveNoEscapeCodes(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	escapes := []string{
		`{"\u001b[31m":}`, `{"\u009b31m":{"a":1,"a":2}}`,
		`{"error":{"code":"\u001b","message":"\u001b[2J\u202e","details":{"reason":"\u001b","suggestion":"\u009b"}}}`,
	}
	for n, body := range escapes {
		status := http.StatusOK
		if n == 2 {
			status = http.StatusTeapot
		}
		shop.Script(agenttest.Reply{Status: status, Body: body})
		_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
		if err == nil || !fit(err.Error()) {
			t.Errorf("got %q", err)
		}
	}
	for _, body := range escapes[:2] {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "\x1b") {
				http.Redirect(w, r, "/%1b[31m.json", http.StatusFound)
				return
			}
			_, _ = w.Write([]byte(body))
		})
		_, err := clientOf(t, agent.Options{}).Discover(t.Context(), server.URL+"/agents.json")
		if err == nil || !fit(err.Error()) {
			t.Errorf("got %q", err)
		}
	}
}

func TestStaticRenewalNeedsAllowStatic(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Mock)
	o := options(t, shop)
	o.AllowStatic = true
	session := agreed(t, o, shop.URL).Session()
	o.AllowStatic = false
	s, err := clientOf(t, o).Resume(session)
	if err != nil {
		t.Fatal(err)
	}
	shop.Clock.Add(2 * time.Hour)
	before := shop.Requests("/pat/issue")
	_, err = s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrOptions)
	if shop.Requests("/pat/issue") != before {
		t.Error("something was signed")
	}
}
