package daemon_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/daemon"
)

// The problems of a configuration are reported before a port that is in use.
func TestWrongPolicyIsReportedBeforeAPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	busy := strings.Replace(testConfig, "listen: 127.0.0.1:0, per_address", "listen: "+taken.Addr().String()+", per_address", 1)
	got := refusal(t, setup{config: busy, policy: strings.Replace(testPolicy, `"leftOperand": "rateLimit"`, `"leftOperand": "misspelt"`, 1)})
	if !strings.Contains(got, "misspelt") {
		t.Errorf("got %s, want the problem of the policy", got)
	}
	g := &gate{t: t, dir: t.TempDir()}
	g.write("agents.json", testAgents)
	g.write("policy.json", testPolicy)
	g.write("uimgate.yaml", strings.ReplaceAll(busy, "UPSTREAM", "http://127.0.0.1:9"))
	cfg, problems := g.load()
	if cfg == nil {
		t.Fatal(problems.Err())
	}
	err = daemon.Run(t.Context(), daemon.Options{Config: cfg, Load: g.load, Log: zap.NewNop(), Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "listening on "+taken.Addr().String()) {
		t.Errorf("got %v, want an error about the port in use", err)
	}
}
