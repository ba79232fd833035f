package agent

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

const (
	receiptHeader = "Uim-Receipt"
	// receiptWait limits the time for the requests that check the receipt of a call.
	receiptWait = 5 * time.Second
)

// Evidence is what the client knows about the charge of a call. A missing or wrong receipt does not make the call fail.
type Evidence struct {
	// Receipt is the receipt of the service, if its signature verifies and it is about this call; otherwise nil.
	Receipt *evidence.Receipt
	// Discrepancies are the contradictions between the receipt, the charge and the call.
	Discrepancies []evidence.Problem

	// Sent holds the receipts as the service sent them, unchecked.
	Sent []string
}

// receiptsOf returns the receipts in the header of a response.
func receiptsOf(h http.Header) Evidence { return Evidence{Sent: h[receiptHeader]} }

// addReceipt adds a receipt from the body of a response, unless the header has one.
func (a *Evidence) addReceipt(v any) {
	if text, ok := v.(string); ok && len(a.Sent) == 0 {
		a.Sent = []string{text}
	}
}

// BookName returns the file name of the book for the session's agent at the service. It is the same for all agreements of the agent with
// the service.
func (s Session) BookName() string {
	s.KeyID = ""
	return strings.TrimSuffix(s.FileName(), ".json") + receipts.Extension
}

// Book returns the book in which the client keeps the receipts of the service, or nil if it keeps none.
func (s *Service) Book() *receipts.Book {
	if s.client.o.Receipts == "" {
		return nil
	}
	return receipts.Open(filepath.Join(s.client.o.Receipts, s.Session().BookName()), s.client.o.Forms...)
}

// note records an attempt of a call before it is sent.
func (s *Service) note(ctx context.Context, c *call) {
	book := s.Book()
	if book == nil || c.free {
		return
	}
	mark, err := book.Begin(ctx, c.digest(), s.client.o.Now())
	if err != nil {
		c.bookError = err
		return
	}
	if c.mark == nil {
		c.mark = mark
	}
}

// digest returns the digest of the request in the form of entries. It is empty if a number in the request cannot be represented exactly.
func (c *call) digest() string {
	digest, err := pat.ExecuteDigest(c.uid, c.parameters)
	if err != nil {
		return ""
	}
	return evidence.PrefixedDigest(digest)
}

// An outcome is the outcome of a call.
type outcome struct {
	charge   *Charge
	replayed bool
	result   *Result // nil if the response is an error
}

// account checks the receipt of a call that was charged, and records it.
func (s *Service) account(ctx context.Context, session Session, c *call, o outcome, a *Evidence) {
	charge := o.charge
	if charge == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), receiptWait)
	defer cancel()
	known := receipts.Call{
		Issuer: session.Issuer, Agent: session.AgentID, KeyID: session.KeyID, Policy: session.PolicyDigest,
		Agreement: session.AgreementID, Token: session.kept.TokenID, Replayed: o.replayed,
		Execution: charge.ExecutionID, Amount: charge.Amount, State: charge.State, Intent: c.uid, Request: c.digest(),
	}
	if o.result != nil {
		known.Answer = evidence.Digest(o.result.Raw)
		if text, err := strictjson.Canonical(o.result.Output); err == nil && c.door != nil {
			known.Canonical = evidence.Digest(text)
		}
	}
	report := func(name evidence.ProblemName, detail string) {
		a.Discrepancies = append(a.Discrepancies, evidence.Problem{Name: name, Where: charge.ExecutionID, Detail: detail})
	}
	text := ""
	switch {
	case len(a.Sent) == 1:
		text = a.Sent[0]
	case len(a.Sent) > 1:
		report(evidence.ProblemSignature, "the response has several receipts")
	case charge.State != "pending" && session.Endpoints.Receipts != "" && s.client.relay == nil:
		if text = s.fetchReceipt(ctx, session, charge.ExecutionID); text == "" {
			report(evidence.ProblemUnreceipted, "the service charged the call, and sent no receipt")
		}
	}
	if text != "" {
		known.Successor = s.successor(ctx, session, text, c.uid)
		var problems []evidence.Problem
		a.Receipt, problems = s.checkReceipt(ctx, text, known)
		a.Discrepancies = append(a.Discrepancies, problems...)
		if a.Receipt != nil {
			a.Discrepancies = append(a.Discrepancies, s.checkPrice(ctx, session, &a.Receipt.Entry, known.Successor)...)
		}
	}
	if book := s.Book(); book != nil {
		if len(text) > evidence.MaxReceipt {
			text = ""
		}
		err := c.bookError
		if err == nil {
			a.Discrepancies, err = book.Add(ctx, c.mark, known, text, a.Receipt, a.Discrepancies, s.client.o.Now())
		}
		if err != nil {
			report(evidence.ProblemFile, "the receipt was not stored: "+clean(err.Error()))
		}
	}
}

// checkReceipt checks a receipt with the trusted keys. If another key has signed the receipt, the client trusts that key only if a trusted
// key introduces that key.
func (s *Service) checkReceipt(ctx context.Context, text string, known receipts.Call) (*evidence.Receipt, []evidence.Problem) {
	receipt, problems := receipts.Check(text, s.trusted(ctx), known)
	if receipt != nil || problems[0].Name != evidence.ProblemKey {
		return receipt, problems
	}
	if r, err := evidence.ParseReceipt(text); err == nil && s.findKey(ctx, r.KeyID) {
		receipt, problems = receipts.Check(text, s.Session().Keys, known)
	}
	return receipt, problems
}

// fetchReceipt fetches the receipt of an execution. It returns an empty string if the service does not send it.
func (s *Service) fetchReceipt(ctx context.Context, session Session, id string) string {
	address := strings.Replace(session.Endpoints.Receipts, "{execution_id}", url.PathEscape(id), 1)
	answer, err := s.get(ctx, session, address, "application/"+evidence.TypeReceipt, evidence.MaxReceipt)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(answer.Body))
}

// get sends a GET request with the PAT, and returns a response with status 200. It does not follow redirects.
func (s *Service) get(ctx context.Context, session Session, address, accept string, most int64) (fetch.Answer, error) {
	header := authorization(session)
	header.Set("Accept", accept)
	answer, err := s.client.fetch.Do(ctx, fetch.Request{
		Method: http.MethodGet, URL: address, Header: header, Max: most, From: s.agentsURL(),
	})
	if err != nil {
		return fetch.Answer{}, err
	}
	if answer.Status != http.StatusOK {
		return fetch.Answer{}, readError(answer)
	}
	return answer, nil
}

// read is like get, for many pages: while the service refuses the request and states a time to wait, read waits and repeats the request.
// The waits add up to MaxWait at most.
func (s *Service) read(ctx context.Context, session Session, address, accept string, most int64) (fetch.Answer, error) {
	var waited time.Duration
	for {
		answer, err := s.get(ctx, session, address, accept, most)
		e, refused := errors.AsType[*Error](err)
		if !refused || e.Status != http.StatusTooManyRequests && e.Status != http.StatusServiceUnavailable || e.RetryAfter <= 0 {
			return answer, err
		}
		if waited += e.RetryAfter; waited > s.client.o.MaxWait || s.client.o.Sleep(ctx, e.RetryAfter) != nil {
			return answer, err
		}
	}
}

// accountError checks the receipt in an error response.
func (s *Service) accountError(ctx context.Context, session Session, c *call, err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		s.account(ctx, session, c, outcome{e.Charge, e.Replayed, nil}, &e.Evidence)
	}
}
