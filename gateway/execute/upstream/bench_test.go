package upstream_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
)

const benchAnswer = `{"products":[{"id":"p1","name":"Desk lamp","price":"24.90","stock":12},{"id":"p2","name":"Chair","price":"89.00","stock":3}],"total":2}`

func benchServer(b *testing.B) *httptest.Server {
	b.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchAnswer)
	}))
	b.Cleanup(srv.Close)
	return srv
}

func BenchmarkCall(b *testing.B) {
	for _, method := range []string{"GET", "POST"} {
		b.Run(method, func(b *testing.B) {
			u := open(b, settings(b, benchServer(b).URL))
			r, err := u.Route(upstream.Endpoint{
				IntentUID: "shop.example:search:v1", URL: "https://shop.example/s/{c}", Method: method, Parameters: []string{"q", "c", "max"},
			})
			if err != nil {
				b.Fatal(err)
			}
			g := granted("0190", alive)
			in := map[string]any{"q": "desk lamp", "c": "lighting", "max": json.Number("30.00")}
			id := upstream.Identity{AgentID: "agent-1", AgentKey: "jkt", Assurance: "fresh", TokenID: "jti"}
			b.ReportAllocs()
			for b.Loop() {
				p, violations := r.Prepare(in)
				if violations != nil {
					b.Fatalf("got %v, want nil", violations)
				}
				if _, _, err := u.Call(b.Context(), p, id, g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBareClient does the least a gateway must: send, read all, decode.
func BenchmarkBareClient(b *testing.B) {
	for _, method := range []string{"GET", "POST"} {
		b.Run(method, func(b *testing.B) {
			srv := benchServer(b)
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			body := []byte(`{"max":30.00,"q":"desk lamp"}`)
			b.ReportAllocs()
			for b.Loop() {
				var in io.Reader
				if method == "POST" {
					in = bytes.NewReader(body)
				}
				req, err := http.NewRequestWithContext(b.Context(), method, srv.URL+"/s/lighting?q=desk+lamp&max=30.00", in)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				raw, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				var v any
				if err != nil || json.Unmarshal(raw, &v) != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
