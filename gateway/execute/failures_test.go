package execute_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A failureCase is a refusal that requires its own service.
type failureCase struct {
	refusalCase
	settings string // before the services
	upstream string // the upstream settings; empty: quickUpstream
}

// failures are the cases in which a part of the gateway or the upstream fails.
var failures = []failureCase{
	{refusalCase: refusalCase{
		name: "the policy has changed", before: func(w *world, _ *gatetest.Agent) {
			w.Write("policy.json", strings.Replace(stepsPolicy, "policy/1", "policy/2", 1))
			w.Reload()
		}, call: call{intent: find}, want: reason.PolicyRequiresAgreement, details: `{"agreed_digest":"DIGEST","policy":POLICY}`, ended: true,
	}},
	{refusalCase: refusalCase{
		name: "the view of revocations is stale", before: func(w *world, _ *gatetest.Agent) {
			w.Pass(time.Minute)
			w.closeStore()
		}, call: call{intent: find}, want: reason.StoreUnavailable, message: "The gateway cannot check at the moment which tokens were revoked.",
		details: `{"outcome":"not_sent"}`, after: time.Second, ended: true,
	}},
	{refusalCase: refusalCase{
		name: "the store cannot be written to", before: func(w *world, _ *gatetest.Agent) { w.closeStore() },
		call: call{intent: item, parameters: `{"id":"x"}`, key: "k"}, want: reason.StoreUnavailable,
		details: `{"outcome":"not_sent"}`, after: time.Second, ended: true,
	}},
	{
		refusalCase: refusalCase{
			name: "the service failed too often of late", before: func(w *world, a *gatetest.Agent) {
				w.answers(500, "text/plain", "")
				_, _, _ = w.do(a, call{intent: item, parameters: `{"id":"x"}`})
			}, call: call{intent: item, parameters: `{"id":"y"}`}, want: reason.BreakerOpen,
			details: `{"outcome":"not_sent"}`, after: 10 * time.Second, ended: true,
		},
		upstream: "  upstream: {url: UPSTREAM, timeout: 30s, breaker: {failures: 1, open_for: 10s}}\n",
	},
	{
		refusalCase: refusalCase{
			name: "the service cannot be reached", call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamUnreachable,
			details: `{"outcome":"not_sent"}`, charge: "0.25 EUR released", standing: "9999 of 10000/hour", owed: "0.00 held, 0.00 captured",
			ended: true,
		},
		upstream: "  upstream: {url: 'http://127.0.0.1:1', timeout: 30s}\n",
	},
	{
		refusalCase: refusalCase{
			name: "the service does not answer in time", before: func(w *world, _ *gatetest.Agent) {
				w.serve(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				})
			}, call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamTimeout,
			details: `{"outcome":"unknown"}`, charge: "0.25 EUR pending", standing: "9999 of 10000/hour", requests: 1,
			owed: "0.25 held, 0.00 captured", ended: true,
		},
		upstream: "  upstream: {url: UPSTREAM, timeout: 100ms}\n",
	},
	{
		refusalCase: refusalCase{
			name: "the agent went on calling over a limit", before: func(w *world, a *gatetest.Agent) {
				for range 6 {
					_, _, _ = w.do(a, call{intent: find, parameters: `{"q":"lamp"}`})
				}
			}, call: call{intent: find, parameters: `{"q":"lamp"}`}, want: reason.AgentBlocked,
			message: "The agent was blocked, because it made too many calls beyond a limit that the policy forbids exceeding.", ended: true,
		},
		settings: "pat: {suspend_after: 2}\n",
	},
	{
		refusalCase: refusalCase{
			name: "nothing was paid in advance", call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.PolicyRequiresPayment,
			message: "The call costs 0.25 EUR, and the agent's balance is 0.00 EUR.",
			details: `{"payment":{"balance":"0.00","contact":"billing@shop.example","currency":"EUR","limit":"0.00","minimum":"1.00","owed":"0.00",` +
				`"price":"0.25","shortfall":"0.25","top_up_url":"https://pay.example/default?agent=agent-1\u0026amount=1.00\u0026in=EUR"},` +
				`"suggestion":"Pay at least 1.00 EUR at https://pay.example/default?agent=agent-1\u0026amount=1.00\u0026in=EUR, and repeat the ` +
				`call. Contact for payments: billing@shop.example."}`,
			ended: true,
		},
		settings: "billing: {mode: prepaid}\npayments: {minimum: 1 EUR, contact: billing@shop.example, " +
			"top_up_url: 'https://pay.example/{service}?agent={agent_id}&amount={amount}&in={currency}'}\n",
	},
	{
		refusalCase: refusalCase{
			name: "unapproved agents have used up their common credit", before: func(w *world, _ *gatetest.Agent) {
				for range 2 {
					w.must(w.fresh(), call{intent: buy, parameters: `{"product":"x"}`})
				}
			}, call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.NewcomersExhausted,
			message: "The call costs 0.25 EUR. The credit that all agents without the operator's approval share is used up.",
			details: `{"payment":{"balance":"0.00","currency":"EUR","limit":"0.50","minimum":"0.25","owed":"0.00","price":"0.25","shortfall":"0.25"}}`,
			after:   12 * time.Hour, ended: true,
		},
		settings: "billing: {credit: 0.50 EUR, newcomers: 0.50 EUR}\n",
	},
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range failures {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			upstream := c.upstream
			if upstream == "" {
				upstream = quickUpstream
			}
			c.run(t, newWorld(t, c.settings, upstream))
		})
	}
}

