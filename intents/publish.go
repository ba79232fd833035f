package intents

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Fill holds the values that the gateway publishes for members that the operator's document does not set. Empty fields are not published.
type Fill struct {
	PublicKey    string // uim-public-key
	PolicyURL    string // uim-policy-file
	DiscoveryURL string // uim-api-discovery
	ExecuteURL   string // uim-api-execute
	Issuer       string // uim-issuer

	IssueURL      string // uim-pat-issue
	RenewURL      string // uim-pat-renew
	RevokeURL     string // uim-pat-revoke
	IntrospectURL string // uim-pat-introspect
	KeysURL       string // uim-jwks
	OpenAPIURL    string // uim-openapi
	ErrorsURL     string // uim-errors
	ProtocolURL   string // uim-protocol
	ReceiptsURL   string // uim-receipts
	UsageURL      string // uim-usage
	BalanceURL    string // uim-balance
	CreditURL     string // uim-credit; empty if the service takes no payments

	Extra []Extra // members of other protocols
}

// An Extra is a member of agents.json for another protocol, such as uim-mcp.
type Extra struct {
	Name  string
	Value string
	JSON  jsontext.Value // replaces Value if it is not empty
}

// Published returns agents.json as the gateway serves it. This is the operator's document byte for byte, with two exceptions. Values from
// fill replace members that are absent, null or empty. Each intent has the text that Intent.JSON returns, which omits hidden inputs and
// the from members of outputs, and has the endpoint of Options.Endpoint if that is set.
func (c *Catalog) Published(fill Fill) ([]byte, error) {
	edits := slices.Clone(c.spans)
	var added []byte
	for _, m := range append([]Extra{
		{Name: "uim-public-key", Value: fill.PublicKey},
		{Name: "uim-policy-file", Value: fill.PolicyURL},
		{Name: "uim-api-discovery", Value: fill.DiscoveryURL},
		{Name: "uim-api-execute", Value: fill.ExecuteURL},
		{Name: "uim-issuer", Value: fill.Issuer},
		{Name: "uim-pat-issue", Value: fill.IssueURL},
		{Name: "uim-pat-renew", Value: fill.RenewURL},
		{Name: "uim-pat-revoke", Value: fill.RevokeURL},
		{Name: "uim-pat-introspect", Value: fill.IntrospectURL},
		{Name: "uim-jwks", Value: fill.KeysURL},
		{Name: "uim-openapi", Value: fill.OpenAPIURL},
		{Name: "uim-errors", Value: fill.ErrorsURL},
		{Name: "uim-protocol", Value: fill.ProtocolURL},
		{Name: "uim-receipts", Value: fill.ReceiptsURL},
		{Name: "uim-usage", Value: fill.UsageURL},
		{Name: "uim-balance", Value: fill.BalanceURL},
		{Name: "uim-credit", Value: fill.CreditURL},
	}, fill.Extra...) {
		value := m.JSON
		if len(value) == 0 {
			if m.Value == "" {
				continue
			}
			var err error
			if value, err = jsontext.AppendQuote(nil, m.Value); err != nil {
				return nil, fmt.Errorf("filling in %s: %w", m.Name, err)
			}
		}
		at := slices.IndexFunc(c.members, func(have member) bool { return have.name == m.Name })
		switch {
		case at < 0:
			added = fmt.Appendf(added, ",\n  %q: %s", m.Name, value)
		case bytes.Equal(c.members[at].value, []byte("null")), bytes.Equal(c.members[at].value, []byte(`""`)):
			edits = append(edits, edit{from: c.members[at].from, to: c.members[at].to, with: value})
		}
	}
	if len(added) > 0 { // intents is always present, so there is a last member
		end := c.members[len(c.members)-1].to
		edits = append(edits, edit{from: end, to: end, with: added})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	return apply(bytes.Clone(c.document), edits), nil
}
