package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

func TestBodiesOfPagesAreNotKept(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const form = "--x\r\nContent-Disposition: form-data; name=\"service\"; filename=\"f\"\r\n\r\n"
	body := io.MultiReader(strings.NewReader(form), io.LimitReader(zeros{}, 40<<20), strings.NewReader("\r\n--x--\r\n"))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, g.listener.URL+"/console/stops", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	for _, c := range b.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	g.pages.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "multipart-*")); err != nil || len(kept) > 0 {
		t.Errorf("the gateway has kept %v, %v", kept, err)
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTextThatTheStoreCannotHold(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	b := g.as(api.RoleAdmin)
	for path, want := range map[string]int{
		"/console/agents?search=%00":                       http.StatusBadRequest,
		"/console/agents?search=%ff":                       http.StatusBadRequest,
		"/console/agents?search=a%0Ab":                     http.StatusBadRequest,
		"/console/calls?agent=" + strings.Repeat("x", 513): http.StatusBadRequest,
		"/console/calls?agent=" + strings.Repeat("x", 512): http.StatusOK,
		"/console/agents?search=%C3%A9":                    http.StatusOK,
		"/console/agents/%00":                              http.StatusNotFound,
		"/console/agents/a%FF":                             http.StatusNotFound,
		"/console/agents/" + strings.Repeat("x", 513):      http.StatusNotFound,
	} {
		if got := b.get(path); got.status != want {
			t.Errorf("%s: got %d, want %d", path, got.status, want)
		}
	}
	const agent = "/console/agents/agent-1"
	for _, name := range []string{"\x00", "\xff"} {
		if got := b.submit(agent, agent+"/name", url.Values{"name": {name}}); got.status != http.StatusBadRequest ||
			!strings.Contains(got.body, "not valid UTF-8") {
			t.Errorf("the name %q: %d %s", name, got.status, got.body)
		}
	}
}
