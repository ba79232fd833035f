package admin_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

func TestHostHeader(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://127.0.0.1:8081": "127.0.0.1:8081", "https://[::1]:8081": "[::1]:8081", "http://localhost:8081": "localhost",
		"https://gateway.example:8081": "localhost", "https://192.0.2.1": "192.0.2.1",
	} {
		u, err := url.Parse(text)
		if err != nil || client.HostFor(u) != want {
			t.Errorf("%s: %s, %v; want %v, nil", text, client.HostFor(u), err, want)
		}
	}
}

// A request with the wrong scheme names the right one.
func TestWrongSchemeIsNamed(t *testing.T) {
	t.Parallel()
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	secure, plain := httptest.NewUnstartedServer(answer), httptest.NewServer(answer)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for text, want := range map[string]string{
		"http://" + host(secure): "use https://" + host(secure), "https://" + host(plain): "use http://" + host(plain),
	} {
		u, err := client.ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Do(t.Context(), client.New(client.Options{URL: u}), operation.Status, operation.None{})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := client.ParseURL("http://gateway.example:8081"); err == nil || !strings.Contains(err.Error(), "https://gateway.example:8081") {
		t.Errorf("got %v, want the URL with https", err)
	}
}
