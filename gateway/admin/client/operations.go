package client

import (
	"context"
	"encoding/json"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// OpenAPI is admin.Operator.OpenAPI.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/openapi.json", nil)
}

// Status is admin.Operator.Status.
func (c *Client) Status(ctx context.Context) (admin.Status, error) {
	return get[admin.Status](ctx, c, "/status", nil)
}

// Processes is admin.Operator.Processes.
func (c *Client) Processes(ctx context.Context) (admin.Processes, error) {
	return get[admin.Processes](ctx, c, "/processes", nil)
}

// Stops is admin.Operator.Stops.
func (c *Client) Stops(ctx context.Context, q admin.StopQuery) (admin.Page[admin.Stop], error) {
	return get[admin.Page[admin.Stop]](ctx, c, "/stops", &q)
}

// Stop is admin.Operator.Stop.
func (c *Client) Stop(ctx context.Context, r admin.StopRequest) (admin.Stop, error) {
	return post[admin.Stop](ctx, c, "/stops", &r)
}

// Resume is admin.Operator.Resume.
func (c *Client) Resume(ctx context.Context, r admin.StopRequest) (admin.Stop, error) {
	return post[admin.Stop](ctx, c, "/stops/resume", &r)
}

// Calls is admin.Operator.Calls.
func (c *Client) Calls(ctx context.Context, q admin.CallQuery) (admin.Page[admin.Call], error) {
	return get[admin.Page[admin.Call]](ctx, c, "/calls", &q)
}

// Why is admin.Operator.Why.
func (c *Client) Why(ctx context.Context, r admin.RequestRecord) (admin.Page[admin.Why], error) {
	return get[admin.Page[admin.Why]](ctx, c, admin.JoinPath("requests", r.ID), &r)
}

// CallFigures is admin.Operator.CallFigures.
func (c *Client) CallFigures(ctx context.Context, q admin.FigureQuery) (admin.CallFigures, error) {
	return get[admin.CallFigures](ctx, c, "/figures", &q)
}

// Decide is admin.Operator.Decide.
func (c *Client) Decide(ctx context.Context, r admin.DecideRequest) (admin.PolicyDecision, error) {
	return post[admin.PolicyDecision](ctx, c, "/decide", &r)
}

// Impact is admin.Operator.Impact.
func (c *Client) Impact(ctx context.Context, r admin.ImpactRequest) (admin.PolicyImpact, error) {
	return post[admin.PolicyImpact](ctx, c, "/policy/impact", &r)
}

// PolicyChanges is admin.Operator.PolicyChanges.
func (c *Client) PolicyChanges(ctx context.Context, p admin.PolicyPair) (words.Comparison, error) {
	return get[words.Comparison](ctx, c, "/policy/changes", &p)
}

// PolicyText is admin.Operator.PolicyText.
func (c *Client) PolicyText(ctx context.Context, q admin.PolicyTextQuery) (admin.PolicyText, error) {
	return get[admin.PolicyText](ctx, c, "/policy", &q)
}

// SavePolicy is admin.Operator.SavePolicy. If the configuration was refused, the *RefusedError has its problems.
func (c *Client) SavePolicy(ctx context.Context, r admin.PolicyEdit) (admin.SaveResult, error) {
	return post[admin.SaveResult](ctx, c, "/policy", &r)
}

// Catalogue is admin.Operator.Catalogue.
func (c *Client) Catalogue(ctx context.Context, q admin.CatalogueQuery) (admin.Page[admin.CatalogueItem], error) {
	return get[admin.Page[admin.CatalogueItem]](ctx, c, "/catalogue", &q)
}

// Curation is admin.Operator.Curation.
func (c *Client) Curation(ctx context.Context, q admin.CurationQuery) (admin.Curation, error) {
	return get[admin.Curation](ctx, c, "/curation", &q)
}

// CurationImpact is admin.Operator.CurationImpact.
func (c *Client) CurationImpact(ctx context.Context, r admin.CurationEdit) (admin.CurationImpact, error) {
	return post[admin.CurationImpact](ctx, c, "/curation/impact", &r)
}

// SaveCuration is admin.Operator.SaveCuration.
func (c *Client) SaveCuration(ctx context.Context, r admin.CurationEdit) (admin.CurationResult, error) {
	return post[admin.CurationResult](ctx, c, "/curation", &r)
}

// Connections is admin.Operator.Connections.
func (c *Client) Connections(ctx context.Context, q admin.ConnectionQuery) (admin.Page[admin.Connection], error) {
	return get[admin.Page[admin.Connection]](ctx, c, "/connections", &q)
}

