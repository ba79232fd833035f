package daemon_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
)

func policyDigest(tb testing.TB, document []byte) string {
	tb.Helper()
	digest, err := pat.PolicyDigest(document)
	if err != nil {
		tb.Fatal(err)
	}
	return digest
}

// hostedAgreement signs the policy of the service at this host.
func (a *agent) hostedAgreement(host, issuer string) string {
	a.g.t.Helper()
	policy := a.g.do("GET", "/api/policy", nil, header{"Host": host})
	uid, _ := policy.json(a.g.t)["uid"].(string)
	signed, err := pat.SignAgreement(a.key, pat.AgreementClaims{
		AgentID: pat.AgentID(a.id), Audience: issuer, URL: "https://" + host + "/api/pat/issue", IssuedAt: time.Now(),
		PolicyUID: uid, PolicyDigest: policyDigest(a.g.t, policy.body),
	})
	if err != nil {
		a.g.t.Fatal(err)
	}
	return signed
}
