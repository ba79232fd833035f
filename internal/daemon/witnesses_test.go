package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/status"
	witnesstest "github.com/uimgate/uimgate/internal/test/witness"
)

// While no witness signs the checkpoints, a gateway that requires it serves calls, and reports a degraded check.
func TestRequiredWitnessIsReported(t *testing.T) {
	t.Parallel()
	var running atomic.Pointer[gate]
	witness := witnesstest.Start(t, "witness.example", func(string) string {
		g := running.Load()
		if g == nil {
			return ""
		}
		var file struct {
			Key string `json:"uim-log-key"`
		}
		if err := json.Unmarshal(g.do("GET", "/agents.json", nil, nil).body, &file); err != nil {
			t.Error(err)
		}
		return file.Key
	})
	witness.Respond(func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusServiceUnavailable); return true })
	g := startGate(t, setup{config: logged(fmt.Sprintf(`, witnesses: [{key: %q, url: %q, private: true}], witnesses_required: true`,
		witness.VerifierKey(), witness.URL))})
	running.Store(g)
	a := g.newAgent("a").agree()
	a.logProof("id=" + a.chargedCall())
	log := func(h status.Health) status.Check { return h.Checks["log"] }
	if code := g.health(func(h status.Health) bool { return log(h).OK && log(h).Degraded }); code != http.StatusOK {
		t.Errorf("/readyz: %d, want %d", code, http.StatusOK)
	}
	witness.Respond(nil)
	g.health(func(h status.Health) bool { return !log(h).Degraded })
	if text := string(a.log("checkpoint").body); !strings.Contains(text, "— witness.example ") {
		t.Errorf("the checkpoint is not cosigned: %s", text)
	}
	if h := g.status(t).Log.Services["default"]; h.CosignedAt == nil {
		t.Errorf("the status does not show the cosignature: %+v", h)
	}
}
