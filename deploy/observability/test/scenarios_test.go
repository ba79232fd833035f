package observability_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"database/sql" //nolint:depguard // it writes to the database beside the gateway
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	witnesstest "github.com/uimgate/uimgate/internal/test/witness"
)

// A scenario is a problem of a gateway, and the alerts that it fires.
type scenario struct {
	// gateway starts the gateway. nil means one with the usual settings.
	gateway func(t *testing.T) *gateway
	// provoke causes the problem. It may be nil.
	provoke func(g *gateway, s *server, c *customer)
	// work runs between two scrapes. It may be nil.
	work  func(g *gateway, s *server, c *customer)
	every time.Duration // 0 means a minute
	steps int
	fires []string
}

func with(files map[string]string, replace ...string) func(*testing.T) *gateway {
	return func(t *testing.T) *gateway { t.Helper(); return start(t, files, replace...) }
}

// refuseOrders makes the store fail for calls that cost money.
func refuseOrders(g *gateway, _ *server, _ *customer) {
	g.alter(`CREATE TRIGGER full BEFORE INSERT ON executions BEGIN SELECT RAISE(FAIL, 'full'); END`)
}

// scenarios are by name. The work of each is real; only the time between scrapes is not.
var scenarios = map[string]scenario{
	"a gateway ends": {
		provoke: func(g *gateway, _ *server, _ *customer) { g.stop() },
		steps:   7, fires: []string{"UimgateDown"},
	},
	"Prometheus has no target": {
		provoke: func(_ *gateway, s *server, _ *customer) { s.scrape = nil },
		steps:   30, fires: []string{"UimgateAbsent"},
	},
	"the store refuses each order": {
		provoke: refuseOrders,
		work: func(_ *gateway, _ *server, c *customer) {
			_, _ = c.order(), c.order()
		},
		steps: 30, fires: []string{"UimgateStoreFailing", "UimgateErrorBudgetFastBurn", "UimgateErrorBudgetSlowBurn"},
	},
	"the store refuses one call in a hundred": {
		provoke: refuseOrders,
		work: func(_ *gateway, _ *server, c *customer) {
			_, _ = c.search(99), c.order()
		},
		steps: 40, fires: []string{"UimgateStoreFailing", "UimgateErrorBudgetSlowBurn"},
	},
	"the store is slow": {
		work:  slowOrder,
		every: 4 * time.Minute, steps: 6, fires: []string{"UimgateStoreSlow", "UimgateCallsSlow"},
	},
	"the database loses commits": { // a promoted standby: the metric is real, its value is not
		provoke: func(_ *gateway, s *server, _ *customer) { s.more["uimgate_lost_commits_total"] = 3 },
		steps:   2, fires: []string{"UimgateLostCommits"},
	},
	"the clock of the database is set": { // one of PostgreSQL: the metric is real, its value is not
		provoke: func(_ *gateway, s *server, _ *customer) { s.more["uimgate_clock_steps_total"] = 1 },
		steps:   2, fires: []string{"UimgateClockStepped"},
	},
	"the API breaks an order off": {
		provoke: func(g *gateway, _ *server, c *customer) {
			g.answer(breakOff)
			_ = c.order()
		},
		steps: 17, fires: []string{"UimgateChargesUnresolved"},
	},
	"the store is away when an order ends": {
		provoke: func(g *gateway, s *server, c *customer) {
			g.answer(func(w http.ResponseWriter, _ *http.Request) {
				g.alter(`CREATE TRIGGER full BEFORE UPDATE ON executions BEGIN SELECT RAISE(FAIL, 'full'); END`)
				w.WriteHeader(http.StatusNoContent)
			})
			_ = c.order()
			g.ahead.Store(int64(2 * time.Minute)) // the gateway tries for the timeout of the service and 30 seconds
			s.until("uimgate_late_ends_total", 0)
		},
		steps: 2, fires: []string{"UimgateEndsGivenUp"},
	},
	"the log of the ledger cannot be written": {
		provoke: func(g *gateway, _ *server, c *customer) {
			g.alter(`CREATE TRIGGER full BEFORE INSERT ON log_tiles BEGIN SELECT RAISE(FAIL, 'full'); END`)
			g.must(c.order())
			g.ahead.Store(int64(time.Minute))
		},
		steps: 8, fires: []string{"UimgateLogLagging"},
	},
	"receipts cannot be signed": { // the metric is real, its value is not
		provoke: func(_ *gateway, s *server, _ *customer) { s.more["uimgate_receipts_missing_total"] = 3 },
		steps:   2, fires: []string{"UimgateReceiptsMissing"},
	},
	"a witness no longer signs": { // the metrics are real, the time is not
		gateway: witnessed,
		provoke: func(g *gateway, s *server, c *customer) {
			g.must(c.order())
			s.until("uimgate_log_cosigned_timestamp_seconds", 0)
			s.more["uimgate_log_checkpoint_timestamp_seconds"] = (1000 * time.Hour * 24).Seconds()
		},
		steps: 18, fires: []string{"UimgateLogNotCosigned"},
	},
	"the disk of a required audit stream is full": {
		gateway: with(nil, "pat:", "data: full\naudit: {required: true}\npat:"),
		work: func(_ *gateway, _ *server, c *customer) {
			_, _ = c.search(1), c.search(1)
		},
		steps: 30, fires: []string{"UimgateAuditFailing", "UimgateErrorBudgetFastBurn", "UimgateErrorBudgetSlowBurn"},
	},
	"more records wait than the gateway keeps": {
		gateway: with(nil, "pat:", "data: full\naudit: {parameters: true}\npat:"),
		provoke: func(g *gateway, s *server, c *customer) {
			for range 100 {
				g.must(c.orderOf(strings.Repeat("lamp", 12<<10)))
			}
			s.until("uimgate_audit_records_lost_total", 0)
		},
		steps: 2, fires: []string{"UimgateAuditRecordsLost"},
	},
	"the API fails": {
		provoke: func(g *gateway, _ *server, _ *customer) { g.fail() },
		work:    func(_ *gateway, _ *server, c *customer) { _ = c.search(2) },
		steps:   15, fires: []string{"UimgateUpstreamFailing"},
	},
	"the API answers what the intents do not declare": {
		provoke: func(g *gateway, _ *server, _ *customer) {
			g.answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) })
		},
		work:  func(_ *gateway, _ *server, c *customer) { _ = c.search(2) },
		steps: 15, fires: []string{"UimgateUpstreamFailing"},
	},
	"a breaker opens": {
		gateway: with(nil, "failures: 10000", "failures: 1, open_for: 1h"),
		provoke: func(g *gateway, _ *server, c *customer) {
			g.fail()
			_, _ = c.search(1), g.customer("agent-2").search(1)
		},
		steps: 7, fires: []string{"UimgateBreakerOpen"},
	},
	"the API is full": {
		gateway: with(nil, "timeout: 5s,", "timeout: 1m, concurrency: 1,"),
		provoke: func(g *gateway, _ *server, c *customer) { hold(g, c) },
		work:    crowd,
		every:   4 * time.Minute, steps: 6,
		fires: []string{"UimgateShedding", "UimgateErrorBudgetFastBurn", "UimgateErrorBudgetSlowBurn", "UimgateCallsSlow"},
	},
	"a certificate ends in ten days": {
		gateway: func(t *testing.T) *gateway { t.Helper(); return secure(t, 10*24*time.Hour, nil) },
		every:   4 * time.Minute, steps: 18, fires: []string{"UimgateCertificateExpires"},
	},
	"a certificate ends in two days": {
		gateway: func(t *testing.T) *gateway { t.Helper(); return secure(t, 2*24*time.Hour, nil) },
		every:   4 * time.Minute, steps: 18, fires: []string{"UimgateCertificateExpires", "UimgateCertificateExpiresSoon"},
	},
	"a reload is refused": {
		provoke: func(g *gateway, _ *server, _ *customer) {
			g.configure("policy.json", "missing.json")
			if g.reload() {
				g.Error("the gateway applied a configuration without its policy")
			}
		},
		steps: 7, fires: []string{"UimgateReloadFailed"},
	},
	"a setting waits for a restart": {
		provoke: func(g *gateway, _ *server, _ *customer) {
			g.configure("server: {", "server: {read_timeout: 9s, ")
			if !g.reload() {
				g.Error("the gateway refused the configuration")
			}
		},
		every: 4 * time.Minute, steps: 365, fires: []string{"UimgateRestartPending"},
	},
	"the collector refuses traces": {
		gateway: func(t *testing.T) *gateway { t.Helper(); return exporting(t) },
		work: func(_ *gateway, s *server, c *customer) {
			before := s.value("uimgate_telemetry_lost_total")
			_ = c.search(1)
			s.until("uimgate_telemetry_lost_total", before)
		},
		every: 4 * time.Minute, steps: 12, fires: []string{"UimgateTelemetryLost"},
	},
	"an agent waits": {
		gateway: with(nil, "pat: {", "pat: {admission: approval, "),
		provoke: func(g *gateway, _ *server, _ *customer) {
			if _, err := g.agree("agent-2"); err == nil {
				g.Error("the agent need not wait")
			}
		},
		every: 4 * time.Minute, steps: 365, fires: []string{"UimgateAgentsWaiting"},
	},
}

