package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
)

func TestPayments(t *testing.T) {
	dir := directory(t)
	for text, want := range map[string]string{
		"": "", "minimum: 1 USD": "", "top_up_url: 'https://pay.example/{service}?a={agent_id}&n={amount}&c={currency}'": "",
		"top_up_url: 'http://127.0.0.1:9/?a={agent_id}'": "", "contact: billing@shop.example": "",
		"minimum: 1":                                  `uimgate.yaml:6: payments.minimum: want an amount such as 10 USD, with at most 9 decimals, got a number: add the currency: "1 USD"`,
		"top_up_url: 'http://pay.example/'":           "uimgate.yaml:6: payments.top_up_url: must be https, or http on this machine",
		"top_up_url: 'https://{agent_id}.example/'":   "uimgate.yaml:6: payments.top_up_url: has a placeholder in its host: use placeholders only in its path and query",
		"top_up_url: 'https://pay.example/?a={name}'": "uimgate.yaml:6: payments.top_up_url: {name} is not a placeholder: use {agent_id}, {service}, {amount} or {currency}",
		"top_up_url: 'https://u:p@pay.example/'":      "uimgate.yaml:6: payments.top_up_url: is not a URL such as https://pay.shop.example/?agent={agent_id}",
		"top_up_url: 'pay.example'":                   "uimgate.yaml:6: payments.top_up_url: is not a URL such as https://pay.shop.example/?agent={agent_id}",
		"contact: " + strings.Repeat("a", 201):        "uimgate.yaml:6: payments.contact: must have at most 200 bytes",
	} {
		_, problems := load(t, dir, five+"payments: {"+text+"}\n", config.Overrides{})
		if diff := cmp.Diff(want, strings.Join(texts(dir, problems), "\n")); diff != "" {
			t.Error(text, diff)
		}
	}
}
