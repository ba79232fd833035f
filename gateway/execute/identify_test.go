package execute_test

import (
	"errors"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// Execute verifies a PAT only if Identify has not just verified it for the same call. The test removes the issuer's keys in between, so a
// second verification would refuse the call.
func TestIdentifiedCallIsVerifiedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(w *world, call *execute.Call)
		want    reason.Reason // empty: the call succeeds
	}{
		"at once":            {func(*world, *execute.Call) {}, ""},
		"when a poll is due": {func(w *world, _ *execute.Call) { w.Later(2 * pat.PollEvery) }, reason.InvalidToken},
		"with another token": {func(_ *world, call *execute.Call) { call.Token += "x" }, reason.InvalidToken},
		"after a reload":     {func(w *world, _ *execute.Call) { w.Reload() }, reason.InvalidToken},
		"after a revocation": {func(w *world, call *execute.Call) {
			w.revoke(pat.RevokedToken, string(w.TokenID(&gatetest.Agent{Token: call.Token})))
		}, reason.RevokedToken},
		"by another sender": {func(_ *world, call *execute.Call) { call.Sender = "agent-2" }, reason.InvalidToken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "", quickUpstream)
			a := w.fresh()
			call := execute.Call{Token: a.Token, Service: w.served, Read: func() (execute.Request, error) {
				return execute.Request{IntentUID: find, Parameters: tree(w, `{"q":"lamp"}`)}, nil
			}}
			claims, err := w.Executor.Identify(w.Context(), &call)
			w.Must(err)
			if claims.Subject != a.ID {
				t.Errorf("identified %s; want %s", claims.Subject, a.ID)
			}
			c.between(w, &call)
			without, err := pat.NewVerifier(pat.VerifierConfig{
				Service: "default", Issuer: claims.Issuer, Keys: gatetest.New(t, "").Keys, View: w.View,
			})
			w.Must(err)
			w.service().Verifier = without
			var got reason.Reason
			if _, err = w.Executor.Execute(w.Context(), call); err != nil {
				refused, _ := errors.AsType[*reason.Refusal](err)
				got = refused.Reason
			}
			if got != c.want {
				t.Errorf("refused with %q; want %q", got, c.want)
			}
		})
	}
}
