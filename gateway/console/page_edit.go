package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/words"
)

// A period is a choice of how long ago the first compared call was.
type period struct {
	value, label string
	length       time.Duration
}

// periods are the choices of the form that compares policies. The first is the default.
var periods = []period{
	{"7d", "the last 7 days", 7 * 24 * time.Hour},
	{"1h", "the last hour", time.Hour},
	{"24h", "the last 24 hours", 24 * time.Hour},
	{"30d", "the last 30 days", 30 * 24 * time.Hour},
	{"90d", "the last 90 days", 90 * 24 * time.Hour},
}

// periodOf returns the period with a value, or the default.
func periodOf(value string) period {
	i := slices.IndexFunc(periods, func(p period) bool { return p.value == value })
	return periods[max(0, i)]
}

// partsAtOnce is the maximum number of parts of the audit stream that one page reads. Impact reads a part for at most 10 seconds; all parts
// together therefore take less than workTime.
const partsAtOnce = 2

// editPage has the form that compares an edited policy with the one in force.
func (r *request) editPage() error {
	file, err := r.policyFile()
	if err != nil {
		return err
	}
	about := section{Facts: facts(
		fact{"File", code(file.Path)}, fact{"Policy in force", text(file.Policy.UID)}, fact{"Digest", code(file.Policy.Digest)},
	)}
	if !file.InForce {
		about.Lines = append(about.Lines, "The file has been changed since the last reload: the form has the text of the file.")
	}
	policy := plainLines(file.Text)
	switch {
	case !shownAsWritten(policy):
		about.Lines = append(about.Lines, "The file contains invisible characters, which a page cannot show. Paste the edited policy.")
		policy = ""
	case len(policy) > mostPolicy:
		about.Lines = append(about.Lines, "The file is too long for this page. Paste the edited policy.")
		policy = ""
	}
	return r.show(http.StatusOK, pageView{
		Title: "Edit the policy", Lead: "See what an edited policy would change before you save it.",
		Sections: []section{about, {Forms: []form{r.impactForm(policy, file.SHA256)}}},
	})
}

// policyFile reads the file of the policy in force.
func (r *request) policyFile() (policies.PolicyText, error) {
	return read(r, operation.PolicyText, policies.PolicyTextQuery{Service: r.service()})
}

// lines returns the value of a field of a form that can have several lines.
func (r *request) lines(name string) string { return plainLines(r.PostForm.Get(name)) }

// plainLines replaces CRLF, which browsers send in forms, with LF.
func plainLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// shownAsWritten reports whether a page shows text without replacing characters, and a form therefore sends back the same text.
func shownAsWritten(s string) bool { return string(visible([]byte(s))) == s }

func (r *request) impactForm(policy, sha256 string) form {
	length := field{ID: "period", Name: "period", Label: "Compare the calls of"}
	for _, p := range periods {
		length.Options = append(length.Options, option{
			Value: p.value, Label: p.label, Selected: p.value == periodOf(r.PostForm.Get("period")).value,
		})
	}
	return form{
		Path: r.address(at("policy", "impact")), Title: "Compare an edited policy", Button: "Compare", Wide: true,
		Text: "The gateway decides the recorded calls again under this policy. Nothing is changed.",
		Fields: []field{
			{ID: "policy", Name: "policy", Label: "Policy", Type: "textarea", Value: policy, Hint: "Edit the policy, or paste another one."},
			length, hidden("sha256", sha256),
		},
	}
}

