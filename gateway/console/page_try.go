package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// mostChoices bounds the options of a field. If there are more intents, the person enters the UID of one.
const mostChoices = 100

// doorNames are the names of the protocols of test calls.
var doorNames = map[string]string{testcalls.TestUIM: "UIM over HTTP", testcalls.TestMCP: "MCP", testcalls.TestA2A: "A2A"}

// tryPage has the forms with which an operator makes calls as the test agent of a service.
func (r *request) tryPage() error {
	q := r.URL.Query()
	return r.showTry(http.StatusOK, pageView{Title: "Playground", Lead: "Make a call as a test agent. It is an agent like any other: " +
		"the policy, limits, stops and charges apply to it."}, q.Get("intent"), q.Get("door"), map[string]string{})
}

// showTry adds the sections of the playground to a page, and shows it. values are those of the fields of the call.
func (r *request) showTry(status int, p pageView, intent, through string, values map[string]string) error {
	agent, err := read(r, operation.TestAgent, testcalls.PlaygroundQuery{Service: r.service()})
	if err != nil {
		return err
	}
	s, err := r.current()
	if err != nil {
		return err
	}
	call := section{Title: "Call", Filters: r.chooseCall(s.Catalog, &agent, intent, through)}
	if in := offeredIntent(s.Catalog, intent); in != nil {
		call.Forms = []form{r.callForm(in, through, values)}
	} else if intent != "" {
		call.Text = "The service has no intent with this UID."
	}
	p.Sections = append(p.Sections, r.testAgent(&agent), call)
	return r.show(status, p)
}

// offeredIntent returns the intent with a UID, or nil if there is none.
func offeredIntent(c *intents.Catalog, uid string) *intents.Intent {
	parsed, err := intents.ParseUID(uid)
	if err != nil {
		return nil
	}
	in, _ := c.Lookup(parsed) // nil if there is none
	return in
}

// testAgent describes the test agent, and has the form that makes the agent agree.
func (r *request) testAgent(a *testcalls.TestAgent) section {
	state := map[testcalls.TestState]cell{
		testcalls.TestUnsigned: {Text: "has not agreed", State: "warn"}, testcalls.TestPending: {Text: "waits for approval", State: "warn"},
		testcalls.TestAgreed: {Text: "has agreed", State: "ok"}, testcalls.TestOutdated: {Text: "has agreed to an earlier policy", State: "warn"},
		testcalls.TestExpired: {Text: "has a PAT that has expired", State: "warn"},
	}[a.State]
	out := section{Title: "Test agent", Facts: facts(
		fact{"State", state}, fact{"Policy in force", link(a.Policy.UID, r.address(at("policy")))}, fact{"Digest", code(a.Policy.Digest)},
	)}
	if a.AgreementID != "" {
		out.Facts = append(out.Facts, facts(
			fact{"Agent", r.agentCell(a.AgentID)}, fact{"Agreement", r.agreementCell(string(a.AgreementID))},
			fact{"It agreed to", code(a.Agreed)}, fact{"PAT expires", when(a.Until)},
		)...)
	} else if a.AgentID != "" {
		out.Facts = append(out.Facts, fact{"Agent", code(string(a.AgentID))})
	}
	if a.KeyID != "" {
		out.Facts = append(out.Facts, fact{"Key", code(string(a.KeyID))})
	}
	if a.State == testcalls.TestAgreed {
		return out
	}
	out.Text = map[testcalls.TestState]string{
		testcalls.TestUnsigned: "Without an agreement, the gateway refuses the calls of the agent.",
		testcalls.TestPending:  "Approve the agent on its page. Then let it agree again.",
		testcalls.TestOutdated: "The policy was changed. The gateway refuses calls to intents whose terms have changed until the agent agrees again.",
		testcalls.TestExpired:  "The gateway refuses the calls of the agent until it agrees again.",
	}[a.State]
	out.Forms = []form{{
		Path: r.address(at("doors", "try", "agree")), Title: "Agree to the policy", Button: "Agree",
		Text:   "Signs the policy in force with the key of the test agent.",
		Fields: []field{hidden("policy_digest", a.Policy.Digest)},
	}}
	return out
}

