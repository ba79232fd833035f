package admin_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/internal/playground"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func newPlayground(g *gatetest.Gate, api http.Handler) *playground.Playground {
	return playground.New(playground.Options{API: api, Key: g.Data.PrivateKey, Doors: g.Modules, Now: g.Now})
}

// After a restart, the test agent of a service has the same key and id, and must agree again.
func TestTheTestAgentKeepsItsKey(t *testing.T) {
	g := gatetest.New(t, "")
	s := g.Directory.Current().Services()[0]
	first, err := newPlayground(g, g.Handler).Agree(t.Context(), s)
	if err != nil || first.Agent.State != testcalls.TestAgreed {
		t.Fatalf("got %+v, %v", first, err)
	}
	info, err := os.Stat(filepath.Join(filepath.Dir(g.Data.StatePath()), "playground.default.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the key: %v, %v", info, err)
	}
	restarted := newPlayground(g, g.Handler)
	if a := restarted.Agent(s); a.State != testcalls.TestUnsigned || a.AgentID != "" {
		t.Errorf("after a restart: %+v", a)
	}
	second, err := restarted.Agree(t.Context(), s)
	if err != nil || second.Agent.AgentID != first.Agent.AgentID || second.Agent.AgreementID == first.Agent.AgreementID {
		t.Errorf("got %+v, %v", second, err)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	g := gatetest.New(t, "")
	s := g.Directory.Current().Services()[0]
	long := newPlayground(g, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = w.Write([]byte(strings.Repeat("é", 1<<20)))
		}
	}))
	got, err := long.Call(t.Context(), s, testcalls.TestCall{Intent: gatetest.Searching})
	if err != nil || !got.Shortened || len(got.Response) > 64<<10 || got.Status != http.StatusOK {
		t.Errorf("a long response: %d bytes, %v", len(got.Response), err)
	}
	aborted := newPlayground(g, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if _, err := aborted.Call(t.Context(), s, testcalls.TestCall{Intent: gatetest.Searching}); err == nil {
		t.Error("an aborted response is no error")
	}
}
