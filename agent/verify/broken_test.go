package verify_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/agent/verify"
)

// passing is a proxy that changes nothing.
func passing(gateway string) http.Handler { return proxy(gateway, nil) }

// proxy passes requests on, with answers changed by change.
func proxy(gateway string, change func(*http.Response) error) http.Handler {
	target, err := url.Parse(gateway)
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: change}
}

func readAll(t *testing.T, r *http.Request) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

func replaced(r *http.Response, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// edited changes one JSON answer.
func edited(r *http.Response, change func(map[string]any)) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return err
	}
	change(tree)
	data, err = json.Marshal(tree)
	replaced(r, data)
	return err
}

// onPath changes only the answers of one path.
func onPath(path string, change func(*http.Response) error) func(string) http.Handler {
	return func(gateway string) http.Handler {
		return proxy(gateway, func(r *http.Response) error {
			if r.Request.URL.Path != path {
				return nil
			}
			return change(r)
		})
	}
}

func header(name, value string) func(*http.Response) error {
	return func(r *http.Response) error {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
		return nil
	}
}

func members(change func(map[string]any)) func(*http.Response) error {
	return func(r *http.Response) error { return edited(r, change) }
}

func anIntent(tree map[string]any) map[string]any {
	return tree["intents"].([]any)[0].(map[string]any)
}

// instead answers a request itself where f does.
func instead(f func(w http.ResponseWriter, r *http.Request) bool) func(string) http.Handler {
	return func(gateway string) http.Handler {
		next := passing(gateway)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !f(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

const stack = "goroutine 7 [running]:\nmain.main()\n\t/home/app/main.go:42 +0x1d"

func fail(w http.ResponseWriter, status int, code, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message, "details": map[string]any{}}})
	return true
}

