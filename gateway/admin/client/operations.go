package client

import (
	"context"
	"encoding/json"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// OpenAPI is admin.Operator.OpenAPI.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/openapi.json", nil)
}

// Status is admin.Operator.Status.
func (c *Client) Status(ctx context.Context) (status.Status, error) {
	return get[status.Status](ctx, c, "/status", nil)
}

// Processes is admin.Operator.Processes.
func (c *Client) Processes(ctx context.Context) (processes.Processes, error) {
	return get[processes.Processes](ctx, c, "/processes", nil)
}

// Stops is admin.Operator.Stops.
func (c *Client) Stops(ctx context.Context, q processes.StopQuery) (api.Page[processes.Stop], error) {
	return get[api.Page[processes.Stop]](ctx, c, "/stops", &q)
}

// Stop is admin.Operator.Stop.
func (c *Client) Stop(ctx context.Context, r processes.StopRequest) (processes.Stop, error) {
	return post[processes.Stop](ctx, c, "/stops", &r)
}

// Resume is admin.Operator.Resume.
func (c *Client) Resume(ctx context.Context, r processes.StopRequest) (processes.Stop, error) {
	return post[processes.Stop](ctx, c, "/stops/resume", &r)
}

// Calls is admin.Operator.Calls.
func (c *Client) Calls(ctx context.Context, q calls.CallQuery) (api.Page[calls.Call], error) {
	return get[api.Page[calls.Call]](ctx, c, "/calls", &q)
}

// Why is admin.Operator.Why.
func (c *Client) Why(ctx context.Context, r calls.RequestRecord) (api.Page[calls.Why], error) {
	return get[api.Page[calls.Why]](ctx, c, api.JoinPath("requests", r.ID), &r)
}

// CallFigures is admin.Operator.CallFigures.
func (c *Client) CallFigures(ctx context.Context, q processes.FigureQuery) (processes.CallFigures, error) {
	return get[processes.CallFigures](ctx, c, "/figures", &q)
}

// Decide is admin.Operator.Decide.
func (c *Client) Decide(ctx context.Context, r policies.DecideRequest) (policies.PolicyDecision, error) {
	return post[policies.PolicyDecision](ctx, c, "/decide", &r)
}

// Impact is admin.Operator.Impact.
func (c *Client) Impact(ctx context.Context, r policies.ImpactRequest) (policies.PolicyImpact, error) {
	return post[policies.PolicyImpact](ctx, c, "/policy/impact", &r)
}

// PolicyChanges is admin.Operator.PolicyChanges.
func (c *Client) PolicyChanges(ctx context.Context, p policies.PolicyPair) (words.Comparison, error) {
	return get[words.Comparison](ctx, c, "/policy/changes", &p)
}

// PolicyText is admin.Operator.PolicyText.
func (c *Client) PolicyText(ctx context.Context, q policies.PolicyTextQuery) (policies.PolicyText, error) {
	return get[policies.PolicyText](ctx, c, "/policy", &q)
}

// SavePolicy is admin.Operator.SavePolicy. If the configuration was refused, the *RefusedError has its problems.
func (c *Client) SavePolicy(ctx context.Context, r policies.PolicyEdit) (policies.SaveResult, error) {
	return post[policies.SaveResult](ctx, c, "/policy", &r)
}

// Catalogue is admin.Operator.Catalogue.
func (c *Client) Catalogue(ctx context.Context, q catalogue.CatalogueQuery) (api.Page[catalogue.CatalogueItem], error) {
	return get[api.Page[catalogue.CatalogueItem]](ctx, c, "/catalogue", &q)
}

// Curation is admin.Operator.Curation.
func (c *Client) Curation(ctx context.Context, q policies.CurationQuery) (policies.Curation, error) {
	return get[policies.Curation](ctx, c, "/curation", &q)
}

// CurationImpact is admin.Operator.CurationImpact.
func (c *Client) CurationImpact(ctx context.Context, r policies.CurationEdit) (policies.CurationImpact, error) {
	return post[policies.CurationImpact](ctx, c, "/curation/impact", &r)
}

// SaveCuration is admin.Operator.SaveCuration.
func (c *Client) SaveCuration(ctx context.Context, r policies.CurationEdit) (policies.CurationResult, error) {
	return post[policies.CurationResult](ctx, c, "/curation", &r)
}

// Connections is admin.Operator.Connections.
func (c *Client) Connections(ctx context.Context, q catalogue.ConnectionQuery) (api.Page[catalogue.Connection], error) {
	return get[api.Page[catalogue.Connection]](ctx, c, "/connections", &q)
}