// A repeated call is refused while the first call with its idempotency key is running.
func TestCallInProgress(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	request := call{intent: buy, parameters: `{"product":"x"}`, key: "k"}
	var again *reason.Refusal
	w.serve(func(rw http.ResponseWriter, _ *http.Request) {
		_, again, _ = w.do(a, request) //nolint:contextcheck // another call, not a part of this request
		_, _ = io.WriteString(rw, `{"order":"o-1"}`)
	})
	w.must(a, request)
	if again == nil || again.Reason != reason.IdempotencyInProgress || again.RetryAfter != time.Second || w.requests.Load() != 1 {
		t.Fatalf("got %+v, %d requests", again, w.requests.Load())
	}
	if id := again.Details["execution_id"]; id != w.execution() {
		t.Errorf("execution_id %v, want that of the running call, %s", id, w.execution())
	}
}

// elsewhere are the reasons that calls never return: they concern agreements, HTTP or operators, or are not used yet.
var elsewhere = []reason.Reason{
	reason.InsufficientPermissions, reason.PolicyMismatch, reason.AgreementReplayed, reason.AgreementStale, reason.AgreementMisdirected,
	reason.WeakKey, reason.UnsupportedKey, reason.AgentIDTaken, reason.KeyTaken,
	reason.MalformedRequest, reason.UnsupportedMediaType, reason.MethodNotAllowed, reason.NoSuchPath, reason.UnknownHost,
	reason.TooManyConnections, reason.OriginNotAllowed,
	reason.RequestTimeout,
	reason.HostNotAllowed, reason.NoSuchRecord, reason.UnknownService, reason.ServiceMissing, reason.AlreadySettled, reason.ReferenceUsed,
	reason.PeriodForgotten, reason.EvidenceInvalid, reason.ConfigRefused, reason.PolicyNotSaved, reason.NotOffered,
	reason.PolicyExpired, reason.ReceiptNotFound, reason.EvidenceExpired, reason.NotLoggedYet,
	reason.UnknownPlan, reason.PaymentUsed, reason.PaymentUnknown, reason.PaymentMismatch, reason.PaymentFailed,
}

func TestEveryReasonIsCovered(t *testing.T) {
	tried := []reason.Reason{
		reason.IdempotencyInProgress, reason.GrantExpired, reason.Overloaded, reason.RestoredLimits, reason.Stopped,
		reason.BudgetExceeded, reason.ConfirmationRequired, reason.PlanRequired,
	}
	for _, c := range refusals {
		tried = append(tried, c.want)
	}
	for _, c := range failures {
		tried = append(tried, c.want)
	}
	for _, r := range reason.All() {
		if is, not := slices.Contains(tried, r), slices.Contains(elsewhere, r); is == not {
			t.Errorf("%s: tried %v, elsewhere %v", r, is, not)
		}
	}
}
