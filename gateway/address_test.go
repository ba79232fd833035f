package gateway_test

import (
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Proxies write X-Forwarded-For in different forms.
func TestClientsBehindAProxy(t *testing.T) {
	g := gatetest.New(t, `server: {trusted_proxies: [127.0.0.0/8, 10.0.0.0/8], per_address: 10000/second}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
`)
	for forwarded, want := range map[string]string{
		"192.0.2.7":                       "192.0.2.7",
		"192.0.2.7:41233":                 "192.0.2.7",
		"::ffff:192.0.2.7":                "192.0.2.7",
		"2001:db8:1:2:3::7":               "2001:db8:1:2::/64",
		"[2001:db8:1:2:3::7]":             "2001:db8:1:2::/64",
		"[2001:db8:1:2:3::7]:41233":       "2001:db8:1:2::/64",
		"198.51.100.1, 192.0.2.7:1":       "192.0.2.7",
		"192.0.2.7:1, 10.0.0.1:2":         "192.0.2.7",
		"192.0.2.7:1,10.0.0.1 ,10.0.0.2 ": "192.0.2.7",
		"unknown":                         "127.0.0.1",
		"[192.0.2.7":                      "127.0.0.1",
		"192.0.2.7, _hidden, 10.0.0.1":    "10.0.0.1",
		"":                                "127.0.0.1",
	} {
		g.Logs.TakeAll()
		g.Get("/api/policy", "X-Forwarded-For", forwarded)
		for _, line := range g.Logs.FilterMessage("request").All() {
			if got := line.ContextMap()["address"]; got != want {
				t.Errorf("X-Forwarded-For %q: counted as %v, want %s", forwarded, got, want)
			}
		}
	}
}
