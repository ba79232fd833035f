package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/store"
)

// The reconcile request has the credentials and fixed values that the service requires in every request.
func TestStatusRequestHasCredentialsAndFixedValues(t *testing.T) {
	var request string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		request = r.URL.RequestURI() + " " + r.Header.Get("X-Key") + " " + r.Header.Get("X-Tenant") + " " + r.Header.Get("Authorization")
	}))
	defer server.Close()
	loaded, problems := load(t, `  upstream:
    url: `+server.URL+`
    execute: /execute
    auth: {headers: {x-key: hush-1}, query: {api_key: hush-2, v: 3}, body: {secret: hush-3}, basic: "u:hush-5"}
    reconcile: {url: "/accounts/{account}/calls/{execution_id}?v=1", done: 200, not_done: 404}
  fixed: {account: 7, "header:x-tenant": hush-4, "query:locale": en}
`)
	if loaded == nil || problems != "" {
		t.Fatal(problems)
	}
	state, err := loaded.Definitions()[0].Upstream.Ask(t.Context(), "0190-x")
	if want := "/accounts/7/calls/0190-x?v=1&api_key=hush-2&locale=en hush-1 hush-4 Basic dTpodXNoLTU="; err != nil || state != store.Captured || request != want {
		t.Errorf("%q, %v, asked by\n%s, want\n%s", state, err, request, want)
	}
}

func TestPlacesOfCredentialsInQueryAndBody(t *testing.T) {
	for name, tt := range map[string]struct{ keys, want string }{
		"by name and pointer": {"auth: {query: {api_key: hush-1}, body: {secret: hush-2, /client/id: hush-3}}}", ""},
		"a parameter":         {"auth: {query: {account: 7}}}", ""},
		"value that cannot be concealed": {
			"auth: {query: {account: 123456}}}",
			`services[0].upstream.auth.query["account"]: in shop.example:read:v1: the value must be at most 99`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, problems := load(t, "  upstream: {url: http://127.0.0.1:9, execute: /e, "+tt.keys+"\n")
			if tt.want == "" && (loaded == nil || problems != "") || !strings.Contains(problems, tt.want) || strings.Contains(problems, "hush") {
				t.Errorf("got %q, want %q", problems, tt.want)
			}
		})
	}
}

func TestWarningsForShortCredentials(t *testing.T) {
	const tooShort = "is too short to be found in responses"
	for name, tt := range map[string]struct{ auth, fixed, want string }{
		"a header":             {"auth: {header: 'X-Key: abc'}", "{}", `upstream.auth.headers["X-Key"]: ` + tooShort},
		"digits alone":         {"auth: {header: 'X-Key: 1234567'}", "{}", `upstream.auth.headers["X-Key"]: ` + tooShort},
		"a token":              {"auth: {header: 'Authorization: Bearer abc'}", "{}", `upstream.auth.headers["Authorization"]: ` + tooShort},
		"a password":           {"auth: {basic: 'somebody:abc'}", "{}", `upstream.auth.basic: ` + tooShort},
		"a member of a query":  {"auth: {query: {api_key: abc}}", "{}", `upstream.auth.query["api_key"]: ` + tooShort},
		"a fixed credential":   {"timeout: 1s", `{"body:/client/secret": abc}`, `fixed["body:/client/secret"]: ` + tooShort},
		"long enough":          {"auth: {header: 'X-Key: abcdef', query: {k: '12345678'}}", `{"query:units": eu}`, ""},
		"a number as a number": {"auth: {query: {v: 3}}", "{}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, problems := load(t, "  upstream: {url: http://127.0.0.1:9, execute: /e, "+tt.auth+"}\n  fixed: "+tt.fixed+"\n")
			if loaded == nil || !strings.Contains(problems, tt.want) || (tt.want == "") != (problems == "") || strings.Contains(problems, "abc") {
				t.Errorf("got %q, want %q", problems, tt.want)
			}
		})
	}
}
