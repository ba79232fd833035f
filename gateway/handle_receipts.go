package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Ledger reads the entries of agents.
type Ledger interface {
	execute.Entries
	receipt.Ledger
	Payments
	// Entries returns entries of one account, in the order of its chain.
	Entries(ctx context.Context, f store.EntryFilter) ([]store.LedgerEntry, error)
	// Accounts returns the accounts of an agent, sorted by currency.
	Accounts(ctx context.Context, f store.Filter) ([]store.Account, error)
	// Heads returns the ends of the chains of an agent, one for each currency.
	Heads(ctx context.Context, service string, agent pat.AgentID) ([]store.Head, error)
}

// Receipts signs entries of the ledger.
type Receipts interface {
	Receipt(ctx context.Context, entry []byte) (string, error)
	// Document signs a statement.
	Document(ctx context.Context, typ string, document any) (string, error)
}

// Alterations records which entries of the ledger were found altered. It is safe for concurrent use.
type Alterations interface {
	// Found records an error that wraps store.ErrAltered: an entry that a client requested differs from its hash.
	Found(err error)
	// Of returns the error that was found for an account of the agent; nil: none.
	Of(service string, agent pat.AgentID) error
}

type noAlterations struct{}

func (noAlterations) Found(error)                  {}
func (noAlterations) Of(string, pat.AgentID) error { return nil }

// entriesOnPage is the maximum number of entries in a response.
const entriesOnPage = 100

// owner returns the service and the agent whose account the bearer of the PAT may read.
func (s *Server) owner(c echo.Context) (*service.Service, pat.AgentID, error) {
	of, claims, err := s.bearer(c)
	if err != nil {
		return nil, "", err
	}
	return of, claims.Principal().Record(), nil
}

// bearer returns the service of a request and the claims of its PAT.
func (s *Server) bearer(c echo.Context) (*service.Service, *pat.Claims, error) {
	x, r := exchangeOf(c), c.Request()
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return nil, nil, err
	}
	call := execute.Call{
		Service: func() *service.Service { return s.serving(r) }, Token: token, Caller: s.caller(r, x.client), RequestID: x.requestID,
		Span: x.span,
	}
	claims, err := s.Executor.Identify(r.Context(), &call)
	if err != nil {
		return nil, nil, err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return x.service, claims, nil
}

// receipt handles GET /api/receipts/{execution_id}. It responds with the receipt of the newest entry about a call or, with the query
// parameter line, of the entry with that state.
func (s *Server) receipt(c echo.Context) error {
	of, agent, err := s.owner(c)
	if err != nil {
		return err
	}
	line, err := lineOf(c)
	if err != nil {
		return err
	}
	entry, err := s.Ledger.Entry(c.Request().Context(), of.ID, agent, c.Param("id"), line)
	if err != nil {
		return s.ledgerRefusal(err)
	}
	text, err := s.Receipts.Receipt(c.Request().Context(), entry.Bytes)
	if err != nil {
		return unsigned(err)
	}
	return c.Blob(http.StatusOK, evidence.MediaTypeReceipt, []byte(text))
}

// lineOf returns the query parameter line: the state that selects an entry about a call, or an empty string for the newest.
func lineOf(c echo.Context) (store.State, error) {
	line := store.State(c.QueryParam("line"))
	if !slices.Contains([]store.State{"", store.Held, store.Captured, store.Released, store.Unresolved}, line) {
		return "", reason.InvalidParameter.Refusal("The query parameter line must be held, captured, released or unresolved.")
	}
	return line, nil
}

// usageEntries handles GET /api/usage/entries. It responds with the receipts of up to 100 entries of the agent's account, in the order of
// its chain, and with the end of the chain.
func (s *Server) usageEntries(c echo.Context) error {
	of, agent, err := s.owner(c)
	if err != nil {
		return err
	}
	after := int64(-1)
	if text := c.QueryParam("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < -1 {
			return reason.InvalidParameter.Refusal("The query parameter after must be the k of an entry, or -1 for the beginning.")
		}
	}
	ctx := c.Request().Context()
	head, err := s.account(ctx, of.ID, agent, c.QueryParam("currency"))
	if err != nil {
		return err
	}
	out := struct {
		Entries []string       `json:"entries"`
		Head    *evidence.Head `json:"head"`
	}{Entries: []string{}}
	if head.K < 0 {
		return c.JSON(http.StatusOK, out)
	}
	out.Head = &evidence.Head{K: head.K, Hash: head.Hash}
	list, err := s.Ledger.Entries(ctx, store.EntryFilter{
		Service: of.ID, AgentID: agent, Currency: head.Currency, After: after, Limit: entriesOnPage,
	})
	if err != nil {
		return s.ledgerRefusal(err)
	}
	if n := len(list); n > 0 && list[n-1].K > head.K { // charged after the head was read
		out.Head = &evidence.Head{K: list[n-1].K, Hash: list[n-1].Leaf}
	}
	for _, e := range list {
		text, err := s.Receipts.Receipt(ctx, e.Bytes)
		if err != nil {
			return unsigned(err)
		}
		out.Entries = append(out.Entries, text)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return reason.Internal.Refusal("The entries could not be encoded.").Because(err)
	}
	return c.Blob(http.StatusOK, "application/json", body)
}

