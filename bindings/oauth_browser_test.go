package bindings_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"testing"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	chromiumtest "github.com/uimgate/uimgate/internal/test/chromium"
	fronttest "github.com/uimgate/uimgate/internal/test/front"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestOfficialClientsBuyByConsent buys with the official clients, with and without URL elicitation, while the person uses Chromium without
// JavaScript and with the keyboard: within a budget, above it, after a confirmation, above the raised budget, and after the end of the
// consent. If UIMGATE_PICTURES names a directory, pictures of the pages are written there.
func TestOfficialClientsBuyByConsent(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	browser, err := json.Marshal(append([]string{chromiumtest.Path(t)}, chromiumtest.Flags()...))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"consent.mjs", string(browser), os.Getenv("UIMGATE_PICTURES")}
	var gates []*confirmGate
	for _, era := range []string{"2025", "2026"} {
		for _, mode := range []string{"url", "text"} {
			c, url := newShop(t)
			gates, args = append(gates, c), append(args, url+"/mcp", era, mode)
		}
	}
	out := bindtest.Run(t, dir, args...)
	var seen []purchase
	if err := json.Unmarshal(out, &seen); err != nil || len(seen) != len(gates) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range gates {
		era, mode := args[3+3*i+1], args[3+3*i+2]
		t.Run(era+" "+mode, func(t *testing.T) {
			t.Parallel()
			bought(t, c, seen[i], era, mode)
		})
	}
}

// A purchase is the output of consent.mjs.
type purchase struct {
	Widths                                           map[string]int
	Order                                            map[string][]string
	Completed                                        []string
	Confirmed, Own                                   string
	Elicited                                         map[string]any
	Within, Above, Asked, ConfirmedCall, Over, Ended struct {
		Content []struct{ Text string }
		IsError bool
		Error   string
		Code    int
	}
}

// newShop returns a gate with budgets, and its URL. A POST of a token to /test/pay pays in for the client that has it.
func newShop(t *testing.T) (*confirmGate, string) {
	t.Helper()
	url, serve := fronttest.Public(t)
	c := newConfirmGate(t, strings.Replace(budgets, "services:\n- {", "services:\n- {public_url: "+url+", ", 1))
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(c.Parse("")) }}
	serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/test/pay":
			token, err := io.ReadAll(r.Body)
			c.Must(err)
			verifier := c.Directory.Current().Service("default").Verifier
			claims, err := verifier.Verify(c.Context(), string(token), c.Now()) //nolint:contextcheck // of the test
			c.Must(err)
			c.topUp(&gatetest.Agent{ID: claims.Subject}, eur(1000)) //nolint:contextcheck // of the test
		case "/test/read":
			c.Must(c.View.Refresh(c.Context())) //nolint:contextcheck // of the test
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	return c, url
}

// bought checks what a purchase saw.
func bought(t *testing.T, c *confirmGate, seen purchase, era, mode string) {
	t.Helper()
	refused := func(name, reason string, content []struct{ Text string }) {
		if len(content) < 2 || !strings.Contains(content[1].Text, reason) {
			t.Errorf("%s: got %+v, want %s", name, content, reason)
		}
	}
	if seen.Within.IsError || seen.Within.Error != "" || seen.ConfirmedCall.IsError || seen.ConfirmedCall.Error != "" || c.served.Load() != 2 {
		t.Errorf("served %d: %+v", c.served.Load(), seen)
	}
	refused("above the budget", "BUDGET_EXCEEDED", seen.Above.Content)
	refused("above the raised budget", "BUDGET_EXCEEDED", seen.Over.Content)
	if seen.Ended.Error != "unauthorized" || !strings.Contains(seen.Own, "has ended") {
		t.Errorf("ended: %+v, %s", seen.Ended, seen.Own)
	}
	if !strings.Contains(seen.Confirmed, "You have confirmed this call") {
		t.Errorf("confirmed: %s", seen.Confirmed)
	}
	if notice := era == "2025" && mode == "url"; notice != (len(seen.Completed) == 1 && seen.Completed[0] == seen.Elicited["elicitationId"]) {
		t.Errorf("the client was notified about %q, after the elicitation %v", seen.Completed, seen.Elicited)
	}
	if mode == "url" && seen.Elicited["mode"] != "url" || mode == "text" && seen.Elicited != nil {
		t.Errorf("elicited %v", seen.Elicited)
	}
	for name, width := range seen.Widths {
		if strings.HasSuffix(name, " 390") && width > 390 {
			t.Errorf("the page %s is %d pixels wide on a screen of 390", strings.TrimSuffix(name, " 390"), width)
		}
	}
	for page, want := range map[string][]string{
		"consent":  {"spend yes", "budget 0.25", "period month", "per_call 0.25", "pay " + gatetest.Ordering + ":execute", "decision agree"},
		"consents": {"budget 0.50", "per_call 0.10", "decision change"}, "confirm": {"decision confirm"},
	} {
		at := 0
		for _, name := range want { // in this order
			i := slices.Index(seen.Order[page][at:], name)
			if i < 0 {
				t.Errorf("the keyboard order of %s is %q", page, seen.Order[page])
				break
			}
			at += i
		}
	}
}
