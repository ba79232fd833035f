package execute_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// After a restore, an agent of the backup gets a refusal that states until when its limit is held back. It is not suspended for calls that
// it could not know to exceed a limit. Agents that agree after the restore are admitted.
func TestLimitsAreHeldBackAfterARestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pat: {suspend_after: 2}\n", quickUpstream)
	a := w.fresh()
	request := call{intent: find, parameters: `{"q":"lamp"}`}
	w.must(a, request)
	w.Must(w.Store.MarkRestored(w.Context(), store.DefaultRestoredLimits()))
	w.Later(2 * time.Second)
	w.AgreeAgain(a)
	at := w.Now().Add(-2 * time.Second)
	until := limit.Hour.Frees(limit.Hour.Slot(at))
	for range 20 {
		_, refused, _ := w.do(a, request)
		if refused == nil || refused.Reason != reason.RestoredLimits {
			t.Fatalf("got %v, want Reason %v", refused, reason.RestoredLimits)
		}
		stated, err := time.Parse(time.RFC3339, refused.Details["until"].(string)) //nolint:forcetypeassert // a string, or the test fails
		if err != nil || stated.Sub(until).Abs() > time.Second || refused.Details["limit"] != "5/hour" ||
			refused.RetryAfter != until.Sub(w.Now()) || !strings.Contains(refused.Message, stated.Format(time.RFC3339)) {
			t.Fatalf("%v, %v, after %s; want until %s", refused, refused.Details, refused.RetryAfter, until)
		}
	}
	w.must(w.fresh(), request)
	w.Later(until.Sub(w.Now()))
	w.AgreeAgain(a)
	w.must(a, request)
}

// A gateway that continues from the counts of the backup refuses as before the restore.
func TestLimitsContinueFromTheBackup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	request := call{intent: find, parameters: `{"q":"lamp"}`}
	for range 5 {
		w.must(a, request)
	}
	refusedFor := func(a *gatetest.Agent) reason.Reason {
		_, refused, _ := w.do(a, request)
		if refused == nil {
			return ""
		}
		return refused.Reason
	}
	for _, c := range []struct {
		mode store.RestoreMode
		want reason.Reason
	}{{store.RestoreBackup, reason.RateLimitExceeded}, {store.RestoreFresh, ""}} {
		w.Must(w.Store.MarkRestored(w.Context(), store.RestoredLimits{Mode: c.mode}))
		w.Later(2 * time.Second)
		w.AgreeAgain(a)
		if got := refusedFor(a); got != c.want {
			t.Errorf("--limits %s: %q; want %q", c.mode, got, c.want)
		}
	}
}