// TestAgent is admin.Operator.TestAgent.
func (c *Client) TestAgent(ctx context.Context, q admin.PlaygroundQuery) (admin.TestAgent, error) {
	return get[admin.TestAgent](ctx, c, "/playground", &q)
}

// AgreeTest is admin.Operator.AgreeTest.
func (c *Client) AgreeTest(ctx context.Context, r admin.TestConsent) (admin.TestAgreement, error) {
	return post[admin.TestAgreement](ctx, c, "/playground/agree", &r)
}

// TryCall is admin.Operator.TryCall.
func (c *Client) TryCall(ctx context.Context, r admin.TestCall) (admin.TestResult, error) {
	return post[admin.TestResult](ctx, c, "/playground/call", &r)
}

// Reload is admin.Operator.Reload. If the configuration was refused, the *RefusedError has its problems.
func (c *Client) Reload(ctx context.Context, r admin.ReloadRequest) (admin.Reload, error) {
	return post[admin.Reload](ctx, c, "/reload", &r)
}

// Reloads is admin.Operator.Reloads.
func (c *Client) Reloads(ctx context.Context) (admin.Page[admin.ReloadRecord], error) {
	return get[admin.Page[admin.ReloadRecord]](ctx, c, "/reloads", nil)
}

// Agents is admin.Operator.Agents.
func (c *Client) Agents(ctx context.Context, q admin.AgentQuery) (admin.Page[admin.Agent], error) {
	return get[admin.Page[admin.Agent]](ctx, c, "/agents", &q)
}

// Agent is admin.Operator.Agent.
func (c *Client) Agent(ctx context.Context, r admin.Record) (admin.Agent, error) {
	return get[admin.Agent](ctx, c, admin.JoinPath("agents", r.ID), &r)
}

// BlockAgent is admin.Operator.BlockAgent.
func (c *Client) BlockAgent(ctx context.Context, r admin.Revocation) (admin.Agent, error) {
	return post[admin.Agent](ctx, c, admin.JoinPath("agents", r.ID, "block"), &r)
}

// UnblockAgent is admin.Operator.UnblockAgent.
func (c *Client) UnblockAgent(ctx context.Context, r admin.Record) (admin.Agent, error) {
	return post[admin.Agent](ctx, c, admin.JoinPath("agents", r.ID, "unblock"), &r)
}

// ApproveAgent is admin.Operator.ApproveAgent.
func (c *Client) ApproveAgent(ctx context.Context, r admin.Record) (admin.Agent, error) {
	return post[admin.Agent](ctx, c, admin.JoinPath("agents", r.ID, "approve"), &r)
}

// AddAgentKey is admin.Operator.AddAgentKey.
func (c *Client) AddAgentKey(ctx context.Context, k admin.AgentKey) (admin.Agent, error) {
	return post[admin.Agent](ctx, c, admin.JoinPath("agents", k.ID, "keys"), &k)
}

// NameAgent is admin.Operator.NameAgent.
func (c *Client) NameAgent(ctx context.Context, n admin.AgentName) (admin.Agent, error) {
	return post[admin.Agent](ctx, c, admin.JoinPath("agents", n.ID, "name"), &n)
}

// ConsoleLink is admin.Operator.ConsoleLink.
func (c *Client) ConsoleLink(ctx context.Context, r admin.ConsoleLinkRequest) (admin.ConsoleLink, error) {
	return post[admin.ConsoleLink](ctx, c, "/console/links", &r)
}

// EndConsoleSession is admin.Operator.EndConsoleSession.
func (c *Client) EndConsoleSession(ctx context.Context, r admin.Record) (admin.EndedSession, error) {
	return post[admin.EndedSession](ctx, c, admin.JoinPath("console", "sessions", r.ID, "end"), &r)
}

// Invite is admin.Operator.Invite.
func (c *Client) Invite(ctx context.Context, i admin.Invite) (admin.Invitation, error) {
	return post[admin.Invitation](ctx, c, "/invitations", &i)
}

// Evidence is admin.Operator.Evidence.
func (c *Client) Evidence(ctx context.Context, q admin.EvidenceQuery) (admin.AccountEvidence, error) {
	return get[admin.AccountEvidence](ctx, c, admin.JoinPath("agents", q.ID, "evidence"), &q)
}

// Invoice is admin.Operator.Invoice.
func (c *Client) Invoice(ctx context.Context, q admin.InvoiceQuery) (admin.Invoice, error) {
	return get[admin.Invoice](ctx, c, admin.JoinPath("agents", q.ID, "invoice"), &q)
}

