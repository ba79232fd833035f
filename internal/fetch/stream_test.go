package fetch_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/fetch"
)

func TestStream(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("X-Length", r.Header.Get("Content-Length"))
		w.Header().Set("X-Size", strings.Repeat("x", int(r.ContentLength)))
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	c := fetch.New(fetch.Options{})
	t.Cleanup(c.Close)
	for path, want := range map[string]int{"/": http.StatusOK, "/away": http.StatusTemporaryRedirect} {
		for _, body := range []string{"", "what is sent"} {
			request := fetch.Request{Method: http.MethodPost, URL: server.URL + path}
			answer, err := c.Stream(t.Context(), request, strings.NewReader(body), int64(len(body)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != want ||
				want == http.StatusOK && (string(got) != body || len(answer.Header.Get("X-Size")) != len(body)) {
				t.Errorf("%s: %d %q %v", path, answer.StatusCode, got, err)
			}
		}
	}
	for _, address := range []string{"http://192.0.2.1/", "https://10.0.0.1/", "x"} {
		if _, err := c.Stream(t.Context(), fetch.Request{Method: http.MethodPost, URL: address}, nil, 0); !errors.Is(err, fetch.ErrRefused) {
			t.Errorf("%s: %v, want %v", address, err, fetch.ErrRefused)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://10.0.0.1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Dialer().Do(request); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("a private address is dialled: %v, want %v", err, fetch.ErrRefused)
	}
}
