package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/odrl/words"
)

// policyChangesPage compares two policies that the gateway has offered, in words.
func (r *request) policyChangesPage() error {
	q := r.URL.Query()
	pair := policies.PolicyPair{Service: r.service(), From: q.Get("from"), To: q.Get("to")}
	found, err := read(r, operation.PolicyChanges, pair)
	if err != nil {
		return err
	}
	lines := changeLines(found.Changes)
	if len(lines) == 0 {
		lines = []string{"The two policies mean the same."}
	}
	digest := func(d string) cell { return link(d, r.address(at("agreements"), "digest", d)) }
	return r.show(http.StatusOK, pageView{
		Title: "What changed in the policy", Lead: "In plain words. Each digest links to the agreements to the policy.",
		Sections: []section{
			{Facts: []fact{{"Before", digest(pair.From)}, {"After", digest(pair.To)}}}, {Title: "The changes in words", Lines: lines},
		},
	})
}

// changeLines describes changes, with the rule that each concerns. It has at most mostRules changes.
func changeLines(changes []words.Change) (lines []string) {
	for _, c := range changes[:min(len(changes), mostRules)] {
		lines = append(lines, strings.TrimSpace(c.About+" "+c.Text))
	}
	if more := len(changes) - mostRules; more > 0 {
		lines = append(lines, strconv.Itoa(more)+" further changes are not described here.")
	}
	return lines
}

// policyChangeCell links to the comparison of the policies before and after a reload.
func policyChangeCell(x *reloads.ReloadRecord) cell {
	var out cell
	others := 0
	for _, s := range x.Services {
		switch {
		case s.PolicyBefore == "" || s.PolicyAfter == "":
		case out.Text != "":
			others++
		default:
			out = link("in words", with(at("policy", "changes"), "from", s.PolicyBefore, "to", s.PolicyAfter, "service", s.Service))
		}
	}
	if others > 0 {
		out.More = fmt.Sprintf("and %d more services", others)
	}
	return out
}
