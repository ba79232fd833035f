package typescript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	chromiumtest "github.com/uimgate/uimgate/internal/test/chromium"
)

// crossOrigin are the header fields that docs/for-agents/typescript.md lists for operators.
var crossOrigin = map[string]string{
	"Access-Control-Allow-Origin":   "*",
	"Access-Control-Allow-Methods":  "GET, POST",
	"Access-Control-Allow-Headers":  "Authorization, Content-Type, Idempotency-Key, UIM-Proof, UIM-Request-ID, traceparent",
	"Access-Control-Expose-Headers": "Date, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, Sunset, UIM-Charge, UIM-Receipt, UIM-Request-ID",
}

// openly is a proxy that lets pages of all origins use the gateway.
func openly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range crossOrigin {
			w.Header().Set(name, value)
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// TestBrowser loads a page in a real browser, whose agent discovers a gateway of another origin, agrees, and calls.
func TestBrowser(t *testing.T) {
	t.Parallel()
	browser := chromiumtest.Path(t)
	sdk(t)
	text, err := os.ReadFile("../../docs/for-agents/typescript.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range crossOrigin {
		if !bytes.Contains(text, []byte(name+": "+value+"\n")) {
			t.Errorf("the documentation lacks %s: %s", name, value)
		}
	}
	s := newGatewayBehind(t, openly)
	results := make(chan []byte, 1)
	pages := http.NewServeMux()
	pages.Handle("GET /esm/", http.StripPrefix("/esm/", http.FileServer(http.Dir("dist/esm"))))
	pages.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "test/browser.html") })
	pages.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case results <- body:
		default:
		}
	})
	page := httptest.NewServer(pages)
	t.Cleanup(page.Close)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, browser,
		append(chromiumtest.Flags(), "--user-data-dir="+t.TempDir(), page.URL+"/?gateway="+url.QueryEscape(s.URL))...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	c.WaitDelay = 10 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var got []byte
	select {
	case got = <-results:
	case err := <-ended:
		t.Fatalf("the browser ended: %v\n%s", err, out.String())
	}
	cancel()
	<-ended //nolint:errcheck // a browser that is killed ends with an error
	type run struct {
		Algorithm, Output, Charge, Refused, Kept             string
		Extractable, Explained, Remaining, Replayed, Receipt bool
		Wrapped                                              int
		Warnings                                             []string
	}
	var found struct {
		Error string
		Keys  []run
	}
	if err := json.Unmarshal(got, &found); err != nil {
		t.Fatal(err)
	}
	want := run{
		Output: "lämp", Charge: "0.25 EUR captured", Refused: "INVALID_PARAMETER", Kept: "OptionsError", Explained: true, Remaining: true,
		Replayed: true, Receipt: true, Wrapped: 200, Warnings: []string{},
	}
	ed, ec := want, want
	ed.Algorithm, ec.Algorithm = "EdDSA", "ES256"
	if diff := cmp.Diff([]run{ed, ec}, found.Keys); diff != "" || found.Error != "" {
		t.Errorf("the page reports %s\n(-want +got):\n%s", strings.ReplaceAll(found.Error, "\\n", "\n"), diff)
	}
}