// breakOff accepts the call and closes the connection.
func breakOff(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

// slowOrder makes an order while another process writes to the database for more than a second.
func slowOrder(g *gateway, _ *server, c *customer) {
	g.Helper()
	db, err := sql.Open("sqlite", "file:"+g.state()+"?_txlock=immediate")
	g.must(err)
	g.Cleanup(func() { g.must(db.Close()) })
	tx, err := db.BeginTx(g.Context(), nil)
	g.must(err)
	time.AfterFunc(1300*time.Millisecond, func() { _ = tx.Rollback() })
	g.must(c.order())
}

// hold makes a call that the API answers only when the test ends.
func hold(g *gateway, c *customer) {
	arrived, end := make(chan struct{}), make(chan struct{})
	g.answer(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-end:
		case <-r.Context().Done():
		}
	})
	var held sync.WaitGroup
	held.Go(func() { _ = c.search(1) })
	<-arrived
	g.Cleanup(func() { close(end); held.Wait() })
}

// crowd makes more calls at once than wait for a place.
func crowd(_ *gateway, _ *server, c *customer) {
	var calls sync.WaitGroup
	for range 40 {
		calls.Go(func() { _ = c.search(1) })
	}
	calls.Wait()
}

// secure starts a gateway with a certificate that ends soon.
func secure(t *testing.T, until time.Duration, files map[string]string, replace ...string) *gateway {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(until),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var cert, secret bytes.Buffer
	_, _ = pem.Encode(&cert, &pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.Encode(&secret, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	all := map[string]string{"cert.pem": cert.String(), "key.pem": secret.String()}
	maps.Copy(all, files)
	return start(t, all, append(replace, "server: {", "server: {tls: {cert: cert.pem, key: key.pem}, ")...)
}

// witnessed starts a gateway whose log a witness signs.
func witnessed(t *testing.T) *gateway {
	t.Helper()
	var started atomic.Pointer[gateway]
	witness := witnesstest.Start(t, "witness.example", func(string) string {
		g := started.Load()
		if g == nil {
			return ""
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/agents.json", http.NoBody)
		if err != nil {
			return ""
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return ""
		}
		defer func() { _ = response.Body.Close() }()
		var document map[string]any
		if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
			return ""
		}
		info, _ := document["service-info"].(map[string]any)
		for _, members := range []map[string]any{document, info} {
			if key, ok := members["uim-log-key"].(string); ok {
				return key
			}
		}
		return ""
	})
	g := start(t, nil, "pat:", `evidence: {witnesses: [{key: "`+witness.VerifierKey()+`", url: "`+witness.URL.String()+`", private: true}]}
pat:`)
	started.Store(g)
	return g
}

// exporting starts a gateway whose collector refuses everything.
func exporting(t *testing.T) *gateway {
	t.Helper()
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(collector.Close)
	return start(t, nil, "pat:", "telemetry: {otlp: {endpoint: "+collector.URL+"}}\npat:")
}

// fullDisk makes the audit stream of a gateway that keeps its data in the directory full a file of a full disk.
func fullDisk(t *testing.T, dir string) {
	t.Helper()
	err := os.Mkdir(filepath.Join(dir, "full"), 0o700)
	if err == nil {
		err = os.Symlink("/dev/full", filepath.Join(dir, "full", "audit.jsonl"))
	}
	if err != nil {
		t.Fatal(err)
	}
}