// chooseCall is the form that chooses the intent and the protocol of a call.
func (r *request) chooseCall(c *intents.Catalog, a *testcalls.TestAgent, intent, through string) *filters {
	which := field{
		ID: "intent", Name: "intent", Label: "Intent", Type: "search", Value: intent, Hint: "A UID: see the catalogue.",
	}
	if list := c.Intents(); len(list) <= mostChoices {
		which.Hint, which.Options = "", []option{{Label: "choose"}}
		for _, in := range list {
			uid := in.UID.String()
			which.Options = append(which.Options, option{Value: uid, Label: uid, Selected: uid == intent})
		}
	}
	way := field{ID: "door", Name: "door", Label: "Protocol"}
	for _, name := range a.Doors {
		way.Options = append(way.Options, option{Value: name, Label: doorNames[name], Selected: name == through})
	}
	f := r.filtered(which, way)
	f.Action, f.Button = at("doors", "try"), "Choose"
	return f
}

// parameterField is the prefix of the names of fields with parameters, which keeps them apart from the other fields.
const parameterField = "p."

// callForm is the form of one call. Because of its idempotency key, the gateway makes the call only once, however often
// a browser sends the form.
func (r *request) callForm(in *intents.Intent, through string, values map[string]string) form {
	f := form{
		Path: r.address(at("doors", "try", "call")), Title: in.UID.String(), Text: shortened(in.Description), Button: "Call", Wide: true,
		Fields: []field{hidden("intent", in.UID.String()), hidden("door", through), hidden("idempotency_key", random())},
	}
	for i := range in.Inputs {
		f.Fields = append(f.Fields, inputField(i, &in.Inputs[i], values[in.Inputs[i].Name]))
	}
	return f
}

// inputField is the control for one parameter.
func inputField(n int, p *intents.Parameter, value string) field {
	hint := []string{p.Type}
	if len(choicesOf(p)) == 0 && slices.Contains([]string{"array", "object", "any", ""}, p.Type) {
		hint = append(hint, "as JSON")
	}
	if p.Required {
		hint = append(hint, "required")
	}
	if p.HasDefault {
		hint = append(hint, "default "+jsonText(p.Default))
	}
	f := field{
		ID: "p" + strconv.Itoa(n), Name: parameterField + p.Name, Label: p.Name, Value: value,
		Hint: strings.TrimSpace(shortened(p.Description) + " (" + strings.Join(hint, ", ") + ")"),
	}
	switch choices := choicesOf(p); {
	case len(choices) > 0:
		f.Options = append(f.Options, option{Label: "none"})
		for _, c := range choices {
			f.Options = append(f.Options, option{Value: c, Label: strings.Trim(c, `"`), Selected: c == value})
		}
	case p.Type == "string" && !longText(p):
	case p.Type == "number", p.Type == "integer":
		f.Type = "number"
	default:
		f.Type, f.Rows = "textarea", 4
	}
	return f
}

// choicesOf returns the values that a parameter can have, as JSON, if its schema lists at most mostChoices of them.
func choicesOf(p *intents.Parameter) (list []string) {
	if p.Type == "boolean" {
		return []string{"true", "false"}
	}
	values, _ := p.Schema["enum"].([]any)
	if len(values) > mostChoices {
		return nil
	}
	for _, v := range values {
		list = append(list, jsonText(v))
	}
	return list
}

// longText reports whether the values of a parameter may have more characters than the control for one line takes.
func longText(p *intents.Parameter) bool {
	most, ok := p.Schema["maxLength"].(json.Number)
	if !ok {
		return false
	}
	n, err := most.Int64()
	return err != nil || n > maxText
}

