package daemon_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
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
