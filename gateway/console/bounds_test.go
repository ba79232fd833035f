package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
)

func TestBodiesOfPagesAreNotKept(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(admin.RoleViewer)
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
