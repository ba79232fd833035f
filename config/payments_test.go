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
		"minimum: 1 USD, maximum: 0.5 USD":            "uimgate.yaml:6: payments.maximum: must be at least payments.minimum, and in the same currency",
		"minimum: 1 USD, maximum: 2 EUR":              "uimgate.yaml:6: payments.maximum: must be at least payments.minimum, and in the same currency",
		"contact: " + strings.Repeat("a", 201):        "uimgate.yaml:6: payments.contact: must have at most 200 bytes",
	} {
		_, problems := load(t, dir, five+"payments: {"+text+"}\n", config.Overrides{})
		if diff := cmp.Diff(want, strings.Join(texts(dir, problems), "\n")); diff != "" {
			t.Error(text, diff)
		}
	}
}

func TestX402(t *testing.T) {
	const (
		token = "{network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', currency: USD, name: USD Coin}"
		payTo = "pay_to: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C', "
		here  = "facilitator: 'https://x402.example/v2', "
	)
	dir := directory(t)
	at := "uimgate.yaml:6: payments.x402."
	changed := func(from, to string) string {
		return here + payTo + "accepts: [" + strings.Replace(token, from, to, 1) + "]"
	}
	for text, want := range map[string]string{
		here + payTo + "accepts: [" + token + "]":                                                "",
		"facilitator: 'http://127.0.0.1:9', auth: secret, " + payTo + "accepts: [" + token + "]": "",
		"facilitator: 'http://10.0.0.1:9', private: true, " + payTo + "accepts: [" + token + "]": "",
		payTo + "accepts: [" + token + "]":                                                       at + "facilitator: is required with the other settings of payments.x402: set the URL of the facilitator",
		here + "accepts: [" + token + "]":                                                        at + "pay_to: is not an address: want 0x and 40 hexadecimal digits",
		here + payTo:                                                                             at + "accepts: has 0 tokens: want 1 to 8",
		here + payTo + "accepts: [" + token + ", " + token + "]":                                 at + "accepts[1].asset: is the token of payments.x402.accepts[0] as well",
		changed("8453", "base"):                                                                  at + "accepts[0].network: is not a chain such as eip155:8453",
		changed("0x8", "8"):                                                                      at + "accepts[0].asset: is not an address: want 0x and 40 hexadecimal digits",
		changed("USD,", "usd,"):                                                                  at + "accepts[0].currency: is not a currency code such as USD",
		changed("}", ", decimals: 19}"):                                                          at + `accepts[0].decimals: "19" is more than the maximum of 18`,
		here + payTo + "auth: 'a b', accepts: [" + token + "]":                                   at + "auth: cannot be in a header: want a token without spaces, on one line",
		here + payTo + "accepts: [" + token + "]}, maximum: 10 USD, webhook: {":                  "",
		here + payTo + "accepts: [" + token + "]}, maximum: 10 EUR, webhook: {": at + "accepts[0].currency: is not that of payments.maximum, " +
			"which would not bound payments in this token: accept tokens of one currency, or set no maximum",
		"facilitator: 'http://x402.example', " + payTo + "accepts: [" + token + "]": "http",
	} {
		_, problems := load(t, dir, five+"payments: {x402: {"+text+"}}\n", config.Overrides{})
		got := strings.Join(texts(dir, problems), "\n")
		if want == "http" {
			if !strings.Contains(got, "payments.x402.facilitator: ") || !strings.Contains(got, "set private: true") {
				t.Error(text, got)
			}
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
		if strings.Contains(got, "secret") {
			t.Error("the token is in", got)
		}
	}
}