// TestAgent is admin.Operator.TestAgent.
func (c *Client) TestAgent(ctx context.Context, q testcalls.PlaygroundQuery) (testcalls.TestAgent, error) {
	return get[testcalls.TestAgent](ctx, c, "/playground", &q)
}

// AgreeTest is admin.Operator.AgreeTest.
func (c *Client) AgreeTest(ctx context.Context, r testcalls.TestConsent) (testcalls.TestAgreement, error) {
	return post[testcalls.TestAgreement](ctx, c, "/playground/agree", &r)
}

// TryCall is admin.Operator.TryCall.
func (c *Client) TryCall(ctx context.Context, r testcalls.TestCall) (testcalls.TestResult, error) {
	return post[testcalls.TestResult](ctx, c, "/playground/call", &r)
}

// Reload is admin.Operator.Reload. If the configuration was refused, the *RefusedError has its problems.
func (c *Client) Reload(ctx context.Context, r reloads.ReloadRequest) (reloads.Reload, error) {
	return post[reloads.Reload](ctx, c, "/reload", &r)
}

// Reloads is admin.Operator.Reloads.
func (c *Client) Reloads(ctx context.Context) (api.Page[reloads.ReloadRecord], error) {
	return get[api.Page[reloads.ReloadRecord]](ctx, c, "/reloads", nil)
}

// Agents is admin.Operator.Agents.
func (c *Client) Agents(ctx context.Context, q agreements.AgentQuery) (api.Page[agreements.Agent], error) {
	return get[api.Page[agreements.Agent]](ctx, c, "/agents", &q)
}

// Agent is admin.Operator.Agent.
func (c *Client) Agent(ctx context.Context, r api.Record) (agreements.Agent, error) {
	return get[agreements.Agent](ctx, c, api.JoinPath("agents", r.ID), &r)
}

// BlockAgent is admin.Operator.BlockAgent.
func (c *Client) BlockAgent(ctx context.Context, r api.Revocation) (agreements.Agent, error) {
	return post[agreements.Agent](ctx, c, api.JoinPath("agents", r.ID, "block"), &r)
}

// UnblockAgent is admin.Operator.UnblockAgent.
func (c *Client) UnblockAgent(ctx context.Context, r api.Record) (agreements.Agent, error) {
	return post[agreements.Agent](ctx, c, api.JoinPath("agents", r.ID, "unblock"), &r)
}

// ApproveAgent is admin.Operator.ApproveAgent.
func (c *Client) ApproveAgent(ctx context.Context, r api.Record) (agreements.Agent, error) {
	return post[agreements.Agent](ctx, c, api.JoinPath("agents", r.ID, "approve"), &r)
}

// AddAgentKey is admin.Operator.AddAgentKey.
func (c *Client) AddAgentKey(ctx context.Context, k agreements.AgentKey) (agreements.Agent, error) {
	return post[agreements.Agent](ctx, c, api.JoinPath("agents", k.ID, "keys"), &k)
}

// NameAgent is admin.Operator.NameAgent.
func (c *Client) NameAgent(ctx context.Context, n agreements.AgentName) (agreements.Agent, error) {
	return post[agreements.Agent](ctx, c, api.JoinPath("agents", n.ID, "name"), &n)
}

// ConsoleLink is admin.Operator.ConsoleLink.
func (c *Client) ConsoleLink(ctx context.Context, r signin.ConsoleLinkRequest) (signin.ConsoleLink, error) {
	return post[signin.ConsoleLink](ctx, c, "/console/links", &r)
}

// EndConsoleSession is admin.Operator.EndConsoleSession.
func (c *Client) EndConsoleSession(ctx context.Context, r api.Record) (signin.EndedSession, error) {
	return post[signin.EndedSession](ctx, c, api.JoinPath("console", "sessions", r.ID, "end"), &r)
}

// Invite is admin.Operator.Invite.
func (c *Client) Invite(ctx context.Context, i agreements.Invite) (agreements.Invitation, error) {
	return post[agreements.Invitation](ctx, c, "/invitations", &i)
}

// Evidence is admin.Operator.Evidence.
func (c *Client) Evidence(ctx context.Context, q billing.EvidenceQuery) (billing.AccountEvidence, error) {
	return get[billing.AccountEvidence](ctx, c, api.JoinPath("agents", q.ID, "evidence"), &q)
}

// Invoice is admin.Operator.Invoice.
func (c *Client) Invoice(ctx context.Context, q billing.InvoiceQuery) (billing.Invoice, error) {
	return get[billing.Invoice](ctx, c, api.JoinPath("agents", q.ID, "invoice"), &q)
}

