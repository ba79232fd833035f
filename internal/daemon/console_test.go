package daemon_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	oidctest "github.com/uimgate/uimgate/internal/test/oidc"
)

// A process serves the console on its admin listener, and an open stream of events does not delay its end.
func TestConsoleOfAProcess(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(path string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	form := strings.NewReader(url.Values{"token": {adminToken}, "next": {"/console/settings"}}.Encode())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.admin+"/console/signin", form)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "per_address") ||
		strings.Contains(string(text), "canary") ||
		strings.Contains(string(text), adminToken) {
		t.Errorf("the settings: %d %v %s", resp.StatusCode, err, text)
	}
	stream := bufio.NewReader(get("/console/events").Body)
	if line, err := stream.ReadString('\n'); err != nil || line != "event: figures\n" {
		t.Errorf("the stream: %q, %v", line, err)
	}
	g.stop()
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the stream was cut off: %v", err)
	}
	if strings.Contains(g.log.String(), "the drain timeout ended") {
		t.Error("the stream delayed the end of the process")
	}
}

// A process starts while its identity provider is away, a sign-in works when the provider is back, and a reload that changes admin.oidc
// ends the session.
func TestProviderOfAProcess(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t, time.Now)
	provider.Do(func() { provider.Away = true })
	settings := func(group string) string {
		return strings.Replace(testConfig, "admin: {", `admin: {oidc: {issuer: "`+provider.URL+`", client_id: uimgate, client_secret: "`+
			oidctest.ClientSecret+`", roles: {viewer: [`+group+`]}}, `, 1)
	}
	g := startGate(t, setup{config: settings("staff")})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(to string) (status int, location, text string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Location"), string(body)
	}
	if status, _, text := get(g.admin + "/console/oidc/start"); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "The identity provider cannot be reached.") {
		t.Errorf("the provider is away: %d %s", status, text)
	}
	provider.Do(func() { provider.Away, provider.Redirects = false, []string{g.admin + "/console/oidc"} })
	g.reconfigureAs(settings("staff, guests")) // the new configuration has not failed before
	_, to, text := get(g.admin + "/console/oidc/start")
	if !strings.HasPrefix(to, provider.URL) {
		t.Fatalf("the sign-in leads to %q: %s", to, text)
	}
	if status, _, text := get(provider.SignIn(to)); status != http.StatusOK {
		t.Errorf("signing in: %d %s", status, text)
	}
	if status, _, text := get(g.admin + "/console/settings"); status != http.StatusOK || strings.Contains(text, oidctest.ClientSecret) ||
		!strings.Contains(text, provider.URL) {
		t.Errorf("the settings: %d %s", status, text)
	}
	g.reconfigureAs(settings("others"))
	if status, _, _ := get(g.admin + "/console/settings"); status != http.StatusSeeOther {
		t.Errorf("the session has not ended: %d", status)
	}
	if strings.Contains(g.log.String(), oidctest.ClientSecret) || strings.Contains(g.log.String(), "code=") {
		t.Error("the log contains a secret")
	}
}

// reconfigureAs writes a configuration, and reloads it.
func (g *gate) reconfigureAs(text string) {
	g.t.Helper()
	g.write("uimgate.yaml", strings.ReplaceAll(text, "UPSTREAM", g.upstream.server.URL))
	if got := g.byToken(adminToken, http.MethodPost, "/admin/v1/reload"); got.status != http.StatusOK {
		g.t.Fatalf("reload: %d %s", got.status, got.body)
	}
}
