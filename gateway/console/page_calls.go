package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var (
	decisions = []string{"permit", "deny", "pending"}
	outcomes  = []string{string(store.Done), string(store.Failed), string(store.NotSent), string(store.Unknown)}
)

func (r *request) callsPage() error {
	if id := strings.TrimSpace(r.URL.Query().Get("request")); id != "" {
		return r.redirect(r.address(at("calls", id)))
	}
	l := listing[calls.Call]{
		caption: "Requests, the newest first", empty: "No request matches. The index keeps requests for audit.index.retain.",
		columns: []column[calls.Call]{
			{"Time", func(c calls.Call) cell { return when(c.At) }},
			{"Request", func(c calls.Call) cell { return r.requestCell(c.RequestID) }},
			{"Service", func(c calls.Call) cell { return text(c.Service) }},
			{"Agent", func(c calls.Call) cell { return r.agentOf(c) }},
			{"Intent", func(c calls.Call) cell { return text(cmp.Or(c.Intent, c.Request)) }},
			{"Decision", func(c calls.Call) cell { return decisionCell(c.Decision) }},
			{"Reason", func(c calls.Call) cell { return text(string(c.Reason)) }},
			{"Outcome", func(c calls.Call) cell { return text(c.Outcome) }},
			{"Charge", func(c calls.Call) cell { return amount(c.Charge, "") }},
			{"Took (ms)", func(c calls.Call) cell { return cell{Text: millis(c.Millis), Number: true} }},
		},
		fetch: func(ctx context.Context, p api.PageRequest) (api.Page[calls.Call], error) {
			q := r.URL.Query()
			return r.console.Operator.Calls.Calls(ctx, calls.CallQuery{
				PageRequest: p, Service: r.callsOf(), AgentID: pat.AgentID(q.Get("agent")), Intent: q.Get("intent"), Reason: q.Get("reason"),
				Decision: oneOf(q.Get("decision"), decisions), Outcome: oneOf(q.Get("outcome"), outcomes), From: r.moment("from"), To: r.moment("to"),
			})
		},
	}
	return l.page(r, pageView{
		Title: "Calls", Lead: "To see why a call was refused or failed, search for the request_id that the agent's error shows. " +
			"Without the id, choose the agent, and the decision deny or the outcome failed.",
	},
		r.filtered(
			r.search("request", "Request id"), r.search("agent", "Agent id"), r.search("intent", "Intent"), r.search("reason", "Reason"),
			r.choice("decision", "Decision", decisions...), r.choice("outcome", "Outcome", outcomes...),
			r.time("from", "From (UTC)"), r.time("to", "To (UTC)"),
			field{ID: "scope", Name: "scope", Label: "Of", Options: []option{
				{Label: r.service()}, {Value: everyService, Label: "every service, and none", Selected: r.callsOf() == ""},
			}}))
}

// callsOf returns the service whose requests the list shows; empty: every service, and requests that belong to none.
func (r *request) callsOf() string {
	if r.URL.Query().Get("scope") == everyService {
		return ""
	}
	return r.service()
}

// agentOf returns a link to the agent of a request, at the service of the request.
func (r *request) agentOf(c calls.Call) cell {
	if c.AgentID == "" || c.Service == r.service() {
		return r.agentCell(c.AgentID)
	}
	return link(string(c.AgentID), with(at("agents", string(c.AgentID)), "service", c.Service))
}

// requestCell links to the explanation of a request. A page shows the beginning of the id.
func (r *request) requestCell(id string) cell {
	const shown = 8
	c := cell{Text: id, Href: r.address(at("calls", id))}
	if runes := []rune(id); len(runes) > shown {
		c.Short = string(runes[:shown])
	}
	return c
}

// time is a field of filters for a time.
func (r *request) time(name, label string) field {
	return field{ID: name, Name: name, Label: label, Type: "datetime-local", Value: r.URL.Query().Get(name)}
}

func millis(ms float64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', 2, 64)
}

