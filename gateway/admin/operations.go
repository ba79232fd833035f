package admin

import (
	"context"
	"net/http"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// An operation is one method of one path of the admin API. An operation whose method is not GET continues if its caller disconnects.
type operation struct {
	method, path string
	role         Role // the role that a caller needs
	do           func(*call) (any, error)
}

// name identifies an operation in the log and in the audit stream.
func (o *operation) name() string { return o.method + " " + o.path }

func operations(o *Operator) []operation {
	get, post := http.MethodGet, http.MethodPost
	return []operation{
		{get, "/status", RoleViewer, bare(o.Status)},
		{post, "/reload", RoleOperator, with(o.Reload)},
		{get, "/agents", RoleViewer, with(o.Agents)},
		{get, "/agents/{id}", RoleViewer, with(o.Agent)},
		{post, "/agents/{id}/block", RoleOperator, with(o.BlockAgent)},
		{post, "/agents/{id}/unblock", RoleOperator, with(o.UnblockAgent)},
		{post, "/agents/{id}/approve", RoleOperator, with(o.ApproveAgent)},
		{post, "/agents/{id}/keys", RoleOperator, with(o.AddAgentKey)},
		{post, "/agents/{id}/name", RoleOperator, with(o.NameAgent)},
		{get, "/agents/{id}/buyer", RoleViewer, with(o.Buyer)},
		{post, "/agents/{id}/buyer", RoleBilling, with(o.SetBuyer)},
		{get, "/agents/{id}/invoice", RoleViewer, with(o.Invoice)},
		{post, "/agents/{id}/invoice", RoleBilling, with(o.IssueInvoice)},
		{get, "/agents/{id}/evidence", RoleViewer, with(o.Evidence)},
		{post, "/console/links", RoleAdmin, with(o.ConsoleLink)},
		{post, "/invitations", RoleOperator, with(o.Invite)},
		{get, "/agreements", RoleViewer, with(o.Agreements)},
		{get, "/agreements/{id}", RoleViewer, with(o.Agreement)},
		{get, "/agreements/{id}/export", RoleViewer, with(o.ExportAgreement)},
		{post, "/agreements/{id}/revoke", RoleOperator, with(o.RevokeAgreement)},
		{get, "/policies", RoleViewer, with(o.Policies)},
		{post, "/policies/{id}/revoke", RoleAdmin, with(o.RevokePolicy)},
		{get, "/pats", RoleViewer, with(o.PATs)},
		{get, "/pats/{id}", RoleViewer, with(o.PAT)},
		{post, "/pats/{id}/revoke", RoleOperator, with(o.RevokePAT)},
		{post, "/introspect", RoleViewer, with(o.Introspect)},
		{get, "/usage/accounts", RoleViewer, with(o.Accounts)},
		{get, "/usage/statements", RoleViewer, with(o.Statements)},
		{get, "/usage/ledger", RoleViewer, with(o.Ledger)},
		{get, "/usage/executions", RoleViewer, with(o.Executions)},
		{get, "/usage/executions/{id}", RoleViewer, with(o.Execution)},
		{post, "/usage/executions/{id}/resolve", RoleBilling, with(o.Resolve)},
		{post, "/usage/executions/{id}/refund", RoleBilling, with(o.Refund)},
		{get, "/usage/refunds", RoleViewer, with(o.Refunds)},
		{get, "/usage/refunds/{id}", RoleViewer, with(o.CreditNote)},
		{get, "/usage/invoices", RoleViewer, with(o.IssuedInvoices)},
		{get, "/usage/revenue", RoleViewer, with(o.Revenue)},
		{post, "/usage/not-sent", RoleBilling, with(o.ResolveNotSent)},
		{post, "/usage/top-up", RoleBilling, with(o.TopUp)},
		{get, "/stops", RoleViewer, with(o.Stops)},
		{post, "/stops", RoleOperator, with(o.Stop)},
		{post, "/stops/resume", RoleOperator, with(o.Resume)},
		{get, "/usage/payments", RoleViewer, with(o.Payments)},
		{post, "/usage/payments/resolve", RoleBilling, with(o.ResolvePayment)},
		{get, "/figures", RoleViewer, with(o.CallFigures)},
		{get, "/calls", RoleViewer, with(o.Calls)},
		{get, "/requests/{id}", RoleViewer, with(o.Why)},
		{post, "/decide", RoleViewer, with(o.Decide)},
		{post, "/policy/impact", RoleViewer, with(o.Impact)},
		{get, "/policy", RoleViewer, with(o.PolicyText)},
		{post, "/policy", RoleAdmin, with(o.SavePolicy)},
		{get, "/keys", RoleViewer, bare(o.Keys)},
		{post, "/keys/rotate", RoleAdmin, with(o.RotateKey)},
		{post, "/keys/retire", RoleAdmin, with(o.RetireKeys)},
		{post, "/keys/{id}/retire", RoleAdmin, with(o.RetireKey)},
	}
}

// A call is one request over HTTP.
type call struct {
	*http.Request
	query   *query
	subject string // the changed record, for the log
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
		s, err := o.service(name)
		if err != nil {
			return "", err
		}
		return s.ID, nil
	}
	return &call{Request: r, query: &query{values: values, id: id, resolve: resolve}, subject: id}, nil
}

// with returns a function that reads the request of an operation, of type Q, and carries out the operation.
func with[Q, A any, P interface {
	*Q
	Request
}](do func(context.Context, Q) (A, error),
) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var q Q
		P(&q).parameters(c.query)
		if err := c.query.done(); err != nil {
			return nil, err
		}
		if err := c.members(P(&q)); err != nil {
			return nil, err
		}
		return answered(c)(do(c.Context(), q))
	}
}

// bare returns a function that carries out an operation without input.
func bare[A any](do func(context.Context) (A, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		if err := c.query.done(); err != nil {
			return nil, err
		}
		if err := c.members(nil); err != nil {
			return nil, err
		}
		return answered(c)(do(c.Context()))
	}
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

// A largeBody is a request whose body may be larger than maxBody.
type largeBody interface{ maxBody() int64 }

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