// impact shows the changes that the policy of a form would have made.
func (r *request) impact() error {
	policy, sha256 := r.lines("policy"), r.PostForm.Get("sha256")
	now := r.console.Now()
	ask := policies.ImpactRequest{
		Service: r.service(), Policy: policy, From: now.Add(-periodOf(r.PostForm.Get("period")).length), After: r.PostForm.Get("after"),
	}
	if ask.After != "" {
		ask.From, ask.To = timeIn(r.PostForm.Get("from")), timeIn(r.PostForm.Get("to"))
	}
	found, err := read(r, operation.Impact, ask)
	if err != nil {
		return err
	}
	ask.From, ask.To = found.From, found.To
	for n := 1; n < partsAtOnce && found.Next != ""; n++ {
		ask.After = found.Next
		next, err := read(r, operation.Impact, ask)
		if err != nil {
			return err
		}
		found.Add(next)
	}
	p := pageView{Title: "What would change", Sections: []section{r.impactSummary(&found)}}
	if r.PostForm.Get("after") != "" {
		p.Lead = "This page continues where the previous one ended, and does not repeat its results."
	}
	if found.Next != "" {
		p.Sections = append(p.Sections, section{Forms: []form{r.continueForm(policy, sha256, &found)}})
	}
	p.Sections = append(p.Sections, r.changesIn(policy))
	p.Sections = append(p.Sections, r.callsThatChange(&found)...)
	p.Sections = append(p.Sections, r.anewSections(&found)...)
	file, err := r.policyFile()
	if err != nil {
		return err
	}
	p.Sections = append(p.Sections, r.saveSection(policy, sha256, &file), section{Forms: []form{r.impactForm(policy, sha256)}})
	return r.show(http.StatusOK, p)
}

