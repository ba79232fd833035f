package agent_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// passing returns a proxy that changes nothing.
func passing(gateway string) http.Handler { return proxy(gateway, nil) }

// proxy returns a reverse proxy that lets change alter the responses.
func proxy(gateway string, change func(*http.Response) error) http.Handler {
	target, err := url.Parse(gateway)
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{ModifyResponse: change, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Accept-Encoding") // without it the transport decompresses, and change gets plain text
	}}
}

func readAll(t *testing.T, r *http.Request) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

func replaced(r *http.Response, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// edited changes one JSON response.
func edited(r *http.Response, change func(map[string]any)) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return err
	}
	change(tree)
	data, err = json.Marshal(tree)
	replaced(r, data)
	return err
}

// onPath changes only the responses of one path.
func onPath(path string, change func(*http.Response) error) func(string) http.Handler {
	return func(gateway string) http.Handler {
		return proxy(gateway, func(r *http.Response) error {
			if r.Request.URL.Path != path {
				return nil
			}
			return change(r)
		})
	}
}

func header(name, value string) func(*http.Response) error {
	return func(r *http.Response) error {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
		return nil
	}
}

func members(change func(map[string]any)) func(*http.Response) error {
	return func(r *http.Response) error { return edited(r, change) }
}

// posted changes the responses to POST requests.
func posted(change func(map[string]any)) func(*http.Response) error {
	return func(r *http.Response) error {
		if r.Request.Method != http.MethodPost {
			return nil
		}
		return edited(r, change)
	}
}

func anIntent(tree map[string]any) map[string]any {
	return tree["intents"].([]any)[0].(map[string]any)
}

// instead calls f first, and passes the request on if f returns false.
func instead(f func(w http.ResponseWriter, r *http.Request) bool) func(string) http.Handler {
	return func(gateway string) http.Handler {
		next := passing(gateway)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !f(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

const stack = "goroutine 7 [running]:\nmain.main()\n\t/home/app/main.go:42 +0x1d"

func fail(w http.ResponseWriter, status int, code, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message, "details": map[string]any{}}})
	return true
}

// onBoth changes agents.json in the same way at both of its paths.
func onBoth(change func(map[string]any)) func(string) http.Handler {
	return func(gateway string) http.Handler {
		return proxy(gateway, func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/agents.json") || r.StatusCode != http.StatusOK {
				return nil
			}
			return edited(r, change)
		})
	}
}

func everywhere(change func(*http.Response) error) func(string) http.Handler {
	return func(gateway string) http.Handler { return proxy(gateway, change) }
}

func only(status int, change func(*http.Response) error) func(*http.Response) error {
	return func(r *http.Response) error {
		if r.StatusCode != status {
			return nil
		}
		return change(r)
	}
}

func html(r *http.Response) error {
	if r.StatusCode >= 400 {
		r.Header.Set("Content-Type", "text/html")
		replaced(r, []byte("<html><h1>Error</h1></html>"))
	}
	return nil
}

// without returns a proxy that removes one query parameter, so the search ignores it.
func without(parameter string) func(string) http.Handler {
	return func(gateway string) http.Handler {
		next := passing(gateway)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			q.Del(parameter)
			r.URL.RawQuery = q.Encode()
			next.ServeHTTP(w, r)
		})
	}
}

func anyKey() []byte {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	return spki
}
