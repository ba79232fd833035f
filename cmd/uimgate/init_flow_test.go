package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/pat"
)

// shopOfDocument starts the service of shop.yaml. It echoes each request in the documented form.
func shopOfDocument(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(status int, of func(r *http.Request, body string) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, of(r, string(body)))
		}
	}
	mux.HandleFunc("GET /v1/products", answer(200, func(r *http.Request, _ string) string {
		return fmt.Sprintf(`[{"sku":"s-1","name":%q,"price":1.50,"internal":true}]`, r.URL.RawQuery)
	}))
	mux.HandleFunc("GET /v1/products/{sku}", answer(200, func(r *http.Request, _ string) string {
		return fmt.Sprintf(`{"sku":%q,"name":"Lamp","price":"12.5","internal":1}`, r.PathValue("sku"))
	}))
	order := func(r *http.Request, body string) string {
		return fmt.Sprintf(`{"id":"o-1","lines":[{"sku":%q}],"gift":true,"total":3}`,
			r.URL.RequestURI()+" "+r.Header.Get("Content-Type")+" "+body)
	}
	mux.HandleFunc("POST /v1/orders", answer(201, order))
	mux.HandleFunc("PATCH /v1/orders/{id}", answer(200, order))
	mux.HandleFunc("DELETE /v1/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != "/v1/orders/o-1?why=a%20reason" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/login", answer(200, func(r *http.Request, body string) string {
		return fmt.Sprintf(`{"ok":%v}`, body == "scope=a&scope=b&user=u%26v" &&
			r.Header.Get("Content-Type") == "application/x-www-form-urlencoded")
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// runMade runs a gateway with the configuration that init created, in front of upstream.
func runMade(t *testing.T, dir, upstream string) string {
	t.Helper()
	path := filepath.Join(dir, "uimgate.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "https://api.corner.example", upstream, 1) +
		"server: {listen: 127.0.0.1:0}\nadmin: {listen: 127.0.0.1:0}\n"
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func() (*config.Config, config.Problems) {
		return config.Load(path, config.Overrides{Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false }})
	}
	cfg, problems := load()
	if cfg == nil {
		t.Fatalf("got %v", problems)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan daemon.Addresses, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Config: cfg, Load: load, Log: zap.NewNop(), Now: time.Now,
			Ready: func(a daemon.Addresses) { ready <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	select {
	case a := <-ready:
		return a.Listen
	case err := <-done:
		done <- nil
		t.Fatalf("the gateway ended with %v", err)
		return ""
	}
}

func post(t *testing.T, url, token string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// agreeTo signs the policy that a gateway offers, and returns a PAT.
func agreeTo(t *testing.T, gateway string) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gateway+"/api/policy", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	policy, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := pat.PolicyDigest(policy)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := pat.SignAgreement(key, pat.AgreementClaims{
		AgentID: "agent-1", Audience: "api.example.com", URL: gateway + "/api/pat/issue", IssuedAt: time.Now(),
		PolicyUID: "https://api.example.com/policy/1", PolicyDigest: digest,
	})
	if err != nil {
		t.Fatal(err)
	}
	status, text := post(t, gateway+"/api/pat/issue", "", map[string]any{
		"agent_id": "agent-1", "signed_policy": signed,
		"agent_public_key": base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)),
	})
	var issued struct {
		Token string `json:"uim-pat"`
	}
	if err := json.Unmarshal([]byte(text), &issued); err != nil || issued.Token == "" {
		t.Fatalf("no PAT: %d %s", status, text)
	}
	return issued.Token
}

// The test calls every operation of a document through a gateway with the generated configuration.
func TestInitConfigurationServes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../intents/openapi/testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := made(t, data)
	url := runMade(t, dir, shopOfDocument(t).URL)
	token := agreeTo(t, url)
	type parameters map[string]any
	for _, tt := range []struct {
		name       string
		parameters parameters
		status     int
		want       string
	}{
		{
			"search-products",
			parameters{"q": "desk lamp", "size": []string{"s", "m"}, "price[max]": 10, "fields": "sku,price"},
			200,
			`{"result":[{"name":"q=desk%20lamp&size=s&size=m&price%5Bmax%5D=10&fields=sku%2Cprice","price":1.50,"sku":"s-1","internal":true}]}`,
		},
		{"search-products", parameters{"q": "x"}, 400, ""},
		{"search-products", parameters{"q": "lamp", "size": []string{"xl"}}, 400, ""},
		{"get-product", parameters{"sku": "s-1"}, 200, `{"sku":"s-1","name":"Lamp","price":12.5}`},
		{"get-product", parameters{"sku": "../admin"}, 400, ""},
		{
			"place-order",
			parameters{"lines": []any{map[string]any{"sku": "a"}}, "dry-run": true},
			200,
			`{"id":"o-1","gift":true,"total":3,"lines":[{"sku":"/v1/orders?dry-run=true application/json {\"lines\":[{\"sku\":\"a\"}]}"}]}`,
		},
		{"place-order", parameters{"lines": []any{}}, 400, ""},
		{"place-order", parameters{"lines": []any{map[string]any{"sku": "a"}}, "id": "mine"}, 400, ""},
		{
			"amend-order",
			parameters{"id_in_path": "o 1", "id": "o-2"},
			200,
			`{"id":"o-1","gift":true,"total":3,"lines":[{"sku":"/v1/orders/o%201 application/json {\"id\":\"o-2\"}"}]}`,
		},
		{"cancel-order", parameters{"id": "o-1", "why": "a reason"}, 200, `{}`},
		{"login", parameters{"user": "u&v", "scope": []string{"a", "b"}}, 200, `{"ok":true}`},
	} {
		status, text := post(t, url+"/api/intents/execute", token,
			map[string]any{"intent_uid": "api.example.com:" + tt.name + ":v1", "parameters": tt.parameters})
		if status != tt.status {
			t.Errorf("%s %v: %d %s; want %v", tt.name, tt.parameters, status, text, tt.status)
			continue
		}
		if tt.want == "" {
			continue
		}
		var got, want any
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %v:\n%s", tt.name, tt.parameters, diff)
		}
	}
}

// A document in several files, from init to a call.
func TestInitFromSeveralFiles(t *testing.T) {
	t.Parallel()
	spec := t.TempDir()
	for name, text := range map[string]string{
		"api.yaml": "openapi: 3.0.0\ninfo: {title: Corner Shop, version: '1.0'}\nservers: [{url: 'https://api.corner.example/v1'}]\n" +
			"paths: {'/products/{sku}': {get: {$ref: product.yaml}}}\n",
		"product.yaml": "operationId: getProduct\nparameters: [{name: sku, in: path, required: true, schema: {type: string, maxLength: 5}}]\n" +
			"responses: {'200': {description: It, content: {application/json: {schema: {$ref: 'models/all.json#/product'}}}}}\n",
		"models/all.json": `{"product": {"type": "object", "properties": {"sku": {"type": "string"}, "name": {"type": "string"}}}}`,
	} {
		path := filepath.Join(spec, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	made := command(t, "", "init", "--openapi", filepath.Join(spec, "api.yaml"), "--namespace", "api.example.com", "--out", dir)
	if made.code != exitDone {
		t.Fatal(made.out, made.errors)
	}
	url := runMade(t, dir, shopOfDocument(t).URL)
	token := agreeTo(t, url)
	for sku, want := range map[string]struct {
		status int
		text   string
	}{"s-1": {200, `{"sku":"s-1","name":"Lamp"}`}, "s-12345": {400, ""}} {
		status, text := post(t, url+"/api/intents/execute", token,
			map[string]any{"intent_uid": "api.example.com:get-product:v1", "parameters": map[string]any{"sku": sku}})
		if status != want.status || want.text != "" && tree(t, text) != tree(t, want.text) {
			t.Errorf("%s: %d %s, want %d %s", sku, status, text, want.status, want.text)
		}
	}
}

// tree returns a JSON text in canonical form.
func tree(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
