package admin_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/record"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An auditFile keeps the records that were written to the audit stream.
type auditFile struct{ bytes.Buffer }

func (*auditFile) Sync() error  { return nil }
func (*auditFile) Close() error { return nil }

func TestStopAndResume(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	file := &auditFile{}
	g.settings.Audit = record.NewAudit(record.AuditOptions{
		Open: func() (record.File, error) { return file, nil }, Log: g.Log, Metrics: g.Metrics,
	})
	g.operator = admin.New(g.settings)
	g.listener.Config.Handler = g.handler(g.operator, adminToken)

	body := map[string]any{"kind": "agent", "subject": "agent-1", "reason": "it calls in a loop", "by": "ann"}
	made := ask[processes.Stop](g, "POST", "/stops", body)
	if made.Kind != pat.StopAgent || made.Subject != "agent-1" || made.By != "ann" || made.At.IsZero() || !made.EndedAt.IsZero() {
		t.Errorf("got %+v", made)
	}
	g.Refuses(g.Execute(a, gatetest.Ordering), http.StatusServiceUnavailable, "STOPPED")
	if got := g.Execute(a, gatetest.Ordering); got.Header.Get("Retry-After") != "60" || strings.Contains(string(got.Body), "loop") {
		t.Errorf("%v %s", got.Header, got.Body)
	}
	ask[processes.Stop](g, "POST", "/stops", map[string]any{"kind": "charging", "by": "bob"})
	if got := items[processes.Stop](g, "/stops"); len(got) != 2 {
		t.Errorf("in force: %+v", got)
	}
	if got := ask[status.Status](g, "GET", "/status", nil).Stops; len(got) != 2 {
		t.Errorf("status: %+v", got)
	}
	ended := ask[processes.Stop](g, "POST", "/stops/resume", map[string]any{"kind": "agent", "subject": "agent-1", "by": "bob"})
	if ended.By != "ann" || ended.EndedBy != "bob" || ended.EndedAt.IsZero() {
		t.Errorf("got %+v", ended)
	}
	g.Refuses(g.do("POST", "/stops/resume", map[string]any{"kind": "agent", "subject": "agent-1"}), http.StatusNotFound, "NO_SUCH_RECORD")
	ask[processes.Stop](g, "POST", "/stops/resume", map[string]any{"kind": "charging"})
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Errorf("after both were resumed: %d %s", got.Status, got.Body)
	}
	var lines []string
	for line := range strings.SplitSeq(file.String(), "\n") {
		if strings.Contains(line, `"stop":`) {
			lines = append(lines, line[strings.Index(line, `"decision"`):])
		}
	}
	want := []string{
		`"decision":"stop","stop":{"by":"ann","kind":"agent","subject":"agent-1","why":"it calls in a loop"}}`,
		`"decision":"stop","stop":{"by":"bob","kind":"charging"}}`,
		`"decision":"resume","stop":{"by":"bob","kind":"agent","subject":"agent-1","why":"it calls in a loop"}}`,
		`"decision":"resume","stop":{"by":"operator","kind":"charging"}}`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the audit stream has\n%s", got)
	}
}

func TestStopsShowWhoHasAppliedThem(t *testing.T) {
	g := newAdminGate(t, "")
	body := map[string]any{"kind": "charging", "wait": true}
	if got := ask[processes.Stop](g, "POST", "/stops", body); got.Applied != nil {
		t.Errorf("without reports of processes: got %+v", got.Applied)
	}
	g.Must(g.Replica.Report(g.Context()))
	// The stop changed before this process reported: the process has applied it, but when is not known.
	ask[processes.Stop](g, "POST", "/stops/resume", body)
	g.Pass(2 * time.Minute)
	g.Must(g.Replica.Report(g.Context()))
	applied := func(path string) *processes.Propagation {
		got := items[processes.Stop](g, path)
		if len(got) != 1 {
			t.Fatalf("got %+v", got)
		}
		return got[0].Applied
	}
	if got := applied("/stops?state=ended"); got.Applied != 1 || got.Processes != 1 || *got.Seconds != 0 ||
		got.String() != "1 of 1 processes, 0.00 s" {
		t.Errorf("got %+v", got)
	}
	// Nothing reports this change: the operation waits for it, and then responds.
	made := ask[processes.Stop](g, "POST", "/stops", body)
	if got := made.Applied; got.Complete() || got.Applied != 0 || got.Processes != 1 || got.Seconds != nil ||
		got.String() != "0 of 1 processes; not yet: test:1" {
		t.Errorf("got %+v", got)
	}
	g.Must(g.Replica.Report(g.Context()))
	if got := applied("/stops"); !got.Complete() || got.By[0].Process != "test:1" || got.By[0].Seconds == nil {
		t.Errorf("got %+v", got)
	}
	list := ask[processes.Processes](g, "GET", "/processes", nil)
	if len(list.Items) != 1 || list.Items[0].Process != "test:1" || list.Items[0].Version != "test" || !list.Items[0].Running ||
		list.Items[0].Configuration != ask[status.Status](g, "GET", "/status", nil).Configuration.Hash || list.Unreported != 0 {
		t.Errorf("got %+v", list)
	}
	g.Refuses(g.do("GET", "/stops?state=all", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(g.do("POST", "/stops", map[string]any{"kind": "charging", "wait": "yes"}), http.StatusBadRequest, "MALFORMED_REQUEST")
}

// The only process of a store reports only what is new.
func TestTheOnlyProcessRuns(t *testing.T) {
	g := newAdminGate(t, "")
	g.Must(g.Replica.Report(g.Context()))
	ask[processes.Stop](g, "POST", "/stops", map[string]any{"kind": "charging"})
	g.Must(g.Replica.Report(g.Context()))
	for _, idle := range []time.Duration{time.Minute, 2 * store.ProcessesKept} {
		g.Pass(idle)
		g.Must(g.Replica.Report(g.Context()))
		_, err := g.Store.Purge(g.Context())
		g.Must(err)
		list := ask[processes.Processes](g, "GET", "/processes", nil)
		if len(list.Items) != 1 || !list.Items[0].Running || list.Unreported != 0 {
			t.Errorf("after %s: %+v", idle, list)
		}
		got := items[processes.Stop](g, "/stops")
		if len(got) != 1 || !got[0].Applied.Complete() || got[0].Applied.Processes != 1 {
			t.Errorf("after %s: %+v", idle, got)
		}
	}
}

func TestUnclearStopsAreRefused(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	for name, body := range map[string]map[string]any{
		"no kind":                 {},
		"an unknown kind":         {"kind": "everything"},
		"no agent":                {"kind": "agent"},
		"a subject of charging":   {"kind": "charging", "subject": "agent-1"},
		"no service":              {"kind": "service"},
		"a reason of two lines":   {"kind": "charging", "reason": "a\nb"},
		"an actor with a control": {"kind": "charging", "by": "a\u202eb"},
		"an unknown member":       {"kind": "charging", "until": "tomorrow"},
		"a number as subject":     {"kind": "agent", "subject": 7},
	} {
		if got := g.do("POST", "/stops", body); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	for name, body := range map[string]map[string]any{
		"a misspelt agent":   {"kind": "agent", "subject": "agent-2"},
		"a misspelt intent":  {"kind": "intent", "subject": "shop.example:odrer:v1"},
		"a misspelt door":    {"kind": "door", "subject": "mpc"},
		"an unknown service": {"kind": "charging", "service": "nowhere"},
	} {
		if got := g.do("POST", "/stops", body); got.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if got := items[processes.Stop](g, "/stops"); len(got) != 0 {
		t.Errorf("stopped: %+v", got)
	}
}
