package store

import (
	"time"

	"github.com/uimgate/uimgate/pat"
)

// A Buyer is the customer to whom the invoices of an agent are made out, as the operator stated it.
type Buyer struct {
	Name      string   `json:"name,omitempty"`
	Address   []string `json:"address,omitempty"`   // lines, without the country
	Country   string   `json:"country,omitempty"`   // ISO 3166-1 alpha-2
	TaxID     string   `json:"tax_id,omitempty"`    // the number for value added tax
	Email     string   `json:"email,omitempty"`     // the email address to which invoices are sent
	Reference string   `json:"reference,omitempty"` // the customer's own, such as the number of an order
	VAT       TaxRule  `json:"vat,omitempty"`       // empty: TaxStandard
}

// A TaxRule defines which value added tax a buyer pays.
type TaxRule string

// The rules.
const (
	TaxStandard      TaxRule = "standard"       // the rate of the service applies
	TaxReverseCharge TaxRule = "reverse-charge" // none: the buyer accounts for the tax
	TaxExempt        TaxRule = "exempt"         // no tax applies
)

// An Invoice is an invoice that was issued. It never changes.
type Invoice struct {
	Service  string
	AgentID  pat.AgentID
	Month    string // such as 2026-11
	Number   int64  // the numbers of a service count up from 1 without gaps
	At       time.Time
	Document []byte // JSON, without the number and the time of issue
}

// An InvoiceFilter restricts a listing of issued invoices.
type InvoiceFilter struct {
	Service string
	AgentID pat.AgentID // empty: all agents
	Month   string      // empty: all
	Before  int64       // only invoices with a lower number; 0: all
	Limit   int         // 100 if not set, and at most 1000
}
