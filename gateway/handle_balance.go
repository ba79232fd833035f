package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A balance is the balance of an agent in one currency. Amounts are decimal numbers.
type balance struct {
	Currency  string `json:"currency"`
	Balance   string `json:"balance"`   // paid in and not used; negative if the agent owes
	PaidIn    string `json:"paid_in"`   // the amount paid in, minus reversed amounts
	Held      string `json:"held"`      // held for calls that have not ended, or whose outcome is unknown
	Captured  string `json:"captured"`  // charged for calls that were made
	Owed      string `json:"owed"`      // the amount used beyond the amount paid in
	Limit     string `json:"limit"`     // the maximum that the agent may owe
	Available string `json:"available"` // what the agent can spend; of an unapproved agent, the part above balance is shared with others
}

// A balanceAnswer is the body of GET /api/balance.
type balanceAnswer struct {
	AgentID  pat.AgentID `json:"agent_id"`
	Prepaid  bool        `json:"prepaid"`  // the agent must pay in before it calls
	Approved bool        `json:"approved"` // by the operator
	Balances []balance   `json:"balances"` // sorted by currency
	Minimum  *minimum    `json:"minimum,omitempty"`
	TopUpURL string      `json:"top_up_url,omitempty"`
	// CreditURL is where the agent pays in by x402.
	CreditURL string `json:"credit_url,omitempty"`
	Contact   string `json:"contact,omitempty"`
}

// A minimum is the smallest amount of one payment.
type minimum struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// balance handles GET /api/balance. It responds with the amounts that the bearer of the PAT has paid in, has used and may owe, and how it
// can pay in.
func (s *Server) balance(c echo.Context) error {
	of, agent, err := s.owner(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	accounts, err := s.Ledger.Accounts(ctx, store.Filter{Service: of.ID, AgentID: agent, Limit: maxCurrencies})
	if err != nil {
		return refusal.For(err)
	}
	approved := !s.Executor.Unapproved(ctx, of.ID, pat.Principal(agent))
	billing := of.Credit
	billing.Unapproved = of.OpenAdmission && !approved
	out := balanceAnswer{AgentID: agent, Prepaid: billing.Prepaid, Approved: approved, Balances: []balance{}, Contact: of.Payments.Contact}
	if currency := billing.Credit.Currency; currency != "" && !slices.ContainsFunc(accounts, inCurrency(currency)) {
		accounts = append(accounts, store.Account{AgentID: agent, Currency: currency})
		slices.SortFunc(accounts, func(a, b store.Account) int { return strings.Compare(a.Currency, b.Currency) })
	}
	for _, a := range accounts {
		out.Balances = append(out.Balances, showBalance(a, billing))
	}
	least := of.Payments.Minimum
	if least.Currency != "" {
		out.Minimum = &minimum{least.Decimal(), least.Currency}
	} else if len(accounts) > 0 {
		least.Currency = accounts[0].Currency
	}
	out.TopUpURL = of.Payments.Page(of.ID, string(agent), least)
	if of.Payments.X402 != nil {
		out.CreditURL = of.At(execute.CreditPath)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return reason.Internal.Refusal("The balance could not be encoded.").Because(err)
	}
	return c.Blob(http.StatusOK, applicationJSON[0], body)
}

// maxCurrencies is the maximum number of accounts in a response.
const maxCurrencies = 200

func inCurrency(currency string) func(store.Account) bool {
	return func(a store.Account) bool { return a.Currency == currency }
}

func showBalance(a store.Account, b store.Billing) balance {
	left := a.ToppedUp.Nano - a.Held.Nano - a.Captured.Nano
	limit := b.AgentLimit(a.Currency)
	text := func(nano int64) string { return money.Amount{Nano: nano}.Decimal() }
	return balance{
		Currency: a.Currency, Balance: text(left), PaidIn: a.ToppedUp.Decimal(), Held: a.Held.Decimal(), Captured: a.Captured.Decimal(),
		Owed: text(max(0, -left)), Limit: limit.Decimal(), Available: text(max(0, left+limit.Nano)),
	}
}
