package admin

import (
	"context"
	"net/http"
	"reflect"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// An endpoint carries out an operation for requests over HTTP.
type endpoint struct {
	operation.Route
	request  any          // a pointer to an empty request
	response reflect.Type // of the result
	do       func(*call) (any, error)
	call     any // the function that carries out the operation
}

// reloads reports whether an operation reloads the configuration.
func (e *endpoint) reloads() bool {
	name := e.Name()
	return name == operation.Reload.Name() || name == operation.SavePolicy.Name() || name == operation.SaveCuration.Name()
}

// endpoints returns the endpoints of all operations.
func endpoints(o *Operator) []endpoint {
	return []endpoint{
		bind(operation.OpenAPI, bare(o.OpenAPI)),
		bind(operation.Status, bare(o.Statuses.Status)),
		bind(operation.Reload, o.Reloads.Reload),
		bind(operation.Agents, at(o, o.Agreements.Agents)),
		bind(operation.Agent, at(o, o.Agreements.Agent)),
		bind(operation.BlockAgent, at(o, o.Agreements.BlockAgent)),
		bind(operation.UnblockAgent, at(o, o.Agreements.UnblockAgent)),
		bind(operation.ApproveAgent, at(o, o.Agreements.ApproveAgent)),
		bind(operation.AddAgentKey, at(o, o.Agreements.AddAgentKey)),
		bind(operation.NameAgent, at(o, o.Agreements.NameAgent)),
		bind(operation.Buyer, at(o, o.Billing.Buyer)),
		bind(operation.SetBuyer, at(o, o.Billing.SetBuyer)),
		bind(operation.Invoice, at(o, o.Billing.Invoice)),
		bind(operation.IssueInvoice, at(o, o.Billing.IssueInvoice)),
		bind(operation.Evidence, at(o, o.Billing.Evidence)),
		bind(operation.ConsoleLink, o.SignIn.ConsoleLink),
		bind(operation.EndConsoleSession, o.SignIn.EndConsoleSession),
		bind(operation.Invite, at(o, o.Agreements.Invite)),
		bind(operation.Agreements, at(o, o.Agreements.Agreements)),
		bind(operation.Agreement, at(o, o.Agreements.Agreement)),
		bind(operation.ExportAgreement, at(o, o.Agreements.ExportAgreement)),
		bind(operation.VerifyAgreement, at(o, o.Agreements.VerifyAgreement)),
		bind(operation.RevokeAgreement, at(o, o.Agreements.RevokeAgreement)),
		bind(operation.Policies, at(o, o.Policies.Policies)),
		bind(operation.RevokePolicy, at(o, o.Agreements.RevokePolicy)),
		bind(operation.PATs, at(o, o.Agreements.PATs)),
		bind(operation.PAT, at(o, o.Agreements.PAT)),
		bind(operation.RevokePAT, at(o, o.Agreements.RevokePAT)),
		bind(operation.Introspect, at(o, o.Agreements.Introspect)),
		bind(operation.Accounts, at(o, o.Billing.Accounts)),
		bind(operation.Statements, at(o, o.Billing.Statements)),
		bind(operation.Ledger, at(o, o.Calls.Ledger)),
		bind(operation.Executions, at(o, o.Calls.Executions)),
		bind(operation.Execution, at(o, o.Calls.Execution)),
		bind(operation.Receipt, at(o, o.Billing.Receipt)),
		bind(operation.Resolve, at(o, o.Calls.Resolve)),
		bind(operation.Refund, at(o, o.Billing.Refund)),
		bind(operation.Refunds, at(o, o.Billing.Refunds)),
		bind(operation.CreditNote, at(o, o.Billing.CreditNote)),
		bind(operation.IssuedInvoices, at(o, o.Billing.IssuedInvoices)),
		bind(operation.Revenue, at(o, o.Billing.Revenue)),
		bind(operation.ResolveNotSent, at(o, o.Calls.ResolveNotSent)),
		bind(operation.TopUp, at(o, o.Billing.TopUp)),
		bind(operation.MoveCredit, at(o, o.Billing.MoveCredit)),
		bind(operation.Reloads, bare(o.Reloads.Reloads)),
		bind(operation.Processes, bare(o.Processes.Processes)),
		bind(operation.Stops, o.Processes.Stops),
		bind(operation.Stop, o.Processes.Stop),
		bind(operation.Resume, o.Processes.Resume),
		bind(operation.Payments, at(o, o.Billing.Payments)),
		bind(operation.ResolvePayment, at(o, o.Billing.ResolvePayment)),
		bind(operation.CallFigures, o.Processes.CallFigures),
		bind(operation.Calls, o.Calls.Calls),
		bind(operation.Why, o.Calls.Why),
		bind(operation.Decide, o.Policies.Decide),
		bind(operation.Impact, at(o, o.Policies.Impact)),
		bind(operation.PolicyText, at(o, o.Policies.PolicyText)),
		bind(operation.PolicyChanges, at(o, o.Policies.PolicyChanges)),
		bind(operation.SavePolicy, at(o, o.Policies.SavePolicy)),
		bind(operation.Catalogue, at(o, o.Catalogue.Catalogue)),
		bind(operation.Curation, at(o, o.Policies.Curation)),
		bind(operation.CurationImpact, at(o, o.Policies.CurationImpact)),
		bind(operation.SaveCuration, at(o, o.Policies.SaveCuration)),
		bind(operation.Connections, at(o, o.Catalogue.Connections)),
		bind(operation.TestAgent, at(o, o.TestCalls.TestAgent)),
		bind(operation.AgreeTest, at(o, o.TestCalls.AgreeTest)),
		bind(operation.TryCall, at(o, o.TestCalls.TryCall)),
		bind(operation.Keys, bare(o.Agreements.Keys)),
		bind(operation.RotateKey, o.Agreements.RotateKey),
		bind(operation.RetireKeys, o.Agreements.RetireKeys),
		bind(operation.RetireKey, o.Agreements.RetireKey),
	}
}

// A call is one request over HTTP.
type call struct {
	*http.Request
	query   *query
	subject string // the changed record, for the log
	detail  map[string]string
}

// change describes, for the audit stream, the change that an operation makes for the call.
func (c *call) change(name string) api.Change {
	return api.Change{Operation: name, About: api.Record{Service: c.query.meant, ID: c.subject}, Detail: c.detail}
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

// bind returns the endpoint of an operation that the function do carries out.
func bind[Q, A any](o operation.Operation[Q, A], do func(context.Context, Q) (A, error)) endpoint {
	return endpoint{o.Route, new(Q), reflect.TypeFor[A](), func(c *call) (any, error) {
		var q Q
		api.Query(&q, c.query)
		if err := c.query.done(); err != nil {
			return nil, err
		}
		if err := c.Members(&q); err != nil {
			return nil, err
		}
		c.detail = api.DetailsOf(q)
		answer, err := do(c.Context(), q)
		if err != nil {
			return nil, err
		}
		c.detail = api.DetailsOf(q, answer)
		if id, ok := api.ChangedID(answer); ok {
			c.subject = id
		}
		return answer, nil
	}, do}
}

// at adapts an operation on one service to bind. It finds the service that the request names.
func at[Q, A any](o *Operator, do func(context.Context, *service.Service, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, q Q) (answer A, err error) {
		s, err := o.services.Find(api.ServiceOf(&q))
		if err != nil {
			return answer, err
		}
		return do(ctx, s, q)
	}
}

// bare adapts an operation without input to bind.
func bare[A any](do func(context.Context) (A, error)) func(context.Context, operation.None) (A, error) {
	return func(ctx context.Context, _ operation.None) (A, error) { return do(ctx) }
}

// Members reads the members of the body into request. An empty body counts as an empty object. Unknown members are an error.
func (c *call) Members(request any) error {
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
	return api.ReadMembers(m, request)
}