// usageStatement handles GET /api/usage/statement. It responds with the signed statement of the agent's account for a calendar month (UTC).
func (s *Server) usageStatement(c echo.Context) error {
	of, agent, err := s.owner(c)
	if err != nil {
		return err
	}
	from, err := time.Parse("2006-01", c.QueryParam("month"))
	if err != nil || from.Year() < 1970 || from.Year() > 2200 || from.After(s.Now()) {
		return reason.InvalidParameter.Refusal("The query parameter month must be the current month or an earlier one, such as 2026-11.")
	}
	ctx := c.Request().Context()
	head, err := s.account(ctx, of.ID, agent, c.QueryParam("currency"))
	if err != nil {
		return err
	}
	if head.K < 0 {
		return reason.ReceiptNotFound.Refusal("This agent has no account in this currency.")
	}
	sum, err := receipt.Sum(ctx, s.Ledger, of.Issuer, store.StatementFilter{
		Service: of.ID, AgentID: agent, From: from, To: from.AddDate(0, 1, 0),
	}, head.Currency)
	if errors.Is(err, store.ErrForgotten) {
		return s.forgottenMonth(ctx, of.ID, agent, head.Currency)
	}
	if err != nil {
		return s.ledgerRefusal(err)
	}
	if sum.Checkpoint, err = s.newestCheckpoint(ctx, of.ID); err != nil {
		return refusal.For(err)
	}
	text, err := s.Receipts.Document(ctx, evidence.TypeStatement, sum)
	if err != nil {
		return unsigned(err)
	}
	return c.Blob(http.StatusOK, "application/"+evidence.TypeStatement, []byte(text))
}

// forgottenMonth returns the refusal of a statement whose entries were deleted. It names the entry with the sums of the deleted entries, if
// some of them were of this account.
func (s *Server) forgottenMonth(ctx context.Context, of string, agent pat.AgentID, currency string) error {
	forgotten := reason.EvidenceExpired.Refusal("Entries of this month were deleted, because their retention period has passed.")
	head, err := s.account(ctx, of, agent, currency)
	if err == nil && head.Carry >= 0 {
		forgotten = forgotten.With("carry", map[string]any{"k": head.Carry})
	}
	return forgotten
}

// newestCheckpoint returns the newest checkpoint of the log of a service, or an empty string if there is none.
func (s *Server) newestCheckpoint(ctx context.Context, service string) (string, error) {
	if s.Logs == nil {
		return "", nil
	}
	head, err := s.Logs.Head(ctx, service)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return string(head.Checkpoint), err
}

// account returns the end of the agent's chain in a currency or, if currency is empty, in its only currency. K is -1 if there is no such
// account. The error is a *reason.Refusal.
func (s *Server) account(ctx context.Context, of string, agent pat.AgentID, currency string) (store.Head, error) {
	if err := s.Alterations.Of(of, agent); err != nil {
		return store.Head{}, s.ledgerRefusal(err)
	}
	heads, err := s.Ledger.Heads(ctx, of, agent)
	if err != nil {
		return store.Head{}, refusal.For(err)
	}
	if currency == "" && len(heads) > 1 {
		names := make([]string, len(heads))
		for i, h := range heads {
			names[i] = h.Currency
		}
		return store.Head{}, reason.InvalidParameter.Refusal("The account has several currencies: name one in the query parameter currency.").
			With("currencies", names)
	}
	for _, h := range heads {
		if currency == "" || h.Currency == currency {
			return h, nil
		}
	}
	return store.Head{Currency: currency, K: -1, Carry: -1}, nil
}

// ledgerRefusal returns the refusal for an error of the ledger.
func (s *Server) ledgerRefusal(err error) error {
	if expired, ok := errors.AsType[*store.ExpiredError](err); ok {
		return reason.EvidenceExpired.Refusal("").With("carry", map[string]any{"k": expired.Carry})
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return reason.ReceiptNotFound.Refusal("")
	case errors.Is(err, store.ErrAltered):
		s.Alterations.Found(err)
		return reason.StoreUnavailable.Refusal("The entries of this account are not available: the operator has to check the ledger.").
			ShedFor(reason.ShedReceipts).Because(err)
	}
	return refusal.For(err)
}

func unsigned(err error) error {
	return reason.StoreUnavailable.Refusal("The gateway cannot sign receipts at the moment.").After(time.Second).
		ShedFor(reason.ShedReceipts).Because(err)
}
