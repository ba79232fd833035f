package console

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func (r *request) agentsPage() error {
	q := r.URL.Query()
	l := listing[agreements.Agent]{
		caption: "Agents, by id", empty: "No agent matches.",
		columns: []column[agreements.Agent]{
			{"Agent", func(a agreements.Agent) cell { return r.agentCell(a.AgentID) }},
			{"Name", func(a agreements.Agent) cell { return text(a.Name) }},
			{"Status", func(a agreements.Agent) cell { return agentState(a) }},
			{"Approved", func(a agreements.Agent) cell { return text(yesNo(a.Approved)) }},
			{"Since", func(a agreements.Agent) cell { return when(a.CreatedAt) }},
		},
		fetch: pagesOf(r, operation.Agents, agreements.AgentQuery{
			Service: r.service(), Search: q.Get("search"), Status: pat.AgentStatus(oneOf(q.Get("status"), agentStates)),
			Approved: oneOf(q.Get("approved"), []string{"true", "false"}),
		}),
	}
	return l.page(r, pageView{Title: "Agents"}, r.filtered(r.search("search", "Id or name begins with"),
		r.choice("status", "Status", agentStates...), r.choice("approved", "Approved", "true", "false")))
}

var agentStates = []string{string(pat.AgentActive), string(agreements.Waiting), string(pat.AgentBlocked)}

