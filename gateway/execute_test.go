package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestPanicIsRefusedAsInternal(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	var seen *execute.Event
	_, err := g.Executor.Execute(t.Context(), execute.Call{
		Service: func() *service.Service { return g.Directory.Current().Service("default") }, Token: a.Token,
		Observe: func(e *execute.Event) { seen = e }, Read: func() (execute.Request, error) { panic("canary-parameter") },
	})
	f, ok := errors.AsType[*reason.Refusal](err)
	if !ok || f.Reason != "INTERNAL" || f.Status() != http.StatusInternalServerError || f.Details["outcome"] == nil {
		t.Fatalf("got %+v", err)
	}
	if seen == nil || seen.Decision != "deny" || seen.Reason != "INTERNAL" {
		t.Errorf("got %+v", seen)
	}
	if cause := errors.Unwrap(f).Error(); strings.Contains(cause, "canary") || !strings.Contains(cause, "execute_test.go") {
		t.Errorf("the cause must contain the location but not the value of the panic: %s", cause)
	}
}

func TestUnavailableStoreMeansNotSent(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Pass(time.Minute) // the view of revocations is out of date but can be refreshed
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Errorf("a view that can be refreshed: %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	g.Pass(time.Minute)
	g.Must(g.Store.Close()) // now the view cannot be refreshed
	got := g.Execute(a, gatetest.Ordering)
	if got.Status != http.StatusServiceUnavailable || !strings.Contains(string(got.Body), `"outcome":"not_sent"`) {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}

// The output is the JSON value of the response with the same order and digits, without the bytes around the value.
func TestOutputKeepsOrderAndDigits(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "\ufeff {\"z\": 1.50, \"a\": {\"y\": \"<&\", \"b\": 1e2}}\n")
	}
	answer := g.Execute(a, gatetest.Searching)
	if want := `{"z": 1.50, "a": {"y": "<&", "b": 1e2}}`; answer.Status != http.StatusOK || string(answer.Body) != want {
		t.Errorf("%d %s, want %s", answer.Status, answer.Body, want)
	}
}
