package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/notify"
	"github.com/uimgate/uimgate/gateway/wire"
)

// noticesTo starts a webhook, and returns the configuration for it and the notices that it accepts.
func noticesTo(t *testing.T) (configuration string, accepted chan notify.Notice) {
	t.Helper()
	accepted = make(chan notify.Notice, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var n notify.Notice
		if err = errors.Join(err, json.Unmarshal(body, &n)); err != nil || r.Header.Get(wire.SignatureHeader) == "" {
			t.Errorf("%q: %v", body, err)
		}
		accepted <- n
	}))
	t.Cleanup(s.Close)
	return fmt.Sprintf("notify: [{url: %s, secret: 0123456789abcdef}]\n", s.URL), accepted
}

// awaitNotice returns the next notice, which must be of an event.
func awaitNotice(t *testing.T, from chan notify.Notice, want config.Event) notify.Notice {
	t.Helper()
	select {
	case n := <-from:
		if n.Event != want {
			t.Fatalf("%+v; want %s", n, want)
		}
		return n
	case <-t.Context().Done():
		t.Fatalf("no notice of %s", want)
	}
	return notify.Notice{}
}

const noticesEvery = 20 * time.Millisecond

func TestOperatorIsNotified(t *testing.T) {
	t.Parallel()
	webhook, accepted := noticesTo(t)
	settings := strings.NewReplacer("pat: {limit", "pat: {admission: approval, limit", "newcomers: 1 EUR", "low: 0.8 EUR",
		"breaker: {failures: 1000, open_for: 100ms}", "breaker: {failures: 1, open_for: 1h}").Replace(testConfig)
	g := startGate(t, setup{
		notices: noticesEvery, config: webhook + settings, upstream: func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost { // the outcome of an order is unknown
				connection, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = connection.Close()
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id": "p", "name": "Lamp"}`)
		},
	})
	var agents []*agent
	for _, id := range []string{"agent-1", "agent-2"} {
		a := g.newAgent(id)
		if got := a.issueWith(a.agreement(nil)); got.status != http.StatusAccepted {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusAccepted)
		}
		if n := awaitNotice(t, accepted, config.AgentWaiting); n.Service != "default" || n.Subject != id {
			t.Errorf("got %+v; want Service %q and Subject %v", n, "default", id)
		}
		if got := g.adminDo("POST", "/admin/v1/agents/"+id+"/approve", map[string]any{}); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
		agents = append(agents, a.agree())
	}
	for _, a := range agents {
		if got := a.execute(order, map[string]any{"product_id": "parameter-canary"}, nil); got.status != http.StatusBadGateway {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusBadGateway)
		}
	}
	// The calls of both agents failed, so the breaker is open. 0.75 EUR of the credit are left to each.
	var got []string
	for range 5 {
		n := <-accepted
		if n.Event == config.ChargeUnresolved && n.Subject != "" && strings.Contains(n.Text, "0.25 EUR") {
			n.Subject = "an execution"
		}
		got = append(got, string(n.Event)+" "+n.Subject)
		if strings.Contains(n.Text, "parameter-canary") {
			t.Errorf("got %+v", n)
		}
	}
	slices.Sort(got)
	want := []string{
		"breaker.open " + order, "charge.unresolved an execution", "charge.unresolved an execution", "credit.low agent-1", "credit.low agent-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if got := g.reconfigure(adminToken, "billing: {credit: 1 EUR", "notify: nothing\nbilling: {credit: 1 EUR"); got.status != http.StatusUnprocessableEntity {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusUnprocessableEntity)
	}
	awaitNotice(t, accepted, config.ReloadRefused)
	if got := g.reconfigure(adminToken); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
}

func TestOneOfSeveralReplicasNotifies(t *testing.T) {
	t.Parallel()
	dsn := migrated.Copy(t)
	webhook, accepted := noticesTo(t)
	var gates []*gate
	for range 2 {
		gates = append(gates, startGate(t, setup{
			config: "store: ${file:store.url}\n" + webhook + strings.ReplaceAll(testConfig, "pat: {limit", "pat: {admission: approval, limit"),
			files:  map[string]string{"store.url": dsn + "\n"}, notices: noticesEvery,
		}))
	}
	a := gates[0].newAgent("agent-1")
	if got := a.issueWith(a.agreement(nil)); got.status != http.StatusAccepted {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusAccepted)
	}
	awaitNotice(t, accepted, config.AgentWaiting)
	a = gates[1].newAgent("agent-2")
	if got := a.issueWith(a.agreement(nil)); got.status != http.StatusAccepted {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusAccepted)
	}
	if n := awaitNotice(t, accepted, config.AgentWaiting); n.Subject != "agent-2" {
		t.Errorf("agent-1 was announced twice: %+v", n)
	}
	const series = `uimgate_notices_total{event="agent.waiting",result="delivered"}`
	for ; ; waitABit(t) { // each process counts a notice after the webhook has answered
		counts := gates[0].metric(series) + "," + gates[1].metric(series)
		if counts == "2," || counts == ",2" {
			return
		}
		if counts != "1," && counts != ",1" {
			t.Fatalf("the processes posted %q", counts)
		}
	}
}