// oneOf returns value if it is one of values, and otherwise an empty string, which selects everything.
func oneOf(value string, values []string) string {
	for _, v := range values {
		if v == value {
			return v
		}
	}
	return ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func agentState(a agreements.Agent) cell {
	state := map[pat.AgentStatus]string{pat.AgentActive: "ok", agreements.Waiting: "warn", pat.AgentBlocked: "bad"}[a.Status]
	return cell{Text: string(a.Status), State: state}
}

// agentCell links to the page of an agent.
func (r *request) agentCell(id pat.AgentID) cell {
	if id == "" {
		return cell{}
	}
	return cell{Text: string(id), Href: r.address(at("agents", string(id)))}
}

func (r *request) agentPage() error {
	id := r.PathValue("id")
	agent, err := read(r, operation.Agent, r.record(id))
	if err != nil {
		return err
	}
	accounts, err := read(r, operation.Accounts, billing.AccountQuery{Service: r.service(), AgentID: agent.AgentID})
	if err != nil {
		return err
	}
	agreements, err := r.agreementsOf(agent.AgentID).table(r)
	if err != nil {
		return err
	}
	agreements.CSV = ""
	buyer, err := read(r, operation.Buyer, r.record(id))
	if err != nil {
		return err
	}
	list := make([]string, 0, len(agent.Keys))
	for _, k := range agent.Keys {
		list = append(list, string(k))
	}
	stopped := r.stopOf(pat.StopAgent, id)
	facts := facts(
		fact{"Name", text(agent.Name)}, fact{"Status", agentState(agent)}, fact{"Approved", text(yesNo(agent.Approved))},
		fact{"Blocked because", text(agent.Reason)}, fact{"Since", when(agent.CreatedAt)}, fact{"Keys", code(strings.Join(list, " "))},
	)
	if stopped != nil {
		where := cmp.Or(stopped.Service, "every service")
		facts = append(facts, fact{"Stopped", cell{
			Text: strings.TrimSuffix("by "+stopped.By+" at "+where+": "+stopped.Reason, ": "), State: "bad",
		}})
	}
	var money table
	money.Caption, money.Empty = "Accounts of the agent", "The agent has no account."
	money.Columns = heads("Currency", "#Topped up", "#Held", "#Captured", "#Balance")
	for _, a := range accounts.Items {
		money.Rows = append(money.Rows, []cell{
			text(a.Currency), amount(a.ToppedUp, ""), amount(a.Held, ""), amount(a.Captured, ""),
			amount(a.Balance, ""),
		})
	}
	p := pageView{Title: "Agent " + id, Sections: []section{
		{Facts: facts, Forms: r.agentForms(agent, stopped)},
		{Title: "Money", Table: &money, Lines: nil, Forms: r.creditForms(agent, buyer)},
		{Title: "Agreements", Table: agreements},
		{Title: "Calls and invoices", Facts: []fact{
			{"Requests", link("Requests of this agent", r.address(at("calls"), "agent", id))},
			{"Charges", link("Charged calls of this agent", r.address(at("money", "calls"), "agent", id))},
			{"Ledger", link("Ledger of this agent", r.address(at("money", "ledger"), "agent", id))},
			{"Invoices", link("Issued invoices of this agent", r.address(at("money", "invoices"), "agent", id))},
			{"This month", r.draftCell(id, r.monthAt(0))},
			{"Last month", r.draftCell(id, r.monthAt(-1))},
		}},
	}}
	return r.show(http.StatusOK, p)
}

// agentForms are the changes of an agent's record.
func (r *request) agentForms(a agreements.Agent, stop *processes.Stop) (list []form) {
	id := string(a.AgentID)
	to := func(verb string) string { return r.address(at("agents", id, verb)) }
	why := field{ID: "why", Name: "reason", Label: "Reason", Hint: "For operators. The agent does not see it."}
	if a.Status == agreements.Waiting {
		list = append(list, form{Path: to("approve"), Title: "Approve", Text: "The agent can then use what it has agreed to.", Button: "Approve"})
	}
	if a.Status == pat.AgentBlocked {
		list = append(list, form{
			Path: to("unblock"), Title: "Unblock",
			Text: "The agent can agree again. Its previous PATs remain revoked.", Button: "Unblock",
		})
	} else {
		list = append(list, form{
			Path: to("block"), Title: "Block", Text: "Ends all PATs of the agent. It gets no new ones.", Button: "Block…", Danger: true,
			Fields: []field{why},
		})
	}
	if stop != nil {
		list = append(list, form{
			Path: to("resume"), Title: "Resume", Text: "The agent can make calls again.", Button: "Resume…", Danger: true,
			Fields: []field{hidden("scope", cmp.Or(stop.Service, everyService))},
		})
	} else {
		why.ID = "why-stop"
		list = append(list, form{
			Path: to("stop"), Title: "Stop now", Text: "Refuses the agent's calls on every replica. Its agreements and PATs remain.",
			Button: "Stop now…", Danger: true, Fields: []field{why},
		})
	}
	return append(list,
		form{Path: to("name"), Title: "Name", Button: "Save", Fields: []field{{
			ID: "name", Name: "name", Label: "Your name for the agent",
			Value: a.Name,
		}}},
		form{Path: to("keys"), Title: "Add a key", Button: "Add", Fields: []field{
			{ID: "jkt", Name: "jkt", Label: "Thumbprint of the key", Hint: "RFC 7638 with SHA-256: 43 characters.", Required: true},
		}})
}

// creditForms are the changes of an agent's accounts.
func (r *request) creditForms(a agreements.Agent, b billing.Buyer) []form {
	id := string(a.AgentID)
	address := append(append([]string{}, b.Address...), "", "")
	return []form{
		{
			Path: r.address(at("agents", id, "top-up")), Title: "Give credit", Button: "Top up…", Danger: true, Fields: []field{
				{ID: "amount", Name: "amount", Label: "Amount", Hint: "Such as 10.00 EUR.", Required: true},
				{
					ID: "reference", Name: "reference", Label: "Reference", Value: "console-" + random()[:12], Required: true,
					Hint: "A top-up with the same reference is made only once.",
				},
				{Name: "reverse", Label: "Subtract the amount", Type: "checkbox"},
			},
		},
		{
			Path: r.address(at("agents", id, "move")), Title: "Move credit to another agent", Button: "Move…", Danger: true,
			Text: "For example, when a person has consented again: the new consent is another agent.", Fields: []field{
				{ID: "move-to", Name: "to", Label: "To", Hint: "The id of the other agent.", Required: true},
				{
					ID:       "move-amount",
					Name:     "amount",
					Label:    "Amount",
					Hint:     "Such as 10.00 EUR. EUR alone moves all credit in EUR that is not used.",
					Required: true,
				},
				{
					ID: "move-reference", Name: "reference", Label: "Reference", Value: "console-" + random()[:12], Required: true,
					Hint: "A move with the same reference is made only once.",
				},
				{ID: "move-reason", Name: "reason", Label: "Reason", Required: true},
			},
		},
		{
			Path: r.address(at("agents", id, "buyer")), Title: "Invoices go to", Button: "Save", Fields: []field{
				{ID: "buyer", Name: "name", Label: "Name", Value: b.Name},
				{ID: "line1", Name: "line1", Label: "Address", Value: address[0]},
				{ID: "line2", Name: "line2", Label: "Address, second line", Value: address[1]},
				{ID: "country", Name: "country", Label: "Country", Value: b.Country, Hint: "Two capital letters, such as FR."},
				{ID: "tax", Name: "tax_id", Label: "Tax id", Value: b.TaxID},
				{ID: "email", Name: "email", Label: "Email", Value: b.Email},
			},
		},
		{
			Path: r.address(at("agents", id, "invoice")), Title: "Issue an invoice", Button: "Issue…", Danger: true, Fields: []field{
				{
					ID: "month", Name: "month", Label: "Month", Value: r.monthAt(-1), Required: true,
					Hint: "A month that ended more than an hour ago. First enter where invoices go.",
				},
			},
		},
	}
}

// stopOf returns the stop in force of one thing at the service of the request, or nil.
func (r *request) stopOf(kind pat.StopKind, subject string) *processes.Stop {
	stops, err := r.console.Operator.Processes.Stops(r.Context(), processes.StopQuery{})
	if err != nil {
		return nil
	}
	for _, s := range stops.Items {
		if s.Kind == kind && s.Subject == subject && (s.Service == "" || s.Service == r.service()) {
			return &s
		}
	}
	return nil
}

// agentActions are the actions on the page of an agent.
var agentActions = []action{
	{
		path: "agents/{id}/approve", operation: operation.ApproveAgent.Name(), done: "The agent is approved.", back: toAgent,
		do: func(r *request) error {
			return run(r, r.record(r.PathValue("id")), operation.ApproveAgent, r.record(r.PathValue("id")))
		},
	},
	{
		path: "agents/{id}/block", operation: operation.BlockAgent.Name(), done: "The agent is blocked.", back: toAgent,
		question: "Block this agent?",
		do: func(r *request) error {
			return run(r, r.record(r.PathValue("id")), operation.BlockAgent, r.revocation())
		},
	},
	{
		path: "agents/{id}/unblock", operation: operation.UnblockAgent.Name(), done: "The agent is no longer blocked.", back: toAgent,
		do: func(r *request) error {
			return run(r, r.record(r.PathValue("id")), operation.UnblockAgent, r.record(r.PathValue("id")))
		},
	},
	{
		path: "agents/{id}/stop", operation: operation.Stop.Name(), done: "The agent is stopped.", back: toAgent,
		question: "Stop the calls of this agent now?",
		do:       func(r *request) error { return r.stop(pat.StopAgent, r.PathValue("id"), r.service()) },
	},
	{
		path: "agents/{id}/resume", operation: operation.Resume.Name(), done: "The agent can make calls again.", back: toAgent,
		question: "Let this agent make calls again?",
		do:       func(r *request) error { return r.resume(pat.StopAgent, r.PathValue("id"), r.scope()) },
	},
	{
		path: "agents/{id}/name", operation: operation.NameAgent.Name(), done: "The name is saved.", back: toAgent,
		do: func(r *request) error {
			of := r.record(r.PathValue("id"))
			return run(r, of, operation.NameAgent, agreements.AgentName{Record: of, Name: strings.TrimSpace(r.PostForm.Get("name"))})
		},
	},
	{
		path: "agents/{id}/keys", operation: operation.AddAgentKey.Name(), done: "The key is added.", back: toAgent,
		question: "Let this key act for the agent?",
		do: func(r *request) error {
			of := r.record(r.PathValue("id"))
			key := string(keys.ID(strings.TrimSpace(r.PostForm.Get("jkt"))))
			return run(r, of, operation.AddAgentKey, agreements.AgentKey{Record: of, KeyID: key})
		},
	},
	{
		path: "agents/{id}/top-up", operation: operation.TopUp.Name(), done: "The account is changed.", back: toAgent,
		question: "Change the credit of this agent?", rows: reviewTopUp,
		do: func(r *request) error {
			of := r.record(r.PathValue("id"))
			if r.PostForm.Get("reference") == "" {
				return reason.MalformedRequest.Refusal("The reference is missing. It prevents the same top-up from being made twice.")
			}
			return run(r, of, operation.TopUp, billing.TopUp{
				Service: of.Service, AgentID: pat.AgentID(of.ID), Amount: strings.TrimSpace(r.PostForm.Get("amount")),
				Reference: r.PostForm.Get("reference"), Reverse: r.PostForm.Get("reverse") == "yes",
			})
		},
	},
	{
		path: "agents/{id}/move", operation: operation.MoveCredit.Name(), done: "The credit is moved.", back: toAgent,
		question: "Move credit of this agent?",
		do: func(r *request) error {
			of, f := r.record(r.PathValue("id")), r.PostForm
			return run(r, of, operation.MoveCredit, billing.CreditMove{
				Service: of.Service, From: pat.AgentID(of.ID), To: pat.AgentID(strings.TrimSpace(f.Get("to"))),
				Amount: strings.TrimSpace(f.Get("amount")), Reference: f.Get("reference"), Reason: f.Get("reason"),
			})
		},
	},
	{
		path: "agents/{id}/buyer", operation: operation.SetBuyer.Name(), done: "The buyer is saved.", back: toAgent,
		do: func(r *request) error {
			of, f := r.record(r.PathValue("id")), r.PostForm
			buyer := store.Buyer{Name: f.Get("name"), Country: f.Get("country"), TaxID: f.Get("tax_id"), Email: f.Get("email")}
			for _, line := range []string{f.Get("line1"), f.Get("line2")} {
				if line != "" {
					buyer.Address = append(buyer.Address, line)
				}
			}
			return run(r, of, operation.SetBuyer, billing.BuyerChange{Record: of, Buyer: buyer})
		},
	},
	{
		path: "agents/{id}/invoice", operation: operation.IssueInvoice.Name(), done: "The invoice is issued.", question: "Issue this invoice?",
		rows: reviewInvoice,
		back: func(*request) string { return at("money", "invoices") },
		do: func(r *request) error {
			of := r.record(r.PathValue("id"))
			return run(r, of, operation.IssueInvoice, billing.IssueRequest{Record: of, Month: strings.TrimSpace(r.PostForm.Get("month"))})
		},
	},
}

func toAgent(r *request) string { return at("agents", r.PathValue("id")) }

// revocation is the revocation of the record of the request.
func (r *request) revocation() api.Revocation {
	return api.Revocation{Record: r.record(r.PathValue("id")), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
}

// run carries out an operation that changes a record, for the person.
func run[Q, A any](r *request, about api.Record, op operation.Operation[Q, A], q Q) error {
	_, err := admin.Do(r.Context(), r.console.Operator, r.caller, op, about, q)
	return err
}

// read carries out an operation that changes nothing.
func read[Q, A any](r *request, op operation.Operation[Q, A], q Q) (A, error) {
	return admin.Call(r.Context(), r.console.Operator, op, q)
}
