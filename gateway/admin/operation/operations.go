package operation

import (
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

// The operations. Each has the name of the method of the Operations that carries it out.
var (
	OpenAPI      = get[None, json.RawMessage]("/openapi.json", "Describe this API by OpenAPI 3.1")
	Status       = get[None, status.Status]("/status", "Show the services and their health")
	Reload       = post[reloads.ReloadRequest, reloads.Reload]("/reload", api.RoleOperator, "Read the configuration again")
	Agents       = get[agreements.AgentQuery, api.Page[agreements.Agent]]("/agents", "List agents")
	Agent        = get[api.Record, agreements.Agent]("/agents/{id}", "Show an agent")
	BlockAgent   = post[api.Revocation, agreements.Agent]("/agents/{id}/block", api.RoleOperator, "Block an agent")
	UnblockAgent = post[api.Record, agreements.Agent]("/agents/{id}/unblock", api.RoleOperator, "Unblock an agent")
	ApproveAgent = post[api.Record, agreements.Agent]("/agents/{id}/approve", api.RoleOperator, "Approve an agent")
	AddAgentKey  = post[agreements.AgentKey, agreements.Agent]("/agents/{id}/keys", api.RoleOperator, "Add a key to an agent")
	NameAgent    = post[agreements.AgentName, agreements.Agent]("/agents/{id}/name", api.RoleOperator,
		"Set or remove the name of an agent")
	Buyer        = get[api.Record, billing.Buyer]("/agents/{id}/buyer", "Show the buyer of an agent")
	SetBuyer     = post[billing.BuyerChange, billing.Buyer]("/agents/{id}/buyer", api.RoleBilling, "Set or remove the buyer of an agent")
	Invoice      = get[billing.InvoiceQuery, billing.Invoice]("/agents/{id}/invoice", "Show the invoice of an agent for a month")
	IssueInvoice = post[billing.IssueRequest, billing.Invoice]("/agents/{id}/invoice", api.RoleBilling,
		"Issue the invoice of an agent for a month")
	Evidence = get[billing.EvidenceQuery, billing.AccountEvidence]("/agents/{id}/evidence",
		"Show the signed entries of an account in a month")
	ConsoleLink = post[signin.ConsoleLinkRequest, signin.ConsoleLink]("/console/links", api.RoleAdmin,
		"Create a link that signs a person in to the console")
	EndConsoleSession = post[api.Record, signin.EndedSession]("/console/sessions/{id}/end", api.RoleAdmin, "End a session of the console")
	Invite            = post[agreements.Invite, agreements.Invitation]("/invitations", api.RoleOperator, "Invite a person to consent")
	Agreements        = get[agreements.AgreementQuery, api.Page[agreements.Agreement]]("/agreements", "List agreements")
	Agreement         = get[api.Record, agreements.Agreement]("/agreements/{id}", "Show an agreement")
	ExportAgreement   = get[api.Record, json.RawMessage]("/agreements/{id}/export", "Export an agreement with its proof")
	VerifyAgreement   = get[api.Record, agreements.AgreementProof]("/agreements/{id}/proof", "Verify an agreement")
	RevokeAgreement   = post[api.Revocation, agreements.Agreement]("/agreements/{id}/revoke", api.RoleOperator, "Revoke an agreement")
	Policies          = get[policies.PolicyQuery, api.Page[policies.Policy]]("/policies", "List policies")
	RevokePolicy      = post[api.Revocation, agreements.RevokedPolicy]("/policies/{id}/revoke", api.RoleAdmin,
		"Revoke all agreements to a policy")
	PATs       = get[agreements.PATQuery, api.Page[agreements.PAT]]("/pats", "List PATs")
	PAT        = get[api.Record, agreements.PAT]("/pats/{id}", "Show a PAT")
	RevokePAT  = post[api.Revocation, agreements.PAT]("/pats/{id}/revoke", api.RoleOperator, "Revoke a PAT")
	Introspect = post[agreements.PresentedToken, pat.Introspection]("/introspect", api.RoleViewer, "Introspect a PAT (RFC 7662)")
	Accounts   = get[billing.AccountQuery, api.Page[billing.Account]]("/usage/accounts", "List accounts")
	Statements = get[billing.StatementQuery, api.Page[billing.Statement]]("/usage/statements", "List statements of accounts")
	Ledger     = get[calls.UsageQuery, api.Page[calls.Entry]]("/usage/ledger", "List entries of the ledger")
	Executions = get[calls.UsageQuery, api.Page[calls.Execution]]("/usage/executions", "List executions")
	Execution  = get[api.Record, calls.Execution]("/usage/executions/{id}", "Show an execution")
	Receipt    = get[api.Record, billing.Receipt]("/usage/executions/{id}/receipt", "Show the receipt of a charged call")
	Resolve    = post[calls.Resolution, calls.Execution]("/usage/executions/{id}/resolve", api.RoleBilling,
		"Capture or release the charge of a call of unknown outcome")
	Refund = post[billing.RefundRequest, billing.Refund]("/usage/executions/{id}/refund", api.RoleBilling,
		"Refund a captured charge")
	Refunds        = get[billing.RefundQuery, api.Page[billing.Refund]]("/usage/refunds", "List refunds")
	CreditNote     = get[api.Record, billing.CreditNote]("/usage/refunds/{id}", "Show a credit note")
	IssuedInvoices = get[billing.IssuedQuery, api.Page[billing.IssuedInvoice]]("/usage/invoices", "List issued invoices")
	Revenue        = get[billing.RevenueQuery, api.Page[billing.Revenue]]("/usage/revenue", "Sum up revenue by intent, agent or month")
	ResolveNotSent = post[calls.NotSent, api.Page[calls.Execution]]("/usage/not-sent", api.RoleBilling,
		"Release the charges of calls that did not reach the service")
	TopUp      = post[billing.TopUp, billing.TopUpResult]("/usage/top-up", api.RoleBilling, "Top up an account, or reverse a top-up")
	MoveCredit = post[billing.CreditMove, billing.MovedCredit]("/usage/move", api.RoleBilling, "Move unused credit to another agent")
	Reloads    = get[None, api.Page[reloads.ReloadRecord]]("/reloads",
		"List the last reloads of the configuration, and what they changed")
	Processes      = get[None, processes.Processes]("/processes", "List the processes that share the database")
	Stops          = get[processes.StopQuery, api.Page[processes.Stop]]("/stops", "List the stops in force, or the stops that ended")
	Stop           = post[processes.StopRequest, processes.Stop]("/stops", api.RoleOperator, "Stop calls")
	Resume         = post[processes.StopRequest, processes.Stop]("/stops/resume", api.RoleOperator, "End a stop")
	Payments       = get[billing.PaymentQuery, api.Page[billing.Payment]]("/usage/payments", "List payments")
	ResolvePayment = post[billing.PaymentResolution, billing.Payment]("/usage/payments/resolve", api.RoleBilling,
		"Decide about a payment that waits")
	CallFigures = get[processes.FigureQuery, processes.CallFigures]("/figures", "Count the calls of each minute or hour")
	Calls       = get[calls.CallQuery, api.Page[calls.Call]]("/calls", "Search requests")
	Why         = get[calls.RequestRecord, api.Page[calls.Why]]("/requests/{id}", "Explain a request")
	Decide      = post[policies.DecideRequest, policies.PolicyDecision]("/decide", api.RoleViewer,
		"Decide a call by a policy, without making it")
	Impact = post[policies.ImpactRequest, policies.PolicyImpact]("/policy/impact", api.RoleViewer,
		"Compare an edited policy with recorded calls")
	PolicyText    = get[policies.PolicyTextQuery, policies.PolicyText]("/policy", "Show the file of the policy")
	PolicyChanges = get[policies.PolicyPair, words.Comparison]("/policy/changes",
		"Describe what changed for agents from one policy to another")
	SavePolicy = post[policies.PolicyEdit, policies.SaveResult]("/policy", api.RoleAdmin, "Replace the file of the policy, and reload")
	Catalogue  = get[catalogue.CatalogueQuery, api.Page[catalogue.CatalogueItem]]("/catalogue",
		"List intents with their terms and their use")
	Curation       = get[policies.CurationQuery, policies.Curation]("/curation", "Show the curation of an import")
	CurationImpact = post[policies.CurationEdit, policies.CurationImpact]("/curation/impact", api.RoleViewer,
		"Show what an edited curation would change")
	SaveCuration = post[policies.CurationEdit, policies.CurationResult]("/curation", api.RoleAdmin,
		"Replace the curation and what depends on it, and reload")
	Connections = get[catalogue.ConnectionQuery, api.Page[catalogue.Connection]]("/connections", "Show how clients connect to a service")
	TestAgent   = get[testcalls.PlaygroundQuery, testcalls.TestAgent]("/playground", "Show the test agent of a service")
	AgreeTest   = post[testcalls.TestConsent, testcalls.TestAgreement]("/playground/agree", api.RoleOperator,
		"Make the test agent agree to the policy in force")
	TryCall = post[testcalls.TestCall, testcalls.TestResult]("/playground/call", api.RoleOperator,
		"Call an intent as the test agent")
	Keys       = get[None, api.Page[agreements.Key]]("/keys", "List signing keys")
	RotateKey  = post[agreements.Rotation, agreements.Key]("/keys/rotate", api.RoleAdmin, "Rotate a signing key")
	RetireKeys = post[agreements.KeysRetirement, api.Page[agreements.Key]]("/keys/retire", api.RoleAdmin, "Retire all signing keys")
	RetireKey  = post[agreements.Retirement, agreements.Key]("/keys/{id}/retire", api.RoleAdmin, "Retire a signing key")
)
