package bindings_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	"github.com/uimgate/uimgate/pat"
)

// An agent on a relay chooses a plan in what it signs. The member plan of the request must be the same.
func TestAgentOnARelayChoosesAPlan(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"action": "execute"},`, `"action": "execute",
	  "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "free"}]},`, 1))
	})
	a := agent(g)
	s := g.Directory.Current().Service("default")
	request := func(declared, plan string) string {
		t.Helper()
		claims := pat.AgreementClaims{
			AgentID: pat.AgentID(a.ID()), Audience: s.Issuer, URL: s.At("/api/pat/issue"), IssuedAt: a.Now(), Nonce: rand.Text(),
			PolicyUID: s.Offer().UID, PolicyDigest: s.Offer().Digest,
		}
		if declared != "" {
			claims.Declared = pat.Declaration{pat.PlanName: {declared}}
		}
		signed, err := pat.SignAgreement(a.Key, claims)
		g.Must(err)
		if plan != "" {
			plan = fmt.Sprintf(`,"plan":%q`, plan)
		}
		return a.Ask(t, "uim:agree", fmt.Sprintf(`{"agreement":%q%s}`, signed, plan))
	}
	for name, c := range map[string]struct{ declared, plan, want string }{
		"unsigned":        {"", "free", "UNKNOWN_PLAN"},
		"another one":     {"free", "pro", "UNKNOWN_PLAN"},
		"an unknown plan": {"pro", "pro", "UNKNOWN_PLAN"},
	} {
		expect(t, name, request(c.declared, c.plan), `"status":"error"`, c.want)
	}
	for _, plan := range []string{"free", ""} {
		token := mrptest.Result[mrptest.Grant](t, request("free", plan)).PAT
		expect(t, "a call under the plan", a.Ask(t, "uim:execute", call(gatetest.Searching, token)), `"status":"ok"`)
	}
	token := mrptest.Result[mrptest.Grant](t, request("", "")).PAT
	expect(t, "a call without a plan", a.Ask(t, "uim:execute", call(gatetest.Searching, token)), "PLAN_REQUIRED")
}
