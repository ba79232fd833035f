package fetch_test

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
)

func TestEnvironmentProxyIsNotUsed(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy got a request") }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	c := fetch.New(fetch.Options{AllowInsecure: true, Resolver: resolver(t)})
	_, err := c.Get(t.Context(), "http://shop.example/", fetch.Document{Max: 10})
	if err == nil {
		t.Error("the request succeeded")
	}
}

func TestErrorsContainNoPathOrQuery(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/canary/redirect":
			http.Redirect(w, r, "/canary/redirect?canary", http.StatusFound)
		case "/canary/large":
			_, _ = w.Write(make([]byte, 100))
		default:
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = conn.Close()
			}
		}
	}))
	t.Cleanup(server.Close)
	c := fetch.New(fetch.Options{})
	for _, path := range []string{"/canary/redirect", "/canary/large", "/canary/broken?canary=1"} {
		_, err := c.Get(t.Context(), server.URL+path, fetch.Document{Max: 10})
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := c.Get(t.Context(), "https://127.0.0.1:0/canary%zz", fetch.Document{Max: 10})
	if !errors.Is(err, fetch.ErrRefused) || strings.Contains(err.Error(), "canary") {
		t.Errorf("err = %v", err)
	}
}

func TestResponseOfExactlyTheLimitIsRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", int(r.ContentLength))))
	}))
	t.Cleanup(server.Close)
	c := fetch.New(fetch.Options{})
	for size, want := range map[int]error{10: nil, 11: fetch.ErrTooLarge} {
		a, err := c.Do(t.Context(), fetch.Request{Method: http.MethodPost, URL: server.URL, Body: make([]byte, size), Max: 10})
		if !errors.Is(err, want) || err == nil && len(a.Body) != size {
			t.Errorf("%d: %v", size, err)
		}
	}
}

func TestNamesInCertificatesAreQuoted(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"evil\x1b[31m.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	c := fetch.New(fetch.Options{AllowInsecure: true, Resolver: resolver(t, "127.0.0.1")})
	_, err = c.Get(t.Context(), "https://shop.example:"+port+"/", fetch.Document{Max: 10})
	if err == nil || !strings.Contains(err.Error(), "certificate") || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("err = %q", err)
	}
}

// The limit applies to the decompressed data, so the client stops reading a bomb or an endless stream.
func TestCompressedDocumentsAreLimited(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 8 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var fits bytes.Buffer
	w = gzip.NewWriter(&fits)
	if _, err := w.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var received atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Store(r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/bomb":
			_, _ = w.Write(bomb.Bytes())
		case "/fits":
			_, _ = w.Write(fits.Bytes())
		case "/broken":
			_, _ = w.Write(bomb.Bytes()[:100])
		case "/nothing": // empty gzip members, until the client disconnects
			empty := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00")
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat(empty, 1000)); err != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	c := fetch.New(fetch.Options{Timeout: 20 * time.Second})
	t.Cleanup(c.Close)
	a, err := c.Get(t.Context(), server.URL+"/fits", fetch.Document{Max: 1 << 20})
	if err != nil || !bytes.Equal(a.Body, zeros) || received.Load() != "gzip" {
		t.Errorf("%d bytes, %v, Accept-Encoding %q", len(a.Body), err, received.Load())
	}
	for path, want := range map[string]error{"/bomb": fetch.ErrTooLarge, "/nothing": fetch.ErrTooLarge, "/broken": io.ErrUnexpectedEOF} {
		if a, err := c.Get(t.Context(), server.URL+path, fetch.Document{Max: 1 << 20}); !errors.Is(err, want) || len(a.Body) > 0 {
			t.Errorf("%s: %d bytes, %v", path, len(a.Body), err)
		}
	}
	// A response that may contain secrets is not requested in compressed form, and not accepted in that form.
	a, err = c.Do(t.Context(), fetch.Request{Method: http.MethodPost, URL: server.URL + "/fits", Max: 1 << 22})
	if err == nil || received.Load() != "identity" {
		t.Errorf("%d %v, Accept-Encoding %q; want an error and %q", a.Status, err, received.Load(), "identity")
	}
}