// IssueInvoice is admin.Operator.IssueInvoice.
func (c *Client) IssueInvoice(ctx context.Context, r admin.IssueRequest) (admin.Invoice, error) {
	return post[admin.Invoice](ctx, c, admin.JoinPath("agents", r.ID, "invoice"), &r)
}

// IssuedInvoices is admin.Operator.IssuedInvoices.
func (c *Client) IssuedInvoices(ctx context.Context, q admin.IssuedQuery) (admin.Page[admin.IssuedInvoice], error) {
	return get[admin.Page[admin.IssuedInvoice]](ctx, c, "/usage/invoices", &q)
}

// CreditNote is admin.Operator.CreditNote.
func (c *Client) CreditNote(ctx context.Context, r admin.Record) (admin.CreditNote, error) {
	return get[admin.CreditNote](ctx, c, admin.JoinPath("usage", "refunds", r.ID), &r)
}

// Buyer is admin.Operator.Buyer.
func (c *Client) Buyer(ctx context.Context, r admin.Record) (admin.Buyer, error) {
	return get[admin.Buyer](ctx, c, admin.JoinPath("agents", r.ID, "buyer"), &r)
}

// SetBuyer is admin.Operator.SetBuyer.
func (c *Client) SetBuyer(ctx context.Context, b admin.BuyerChange) (admin.Buyer, error) {
	return post[admin.Buyer](ctx, c, admin.JoinPath("agents", b.ID, "buyer"), &b)
}

// Agreements is admin.Operator.Agreements.
func (c *Client) Agreements(ctx context.Context, q admin.AgreementQuery) (admin.Page[admin.Agreement], error) {
	return get[admin.Page[admin.Agreement]](ctx, c, "/agreements", &q)
}

// Agreement is admin.Operator.Agreement.
func (c *Client) Agreement(ctx context.Context, r admin.Record) (admin.Agreement, error) {
	return get[admin.Agreement](ctx, c, admin.JoinPath("agreements", r.ID), &r)
}

// ExportAgreement is admin.Operator.ExportAgreement.
func (c *Client) ExportAgreement(ctx context.Context, r admin.Record) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, admin.JoinPath("agreements", r.ID, "export"), &r)
}

// VerifyAgreement is admin.Operator.VerifyAgreement.
func (c *Client) VerifyAgreement(ctx context.Context, r admin.Record) (admin.AgreementProof, error) {
	return get[admin.AgreementProof](ctx, c, admin.JoinPath("agreements", r.ID, "proof"), &r)
}

// Receipt is admin.Operator.Receipt.
func (c *Client) Receipt(ctx context.Context, r admin.Record) (admin.Receipt, error) {
	return get[admin.Receipt](ctx, c, admin.JoinPath("usage", "executions", r.ID, "receipt"), &r)
}

// RevokeAgreement is admin.Operator.RevokeAgreement.
func (c *Client) RevokeAgreement(ctx context.Context, r admin.Revocation) (admin.Agreement, error) {
	return post[admin.Agreement](ctx, c, admin.JoinPath("agreements", r.ID, "revoke"), &r)
}

// Policies is admin.Operator.Policies.
func (c *Client) Policies(ctx context.Context, q admin.PolicyQuery) (admin.Page[admin.Policy], error) {
	return get[admin.Page[admin.Policy]](ctx, c, "/policies", &q)
}

// RevokePolicy is admin.Operator.RevokePolicy.
func (c *Client) RevokePolicy(ctx context.Context, r admin.Revocation) (admin.RevokedPolicy, error) {
	return post[admin.RevokedPolicy](ctx, c, admin.JoinPath("policies", r.ID, "revoke"), &r)
}

// PATs is admin.Operator.PATs.
func (c *Client) PATs(ctx context.Context, q admin.PATQuery) (admin.Page[admin.PAT], error) {
	return get[admin.Page[admin.PAT]](ctx, c, "/pats", &q)
}

// PAT is admin.Operator.PAT.
func (c *Client) PAT(ctx context.Context, r admin.Record) (admin.PAT, error) {
	return get[admin.PAT](ctx, c, admin.JoinPath("pats", r.ID), &r)
}

// RevokePAT is admin.Operator.RevokePAT.
func (c *Client) RevokePAT(ctx context.Context, r admin.Revocation) (admin.PAT, error) {
	return post[admin.PAT](ctx, c, admin.JoinPath("pats", r.ID, "revoke"), &r)
}

// Introspect is admin.Operator.Introspect.
func (c *Client) Introspect(ctx context.Context, t admin.PresentedToken) (pat.Introspection, error) {
	return post[pat.Introspection](ctx, c, "/introspect", &t)
}

