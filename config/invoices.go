package config

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/money"
)

// Invoices configures the parts of an invoice other than the charges.
type Invoices struct {
	Seller Seller `yaml:"seller" doc:"The seller that invoices and credit notes name. Without a name, invoices are only drafts."`
	// VAT is 0 if it is not configured.
	VAT    money.Percent `yaml:"vat" doc:"Rate of the value added tax in percent, such as 19 or 8.875. Default: invoices have no tax."`
	Prices Prices        `yaml:"prices" default:"gross" enum:"gross,net" doc:"gross: the prices of the policy include the tax. net: invoices add the tax to the charges; agents never see it."`
	Terms  string        `yaml:"terms" doc:"A sentence for the end of each invoice, such as: Payable within 14 days."`
}

// A Seller is the seller that invoices name.
type Seller struct {
	Name    string   `yaml:"name" doc:"Name of the company or person."`
	Address []string `yaml:"address" max:"6" doc:"Postal address, a list of lines without the country."`
	Country string   `yaml:"country" doc:"Two-letter code of the country (ISO 3166-1), such as DE."`
	TaxID   string   `yaml:"tax_id" doc:"VAT number, or another number from the tax office."`
	Contact string   `yaml:"contact" doc:"Contact for questions of customers, such as billing@shop.example."`
}

// Prices defines whether prices include the tax.
type Prices string

// The values of invoices.prices.
const (
	PricesGross Prices = "gross"
	PricesNet   Prices = "net"
)

// maxInvoiceText is the maximum length of each text of Invoices, in characters.
const maxInvoiceText = 200

// IsCountry reports whether a string has the form of a country code: ISO 3166-1 alpha-2.
func IsCountry(code string) bool {
	return len(code) == 2 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func parsePercent(s string) (any, error) { return money.ParsePercent(s) }

func (l *loader) checkInvoices(path string, i *Invoices) {
	texts := map[string]string{
		".terms": i.Terms, ".seller.name": i.Seller.Name, ".seller.tax_id": i.Seller.TaxID, ".seller.contact": i.Seller.Contact,
	}
	for n, line := range i.Seller.Address {
		texts[".seller.address["+strconv.Itoa(n)+"]"] = line
	}
	for key, text := range texts {
		if utf8.RuneCountInString(text) > maxInvoiceText {
			l.Errorf(path+key, "must have at most %d characters", maxInvoiceText)
		}
	}
	if c := i.Seller.Country; c != "" && !IsCountry(c) {
		l.Errorf(path+".seller.country", "is not a country code such as DE")
	}
	if i.VAT > 0 && i.Seller.TaxID == "" {
		l.Warnf(path+".vat", "invoices with tax usually need the tax id of the seller: set %s.seller.tax_id", path)
	}
}