// parametersIn reads the parameters in a form, and the values of its fields. A value that does not have the type of its
// parameter stays a string, so that the gateway decides about it. An empty field is a missing parameter.
func (r *request) parametersIn(in *intents.Intent) (tree strictjson.Object, values map[string]string, err error) {
	tree, values = strictjson.Object{}, map[string]string{}
	for i := range in.Inputs {
		p := &in.Inputs[i]
		text := r.lines(parameterField + p.Name)
		if text == "" {
			continue
		}
		values[p.Name] = text
		if p.Type == "string" && len(choicesOf(p)) == 0 {
			tree[p.Name] = text
			continue
		}
		value, err := strictjson.Decode([]byte(text))
		switch {
		case err == nil:
			tree[p.Name] = value
		case p.Type == "object", p.Type == "array":
			return nil, nil, reason.MalformedRequest.Refusal(fmt.Sprintf("The value of %s is not valid JSON.", p.Name))
		default:
			tree[p.Name] = text
		}
	}
	return tree, values, nil
}

// tryCall makes the call of a form, and shows the request, the response and the decision.
func (r *request) tryCall() error {
	s, err := r.current()
	if err != nil {
		return err
	}
	uid, through := r.PostForm.Get("intent"), r.PostForm.Get("door")
	in := offeredIntent(s.Catalog, uid)
	if in == nil {
		return reason.IntentNotFound.Refusal("")
	}
	parameters, values, err := r.parametersIn(in)
	if err != nil {
		return err
	}
	call := testcalls.TestCall{
		Service: s.ID, Door: through, Intent: uid, Parameters: parameters, IdempotencyKey: r.PostForm.Get("idempotency_key"),
	}
	got, err := admin.Do(r.Context(), r.console.Operator, r.caller, operation.TryCall, r.record(""), call)
	if err != nil {
		return err
	}
	out := section{Facts: facts(
		fact{"Decision", decisionCell(got.Decision)}, fact{"Reason", text(string(got.Reason))}, fact{"Message", text(got.Message)},
		fact{"Rule", text(got.Rule)}, fact{"Charge", text(strings.TrimSpace(got.Charge + " " + got.ChargeState))},
		fact{"Outcome", text(got.Outcome)}, fact{"Protocol", text(doorNames[cmp.Or(through, testcalls.TestUIM)])},
		fact{"Explanation", link("Why the gateway made this decision", r.address(at("calls", got.RequestID)))},
		fact{"Call", r.executionCell(got.ExecutionID)}, fact{"Receipt", code(got.Receipt)},
	)}
	p := pageView{Title: "The result of the call", Sections: append([]section{out}, exchangeSections(&got.Exchange)...)}
	return r.showTry(http.StatusOK, p, uid, through, values)
}

// exchangeSections show a request and its response as they go over the wire.
func exchangeSections(x *testcalls.Exchange) []section {
	request := section{Title: "Request", Text: "As it goes over the wire. PATs and signatures are not shown.", Pre: x.Request}
	if x.Shortened {
		request.Text += " Texts of more than 64 KiB are cut off."
	}
	return []section{request, {Title: "Response", Pre: x.Response}}
}

// agreeTest lets the test agent agree, and shows the response of the gateway.
func (r *request) agreeTest() error {
	consent := testcalls.TestConsent{Service: r.service(), PolicyDigest: r.PostForm.Get("policy_digest")}
	got, err := admin.Do(r.Context(), r.console.Operator, r.caller, operation.AgreeTest, r.record(""), consent)
	if err != nil {
		return err
	}
	title := "The gateway refused the agreement"
	switch {
	case got.Status == http.StatusAccepted:
		title = "The test agent waits for approval"
	case got.Status/100 == 2:
		title = "The test agent has agreed"
	}
	return r.showTry(http.StatusOK, pageView{Title: title, Sections: exchangeSections(&got.Exchange)}, "", "", map[string]string{})
}

// tryActions is a function, because the pages that the actions show depend on the list of all actions.
func tryActions() []action {
	return []action{
		{path: "doors/try/agree", operation: operation.AgreeTest.Name(), show: (*request).agreeTest},
		{path: "doors/try/call", operation: operation.TryCall.Name(), show: (*request).tryCall},
	}
}
