package admin

import (
	"context"
	"net/http"
	"reflect"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// An operation is one method of one path of the admin API. An operation whose method is not GET continues if its caller disconnects.
type operation struct {
	method, path string
	role         api.Role // the role that a caller needs
	summary      string   // for the document of OpenAPI
	endpoint
}

// An endpoint carries out an operation.
type endpoint struct {
	request  api.Request  // an empty request; nil: the operation has no input
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
		{get, "/openapi.json", api.RoleViewer, "Describe this API by OpenAPI 3.1", bare(o.OpenAPI)},
		{get, "/status", api.RoleViewer, "Show the services and their health", bare(o.Statuses.Status)},
		{post, "/reload", api.RoleOperator, "Read the configuration again", with(o.Reloads.Reload)},
		{get, "/agents", api.RoleViewer, "List agents", with(o.Agreements.Agents)},
		{get, "/agents/{id}", api.RoleViewer, "Show an agent", with(o.Agreements.Agent)},
		{post, "/agents/{id}/block", api.RoleOperator, "Block an agent", with(o.Agreements.BlockAgent)},
		{post, "/agents/{id}/unblock", api.RoleOperator, "Unblock an agent", with(o.Agreements.UnblockAgent)},
		{post, "/agents/{id}/approve", api.RoleOperator, "Approve an agent", with(o.Agreements.ApproveAgent)},
		{post, "/agents/{id}/keys", api.RoleOperator, "Add a key to an agent", with(o.Agreements.AddAgentKey)},
		{post, "/agents/{id}/name", api.RoleOperator, "Set or remove the name of an agent", with(o.Agreements.NameAgent)},
		{get, "/agents/{id}/buyer", api.RoleViewer, "Show the buyer of an agent", with(o.Billing.Buyer)},
		{post, "/agents/{id}/buyer", api.RoleBilling, "Set or remove the buyer of an agent", with(o.Billing.SetBuyer)},
		{get, "/agents/{id}/invoice", api.RoleViewer, "Show the invoice of an agent for a month", with(o.Billing.Invoice)},
		{post, "/agents/{id}/invoice", api.RoleBilling, "Issue the invoice of an agent for a month", with(o.Billing.IssueInvoice)},
		{get, "/agents/{id}/evidence", api.RoleViewer, "Show the signed entries of an account in a month", with(o.Billing.Evidence)},
		{post, "/console/links", api.RoleAdmin, "Create a link that signs a person in to the console", with(o.SignIn.ConsoleLink)},
		{post, "/console/sessions/{id}/end", api.RoleAdmin, "End a session of the console", with(o.SignIn.EndConsoleSession)},
		{post, "/invitations", api.RoleOperator, "Invite a person to consent", with(o.Agreements.Invite)},
		{get, "/agreements", api.RoleViewer, "List agreements", with(o.Agreements.Agreements)},
		{get, "/agreements/{id}", api.RoleViewer, "Show an agreement", with(o.Agreements.Agreement)},
		{get, "/agreements/{id}/export", api.RoleViewer, "Export an agreement with its proof", with(o.Agreements.ExportAgreement)},
		{get, "/agreements/{id}/proof", api.RoleViewer, "Verify an agreement", with(o.Agreements.VerifyAgreement)},
		{post, "/agreements/{id}/revoke", api.RoleOperator, "Revoke an agreement", with(o.Agreements.RevokeAgreement)},
		{get, "/policies", api.RoleViewer, "List policies", with(o.Policies.Policies)},
		{post, "/policies/{id}/revoke", api.RoleAdmin, "Revoke all agreements to a policy", with(o.Agreements.RevokePolicy)},
		{get, "/pats", api.RoleViewer, "List PATs", with(o.Agreements.PATs)},
		{get, "/pats/{id}", api.RoleViewer, "Show a PAT", with(o.Agreements.PAT)},
		{post, "/pats/{id}/revoke", api.RoleOperator, "Revoke a PAT", with(o.Agreements.RevokePAT)},
		{post, "/introspect", api.RoleViewer, "Introspect a PAT (RFC 7662)", with(o.Agreements.Introspect)},
		{get, "/usage/accounts", api.RoleViewer, "List accounts", with(o.Billing.Accounts)},
		{get, "/usage/statements", api.RoleViewer, "List statements of accounts", with(o.Billing.Statements)},
		{get, "/usage/ledger", api.RoleViewer, "List entries of the ledger", with(o.Calls.Ledger)},
		{get, "/usage/executions", api.RoleViewer, "List executions", with(o.Calls.Executions)},
		{get, "/usage/executions/{id}", api.RoleViewer, "Show an execution", with(o.Calls.Execution)},
		{get, "/usage/executions/{id}/receipt", api.RoleViewer, "Show the receipt of a charged call", with(o.Billing.Receipt)},
		{
			post,
			"/usage/executions/{id}/resolve",
			api.RoleBilling,
			"Capture or release the charge of a call of unknown outcome",
			with(o.Calls.Resolve),
		},
		{post, "/usage/executions/{id}/refund", api.RoleBilling, "Refund a captured charge", with(o.Billing.Refund)},
		{get, "/usage/refunds", api.RoleViewer, "List refunds", with(o.Billing.Refunds)},
		{get, "/usage/refunds/{id}", api.RoleViewer, "Show a credit note", with(o.Billing.CreditNote)},
		{get, "/usage/invoices", api.RoleViewer, "List issued invoices", with(o.Billing.IssuedInvoices)},
		{get, "/usage/revenue", api.RoleViewer, "Sum up revenue by intent, agent or month", with(o.Billing.Revenue)},
		{post, "/usage/not-sent", api.RoleBilling, "Release the charges of calls that did not reach the service", with(o.Calls.ResolveNotSent)},
		{post, "/usage/top-up", api.RoleBilling, "Top up an account, or reverse a top-up", with(o.Billing.TopUp)},
		{post, "/usage/move", api.RoleBilling, "Move unused credit to another agent", with(o.Billing.MoveCredit)},
		{get, "/reloads", api.RoleViewer, "List the last reloads of the configuration, and what they changed", bare(o.Reloads.Reloads)},
		{get, "/processes", api.RoleViewer, "List the processes that share the database", bare(o.Processes.Processes)},
		{get, "/stops", api.RoleViewer, "List the stops in force, or the stops that ended", with(o.Processes.Stops)},
		{post, "/stops", api.RoleOperator, "Stop calls", with(o.Processes.Stop)},
		{post, "/stops/resume", api.RoleOperator, "End a stop", with(o.Processes.Resume)},
		{get, "/usage/payments", api.RoleViewer, "List payments", with(o.Billing.Payments)},
		{post, "/usage/payments/resolve", api.RoleBilling, "Decide about a payment that waits", with(o.Billing.ResolvePayment)},
		{get, "/figures", api.RoleViewer, "Count the calls of each minute or hour", with(o.Processes.CallFigures)},
		{get, "/calls", api.RoleViewer, "Search requests", with(o.Calls.Calls)},
		{get, "/requests/{id}", api.RoleViewer, "Explain a request", with(o.Calls.Why)},
		{post, "/decide", api.RoleViewer, "Decide a call by a policy, without making it", with(o.Policies.Decide)},
		{post, "/policy/impact", api.RoleViewer, "Compare an edited policy with recorded calls", with(o.Policies.Impact)},
		{get, "/policy", api.RoleViewer, "Show the file of the policy", with(o.Policies.PolicyText)},
		{get, "/policy/changes", api.RoleViewer, "Describe what changed for agents from one policy to another", with(o.Policies.PolicyChanges)},
		{post, "/policy", api.RoleAdmin, "Replace the file of the policy, and reload", with(o.Policies.SavePolicy)},
		{get, "/catalogue", api.RoleViewer, "List intents with their terms and their use", with(o.Catalogue.Catalogue)},
		{get, "/curation", api.RoleViewer, "Show the curation of an import", with(o.Policies.Curation)},
		{post, "/curation/impact", api.RoleViewer, "Show what an edited curation would change", with(o.Policies.CurationImpact)},
		{post, "/curation", api.RoleAdmin, "Replace the curation and what depends on it, and reload", with(o.Policies.SaveCuration)},
		{get, "/connections", api.RoleViewer, "Show how clients connect to a service", with(o.Catalogue.Connections)},
		{get, "/playground", api.RoleViewer, "Show the test agent of a service", with(o.TestCalls.TestAgent)},
		{post, "/playground/agree", api.RoleOperator, "Make the test agent agree to the policy in force", with(o.TestCalls.AgreeTest)},
		{post, "/playground/call", api.RoleOperator, "Call an intent as the test agent", with(o.TestCalls.TryCall)},
		{get, "/keys", api.RoleViewer, "List signing keys", bare(o.Agreements.Keys)},
		{post, "/keys/rotate", api.RoleAdmin, "Rotate a signing key", with(o.Agreements.RotateKey)},
		{post, "/keys/retire", api.RoleAdmin, "Retire all signing keys", with(o.Agreements.RetireKeys)},
		{post, "/keys/{id}/retire", api.RoleAdmin, "Retire a signing key", with(o.Agreements.RetireKey)},
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
func (c *call) change(o operation) api.Change {
	return api.Change{Operation: o.name(), About: api.Record{Service: c.query.meant, ID: c.subject}, Detail: c.detail}
}

// readCall reads the query and the record id of a request.
func readCall(o *Operator, r *http.Request) (*call, error) {
	values, err := readQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if len(id) > api.MaxText || !api.Printable(id) {
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
	api.Request
}](do func(context.Context, Q) (A, error),
) endpoint {
	return endpoint{P(new(Q)), reflect.TypeFor[A](), func(c *call) (any, error) {
		var q Q
		P(&q).Query(c.query)
		if err := c.query.done(); err != nil {
			return nil, err
		}
		if err := c.Members(P(&q)); err != nil {
			return nil, err
		}
		c.detail = api.DetailsOf(q)
		answer, err := do(c.Context(), q)
		if err == nil {
			c.detail = api.DetailsOf(q, answer)
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
		if err := c.Members(nil); err != nil {
			return nil, err
		}
		return answered(c)(do(c.Context()))
	}}
}

// answered returns a function that passes on a result, and sets c.subject to the record that the result names, if it names one.
func answered(c *call) func(any, error) (any, error) {
	return func(answer any, err error) (any, error) {
		if id, ok := api.ChangedID(answer); ok && err == nil {
			c.subject = id
		}
		return answer, err
	}
}

// Members reads the members of the body into request. An empty body counts as an empty object. Unknown members are an error.
func (c *call) Members(request api.Request) error {
	if c.Method == http.MethodGet {
		return nil
	}
	object := map[string]any{}
	if c.ContentLength != 0 {
		var err error
		limit := int64(api.MaxBody)
		if large, ok := request.(api.LargeBody); ok {
			limit = large.MaxBody()
		}
		if object, err = wire.ReadObject(c.Request, limit); err != nil {
			return err
		}
	}
	m := wire.NewMembers(object)
	if b, ok := request.(api.Body); ok {
		return b.Members(m)
	}
	return m.Done()
}
