package agent

import (
	"encoding/json"

	"github.com/uimgate/uimgate/pat"
)

// keepAgreement stores the agreement that the client sent in body next to the receipts, as evidence for the agent. If it fails, the client
// uses the session nevertheless. Agreements in envelopes of other protocols are not stored.
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
