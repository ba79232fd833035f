package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
)

func TestInvoicesAreChecked(t *testing.T) {
	dir := directory(t)
	for text, want := range map[string]string{
		"{}": "",
		"{seller: {name: Shop, tax_id: DE1, country: DE, address: [a, b]}, vat: 19, prices: net, terms: x}": "",
		"{vat: 8.875, seller: {tax_id: '1'}}": "",
		"{vat: 19}":                           "warning: services[0].invoices.vat: invoices with tax usually need the tax id of the seller: set services[0].invoices.seller.tax_id",
		"{vat: 19%}":                          `services[0].invoices.vat: "19%" is not valid: want a percentage such as 19 or 8.875`,
		"{vat: 101}":                          `services[0].invoices.vat: "101" is not valid: want a percentage such as 19 or 8.875`,
		"{vat: -1}":                           `services[0].invoices.vat: "-1" is not valid: want a percentage such as 19 or 8.875`,
		"{prices: both}":                      `services[0].invoices.prices: "both" is not valid: want gross or net`,
		"{seller: {country: Germany}}":        "services[0].invoices.seller.country: is not a country code such as DE",
		"{seller: {address: [" + strings.Repeat("a", 201) + "]}}": "services[0].invoices.seller.address[0]: must have at most 200 characters",
		"{terms: " + strings.Repeat("ä", 201) + "}":               "services[0].invoices.terms: must have at most 200 characters",
		"{seller: {address: ['1','2','3','4','5','6','7']}}":      "services[0].invoices.seller.address: has 7 entries: at most 6 are allowed",
	} {
		if want != "" {
			want = "uimgate.yaml:6: " + want
		}
		_, problems := load(t, dir, five+"  invoices: "+text+"\n", config.Overrides{})
		if diff := cmp.Diff(want, strings.Join(texts(dir, problems), "\n")); diff != "" {
			t.Error(text, diff)
		}
	}
}
