package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/payments/x402"
	"github.com/uimgate/uimgate/store"
)

// maxCreditRequest is the maximum size of the body of a request to pay in, in bytes.
const maxCreditRequest = 4 << 10

// A creditAnswer is the body of a response to a payment. Amounts are decimal numbers in Currency.
type creditAnswer struct {
	Currency  string `json:"currency"`
	Credited  string `json:"credited"`
	Balance   string `json:"balance"` // paid in and not used; negative if the agent owes
	Reference string `json:"reference"`
	Repeated  bool   `json:"repeated,omitempty"` // the payment was entered before
	Receipt   string `json:"receipt,omitempty"`  // signed entry of the ledger, a compact JWS
}

// credit handles POST /api/credit: the bearer of a PAT pays in by x402. Without a payment, it responds with the terms.
func (s *Server) credit(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	if x.service.Payments.X402 == nil || s.Cashier == nil {
		return reason.NoSuchPath.Refusal("This service accepts no x402 payments.")
	}
	of, claims, err := s.bearer(c)
	if err != nil {
		return err
	}
	if err := s.Executor.HeldBack(of.ID, claims.Principal()); err != nil { // refuses agents that have sent too many invalid requests
		return err
	}
	if err := of.Verifier.StoppedCall(claims, pat.DoorHTTP, "", true); err != nil { // the credit could not be used
		return refusal.For(err)
	}
	agent := claims.Principal().Record()
	tree, err := wire.ReadObject(r, maxCreditRequest)
	if err != nil {
		return err
	}
	amount, err := creditAmount(tree, of)
	if err != nil {
		return err
	}
	payment, err := payment(r, of)
	if err != nil {
		return err
	}
	from := payments.Payer{
		Service: of.ID, Agent: agent, Offer: &of.Payments,
		Approved: !s.Executor.Unapproved(r.Context(), of.ID, pat.Principal(agent)),
		Resource: x402.Resource{URL: of.At(execute.CreditPath), Description: "credit for calls to " + of.ID, MIMEType: "application/json"},
	}
	if payment == nil {
		return s.askForCredit(c, from, amount)
	}
	paid, err := s.Cashier.Take(r.Context(), from, payment, amount)
	if err != nil {
		f := refusal.For(err)
		s.Executor.CountInvalid(of.ID, claims.Principal(), f)
		return f
	}
	accounts, err := s.Ledger.Accounts(r.Context(), store.Filter{Service: of.ID, AgentID: agent, Limit: maxCurrencies})
	if err != nil {
		return refusal.For(err)
	}
	out := creditAnswer{
		Currency: paid.Amount.Currency, Credited: paid.Amount.Decimal(), Reference: paid.Reference, Repeated: paid.Repeated,
		Receipt: paid.Entry,
	}
	for _, a := range accounts {
		if a.Currency == paid.Amount.Currency {
			out.Balance = money.Amount{Nano: a.ToppedUp.Nano - a.Held.Nano - a.Captured.Nano}.Decimal()
		}
	}
	wire.WritePayment(c.Response().Header(), nil, paid.Receipt)
	return c.JSON(http.StatusOK, out)
}

// askForCredit returns the refusal that contains the terms of a payment.
func (s *Server) askForCredit(c echo.Context, from payments.Payer, amount money.Amount) error {
	f := reason.PolicyRequiresPayment.Refusal("Pay "+from.Offer.Ask(amount).String()+" by x402.").
		With("suggestion", "Sign one of the terms in PAYMENT-REQUIRED, and repeat the request with PAYMENT-SIGNATURE.")
	f, err := s.Cashier.Ask(c.Request().Context(), from, amount, f)
	if err != nil {
		return refusal.For(err)
	}
	return f
}

// creditAmount reads the amount that an agent wants to pay in.
func creditAmount(tree strictjson.Object, of *service.Service) (money.Amount, error) {
	wrong := func(pointer, text string) error {
		return reason.InvalidParameter.Refusal(text).With("pointer", pointer)
	}
	for _, name := range tree.Names() {
		if name != "amount" && name != "currency" {
			return money.Amount{}, wrong("/"+strictjson.Escape(name), "The members are amount and currency.")
		}
	}
	amount, err := money.New(tree.Text("amount"), tree.Text("currency"))
	offer := &of.Payments
	switch {
	case err != nil || amount.Nano == 0:
		return amount, wrong("/amount", `The amount must be a decimal number above zero as text, such as "5.00", with a currency such as "USD".`)
	case !offer.Takes(amount.Currency):
		return amount, wrong("/currency", "The service does not accept this currency by x402.")
	case offer.Minimum.Currency == amount.Currency && amount.Nano < offer.Minimum.Nano:
		return amount, wrong("/amount", "The smallest payment is "+offer.Minimum.String()+".")
	case offer.Maximum.Currency == amount.Currency && amount.Nano > offer.Maximum.Nano:
		return amount, wrong("/amount", "The largest payment is "+offer.Maximum.String()+".")
	}
	return amount, nil
}
