package execute_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Each kind of stop refuses the calls that it names and no others, until it is ended.
func TestStopsRefuseWhatTheyName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	a, other := w.fresh(), w.fresh()
	person, _ := w.consented(item + ":execute")
	free, charged := call{intent: item, parameters: `{"id":"x"}`}, call{intent: buy, parameters: `{"product":"x"}`}
	throughDoor := free
	throughDoor.door = "mcp"
	type made struct {
		by   *gatetest.Agent
		call call
	}
	all := map[string]made{
		"free": {a, free}, "charged": {a, charged}, "through a door": {a, throughDoor}, "of another agent": {other, free},
		"of a person": {person, free},
	}
	for _, c := range []struct {
		stop    pat.Stop
		refused []string
	}{
		{pat.Stop{Kind: pat.StopCharging}, []string{"charged"}},
		{pat.Stop{Kind: pat.StopConsent}, []string{"of a person"}},
		{pat.Stop{Kind: pat.StopAgent, Subject: string(other.ID)}, []string{"of another agent"}},
		{pat.Stop{Kind: pat.StopIntent, Subject: buy}, []string{"charged"}},
		{pat.Stop{Kind: pat.StopDoor, Subject: "mcp"}, []string{"through a door"}},
		{pat.Stop{Kind: pat.StopDoor, Subject: pat.DoorHTTP}, []string{"free", "charged", "of another agent", "of a person"}},
		{
			pat.Stop{Kind: pat.StopService, Service: w.service().ID},
			[]string{"free", "charged", "through a door", "of another agent", "of a person"},
		},
		{pat.Stop{Kind: pat.StopCharging, Service: "another"}, nil},
	} {
		w.stop(c.stop)
		wanted := map[string]bool{}
		for _, name := range c.refused {
			wanted[name] = true
		}
		for name, m := range all {
			_, refused, _ := w.do(m.by, m.call)
			switch {
			case wanted[name] && (refused == nil || refused.Reason != reason.Stopped || refused.RetryAfter != time.Minute ||
				refused.Details["stopped"] != c.stop.Kind):
				t.Errorf("%s %s: the call %s got %v", c.stop.Kind, c.stop.Subject, name, refused)
			case !wanted[name] && refused != nil:
				t.Errorf("%s %s: the call %s was refused: %v", c.stop.Kind, c.stop.Subject, name, refused)
			}
		}
		w.resume(c.stop)
		for name, m := range all {
			if _, refused, _ := w.do(m.by, m.call); refused != nil {
				t.Errorf("after %s %s was resumed, the call %s was refused: %v", c.stop.Kind, c.stop.Subject, name, refused)
			}
		}
	}
}

// If charging is stopped after the charge was held, the call is not sent and the charge is released.
func TestStoppedChargeIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	w.holdAfterBegin(func(store.Admission) { w.stop(pat.Stop{Kind: pat.StopCharging}) })
	_, refused, _ := w.do(a, call{intent: buy, parameters: `{"product":"x"}`})
	if refused == nil || refused.Reason != reason.Stopped || refused.Charge == nil || refused.Charge.State != "released" {
		t.Errorf("got %v", refused)
	}
	if n, owed := w.requests.Load(), w.owed(a); n != 0 || owed != "0.00 held, 0.00 captured" {
		t.Errorf("%d requests, owed %s", n, owed)
	}
}

// A stopped service makes no new agreements, but renews PATs, so that agents can continue when it resumes.
func TestStoppedServiceRenewsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	stop := pat.Stop{Kind: pat.StopService, Service: w.service().ID}
	w.stop(stop)
	if _, err := w.Agreements.Issue(w.Context(), agree.Call{Service: w.service(), From: "127.0.0.1"}, func() (pat.IssueRequest, error) {
		t.Error("the request was read")
		return pat.IssueRequest{}, nil
	}); refusal.For(err).Reason != reason.Stopped {
		t.Errorf("got %v", err)
	}
	_, err := w.Agreements.Renew(w.Context(), agree.Call{Service: w.service(), From: "127.0.0.1"}, func() (pat.RenewRequest, error) {
		return pat.RenewRequest{Token: "x"}, nil
	})
	if refusal.For(err).Reason == reason.Stopped {
		t.Errorf("got %v", err)
	}
}