func decisionCell(decision string) cell {
	return cell{Text: decision, State: map[string]string{"permit": "ok", "deny": "bad", "pending": "warn"}[decision]}
}

// callPage explains the requests with one id.
func (r *request) callPage() error {
	id := r.PathValue("id")
	list, err := r.console.Operator.Calls.Why(r.Context(), calls.RequestRecord{ID: id})
	if err != nil {
		return err
	}
	p := pageView{Title: "Request " + id}
	if n := len(list.Items); n > 1 {
		p.Lead = fmt.Sprintf("%d requests have this id, the oldest first: clients can choose the ids of their requests.", n)
	}
	for i := range list.Items {
		p.Sections = append(p.Sections, r.explained(&list.Items[i])...)
	}
	if w := list.Items[len(list.Items)-1]; w.Agent != "" && w.Intent != "" {
		p.Sections = append(p.Sections, r.clauseSections(id, &w)...)
		p.Sections = append(p.Sections, section{Title: "Decide it again", Forms: []form{r.decideForm(id, "", "")}})
	}
	return r.show(http.StatusOK, p)
}

// explained are the sections about one request. The links of the page then point to the service of this request.
func (r *request) explained(w *calls.Why) []section {
	r.of = w.Service
	decided := section{Title: decisionTitle(w), Facts: facts(
		fact{"Decision", decisionCell(w.Decision)}, fact{"Reason", text(string(w.Reason))}, fact{"Message", text(w.Message)},
		fact{"Status", text(strconv.Itoa(w.Status))}, fact{"Shed for", text(string(w.Cause))}, fact{"Retry after", text(seconds(w.RetryAfter))},
		fact{"Time", when(w.At)}, fact{"Agent", r.agentCell(pat.AgentID(w.Agent))}, fact{"Intent", text(w.Intent)},
		fact{"Request", text(w.Request)}, fact{"Door", text(w.Door)}, fact{"Service", text(w.Service)}, fact{"Rule", text(w.Rule)},
		fact{"Agreement", r.agreementCell(w.Agreement)}, fact{"PAT", code(w.Token)}, fact{"Policy", code(w.Digest)},
		fact{"Process", text(w.Process)}, fact{"Trace", r.traceCell(w.TraceID)},
		fact{"Duties", text(strings.Join(w.Duties, ", "))}, fact{"Outcome", text(w.Outcome)},
		fact{"Status of the API", text(positive(w.UpstreamStatus))}, fact{"The API took", text(suffixed(millis(w.UpstreamMillis), " ms"))},
		fact{"Charge", text(strings.TrimSpace(w.Charge + " " + w.ChargeState))},
		fact{"Record of the charge", r.executionCell(w.ExecutionID)},
	)}
	if w.Replayed {
		decided.Text = "The response is that of an earlier call with the same idempotency key."
	}
	out := []section{decided}
	if found := foundTable(w); len(found.Rows) > 0 {
		out = append(out, section{Title: "What the policy required and found", Table: &found})
	}
	if len(w.Limits) > 0 {
		t := table{Caption: "Limits after the call", Columns: heads("Limit", "#Left", "Resets in", "Of")}
		for _, l := range w.Limits {
			t.Rows = append(t.Rows, []cell{text(l.Limit), number(l.Left), text(seconds(l.Resets)), code(l.ID)})
		}
		out = append(out, section{Title: "Limits", Table: &t})
	}
	if len(w.Steps) > 0 {
		out = append(out, section{Title: "Steps", Text: stepsText(w), Table: stepsTable(w.Steps)})
	}
	return append(out, receiptSections(r.chargedReceipt(w))...)
}

func decisionTitle(w *calls.Why) string {
	switch {
	case w.Reason != "" && w.Decision == "permit":
		return "Why it failed"
	case w.Reason != "":
		return "Why it was refused"
	case w.Decision == "pending":
		return "Why it waits"
	default:
		return "Why it was permitted"
	}
}

