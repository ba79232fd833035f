package daemon_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record/export"
	"github.com/uimgate/uimgate/internal/daemon"
)

// The collector gets each record of the audit stream, including those of calls that ended while it was away, or before a restart of the
// gateway. No call waits for it.
func TestAuditStreamIsExported(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	accepted := make(chan export.Event, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var events []export.Event
		if err = errors.Join(err, json.Unmarshal(body, &events)); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for _, e := range events {
			accepted <- e
		}
	}))
	t.Cleanup(collector.Close)
	s := setup{
		dir: t.TempDir(), export: 5 * time.Millisecond,
		config: testConfig + "audit: {export: {http: {url: '" + collector.URL + "', secret: 0123456789abcdef}}}\n",
	}
	g := startGate(t, s)
	g.newAgent("agent-1").agree().execute(details, map[string]any{"id": "1"}, nil)
	until(t, http.StatusOK, func() answer { // the first attempt has failed
		if g.metric(`uimgate_audit_exported_total{result="failed"}`) == "" {
			return answer{}
		}
		return answer{status: http.StatusOK}
	})
	g.stop()
	away.Store(false)
	g = startGate(t, s)
	first := <-accepted
	if !strings.Contains(string(first.Data), `"agent":"agent-1"`) || first.Source != "/services/default" {
		t.Errorf("got %+v", first)
	}
	g.newAgent("agent-2").agree().execute(details, map[string]any{"id": "2"}, nil)
	next := <-accepted
	for next.ID == first.ID { // the collector may receive an event twice: an attempt of the first process can arrive late
		next = <-accepted
	}
	if !strings.Contains(string(next.Data), `"agent":"agent-2"`) {
		t.Errorf("got %+v", next)
	}
}

func TestDamagedExportCursorPreventsTheStart(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	g.stop()
	g.write("data/audit.export.json", "{")
	g.write("uimgate.yaml", g.file("uimgate.yaml")+"audit: {export: {syslog: {address: \"127.0.0.1:9\", tls: false}}}\n")
	cfg, problems := g.load()
	if cfg == nil {
		t.Fatal(problems)
	}
	err := daemon.Run(t.Context(), daemon.Options{Config: cfg, Load: g.load, Log: zap.NewNop(), Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "audit.export.json cannot be read; delete the file") {
		t.Errorf("got %v, want an error that contains %q", err, "audit.export.json cannot be read; delete the file")
	}
}
