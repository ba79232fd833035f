package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/money"
)

func TestWarningsDoNotPreventLoad(t *testing.T) {
	dir := directory(t)
	c, problems := load(t, dir, five+`  hosts: [shop.example]
  parties: {"urn:a": {agent_id: a}}
  intents: {"a:b:v1": {ceiling: 5/lifetime}}
billing: {mode: prepaid, credit: 1 EUR}
notify: [{url: 'https://ops.example/hook', secret: 0123456789abcdef, events: [credit.low]}]
`, config.Overrides{})
	want := []string{
		"uimgate.yaml:2: warning: services[0].public_url: its host, 127.0.0.1, is not in hosts: agents that follow published URLs do not reach this service",
		`uimgate.yaml:7: warning: services[0].parties["urn:a"]: has no key, so the first agent to claim the agent id becomes this party: give its key, or choose another pat.admission`,
		`uimgate.yaml:8: warning: services[0].intents["a:b:v1"].ceiling: never resets: once it is used up, no agent can call the intent again`,
		"uimgate.yaml:9: warning: billing.credit: has no effect with mode prepaid: omit it",
		"uimgate.yaml:10: warning: notify[0].events: credit.low has no effect: set billing.low",
	}
	if diff := cmp.Diff(want, texts(dir, problems)); diff != "" || c == nil || problems.Failed() || problems.Err() != nil {
		t.Error(c == nil, diff)
	}
}

func TestNewcomersWithinCredit(t *testing.T) {
	dir := directory(t)
	eur := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }
	wrong := "uimgate.yaml:6: billing.newcomers: must be at most billing.credit, and in the same currency"
	for text, want := range map[string]any{
		"credit: 10 EUR":                       eur(money.Unit),
		"credit: 10 EUR, newcomers: 0 EUR":     eur(0),
		"credit: 10 EUR, newcomers: 10 EUR":    eur(10 * money.Unit),
		"retain: 400d":                         money.Amount{},
		"credit: 10 EUR, newcomers: 1 USD":     wrong,
		"credit: 10 EUR, newcomers: 10.01 EUR": wrong,
		"newcomers: 1 EUR":                     wrong,
		"mode: prepaid, newcomers: 1 EUR":      "uimgate.yaml:6: warning: billing.newcomers: has no effect with mode prepaid: omit it",
	} {
		c, problems := load(t, dir, five+"billing: {"+text+"}\n", config.Overrides{})
		var got any
		if len(problems) > 0 {
			got = strings.Join(texts(dir, problems), "\n")
		} else {
			got = c.Billing.Newcomers
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
	}
}