func stepsText(w *calls.Why) string {
	switch {
	case w.Reason == "":
		return ""
	case w.Decision == "permit":
		return "The gateway permitted the call, which failed in a later step."
	}
	return "The last step that was reached refused the call."
}

// callSteps are the steps of a call, in order.
var callSteps = []string{"authenticate", "resolve", "validate", "prove", "decide", "begin", "call", "shape", "settle"}

// stepsTable shows all steps of a call, with the time at which each began, counted from the first step.
func stepsTable(steps []record.Step) *table {
	took := map[string]float64{}
	for _, s := range steps {
		took[s.Name] = s.Millis
	}
	t := &table{Caption: "Steps of the call", Columns: heads("Step", "#Began after (ms)", "#Took (ms)")}
	var began float64
	for i, name := range callSteps {
		ms, reached := took[name]
		if !reached {
			t.Rows = append(t.Rows, []cell{text(strconv.Itoa(i+1) + " " + name), {}, {Text: "not reached", Number: true}})
			continue
		}
		t.Rows = append(t.Rows, []cell{
			text(strconv.Itoa(i+1) + " " + name),
			{Text: strconv.FormatFloat(began, 'f', 3, 64), Number: true},
			{Text: strconv.FormatFloat(ms, 'f', 3, 64), Number: true},
		})
		began += ms
	}
	return t
}

// traceCell returns a link to a trace if telemetry.trace_url is set.
func (r *request) traceCell(id string) cell {
	address := r.console.Directory.Current().TraceURL
	if id == "" || address == "" {
		return code(id)
	}
	return link(id, strings.ReplaceAll(address, "{trace_id}", url.PathEscape(id)))
}

// chargedReceipt shows the receipt of a call that was charged.
func (r *request) chargedReceipt(w *calls.Why) cell {
	if w.Charge == "" {
		return cell{}
	}
	return r.receiptCell(w.ExecutionID)
}

// clauseSections compare each constraint of the policy that decided a call with the recorded facts. They are empty if the store no longer
// has the policy, or if no policy decided.
func (r *request) clauseSections(id string, w *calls.Why) []section {
	if w.Digest == "" || w.Rule == "" && w.Reason == "" {
		return nil
	}
	d, err := r.console.Operator.Policies.Decide(
		r.Context(),
		policies.DecideRequest{Service: w.Service, RequestID: id, PolicyDigest: w.Digest},
	)
	if err != nil || len(d.Constraints) == 0 {
		return nil
	}
	return []section{{
		Title: "Clause by clause", Text: "The policy of that time, with the recorded facts.", Table: clauseTable(d.Constraints),
	}}
}

func foundTable(w *calls.Why) table {
	t := table{Caption: "Requirements and facts", Columns: heads("", "What", "Value")}
	for _, wanted := range w.Wanted {
		t.Rows = append(t.Rows, []cell{{Text: "wanted", State: "bad"}, text(wanted), {}})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Found)) {
		t.Rows = append(t.Rows, []cell{text("found"), text(name), code(jsonText(w.Found[name]))})
	}
	for _, name := range w.FromParameters {
		t.Rows = append(t.Rows, []cell{text("found"), text(name), text("a value from the parameters, which is not recorded")})
	}
	if w.Shortened {
		t.Rows = append(t.Rows, []cell{text("found"), text("further facts"), text("too long to record")})
	}
	return t
}

func seconds(n int64) string {
	if n <= 0 {
		return ""
	}
	return (time.Duration(n) * time.Second).String()
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func suffixed(s, suffix string) string {
	if s == "" {
		return ""
	}
	return s + suffix
}

func (r *request) agreementCell(id string) cell {
	if id == "" {
		return cell{}
	}
	return link(id, r.address(at("agreements", id)))
}

// executionCell links to the record of a call.
func (r *request) executionCell(id string) cell {
	if id == "" {
		return cell{}
	}
	return link(id, r.address(at("money", "calls", id)))
}

// mostPolicy is the maximum length of the text of a policy that a form shows, in bytes of HTML.
const mostPolicy = 60 << 10