// IssueInvoice is admin.Operator.IssueInvoice.
func (c *Client) IssueInvoice(ctx context.Context, r billing.IssueRequest) (billing.Invoice, error) {
	return post[billing.Invoice](ctx, c, api.JoinPath("agents", r.ID, "invoice"), &r)
}

// IssuedInvoices is admin.Operator.IssuedInvoices.
func (c *Client) IssuedInvoices(ctx context.Context, q billing.IssuedQuery) (api.Page[billing.IssuedInvoice], error) {
	return get[api.Page[billing.IssuedInvoice]](ctx, c, "/usage/invoices", &q)
}

// CreditNote is admin.Operator.CreditNote.
func (c *Client) CreditNote(ctx context.Context, r api.Record) (billing.CreditNote, error) {
	return get[billing.CreditNote](ctx, c, api.JoinPath("usage", "refunds", r.ID), &r)
}

// Buyer is admin.Operator.Buyer.
func (c *Client) Buyer(ctx context.Context, r api.Record) (billing.Buyer, error) {
	return get[billing.Buyer](ctx, c, api.JoinPath("agents", r.ID, "buyer"), &r)
}

// SetBuyer is admin.Operator.SetBuyer.
func (c *Client) SetBuyer(ctx context.Context, b billing.BuyerChange) (billing.Buyer, error) {
	return post[billing.Buyer](ctx, c, api.JoinPath("agents", b.ID, "buyer"), &b)
}

// Agreements is admin.Operator.Agreements.
func (c *Client) Agreements(ctx context.Context, q agreements.AgreementQuery) (api.Page[agreements.Agreement], error) {
	return get[api.Page[agreements.Agreement]](ctx, c, "/agreements", &q)
}

// Agreement is admin.Operator.Agreement.
func (c *Client) Agreement(ctx context.Context, r api.Record) (agreements.Agreement, error) {
	return get[agreements.Agreement](ctx, c, api.JoinPath("agreements", r.ID), &r)
}

// ExportAgreement is admin.Operator.ExportAgreement.
func (c *Client) ExportAgreement(ctx context.Context, r api.Record) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, api.JoinPath("agreements", r.ID, "export"), &r)
}

// VerifyAgreement is admin.Operator.VerifyAgreement.
func (c *Client) VerifyAgreement(ctx context.Context, r api.Record) (agreements.AgreementProof, error) {
	return get[agreements.AgreementProof](ctx, c, api.JoinPath("agreements", r.ID, "proof"), &r)
}

// Receipt is admin.Operator.Receipt.
func (c *Client) Receipt(ctx context.Context, r api.Record) (billing.Receipt, error) {
	return get[billing.Receipt](ctx, c, api.JoinPath("usage", "executions", r.ID, "receipt"), &r)
}

// RevokeAgreement is admin.Operator.RevokeAgreement.
func (c *Client) RevokeAgreement(ctx context.Context, r api.Revocation) (agreements.Agreement, error) {
	return post[agreements.Agreement](ctx, c, api.JoinPath("agreements", r.ID, "revoke"), &r)
}

// Policies is admin.Operator.Policies.
func (c *Client) Policies(ctx context.Context, q policies.PolicyQuery) (api.Page[policies.Policy], error) {
	return get[api.Page[policies.Policy]](ctx, c, "/policies", &q)
}

// RevokePolicy is admin.Operator.RevokePolicy.
func (c *Client) RevokePolicy(ctx context.Context, r api.Revocation) (agreements.RevokedPolicy, error) {
	return post[agreements.RevokedPolicy](ctx, c, api.JoinPath("policies", r.ID, "revoke"), &r)
}

// PATs is admin.Operator.PATs.
func (c *Client) PATs(ctx context.Context, q agreements.PATQuery) (api.Page[agreements.PAT], error) {
	return get[api.Page[agreements.PAT]](ctx, c, "/pats", &q)
}

// PAT is admin.Operator.PAT.
func (c *Client) PAT(ctx context.Context, r api.Record) (agreements.PAT, error) {
	return get[agreements.PAT](ctx, c, api.JoinPath("pats", r.ID), &r)
}

// RevokePAT is admin.Operator.RevokePAT.
func (c *Client) RevokePAT(ctx context.Context, r api.Revocation) (agreements.PAT, error) {
	return post[agreements.PAT](ctx, c, api.JoinPath("pats", r.ID, "revoke"), &r)
}

// Introspect is admin.Operator.Introspect.
func (c *Client) Introspect(ctx context.Context, t agreements.PresentedToken) (pat.Introspection, error) {
	return post[pat.Introspection](ctx, c, "/introspect", &t)
}

