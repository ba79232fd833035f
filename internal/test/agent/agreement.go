package agenttest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// issue responds to an agreement. Each dialect accepts only what its real services accept.
func (s *Service) issue(w http.ResponseWriter, r *http.Request) {
	in := body(r)
	agentID, _ := in["agent_id"].(string)
	signed, _ := in["signed_policy"].(string)
	key, err := keys.ParseValue(in["agent_public_key"])
	if err != nil {
		refuse(w, reason.UnsupportedKey)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	presented := pat.Presentation{AgentID: pat.AgentID(agentID), Signed: signed, Key: key}
	to := pat.Recipient{Issuer: Issuer, URLs: []string{"http://" + r.Host + r.URL.Path}}
	accepted, err := pat.VerifyAgreement(presented, to, s.offer, nil, s.Clock.Now())
	if s.Dialect == Mock || s.Dialect == Guide {
		if err != nil || !s.staticForm(accepted.Form, in) {
			write(w, http.StatusUnprocessableEntity, map[string]any{"detail": "signature verification failed"})
			return
		}
		const pythonTime = "2006-01-02T15:04:05.000000"
		write(w, http.StatusOK, map[string]any{"uim-pat": s.newPAT(agentID, key), "expires_at": s.Clock.Now().Add(s.TTL).Format(pythonTime)})
		return
	}
	switch {
	case err != nil:
		s.refusePolicy(w, reason.PolicyMismatch)
	case accepted.Assurance != pat.Fresh:
		refuse(w, reason.FreshAgreementRequired)
	case s.approval.required && !s.approval.given:
		s.approval.waiting[accepted.Nonce] = true
		write(w, http.StatusAccepted, map[string]any{"status": "pending", "agreement_id": "agreement-1"})
	case s.nonces[accepted.Nonce], s.approval.required && !s.approval.waiting[accepted.Nonce]:
		refuse(w, reason.AgreementReplayed)
	default:
		s.nonces[accepted.Nonce] = true
		s.writePAT(w, s.newPAT(agentID, key))
	}
}

// staticForm reports whether a policy is signed in the form that the service's dialect accepts: that of the reference service, or that of
// its guides.
func (s *Service) staticForm(form string, in map[string]any) bool {
	key, _ := in["agent_public_key"].(string)
	if s.Dialect == Guide {
		signature, _ := in["signed_policy"].(string)
		_, err := hex.DecodeString(signature)
		return err == nil && strings.HasPrefix(form, "detached:python:") && strings.HasPrefix(key, "-----BEGIN PUBLIC KEY-----")
	}
	decoded, err := base64.URLEncoding.DecodeString(key)
	block, _ := pem.Decode(decoded)
	return err == nil && block != nil && form == "jws-policy"
}
