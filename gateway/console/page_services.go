package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/words"
)

// mostRules is the maximum number of sentences about a policy on one page.
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
	list, err := read(r, operation.Policies, policies.PolicyQuery{Service: s.ID})
	if err != nil {
		return err
	}
	p := pageView{Title: "Policy", Lead: "In plain words. Only the policy itself is binding."}
	edit := link("Edit it, and see what would change", r.address(at("policy", "edit")))
	p.Sections = append(p.Sections, section{Links: []cell{edit}}, section{Lines: policyLines(s.Definition)})
	for _, next := range s.Successors() {
		change := section{Title: "From " + next.From.UTC().Format("2006-01-02 15:04 UTC") + " on"}
		changes := words.Compare(s.Policy, next.Policy).Changes
		for _, c := range changes[:min(len(changes), mostRules)] {
			change.Lines = append(change.Lines, c.Text)
		}
		if more := len(changes) - mostRules; more > 0 {
			change.Lines = append(change.Lines, strconv.Itoa(more)+" further changes are not described here: read the document itself.")
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
	p.Sections = append(p.Sections, section{Title: "Policies", Text: "Each digest links to the agreements to the policy.", Table: &t})
	return r.show(http.StatusOK, p)
}

func (r *request) cataloguePage() error {
	states := map[string]string{
		catalogue.IntentOffered: "ok", catalogue.IntentClosed: "warn", catalogue.IntentStopped: "bad", catalogue.IntentRetired: "bad",
	}
	l := listing[catalogue.CatalogueItem]{
		caption: "Intents", empty: "No intent matches.",
		columns: []column[catalogue.CatalogueItem]{
			{"Intent", func(i catalogue.CatalogueItem) cell { return code(i.Intent) }},
			{"What it does", func(i catalogue.CatalogueItem) cell { return text(shortened(i.Description)) }},
			{"Price and limits", func(i catalogue.CatalogueItem) cell { return text(i.Terms) }},
			{"Writes", func(i catalogue.CatalogueItem) cell { return text(yesNo(!i.Safe)) }},
			{"State", func(i catalogue.CatalogueItem) cell { return cell{Text: i.State, State: states[i.State], More: i.Why} }},
			{"Calls", func(i catalogue.CatalogueItem) cell { return number(i.Calls) }},
			{"Refused", func(i catalogue.CatalogueItem) cell { return number(i.Refused) }},
			{"Failed", func(i catalogue.CatalogueItem) cell { return number(i.Failed) }},
			{"See", func(i catalogue.CatalogueItem) cell { return link("calls", r.address(at("calls"), "intent", i.Intent)) }},
			{"Try", func(i catalogue.CatalogueItem) cell {
				return link("try", r.address(at("doors", "try"), "intent", i.Intent))
			}},
		},
		fetch: pagesOf(r, operation.Catalogue, catalogue.CatalogueQuery{Service: r.service(), Search: r.URL.Query().Get("search")}),
	}
	if !r.console.Directory.Current().Playground {
		l.columns = l.columns[:len(l.columns)-1]
	}
	return l.page(r, pageView{
		Title: "Catalogue", Lead: "Price and limits are those for agents that the policy does not name. The calls are those of the last 24 hours " +
			"in this process.",
	}, r.filtered(r.search("search", "UID or name")), section{Links: []cell{
		link("Choose what to offer of an imported document", r.address(at("catalogue", "curation"))),
	}})
}

// shortened returns the beginning of a description.
func shortened(s string) string {
	const most = 200
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