// timeIn returns the time in a form that this console made, or the zero time.
func timeIn(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

func (r *request) impactSummary(i *policies.PolicyImpact) section {
	out := section{
		Cards: []card{
			{Label: "Newly refused", Value: strconv.FormatInt(i.Refused.Calls, 10), Warn: i.Refused.Calls > 0},
			{Label: "Newly permitted", Value: strconv.FormatInt(i.Admitted.Calls, 10), Warn: i.Admitted.Calls > 0},
			{Label: "Charged more or less", Value: strconv.FormatInt(i.Repriced.Calls, 10), Warn: i.Repriced.Calls > 0},
		},
		Facts: []fact{
			{"From", when(i.From)}, {"Until", when(i.To)}, {"Calls", number(i.Calls)}, {"Decided again", number(i.Judged)},
		},
		Lines: []string{"Limits and credit are not counted again. The calls are those in the audit stream of the process " + i.Process + "."},
	}
	if n := i.OtherProcesses; n != nil && *n > 0 {
		out.Lines = append(
			out.Lines,
			fmt.Sprintf("%d other processes run, and their calls are not compared here: open their consoles too, or run "+
				"uimgate policy impact at each of them.", *n),
		)
	}
	for _, m := range i.Money {
		sign := ""
		if m.Before != m.After && !strings.HasPrefix(m.Difference, "-") {
			sign = "+"
		}
		out.Cards = append(out.Cards, card{
			Label: "Charges", Value: sign + m.Difference + " " + m.Currency, Note: "from " + m.Before + " to " + m.After,
		})
	}
	for _, left := range []struct {
		name string
		n    int64
	}{
		{"Refused before the policy decided", i.Unjudged.Undecided},
		{"Without a fact that was not recorded", i.Unjudged.Withheld},
		{"Not readable", i.Unjudged.Failed},
		{"Refused by a limit, which is not counted again", i.Unjudged.Limited},
	} {
		if left.n > 0 {
			out.Facts = append(out.Facts, fact{left.name, number(left.n)})
		}
	}
	return out
}

// continueForm reads the next parts of the audit stream.
func (r *request) continueForm(policy, sha256 string, i *policies.PolicyImpact) form {
	return form{
		Path: r.address(at("policy", "impact")), Title: "The period is not complete", Button: "Continue", Wide: true,
		Text: strconv.Itoa(int(i.Progress*100)) + " % of the audit stream has been read.",
		Fields: []field{
			hidden("policy", policy), hidden("sha256", sha256), hidden("period", r.PostForm.Get("period")), hidden("after", i.Next),
			hidden("from", i.From.Format(time.RFC3339Nano)), hidden("to", i.To.Format(time.RFC3339Nano)),
		},
	}
}

// changesIn compares the text of a policy with the policy in force, in words.
func (r *request) changesIn(policy string) section {
	out := section{Title: "The changes in words"}
	s, err := r.current()
	if err != nil {
		return out
	}
	draft, _ := s.Draft(r.Context(), []byte(policy)) // Impact and SavePolicy report its problems
	if draft == nil {
		return out
	}
	changes := words.Compare(s.Policy, draft).Changes
	out.Lines = changeLines(changes)
	if len(changes) == 0 {
		out.Lines = []string{"The text means the same as the policy in force."}
	}
	return out
}

// callsThatChange are the tables of the calls that another policy decides differently.
func (r *request) callsThatChange(i *policies.PolicyImpact) (out []section) {
	for _, set := range []struct {
		title string
		calls policies.ImpactSet
	}{{"Newly refused", i.Refused}, {"Newly permitted", i.Admitted}, {"Charged more or less", i.Repriced}} {
		if set.calls.Calls > 0 {
			out = append(out, r.impactSection(set.title, set.calls))
		}
	}
	return out
}

func (r *request) impactSection(title string, set policies.ImpactSet) section {
	t := table{Caption: title, Columns: heads("Time", "Request", "Agent", "Intent", "#Before", "#After", "Rule")}
	refused := slices.ContainsFunc(set.First, func(c policies.ImpactCall) bool { return c.Reason != "" })
	if refused {
		t.Columns = append(t.Columns, text("Reason"))
	}
	for _, c := range set.First {
		row := []cell{
			when(c.At), r.requestCell(c.RequestID), r.agentCell(c.AgentID), text(c.Intent), amount(c.Before, ""), amount(c.After, ""),
			text(c.Rule),
		}
		if refused {
			row = append(row, cell{Text: string(c.Reason), More: c.Detail})
		}
		t.Rows = append(t.Rows, row)
	}
	out := section{Title: title, Table: &t}
	if int64(len(set.First)) < set.Calls {
		out.Text = "The first " + strconv.Itoa(len(set.First)) + " of " + strconv.FormatInt(set.Calls, 10) + " calls."
	}
	return out
}

// anewSections list the intents whose terms change, and the agents that must agree again.
func (r *request) anewSections(i *policies.PolicyImpact) (out []section) {
	if len(i.Intents) > 0 {
		changed := section{Title: "Intents whose terms change"}
		for _, uid := range i.Intents {
			changed.Links = append(changed.Links, link(uid, r.address(at("calls"), "intent", uid)))
		}
		out = append(out, changed)
	}
	if len(i.Agents) == 0 {
		return out
	}
	anew := section{
		Title: "Agents that must agree again",
		Text:  "They agreed to the policy in force. They must agree to the edited one before they call these intents.",
	}
	if i.MoreAgents {
		anew.Text += " There are more agents than the list shows."
	}
	for _, id := range i.Agents {
		anew.Links = append(anew.Links, r.agentCell(id))
	}
	return append(out, anew)
}

// saveSection has the form that saves a policy or, if the console cannot save it, the text to copy.
func (r *request) saveSection(policy, sha256 string, file *policies.PolicyText) section {
	out := section{Title: "Save"}
	switch {
	case !shownAsWritten(policy):
		out.Text = "The text contains invisible characters, so the console cannot save it. Use uimgate policy save."
	case !file.Writable:
		out.Text = "The gateway cannot write " + file.Path + ". Copy this text into the source of the file, and reload."
		out.Pre = policy
	case r.console.Operator.MayUse(r.caller, operation.SavePolicy.Name()) != nil:
		out.Text = "To save a policy, sign in as admin."
	default:
		out.Forms = []form{{
			Path: r.address(at("policy", "save")), Title: "Save and apply", Button: "Save…", Danger: true, Wide: true,
			Text: "Replaces " + file.Path + ", keeps the previous text in a file whose name ends with .1, and reloads.",
			Fields: []field{
				hidden("policy", policy), hidden("sha256", sha256), {Name: "force", Label: "Apply even if this ends calls of agents", Type: "checkbox"},
			},
		}}
	}
	return out
}

// savePolicy saves the policy in a form, and shows the result of the reload.
func (r *request) savePolicy() error {
	policy := r.lines("policy")
	edit := policies.PolicyEdit{
		Service: r.service(), Policy: policy, SHA256: r.PostForm.Get("sha256"), Force: r.PostForm.Get("force") == "yes",
	}
	saved, err := admin.Do(r.Context(), r.console.Operator, r.caller, operation.SavePolicy, r.record(""), edit)
	if f, ok := errors.AsType[*reason.Refusal](err); ok && f.Reason == reason.PolicyNotSaved {
		return r.notSaved(policy, f)
	}
	if err != nil {
		return err
	}
	out := section{Text: "The file is replaced, and the configuration is applied.", Facts: facts(
		fact{"File", code(saved.Path)}, fact{"Previous text", code(saved.Kept)}, fact{"Policy", link(saved.Policy.UID, r.address(at("policy")))},
		fact{"Digest", code(saved.Policy.Digest)}, fact{"Configuration", code(saved.Reload.Configuration.Hash)},
		fact{"Read", when(saved.Reload.Configuration.TakenAt)},
		fact{"Waits for a restart", text(strings.Join(saved.Reload.NeedsRestart, ", "))},
	)}
	for _, p := range saved.Reload.Problems {
		out.Lines = append(out.Lines, problemLine(p))
	}
	return r.show(http.StatusOK, pageView{Title: "The policy is saved", Sections: []section{out}})
}

// notSaved shows why the file was not replaced. The form compares the text again, and then replaces the text that the file has now.
func (r *request) notSaved(policy string, f *reason.Refusal) error {
	file, err := r.policyFile()
	if err != nil {
		return err
	}
	about := section{Lines: []string{f.Reason.OperatorSuggestion(), "Nothing was changed."}, Facts: []fact{{"File", code(file.Path)}}}
	p := pageView{Title: f.Message, Sections: []section{about}}
	switch current := plainLines(file.Text); {
	case !file.Writable:
		p.Sections = append(p.Sections, section{Title: "Your text", Pre: policy})
		return r.show(f.Status(), p)
	case len(current) <= mostPolicy:
		p.Sections = append(p.Sections, section{Title: "The file now", Pre: current})
	}
	again := r.impactForm(policy, file.SHA256)
	again.Title, again.Text = "Your text", "Add the changes that others made to the file. Then compare and save the text again."
	p.Sections = append(p.Sections, section{Title: "Edit it again", Forms: []form{again}})
	return r.show(f.Status(), p)
}

// reviewPolicy describes the policy that a person confirms before it is saved.
func reviewPolicy(r *request) []field {
	out := []field{{Label: "Service", Value: r.service()}}
	if file, err := r.policyFile(); err == nil {
		out = append(out, field{Label: "File", Value: file.Path})
	}
	for _, line := range r.changesIn(r.lines("policy")).Lines {
		out = append(out, field{Label: "Change", Value: line})
	}
	if r.PostForm.Get("force") == "yes" {
		out = append(out, field{Label: "Force", Value: "yes"})
	}
	return out
}

// editActions is a function, because the pages that the actions show depend on the list of all actions.
func editActions() []action {
	return []action{
		{path: "policy/impact", operation: operation.Impact.Name(), show: (*request).impact},
		{
			path: "policy/save", operation: operation.SavePolicy.Name(), question: "Save this policy and apply it?", rows: reviewPolicy,
			back: func(*request) string { return at("policy", "edit") }, show: (*request).savePolicy,
		},
	}
}
