package upstream_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
)

const (
	apiKey  = "k3y+/=&AbC9"
	account = "acc/ount+77"
)

// respondingService starts a service that responds with the result of write.
func respondingService(t *testing.T, head string, write func(r *http.Request) string) *service {
	t.Helper()
	return serve(t, func(_ int64, c net.Conn, r *http.Request) bool {
		body := write(r)
		_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
		return true
	})
}

const jsonHead = "200 OK\r\nContent-Type: application/json"

// A service that repeats its request URL repeats the operator's key.
func TestResponsesConcealOperatorValues(t *testing.T) {
	ownURL := func(r *http.Request) string {
		return `{"items":[1,2],"next":"https://api.example` + r.URL.RequestURI() + `&page=2"}`
	}
	for name, tt := range map[string]struct {
		head  string
		fixed upstream.FixedValues
		auth  map[string]config.Secret
		write func(r *http.Request) string
	}{
		"a credential in the query": {
			jsonHead, upstream.FixedValues{Query: map[string]any{"key": apiKey}, Credentials: []any{apiKey}}, nil, ownURL,
		},
		"a fixed value of the query": {jsonHead, upstream.FixedValues{Query: map[string]any{"account": account}}, nil, ownURL},
		"a token": {jsonHead, upstream.FixedValues{}, headers("Authorization", "Bearer "+apiKey), func(r *http.Request) string {
			return `{"you":"` + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + `"}`
		}},
		"a cookie":       {jsonHead, upstream.FixedValues{}, headers("Cookie", "a=b; session="+apiKey), func(*http.Request) string { return `{"session":"` + apiKey + `"}` }},
		"a fixed header": {jsonHead, upstream.FixedValues{Header: map[string]string{"X-Account": account}}, nil, func(r *http.Request) string { return `{"you":"` + r.Header.Get("X-Account") + `"}` }},
		"a file": {
			"200 OK\r\nContent-Type: text/csv",
			upstream.FixedValues{},
			headers("X-Key", apiKey),
			func(r *http.Request) string { return "key;page\n" + r.Header.Get("X-Key") + ";2\n" },
		},
		"a header of the answer": {
			jsonHead + "\r\nSunset: " + apiKey,
			upstream.FixedValues{},
			headers("X-Key", apiKey),
			func(*http.Request) string { return `{}` },
		},
		"without a length": {
			jsonHead + "\r\nTransfer-Encoding: chunked",
			upstream.FixedValues{},
			headers("X-Key", apiKey),
			func(*http.Request) string {
				return fmt.Sprintf("c\r\n{\"a\": \"%s\r\n9\r\n%s\"}\r\n0\r\n\r\n", apiKey[:5], apiKey[5:]+" ")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := respondingService(t, tt.head, tt.write)
			if strings.Contains(tt.head, "chunked") {
				s = serve(t, func(_ int64, c net.Conn, r *http.Request) bool {
					_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\n%s", tt.head, tt.write(r))
					return true
				})
			}
			cfg := settings(t, s.URL)
			cfg.AuthHeaders = tt.auth
			u := open(t, cfg)
			e := upstream.Endpoint{IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", Method: "GET", Fixed: tt.fixed}
			if strings.Contains(tt.head, "csv") {
				e.Accept = []string{"text/csv"}
			}
			r, err := u.Route(e)
			if err != nil {
				t.Fatal(err)
			}
			p, violations := r.Prepare(map[string]any{})
			if violations != nil {
				t.Fatalf("got %v, want nil", violations)
			}
			answer, _, err := u.Call(t.Context(), p, upstream.Identity{}, live)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := answer.Tree(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(tree, answer.Header, string(answer.JSON))
			for _, secret := range []string{apiKey, account} {
				if strings.Contains(got, secret) || strings.Contains(got, url.QueryEscape(secret)) {
					t.Errorf("the agent receives %s", got)
				}
			}
			if n := u.Concealed()["shop.example:try:v1"]; n != 1 {
				t.Errorf("counted %d times, want 1", n)
			}
		})
	}
}

// Services that reject a call quote its URL: "Cannot GET /find?api_key=…".
func TestMessagesConcealEscapedOperatorValues(t *testing.T) {
	for name, status := range map[string]string{"a refusal": "404 Not Found", "a refusal with 200": "200 OK"} {
		t.Run(name, func(t *testing.T) {
			s := respondingService(t, status+"\r\nContent-Type: application/json", func(r *http.Request) string {
				return `{"ok":false,"message":"Cannot GET ` + r.URL.RequestURI() + `"}`
			})
			u := open(t, settings(t, s.URL))
			r, err := u.Route(upstream.Endpoint{
				IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", Method: "GET", ErrorWhen: config.ErrorWhen{Pointer: "/message"},
				Fixed: upstream.FixedValues{Query: map[string]any{"api_key": apiKey}, Credentials: []any{apiKey}},
			})
			if err != nil {
				t.Fatal(err)
			}
			p, _ := r.Prepare(map[string]any{})
			_, _, err = u.Call(t.Context(), p, upstream.Identity{}, live)
			rejected, ok := errors.AsType[*upstream.RejectedError](err)
			if !ok || rejected.Message != "" || u.Concealed()["shop.example:try:v1"] != 1 {
				t.Errorf("got %v %q", err, rejected.Message)
			}
		})
	}
}

func TestShortValuesStayInResponses(t *testing.T) {
	const body = `{"unit":"metric","country":"Germany","n":1234567,"ok":true,"pin":"abc"}`
	s := respondingService(t, jsonHead, func(*http.Request) string { return body })
	cfg := settings(t, s.URL)
	cfg.AuthHeaders = headers("X-Pin", "abc", "X-Number", "1234567")
	u := open(t, cfg)
	r, err := u.Route(upstream.Endpoint{
		IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", Method: "GET",
		Fixed: upstream.FixedValues{Query: map[string]any{"unit": "metric", "country": "Germany", "ok": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := r.Prepare(map[string]any{})
	answer, _, err := u.Call(t.Context(), p, upstream.Identity{}, live)
	if err != nil || string(answer.JSON) != body || len(u.Concealed()) != 0 {
		t.Errorf("got %s %v %v", answer.JSON, u.Concealed(), err)
	}
}

// An access token is fetched while the gateway runs.
func TestResponsesConcealAccessTokens(t *testing.T) {
	tokens := respondingService(t, jsonHead, func(*http.Request) string {
		return `{"access_token":"at-` + apiKey + `","token_type":"Bearer","expires_in":3600}`
	})
	s := respondingService(t, jsonHead, func(r *http.Request) string {
		return `{"you":"` + url.QueryEscape(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) + `"}`
	})
	cfg := settings(t, s.URL)
	cfg.OAuth2 = config.OAuth2{TokenURL: mustURL(t, tokens.URL), ClientID: "gate", ClientSecret: config.NewSecret(clientSecret)}
	u := open(t, cfg)
	answer, _, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, live)
	if want := `{"you":"` + strings.Repeat("*", len(url.QueryEscape("at-"+apiKey))) + `"}`; err != nil || string(answer.JSON) != want {
		t.Errorf("got %s %v", answer.JSON, err)
	}
}