// Each of these services is ours but for one fault.
func TestEachFaultIsFoundByItsCheck(t *testing.T) {
	const agents, policy, search = "/agents.json", "/api/policy", "/api/intents/search"
	another := base64.StdEncoding.EncodeToString(strangersKey())
	var fetched atomic.Int64
	for name, tt := range map[string]struct {
		between func(string) http.Handler
		want    []string
	}{
		"agents.json as HTML": {onPath(agents, header("Content-Type", "text/html; charset=utf-8")), []string{"agents-type"}},
		"agents.json endless": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, agents) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			chunk := bytes.Repeat([]byte(" "), 1<<20)
			for {
				if _, err := w.Write(chunk); err != nil {
					return true
				}
			}
		}), []string{"agents-found"}},
		"agents.json redirects elsewhere": {func(gateway string) http.Handler {
			return instead(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == agents {
					http.Redirect(w, r, gateway+agents, http.StatusFound)
				}
				return r.URL.Path == agents
			})(gateway)
		}, []string{"agents-direct"}},
		"agents.json has a member twice": {onPath(agents, func(r *http.Response) error {
			data, err := io.ReadAll(r.Body)
			replaced(r, bytes.Replace(data, []byte("{"), []byte(`{"x-a": 1, "x-a": 2,`), 1))
			return err
		}), []string{"agents-json"}},
		"agents.json without ETag":  {onPath(agents, header("ETag", "")), []string{"agents-etag"}},
		"an intent without name":    {onBoth(func(m map[string]any) { delete(anIntent(m), "intent_name") }), []string{"intent-names", "search-same"}},
		"a uid that is none":        {onBoth(func(m map[string]any) { anIntent(m)["intent_uid"] = "shop:Search" }), []string{"intent-uid"}},
		"a type that is none":       {onBoth(func(m map[string]any) { anIntent(m)["input_parameters"].([]any)[1].(map[string]any)["type"] = "text" }), []string{"parameter-types", "search-same"}},
		"a public key that is none": {onBoth(func(m map[string]any) { m["uim-public-key"] = "AAAA" }), []string{"public-key"}},
		"another public key":        {onBoth(func(m map[string]any) { m["uim-public-key"] = another }), []string{"jwks-agrees"}},
		"a license that is none":    {onBoth(func(m map[string]any) { m["uim-license"] = "MIT" }), []string{"license"}},
		"a policy file elsewhere":   {onBoth(func(m map[string]any) { m["uim-policy-file"] = "https://other.example/policy.json" }), []string{"policy-file", "policy-served"}},
		"a policy that changes":     {onPath(policy, only(200, members(func(m map[string]any) { m["note"] = fmt.Sprint(fetched.Add(1)) }))), []string{"policy-stable"}},
		"a policy about something else": {onPath(policy, only(200, members(func(m map[string]any) {
			m["permission"].([]any)[0].(map[string]any)["target"] = "https://other.example/thing"
		}))), []string{"policy-targets", "pat-issue"}}, // what it has signed is not what it offers
		"search that ignores page_size": {without("page_size"), []string{"search-page-size"}},
		"search that ignores page":      {without("page"), []string{"search-pages"}},
		"search that ignores uid":       {without("uid"), []string{"search-uid", "search-nothing"}},
		"search that ignores tags":      {without("tags"), []string{"search-tags"}},
		"search without pagination":     {onPath(search, only(200, members(func(m map[string]any) { delete(m, "pagination") }))), []string{"search-pagination"}},
		"errors as HTML":                {everywhere(html), []string{"error-envelope"}},
		"errors with a stack":           {everywhere(only(404, members(func(m map[string]any) { m["error"].(map[string]any)["message"] = stack }))), []string{"error-internals"}},
		"a code that does not fit":      {everywhere(only(404, members(func(m map[string]any) { m["error"].(map[string]any)["code"] = "FORBIDDEN" }))), []string{"error-codes"}},
		"no WWW-Authenticate":           {everywhere(header("WWW-Authenticate", "")), []string{"error-challenge"}},
		"no RateLimit":                  {everywhere(header("RateLimit", "")), []string{"execute-limits"}},
		"another request id":            {everywhere(header("UIM-Request-ID", "mine")), []string{"request-id"}},
		"the PAT may be stored":         {onPath("/api/pat/issue", header("Cache-Control", "")), []string{"pat-no-store"}},
		"a 500": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, "no-such-path") && fail(w, 500, "INTERNAL_SERVER_ERROR", "Sorry.")
		}), []string{"error-failures"}},
		"a 500 with a stack": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, "no-such-path") && fail(w, 500, "INTERNAL_SERVER_ERROR", stack)
		}), []string{"error-failures", "error-internals"}},
		"200 for a path that is not there": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, "no-such-path") && fail(w, 200, "NONE", "None")
		}), []string{"error-404"}},
		"any PAT is taken": {careless(func(string) string { return "" }), []string{"pat-tampered", "pat-altered", "pat-unsigned", "pat-hmac", "pat-other-key"}},
		"200 for a PAT that is none": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return r.Header.Get("Authorization") == "Bearer uimgate-verify" && fail(w, 200, "NONE", "None")
		}), []string{"pat-garbage"}},
		"signatures are not compared": {careless(func(s string) string { return s[:max(0, strings.LastIndexByte(s, '.'))] }), []string{"pat-tampered", "pat-other-key"}},
		"a PAT with alg none":         {newMint(unsigned).between, []string{"pat-algorithm"}},
		"a PAT with HS256":            {newMint(symmetric).between, []string{"pat-algorithm"}},
		"a PAT without nbf":           {newMint(signed(map[string]any{"nbf": nil})).between, []string{"pat-claims"}},
		"a PAT without jti":           {newMint(signed(map[string]any{"jti": nil})).between, []string{"pat-claims"}},
		"a PAT for ever":              {newMint(signed(map[string]any{"exp": json.Number("99999999999")})).between, []string{"pat-answer", "pat-times"}},
		"a PAT for somebody else":     {newMint(signed(map[string]any{"sub": "somebody"})).between, []string{"pat-subject"}},
		"a PAT by somebody else":      {newMint(signed(map[string]any{"iss": "somebody.example"})).between, []string{"pat-issuer"}},
		"a PAT with a scope of words": {newMint(signed(map[string]any{"scope": "shop.example:search-products:v1:execute"})).between, []string{"pat-scope"}},
		"a PAT by an unknown key":     {func(gateway string) http.Handler { return strange(gateway) }, []string{"pat-signature"}},
		"revocation that does nothing": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Path == "/api/pat/revoke" && fail(w, 200, "NONE", "None")
		}), []string{"revoked-refused"}},
		"no renewal": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/pat/renew") && fail(w, 404, "NOT_FOUND", "Nothing here.")
		}), []string{"renew"}},
		"execute redirects elsewhere":           {redirecting, []string{"execute-answers"}},
		"answers that are not what outputs say": {onPath("/api/intents/execute", only(200, members(func(m map[string]any) { delete(m, "products") }))), []string{"execute-output"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGate(t, 1000, tt.between)
			r := run(t, verify.Options{Target: g.url, Agree: true})
			got := failures(r)
			want := slices.Clone(tt.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("found by %v, want %v\n%s", got, want, table(r))
			}
			if g.other.Load() != 0 {
				t.Error("an intent was called that must not be")
			}
		})
	}
}

// onBoth changes agents.json wherever it is served, the same way.
func onBoth(change func(map[string]any)) func(string) http.Handler {
	return func(gateway string) http.Handler {
		return proxy(gateway, func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/agents.json") || r.StatusCode != http.StatusOK {
				return nil
			}
			return edited(r, change)
		})
	}
}

func everywhere(change func(*http.Response) error) func(string) http.Handler {
	return func(gateway string) http.Handler { return proxy(gateway, change) }
}

func only(status int, change func(*http.Response) error) func(*http.Response) error {
	return func(r *http.Response) error {
		if r.StatusCode != status {
			return nil
		}
		return change(r)
	}
}

func html(r *http.Response) error {
	if r.StatusCode >= 400 {
		r.Header.Set("Content-Type", "text/html")
		replaced(r, []byte("<html><h1>Error</h1></html>"))
	}
	return nil
}

// without is a search that does not know one parameter.
func without(parameter string) func(string) http.Handler {
	return func(gateway string) http.Handler {
		next := passing(gateway)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			q.Del(parameter)
			r.URL.RawQuery = q.Encode()
			next.ServeHTTP(w, r)
		})
	}
}

func strangersKey() []byte {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	return spki
}
