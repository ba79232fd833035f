package fetch_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/fetch"
)

func TestTransport(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 101))
		default:
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(r.Header.Get("X-Sent") + " " + string(text)))
		}
	}))
	t.Cleanup(server.Close)
	public, err := url.Parse("https://id.example")
	if err != nil {
		t.Fatal(err)
	}
	guard := fetch.New(fetch.Options{})
	direct := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: guard.Transport(100, nil), CheckRedirect: direct}
	for name, c := range map[string]struct {
		client     *http.Client
		path, body string
		status     int
		want       error
	}{
		"an exchange":               {client, "/", "text", http.StatusTeapot, nil},
		"a redirect":                {client, "/redirect", "text", http.StatusFound, nil},
		"a large response":          {client, "/large", "text", 0, fetch.ErrTooLarge},
		"a large request":           {client, "/", strings.Repeat("x", 101), 0, fetch.ErrRefused},
		"named by another document": {&http.Client{Transport: guard.Transport(100, public)}, "/", "text", 0, fetch.ErrRefused},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Sent", "header")
		resp, err := c.client.Do(r)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || c.status == http.StatusTeapot && string(text) != "header text" {
			t.Errorf("%s: %d %q, %v", name, resp.StatusCode, text, err)
		}
	}
}
