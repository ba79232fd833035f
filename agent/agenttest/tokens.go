package agenttest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// issue answers an agreement. The dialects take what their real services take, and nothing else.
func (s *Service) issue(w http.ResponseWriter, r *http.Request) {
	in := body(r)
	agentID, _ := in["agent_id"].(string)
	policy, _ := in["signed_policy"].(string)
	key, err := pat.ParsePublicKeyValue(in["agent_public_key"])
	if err != nil {
		refuse(w, reason.UnsupportedKey, nil)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	accepted, err := pat.VerifyAgreement(pat.Presented{AgentID: agentID, Signed: policy, Key: key}, Issuer, s.offer, nil, s.Clock.Now())
	if s.Dialect == Mock || s.Dialect == Guide {
		if err != nil || !s.foreign(accepted, in) {
			write(w, http.StatusUnprocessableEntity, map[string]any{"detail": "signature verification failed"})
			return
		}
		write(w, http.StatusOK, map[string]any{"uim-pat": s.grant(agentID, key), "expires_at": s.Clock.Now().Add(s.TTL).Format("2006-01-02T15:04:05.000000")})
		return
	}
	switch {
	case err != nil:
		refuse(w, reason.PolicyMismatch, map[string]any{"policy": map[string]string{"uid": PolicyUID, "digest": s.offer.Digest}})
		return
	case accepted.Assurance != pat.Fresh:
		refuse(w, reason.FreshAgreementRequired, nil)
		return
	case s.approving && !s.approved:
		s.waiting[accepted.Nonce] = true
		write(w, http.StatusAccepted, map[string]any{"status": "pending", "agreement_id": "agreement-1"})
		return
	case s.nonces[accepted.Nonce], s.approving && !s.waiting[accepted.Nonce]:
		refuse(w, reason.AgreementReplayed, nil)
		return
	}
	s.nonces[accepted.Nonce] = true
	s.answer(w, s.grant(agentID, key))
}

// foreign reports whether a signed policy has the one form that the reference service, or the guides', takes.
func (s *Service) foreign(a pat.Accepted, in map[string]any) bool {
	text, _ := in["agent_public_key"].(string)
	if s.Dialect == Guide {
		policy, _ := in["signed_policy"].(string)
		_, err := hex.DecodeString(policy)
		return err == nil && strings.HasPrefix(a.Form, "detached:python:") && strings.HasPrefix(text, "-----BEGIN PUBLIC KEY-----")
	}
	decoded, err := base64.URLEncoding.DecodeString(text)
	block, _ := pem.Decode(decoded)
	return err == nil && block != nil && a.Form == "jws-policy"
}

func (s *Service) answer(w http.ResponseWriter, text string) {
	write(w, http.StatusOK, map[string]any{
		"uim-pat": text, "expires_at": s.Clock.Now().Add(s.TTL).Format(time.RFC3339), "agreement_id": "agreement-1",
		"scope": []string{Search + ":execute", Order + ":execute"}, "scope_omitted": []map[string]string{{"entry": "shop.example:refund:v1:execute", "reason": string(reason.PolicyViolation)}},
	})
}

// grant makes a PAT; s.mu is held.
func (s *Service) grant(agentID string, key pat.Key) string {
	id := rand.Text()
	t := &token{agentID: agentID, key: key, exp: s.Clock.Now().Add(s.TTL), digest: s.offer.Digest}
	s.tokens[id] = t
	claims := jwt.MapClaims{
		"iss": Issuer, "sub": agentID, "aud": Issuer, "exp": t.exp.Unix(), "nbf": s.Clock.Now().Unix(), "jti": id,
		"scope": []string{Search + ":execute", Order + ":execute"},
	}
	if s.Dialect == Canonical || s.Dialect == Draft {
		claims["pol_digest"], claims["cnf"] = s.offer.Digest, map[string]string{"jkt": key.Thumbprint()}
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(s.key)
	if err != nil {
		return ""
	}
	return text
}

// bearer verifies the PAT of a request; s.mu is held. It returns no reason for a PAT that is valid.
func (s *Service) bearer(r *http.Request) (id string, t *token, refused reason.Reason) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", nil, reason.MissingToken
	}
	parsed, err := jwt.Parse(text, func(*jwt.Token) (any, error) { return s.key.Public(), nil }, jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithTimeFunc(s.Clock.Now))
	if err != nil && strings.Contains(err.Error(), "expired") {
		return "", nil, reason.ExpiredToken
	}
	if err != nil {
		return "", nil, reason.InvalidToken
	}
	claims, _ := parsed.Claims.(jwt.MapClaims)
	id, _ = claims["jti"].(string)
	t = s.tokens[id]
	if t == nil || t.ended {
		return "", nil, reason.RevokedToken
	}
	return id, t, ""
}

func (s *Service) renew(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, t, refused := s.bearer(r)
	if refused != "" {
		refuse(w, refused, nil)
		return
	}
	if t.digest != s.offer.Digest {
		refuse(w, reason.PolicyRequiresAgreement, map[string]any{"policy": map[string]string{"uid": PolicyUID, "digest": s.offer.Digest}})
		return
	}
	digest, err := pat.RenewDigest(id)
	if err != nil || !s.proved(r, t, id, digest) {
		refuse(w, reason.PolicyRequiresVerification, nil)
		return
	}
	t.ended = true
	s.answer(w, s.grant(t.agentID, t.key))
}

// proved verifies the proof of key of a request and uses up its nonce; s.mu is held.
func (s *Service) proved(r *http.Request, t *token, id, digest string) bool {
	proof, err := pat.VerifyProof(r.Header.Get("UIM-Proof"), t.key, pat.ProofBinding{Audience: Issuer, TokenID: id, Digest: digest}, s.Clock.Now())
	if err != nil || s.nonces[proof.Nonce] {
		return false
	}
	s.nonces[proof.Nonce] = true
	return true
}

func (s *Service) revoke(w http.ResponseWriter, r *http.Request) {
	form := r.PostFormValue("token")
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Header.Set("Authorization", "Bearer "+form)
	if _, t, refused := s.bearer(r); refused == "" {
		t.ended = true
	}
	write(w, http.StatusOK, map[string]any{})
}