// Accounts is admin.Operator.Accounts.
func (c *Client) Accounts(ctx context.Context, q billing.AccountQuery) (api.Page[billing.Account], error) {
	return get[api.Page[billing.Account]](ctx, c, "/usage/accounts", &q)
}

// Statements is admin.Operator.Statements.
func (c *Client) Statements(ctx context.Context, q billing.StatementQuery) (api.Page[billing.Statement], error) {
	return get[api.Page[billing.Statement]](ctx, c, "/usage/statements", &q)
}

// Ledger is admin.Operator.Ledger.
func (c *Client) Ledger(ctx context.Context, q calls.UsageQuery) (api.Page[calls.Entry], error) {
	return get[api.Page[calls.Entry]](ctx, c, "/usage/ledger", &q)
}

// Executions is admin.Operator.Executions.
func (c *Client) Executions(ctx context.Context, q calls.UsageQuery) (api.Page[calls.Execution], error) {
	return get[api.Page[calls.Execution]](ctx, c, "/usage/executions", &q)
}

// Refund is admin.Operator.Refund.
func (c *Client) Refund(ctx context.Context, r billing.RefundRequest) (billing.Refund, error) {
	return post[billing.Refund](ctx, c, api.JoinPath("usage", "executions", r.ID, "refund"), &r)
}

// Refunds is admin.Operator.Refunds.
func (c *Client) Refunds(ctx context.Context, q billing.RefundQuery) (api.Page[billing.Refund], error) {
	return get[api.Page[billing.Refund]](ctx, c, "/usage/refunds", &q)
}

// Revenue is admin.Operator.Revenue.
func (c *Client) Revenue(ctx context.Context, q billing.RevenueQuery) (api.Page[billing.Revenue], error) {
	return get[api.Page[billing.Revenue]](ctx, c, "/usage/revenue", &q)
}

// Execution is admin.Operator.Execution.
func (c *Client) Execution(ctx context.Context, r api.Record) (calls.Execution, error) {
	return get[calls.Execution](ctx, c, api.JoinPath("usage", "executions", r.ID), &r)
}

// Resolve is admin.Operator.Resolve.
func (c *Client) Resolve(ctx context.Context, r calls.Resolution) (calls.Execution, error) {
	return post[calls.Execution](ctx, c, api.JoinPath("usage", "executions", r.ID, "resolve"), &r)
}

// ResolveNotSent is admin.Operator.ResolveNotSent.
func (c *Client) ResolveNotSent(ctx context.Context, n calls.NotSent) (api.Page[calls.Execution], error) {
	return post[api.Page[calls.Execution]](ctx, c, "/usage/not-sent", &n)
}

// MoveCredit is admin.Operator.MoveCredit.
func (c *Client) MoveCredit(ctx context.Context, m billing.CreditMove) (billing.MovedCredit, error) {
	return post[billing.MovedCredit](ctx, c, "/usage/move", &m)
}

// TopUp is admin.Operator.TopUp.
func (c *Client) TopUp(ctx context.Context, t billing.TopUp) (billing.TopUpResult, error) {
	return post[billing.TopUpResult](ctx, c, "/usage/top-up", &t)
}

// Payments is admin.Operator.Payments.
func (c *Client) Payments(ctx context.Context, q billing.PaymentQuery) (api.Page[billing.Payment], error) {
	return get[api.Page[billing.Payment]](ctx, c, "/usage/payments", &q)
}

// ResolvePayment is admin.Operator.ResolvePayment.
func (c *Client) ResolvePayment(ctx context.Context, r billing.PaymentResolution) (billing.Payment, error) {
	return post[billing.Payment](ctx, c, "/usage/payments/resolve", &r)
}

// Keys is admin.Operator.Keys.
func (c *Client) Keys(ctx context.Context) (api.Page[agreements.Key], error) {
	return get[api.Page[agreements.Key]](ctx, c, "/keys", nil)
}

// RotateKey is admin.Operator.RotateKey.
func (c *Client) RotateKey(ctx context.Context, r agreements.Rotation) (agreements.Key, error) {
	return post[agreements.Key](ctx, c, "/keys/rotate", &r)
}

// RetireKeys is admin.Operator.RetireKeys.
func (c *Client) RetireKeys(ctx context.Context, r agreements.KeysRetirement) (api.Page[agreements.Key], error) {
	return post[api.Page[agreements.Key]](ctx, c, "/keys/retire", &r)
}

// RetireKey is admin.Operator.RetireKey.
func (c *Client) RetireKey(ctx context.Context, r agreements.Retirement) (agreements.Key, error) {
	return post[agreements.Key](ctx, c, api.JoinPath("keys", string(r.KeyID), "retire"), &r)
}
