// Package acmeca runs a certificate authority with ACME for tests: pebble, and the DNS server that it queries. Both listen on loopback
// addresses. The CA rejects some valid nonces, as RFC 8555 §6.5 allows.
package acmeca

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/core"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

// Options are the options of Start.
type Options struct {
	// Seconds is how long a certificate is valid. 0 means 90 days.
	Seconds uint64
	// RenewAfter is the age at which a client renews a certificate, which it does before twice that age. 0 means half of Seconds.
	RenewAfter time.Duration
	// AccountID and AccountKey identify the account that a client must be bound to. If they are empty, it needs none.
	AccountID, AccountKey string
}

// A CA is a running authority.
type CA struct {
	// Directory is the URL of the CA's directory, and Roots the PEM certificate of the issuer of the server's own certificate.
	Directory, Roots string
	DNS              *Server

	// Stop stops the CA before the test ends.
	Stop func()

	tb      testing.TB
	options Options
	db      *db.MemoryStore
	ca      *ca.CAImpl
	orders  atomic.Int64
	refused atomic.Int64
	limit   atomic.Pointer[string] // Retry-After; nil: orders are not limited
	started sync.Once
	serve   chan http.Handler
}

var environment sync.Once

// Start runs a CA until the test ends. It responds only after Validate was called.
func Start(tb testing.TB, o Options) *CA {
	tb.Helper()
	environment.Do(func() { // pebble reads the environment when it starts
		for name, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "20", "PEBBLE_AUTHZREUSE": "0"} {
			_ = os.Setenv(name, value) //nolint:usetesting // for all tests of the process
		}
	})
	c := &CA{tb: tb, options: o, db: db.NewMemoryStore(), DNS: startDNS(tb), serve: make(chan http.Handler, 1)}
	c.ca = ca.New(quiet(), c.db, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {ValidityPeriod: o.Seconds}})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := <-c.serve
		c.serve <- h
		orders := r.URL.Path == "/order-plz"
		if after := c.limit.Load(); after != nil && orders {
			c.refused.Add(1)
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", *after)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many orders"}`)
			return
		}
		if strings.Contains(r.URL.Path, "/renewalInfo/") {
			o.renewalInfo(h, w, r)
			return
		}
		answer := &status{ResponseWriter: w}
		h.ServeHTTP(answer, r)
		if orders && answer.code == http.StatusCreated {
			c.orders.Add(1)
		}
	}))
	server.Config.ErrorLog = quiet()
	c.Stop = server.Close
	tb.Cleanup(c.Stop)
	tb.Cleanup(func() { c.Validate("127.0.0.1:9", "127.0.0.1:9") }) // so that no request keeps waiting
	c.Directory = server.URL + wfe.DirectoryPath
	c.Roots = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return c
}

// renewalInfo answers a request for renewal information (RFC 9773 §4.2). The window that pebble suggests is the whole lifetime of the
// certificate, so a client could renew it at once. The answer has the window of the options.
func (o Options) renewalInfo(h http.Handler, w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	var info core.RenewalInfo
	if answer.Code == http.StatusOK && json.Unmarshal(answer.Body.Bytes(), &info) == nil {
		window := &info.SuggestedWindow
		after := cmp.Or(o.RenewAfter, window.End.Sub(window.Start)/2)
		window.Start, window.End = window.Start.Add(after), window.Start.Add(2*after)
		answer.Body.Reset()
		_ = json.NewEncoder(answer.Body).Encode(info)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// Validate makes the CA respond, and validate challenges at the addresses of a gateway's listeners instead of the ports 80 and 443.
func (c *CA) Validate(plain, secure string) {
	c.started.Do(func() {
		authority := va.New(quiet(), port(plain), port(secure), false, c.DNS.Address, c.db)
		if c.options.AccountID != "" {
			if err := c.db.AddExternalAccountKeyByID(c.options.AccountID, c.options.AccountKey); err != nil {
				c.tb.Error(err)
			}
		}
		front := wfe.New(quiet(), c.db, authority, c.ca, []string{"ca.example"}, false, c.options.AccountID != "", 1, 1)
		c.serve <- front.Handler()
	})
}

// Root returns the PEM certificate of the issuer of certificates.
func (c *CA) Root() []byte { return c.ca.GetRootCert(0).PEM() }

// Orders returns the number of orders.
func (c *CA) Orders() int64 { return c.orders.Load() }

// Limit makes the CA refuse orders with the error rateLimited (RFC 8555 §6.6) and a Retry-After header. An empty string lifts the limit.
func (c *CA) Limit(retryAfter string) {
	if retryAfter == "" {
		c.limit.Store(nil)
		return
	}
	c.limit.Store(&retryAfter)
}

// Refused returns the number of orders that the CA refused because of Limit.
func (c *CA) Refused() int64 { return c.refused.Load() }

// A status records the status of a response.
type status struct {
	http.ResponseWriter

	code int
}

// WriteHeader records the status and sends it.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func port(address string) int {
	parsed, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return 0
	}
	return parsed.Port
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
