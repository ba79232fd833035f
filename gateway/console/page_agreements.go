package console

import (
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat"
)

var agreementStates = []string{string(pat.AgreementPending), string(pat.AgreementActive), string(pat.AgreementRevoked)}

// agreementsOf lists the agreements that the request selects, of one agent or, if agent is empty, of all.
func (r *request) agreementsOf(agent pat.AgentID) listing[agreements.Agreement] {
	q := r.URL.Query()
	return listing[agreements.Agreement]{
		caption: "Agreements, the newest first", empty: "No agreement matches.",
		columns: []column[agreements.Agreement]{
			{"Agreement", func(a agreements.Agreement) cell {
				return link(string(a.ID), r.address(at("agreements", string(a.ID))))
			}},
			{"Agent", func(a agreements.Agreement) cell { return r.agentCell(a.AgentID) }},
			{"Name", func(a agreements.Agreement) cell { return text(a.AgentName) }},
			{"State", func(a agreements.Agreement) cell { return agreementState(a) }},
			{"Assurance", func(a agreements.Agreement) cell { return text(string(a.Assurance)) }},
			{"Policy", func(a agreements.Agreement) cell { return text(a.PolicyUID) }},
			{"Since", func(a agreements.Agreement) cell { return when(a.CreatedAt) }},
		},
		fetch: pagesOf(r, operation.Agreements, agreements.AgreementQuery{
			Service: r.service(), AgentID: agent, PolicyDigest: q.Get("digest"), State: pat.AgreementState(oneOf(q.Get("state"), agreementStates)),
		}),
	}
}

func agreementState(a agreements.Agreement) cell {
	state := map[pat.AgreementState]string{pat.AgreementActive: "ok", pat.AgreementPending: "warn", pat.AgreementRevoked: "bad"}[a.State]
	return cell{Text: string(a.State), State: state}
}

func (r *request) agreementsPage() error {
	return r.agreementsOf(r.agent()).page(r, pageView{Title: "Agreements"}, r.filtered(
		r.search("agent", "Agent id"), r.search("digest", "Digest of the policy"), r.choice("state", "State", agreementStates...)))
}

func (r *request) agreementPage() error {
	id := r.PathValue("id")
	a, err := read(r, operation.Agreement, r.record(id))
	if err != nil {
		return err
	}
	if r.URL.Query().Get("format") == "evidence" {
		bundle, err := read(r, operation.ExportAgreement, r.record(id))
		if err != nil {
			return err
		}
		r.w.Header().Set("Content-Type", "application/json")
		r.w.Header().Set("Content-Disposition", `attachment; filename="agreement.json"`)
		_, _ = r.w.Write(append(bundle, '\n')) // the browser has disconnected
		return nil
	}
	list := facts(
		fact{"Agent", r.agentCell(a.AgentID)}, fact{"State", agreementState(a)}, fact{"Since", when(a.CreatedAt)},
		fact{"Assurance", text(string(a.Assurance))}, fact{"Form", text(a.Form)}, fact{"Key", code(string(a.KeyID))},
		fact{"Issuer", text(a.Issuer)}, fact{"Policy", link(a.PolicyUID, r.address(at("agreements"), "digest", a.PolicyDigest))},
		fact{"Digest", code(a.PolicyDigest)}, fact{"Scope", text(strings.Join(a.Scope, ", "))},
	)
	if c := a.Consent; c != nil {
		list = append(list, facts(
			fact{"Client", text(c.ClientName)}, fact{"Client id", text(c.ClientID)}, fact{"Redirect host", text(c.RedirectHost)},
			fact{"Invitation", text(c.Invitation)}, fact{"Budget", text(c.Budget)},
		)...)
	}
	list = append(list, fact{"Evidence", link("Download what proves the agreement", r.same("format", "evidence"))})
	if r.URL.Query().Get("verify") == "yes" {
		proof, err := read(r, operation.VerifyAgreement, r.record(id))
		if err != nil {
			return err
		}
		result := cell{Text: "not proved", State: "bad", More: proof.Text}
		if proof.Proved {
			result = cell{Text: "proved", State: "ok", More: memberWords(proof.Text)}
		}
		list = append(list, fact{"Verification", result})
	} else {
		list = append(list, fact{"Verification", link("Verify the evidence", r.same("verify", "yes"))})
	}
	terms := section{Title: "Terms", Text: "The agreement is to a policy that is no longer offered. The evidence contains its text."}
	if d := r.offered(a.PolicyDigest); d != nil {
		terms.Text, terms.Lines = "In plain words. Only the policy itself is binding.", policyLines(d)
	}
	return r.show(http.StatusOK, pageView{Title: "Agreement " + id, Sections: []section{
		{Facts: list},
		terms,
		{Title: "Revoke", Forms: []form{{
			Path:   r.address(at("agreements", id, "revoke")),
			Text:   "Ends the agreement and the PATs that were issued for it. The agent may agree again.",
			Button: "Revoke…", Danger: true, Fields: []field{{ID: "reason", Name: "reason", Label: "Reason"}},
		}}},
	}})
}

var agreementActions = []action{{
	path: "agreements/{id}/revoke", operation: operation.RevokeAgreement.Name(), done: "The agreement is revoked.",
	question: "Revoke this agreement?",
	back:     func(r *request) string { return at("agreements", r.PathValue("id")) },
	do: func(r *request) error {
		return run(r, r.record(r.PathValue("id")), operation.RevokeAgreement, r.revocation())
	},
}}
