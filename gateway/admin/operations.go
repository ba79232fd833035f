package admin

import (
	"context"
	"net/http"
	"reflect"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// An operation is one method of one path of the admin API. An operation whose method is not GET continues if its caller disconnects.
type operation struct {
	method, path string
	role         Role   // the role that a caller needs
	summary      string // for the document of OpenAPI
	endpoint
}

// An endpoint carries out an operation.
type endpoint struct {
	request  Request      // an empty request; nil: the operation has no input
	response reflect.Type // of the result
	do       func(*call) (any, error)
}

// name identifies an operation in the log and in the audit stream.
func (o *operation) name() string { return o.method + " " + o.path }

// reloads reports whether an operation reloads the configuration.
func (o *operation) reloads() bool {
	return o.name() == "POST /reload" || o.name() == "POST /policy" || o.name() == "POST /curation"
}

func operations(o *Operator) []operation {
	get, post := http.MethodGet, http.MethodPost
	return []operation{
		{get, "/openapi.json", RoleViewer, "Describe this API by OpenAPI 3.1", bare(o.OpenAPI)},
		{get, "/status", RoleViewer, "Show the services and their health", bare(o.Status)},
		{post, "/reload", RoleOperator, "Read the configuration again", with(o.Reload)},
		{get, "/agents", RoleViewer, "List agents", with(o.Agents)},
		{get, "/agents/{id}", RoleViewer, "Show an agent", with(o.Agent)},
		{post, "/agents/{id}/block", RoleOperator, "Block an agent", with(o.BlockAgent)},
		{post, "/agents/{id}/unblock", RoleOperator, "Unblock an agent", with(o.UnblockAgent)},
		{post, "/agents/{id}/approve", RoleOperator, "Approve an agent", with(o.ApproveAgent)},
		{post, "/agents/{id}/keys", RoleOperator, "Add a key to an agent", with(o.AddAgentKey)},
		{post, "/agents/{id}/name", RoleOperator, "Set or remove the name of an agent", with(o.NameAgent)},
		{get, "/agents/{id}/buyer", RoleViewer, "Show the buyer of an agent", with(o.Buyer)},
		{post, "/agents/{id}/buyer", RoleBilling, "Set or remove the buyer of an agent", with(o.SetBuyer)},
		{get, "/agents/{id}/invoice", RoleViewer, "Show the invoice of an agent for a month", with(o.Invoice)},
		{post, "/agents/{id}/invoice", RoleBilling, "Issue the invoice of an agent for a month", with(o.IssueInvoice)},
		{get, "/agents/{id}/evidence", RoleViewer, "Show the signed entries of an account in a month", with(o.Evidence)},
		{post, "/console/links", RoleAdmin, "Create a link that signs a person in to the console", with(o.ConsoleLink)},
		{post, "/console/sessions/{id}/end", RoleAdmin, "End a session of the console", with(o.EndConsoleSession)},
		{post, "/invitations", RoleOperator, "Invite a person to consent", with(o.Invite)},
		{get, "/agreements", RoleViewer, "List agreements", with(o.Agreements)},
		{get, "/agreements/{id}", RoleViewer, "Show an agreement", with(o.Agreement)},
		{get, "/agreements/{id}/export", RoleViewer, "Export an agreement with its proof", with(o.ExportAgreement)},
		{get, "/agreements/{id}/proof", RoleViewer, "Verify an agreement", with(o.VerifyAgreement)},
		{post, "/agreements/{id}/revoke", RoleOperator, "Revoke an agreement", with(o.RevokeAgreement)},
		{get, "/policies", RoleViewer, "List policies", with(o.Policies)},
		{post, "/policies/{id}/revoke", RoleAdmin, "Revoke all agreements to a policy", with(o.RevokePolicy)},
		{get, "/pats", RoleViewer, "List PATs", with(o.PATs)},
		{get, "/pats/{id}", RoleViewer, "Show a PAT", with(o.PAT)},
		{post, "/pats/{id}/revoke", RoleOperator, "Revoke a PAT", with(o.RevokePAT)},
		{post, "/introspect", RoleViewer, "Introspect a PAT (RFC 7662)", with(o.Introspect)},
		{get, "/usage/accounts", RoleViewer, "List accounts", with(o.Accounts)},
		{get, "/usage/statements", RoleViewer, "List statements of accounts", with(o.Statements)},
		{get, "/usage/ledger", RoleViewer, "List entries of the ledger", with(o.Ledger)},
		{get, "/usage/executions", RoleViewer, "List executions", with(o.Executions)},
		{get, "/usage/executions/{id}", RoleViewer, "Show an execution", with(o.Execution)},
		{get, "/usage/executions/{id}/receipt", RoleViewer, "Show the receipt of a charged call", with(o.Receipt)},
		{post, "/usage/executions/{id}/resolve", RoleBilling, "Capture or release the charge of a call of unknown outcome", with(o.Resolve)},
		{post, "/usage/executions/{id}/refund", RoleBilling, "Refund a captured charge", with(o.Refund)},
		{get, "/usage/refunds", RoleViewer, "List refunds", with(o.Refunds)},
		{get, "/usage/refunds/{id}", RoleViewer, "Show a credit note", with(o.CreditNote)},
		{get, "/usage/invoices", RoleViewer, "List issued invoices", with(o.IssuedInvoices)},
		{get, "/usage/revenue", RoleViewer, "Sum up revenue by intent, agent or month", with(o.Revenue)},
		{post, "/usage/not-sent", RoleBilling, "Release the charges of calls that did not reach the service", with(o.ResolveNotSent)},
		{post, "/usage/top-up", RoleBilling, "Top up an account, or reverse a top-up", with(o.TopUp)},
		{post, "/usage/move", RoleBilling, "Move unused credit to another agent", with(o.MoveCredit)},
		{get, "/reloads", RoleViewer, "List the last reloads of the configuration, and what they changed", bare(o.Reloads)},
		{get, "/processes", RoleViewer, "List the processes that share the database", bare(o.Processes)},
		{get, "/stops", RoleViewer, "List the stops in force, or the stops that ended", with(o.Stops)},
		{post, "/stops", RoleOperator, "Stop calls", with(o.Stop)},
		{post, "/stops/resume", RoleOperator, "End a stop", with(o.Resume)},
		{get, "/usage/payments", RoleViewer, "List payments", with(o.Payments)},
		{post, "/usage/payments/resolve", RoleBilling, "Decide about a payment that waits", with(o.ResolvePayment)},
		{get, "/figures", RoleViewer, "Count the calls of each minute or hour", with(o.CallFigures)},
		{get, "/calls", RoleViewer, "Search requests", with(o.Calls)},
		{get, "/requests/{id}", RoleViewer, "Explain a request", with(o.Why)},
		{post, "/decide", RoleViewer, "Decide a call by a policy, without making it", with(o.Decide)},
		{post, "/policy/impact", RoleViewer, "Compare an edited policy with recorded calls", with(o.Impact)},
		{get, "/policy", RoleViewer, "Show the file of the policy", with(o.PolicyText)},
		{get, "/policy/changes", RoleViewer, "Describe what changed for agents from one policy to another", with(o.PolicyChanges)},
		{post, "/policy", RoleAdmin, "Replace the file of the policy, and reload", with(o.SavePolicy)},
		{get, "/catalogue", RoleViewer, "List intents with their terms and their use", with(o.Catalogue)},
		{get, "/curation", RoleViewer, "Show the curation of an import", with(o.Curation)},
		{post, "/curation/impact", RoleViewer, "Show what an edited curation would change", with(o.CurationImpact)},
		{post, "/curation", RoleAdmin, "Replace the curation and what depends on it, and reload", with(o.SaveCuration)},
		{get, "/connections", RoleViewer, "Show how clients connect to a service", with(o.Connections)},
		{get, "/playground", RoleViewer, "Show the test agent of a service", with(o.TestAgent)},
		{post, "/playground/agree", RoleOperator, "Make the test agent agree to the policy in force", with(o.AgreeTest)},
		{post, "/playground/call", RoleOperator, "Call an intent as the test agent", with(o.TryCall)},
		{get, "/keys", RoleViewer, "List signing keys", bare(o.Keys)},
		{post, "/keys/rotate", RoleAdmin, "Rotate a signing key", with(o.RotateKey)},
		{post, "/keys/retire", RoleAdmin, "Retire all signing keys", with(o.RetireKeys)},
		{post, "/keys/{id}/retire", RoleAdmin, "Retire a signing key", with(o.RetireKey)},
	}
}

// A call is one request over HTTP.
type call struct {
	*http.Request
	query   *query
	subject string // the changed record, for the log
	detail  map[string]string
}

// change returns what the call changes by an operation.
func (c *call) change(o operation) Change {
	return Change{o.name(), Record{Service: c.query.meant, ID: c.subject}, c.detail}
}

// readCall reads the query and the record id of a request.
func readCall(o *Operator, r *http.Request) (*call, error) {
	values, err := readQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if len(id) > maxText || !printableText(id) {
		return nil, reason.NoSuchRecord.Refusal("")
	}
	resolve := func(name string) (string, error) {
		s, err := o.services.Find(name)
		if err != nil {
			return "", err
		}
		return s.ID, nil
	}
	return &call{Request: r, query: &query{values: values, id: id, resolve: resolve}, subject: id}, nil
}

// with returns an endpoint that reads the request of an operation, of type Q, and carries out the operation.
func with[Q, A any, P interface {
	*Q
	Request
}](do func(context.Context, Q) (A, error),
) endpoint {
	return endpoint{P(new(Q)), reflect.TypeFor[A](), func(c *call) (any, error) {
		var q Q
		P(&q).parameters(c.query)
		if err := c.query.done(); err != nil {
			return nil, err
		}
		if err := c.members(P(&q)); err != nil {
			return nil, err
		}
		c.detail = DetailsOf(q)
		answer, err := do(c.Context(), q)
		if err == nil {
			c.detail = DetailsOf(q, answer)
		}
		return answered(c)(answer, err)
	}}
}

// bare returns an endpoint of an operation without input.
func bare[A any](do func(context.Context) (A, error)) endpoint {
	return endpoint{nil, reflect.TypeFor[A](), func(c *call) (any, error) {
		if err := c.query.done(); err != nil {
			return nil, err
		}
		if err := c.members(nil); err != nil {
			return nil, err
		}
		return answered(c)(do(c.Context()))
	}}
}

// answered returns a function that passes on a result, and sets c.subject to the record that the result names, if it names one.
func answered(c *call) func(any, error) (any, error) {
	return func(answer any, err error) (any, error) {
		if named, ok := answer.(interface{ subject() string }); ok && err == nil {
			c.subject = named.subject()
		}
		return answer, err
	}
}

// members reads the members of the body into request. An empty body counts as an empty object. Unknown members are an error.
func (c *call) members(request Request) error {
	if c.Method == http.MethodGet {
		return nil
	}
	object := map[string]any{}
	if c.ContentLength != 0 {
		var err error
		limit := int64(maxBody)
		if large, ok := request.(largeBody); ok {
			limit = large.maxBody()
		}
		if object, err = wire.ReadObject(c.Request, limit); err != nil {
			return err
		}
	}
	m := wire.NewMembers(object)
	if b, ok := request.(requestBody); ok {
		return b.members(m)
	}
	return m.Done()
}
