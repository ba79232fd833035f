package daemon_test

import (
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

func spki(t *testing.T, a *agent) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(a.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

// A policy can require something of one key that it does not require of another, whichever key comes first.
func TestTermsOfOneKeyDoNotApplyToAnother(t *testing.T) {
	t.Parallel()
	probe := startGate(t, setup{})
	a, stranger := probe.newAgent("agent-1"), probe.newAgent("stranger")
	policy := strings.Replace(corePolicy, `"MIIBIjANBgkqh..."`, `"`+spki(t, a)+`"`, 1)
	config := strings.ReplaceAll(testConfig, "1 EUR", "1 USD") + "  assignee: anyone\n"
	issue := func(g *gate, x *agent) answer {
		x.g = g
		return x.issueWith(x.agreement(nil))
	}
	g := startGate(t, setup{policy: policy, config: config})
	first := issue(g, stranger)
	second := issue(g, a)
	if first.status != http.StatusForbidden || second.status != http.StatusOK {
		t.Errorf("stranger first: %d %s, then %d %s", first.status, first.body, second.status, second.body)
	}
	g = startGate(t, setup{policy: policy, config: config})
	first, second = issue(g, a), issue(g, stranger)
	if first.status != http.StatusOK || second.status != http.StatusForbidden {
		t.Errorf("key holder first: %d %s, then %d %s", first.status, first.body, second.status, second.body)
	}
	a.token, _ = first.json(t)["uim-pat"].(string)
	parameters := map[string]any{"query": "lamp"}
	got := a.execute(search, parameters, header{"UIM-Proof": a.proof(search, parameters)})
	if got.status != 200 || left(got, "hour") != 999 || left(got, "pat") != -1 {
		t.Errorf("got %d %s %v", got.status, got.body, got.header)
	}
	// After a restart, the terms are first used for the limit of a PAT.
	g.stop()
	g = startGate(t, setup{policy: policy, config: config, dir: g.dir})
	a.g = g
	got = a.execute(search, parameters, header{"UIM-Proof": a.proof(search, parameters)})
	if got.status != 200 || left(got, "hour") != 998 || left(got, "pat") != -1 {
		t.Errorf("after a restart: %d %s %v", got.status, got.body, got.header)
	}
	if again := issue(g, a); again.status != http.StatusOK {
		t.Errorf("after a restart: %d %s; want %v", again.status, again.body, http.StatusOK)
	}
}