// Accounts is admin.Operator.Accounts.
func (c *Client) Accounts(ctx context.Context, q admin.AccountQuery) (admin.Page[admin.Account], error) {
	return get[admin.Page[admin.Account]](ctx, c, "/usage/accounts", &q)
}

// Statements is admin.Operator.Statements.
func (c *Client) Statements(ctx context.Context, q admin.StatementQuery) (admin.Page[admin.Statement], error) {
	return get[admin.Page[admin.Statement]](ctx, c, "/usage/statements", &q)
}

// Ledger is admin.Operator.Ledger.
func (c *Client) Ledger(ctx context.Context, q admin.UsageQuery) (admin.Page[admin.Entry], error) {
	return get[admin.Page[admin.Entry]](ctx, c, "/usage/ledger", &q)
}

// Executions is admin.Operator.Executions.
func (c *Client) Executions(ctx context.Context, q admin.UsageQuery) (admin.Page[admin.Execution], error) {
	return get[admin.Page[admin.Execution]](ctx, c, "/usage/executions", &q)
}

// Refund is admin.Operator.Refund.
func (c *Client) Refund(ctx context.Context, r admin.RefundRequest) (admin.Refund, error) {
	return post[admin.Refund](ctx, c, admin.JoinPath("usage", "executions", r.ID, "refund"), &r)
}

// Refunds is admin.Operator.Refunds.
func (c *Client) Refunds(ctx context.Context, q admin.RefundQuery) (admin.Page[admin.Refund], error) {
	return get[admin.Page[admin.Refund]](ctx, c, "/usage/refunds", &q)
}

// Revenue is admin.Operator.Revenue.
func (c *Client) Revenue(ctx context.Context, q admin.RevenueQuery) (admin.Page[admin.Revenue], error) {
	return get[admin.Page[admin.Revenue]](ctx, c, "/usage/revenue", &q)
}

// Execution is admin.Operator.Execution.
func (c *Client) Execution(ctx context.Context, r admin.Record) (admin.Execution, error) {
	return get[admin.Execution](ctx, c, admin.JoinPath("usage", "executions", r.ID), &r)
}

// Resolve is admin.Operator.Resolve.
func (c *Client) Resolve(ctx context.Context, r admin.Resolution) (admin.Execution, error) {
	return post[admin.Execution](ctx, c, admin.JoinPath("usage", "executions", r.ID, "resolve"), &r)
}

// ResolveNotSent is admin.Operator.ResolveNotSent.
func (c *Client) ResolveNotSent(ctx context.Context, n admin.NotSent) (admin.Page[admin.Execution], error) {
	return post[admin.Page[admin.Execution]](ctx, c, "/usage/not-sent", &n)
}

// MoveCredit is admin.Operator.MoveCredit.
func (c *Client) MoveCredit(ctx context.Context, m admin.CreditMove) (admin.MovedCredit, error) {
	return post[admin.MovedCredit](ctx, c, "/usage/move", &m)
}

// TopUp is admin.Operator.TopUp.
func (c *Client) TopUp(ctx context.Context, t admin.TopUp) (admin.TopUpResult, error) {
	return post[admin.TopUpResult](ctx, c, "/usage/top-up", &t)
}

// Payments is admin.Operator.Payments.
func (c *Client) Payments(ctx context.Context, q admin.PaymentQuery) (admin.Page[admin.Payment], error) {
	return get[admin.Page[admin.Payment]](ctx, c, "/usage/payments", &q)
}

// ResolvePayment is admin.Operator.ResolvePayment.
func (c *Client) ResolvePayment(ctx context.Context, r admin.PaymentResolution) (admin.Payment, error) {
	return post[admin.Payment](ctx, c, "/usage/payments/resolve", &r)
}

// Keys is admin.Operator.Keys.
func (c *Client) Keys(ctx context.Context) (admin.Page[admin.Key], error) {
	return get[admin.Page[admin.Key]](ctx, c, "/keys", nil)
}

// RotateKey is admin.Operator.RotateKey.
func (c *Client) RotateKey(ctx context.Context, r admin.Rotation) (admin.Key, error) {
	return post[admin.Key](ctx, c, "/keys/rotate", &r)
}

// RetireKeys is admin.Operator.RetireKeys.
func (c *Client) RetireKeys(ctx context.Context, r admin.KeysRetirement) (admin.Page[admin.Key], error) {
	return post[admin.Page[admin.Key]](ctx, c, "/keys/retire", &r)
}

// RetireKey is admin.Operator.RetireKey.
func (c *Client) RetireKey(ctx context.Context, r admin.Retirement) (admin.Key, error) {
	return post[admin.Key](ctx, c, admin.JoinPath("keys", string(r.KeyID), "retire"), &r)
}
