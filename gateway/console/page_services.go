package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/words"
)

// mostRules bounds the sentences about a policy on one page.
const mostRules = 200

// current returns the service of the request.
func (r *request) current() (*service.Service, error) {
	s := r.console.Directory.Current().Service(r.service())
	if s == nil {
		return nil, reason.UnknownService.Refusal("")
	}
	return s, nil
}

// offered returns the definition whose policy has a digest, or nil if no policy that is offered has it.
func (r *request) offered(digest string) *service.Definition {
	s, err := r.current()
	if err != nil {
		return nil
	}
	for _, d := range append([]*service.Definition{s.Definition}, s.Successors()...) {
		if d.Offer().Digest == digest {
			return d
		}
	}
	return nil
}

// policyLines describes a policy in sentences.
func policyLines(d *service.Definition) (lines []string) {
	sentences := words.Explain(d.Policy)
	for _, s := range sentences[:min(len(sentences), mostRules)] {
		line := strings.Join(append([]string{s.Text}, s.Terms...), " ")
		lines = append(lines, line)
	}
	if more := len(sentences) - mostRules; more > 0 {
		lines = append(lines, strconv.Itoa(more)+" further rules are not described here: read the document itself.")
	}
	return lines
}

func (r *request) policyPage() error {
	s, err := r.current()
	if err != nil {
		return err
	}
	list, err := r.console.Operator.Policies(r.Context(), admin.PolicyQuery{Service: s.ID})
	if err != nil {
		return err
	}
	p := pageView{Title: "Policy", Lead: "In plain words. Only the policy itself is binding."}
	edit := link("Edit it, and see what would change", r.address(at("policy", "edit")))
	p.Sections = append(p.Sections, section{Links: []cell{edit}}, section{Lines: policyLines(s.Definition)})
	for _, next := range s.Successors() {
		change := section{Title: "From " + next.From.UTC().Format("2006-01-02 15:04 UTC") + " on"}
		for _, c := range words.Compare(s.Policy, next.Policy).Changes {
			change.Lines = append(change.Lines, c.Text)
		}
		p.Sections = append(p.Sections, change)
	}
	t := table{Caption: "Policies, the one in force first", Columns: heads("Policy", "Digest", "Offered", "From", "Until", "First offered")}
	for _, one := range list.Items {
		t.Rows = append(t.Rows, []cell{
			text(one.UID), link(one.Digest, r.address(at("agreements"), "digest", one.Digest)), text(yesNo(one.Offered)), when(one.From),
			when(one.Until), when(one.FirstOffered),
		})
	}
	p.Sections = append(p.Sections, section{Title: "Policies", Text: "Each digest leads to the agreements to the policy.", Table: &t})
	return r.show(http.StatusOK, p)
}

func (r *request) cataloguePage() error {
	s, err := r.current()
	if err != nil {
		return err
	}
	intents := s.Catalog.Intents()
	from, _ := strconv.Atoi(r.URL.Query().Get("after")) // 0: from the start
	from = max(0, min(from, len(intents)))
	shown := intents[from:min(from+r.limit(), len(intents))]
	t := table{Caption: "Intents", Columns: heads("Intent", "What it does", "Terms", "Changes something", "State", "Calls")}
	for _, in := range shown {
		terms, state := "", cell{Text: "offered", State: "ok"}
		if one, err := s.Intent(in.UID.String()); err == nil {
			terms = page.ShortTerms(r.Context(), s.Definition, one)
		}
		if in.Retired {
			state = cell{Text: "retired", State: "bad"}
		} else if ok, why := s.Callable(r.Context(), in.UID.String()); !ok {
			state = cell{Text: "no agent can call it", State: "warn", More: why}
		}
		t.Rows = append(t.Rows, []cell{
			code(in.UID.String()), text(shortened(in.Description)), text(terms), text(yesNo(!in.Safe)), state,
			link("calls", r.address(at("calls"), "intent", in.UID.String())),
		})
	}
	if next := from + len(shown); next < len(intents) {
		t.Next = r.same("after", strconv.Itoa(next))
	}
	return r.show(http.StatusOK, pageView{
		Title: "Catalogue", Lead: strconv.Itoa(len(intents)) + " intents. Terms are those for agents that the policy does not name.",
		Sections: []section{{Table: &t}},
	})
}

// shortened returns the beginning of a description.
func shortened(s string) string {
	const most = 200
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
