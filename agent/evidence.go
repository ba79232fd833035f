package agent

import (
	"encoding/json"

	"github.com/uimgate/uimgate/pat"
)

// keepAgreement stores an agreement next to the receipts, as evidence for the agent. body is the request in which the client sent the
// agreement. If keepAgreement fails, the client uses the session nevertheless.
func (s *Service) keepAgreement(session Session, body []byte) {
	book := s.Book()
	var sent struct {
		Signed string `json:"signed_policy"`
	}
	if book == nil || session.AgreementID == "" || json.Unmarshal(body, &sent) != nil || sent.Signed == "" {
		return
	}
	export, err := pat.ExportPresentation(
		pat.Presentation{AgentID: session.AgentID, Signed: sent.Signed, Key: s.client.key}, session.Issuer,
		pat.PolicyDocument{UID: session.PolicyUID, Bytes: session.Document}, pat.AgreementID(session.AgreementID), s.client.o.Now(),
	)
	if err == nil {
		_ = book.KeepAgreement(session.AgreementID, export) // if this fails, bundles lack the agreement, and verifiers report that
	}
}

// keepEnvelope is like keepAgreement, for an agreement in the envelope that the client sent. The client does not store it if Options.Forms
// lacks its form.
func (s *Service) keepEnvelope(session Session, id string, sent []byte) {
	book := s.Book()
	if book == nil || id == "" {
		return
	}
	export, err := pat.ExportEvidence(
		sent, string(session.Form), session.Issuer, pat.PolicyDocument{UID: session.PolicyUID, Bytes: session.Document},
		pat.AgreementID(id), s.client.o.Now(), s.client.o.Forms,
	)
	if err == nil {
		_ = book.KeepAgreement(id, export) // if this fails, bundles lack the agreement, and verifiers report that
	}
}
