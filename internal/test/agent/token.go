package agenttest

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

var scope = []string{Search + ":execute", Order + ":execute"}

// newPAT makes a PAT and records it. s.mu must be held.
func (s *Service) newPAT(agentID string, key keys.Key) string {
	id := rand.Text()
	t := &token{agentID: agentID, key: key, exp: s.Clock.Now().Add(s.TTL), digest: s.offer.Digest}
	s.tokens[id] = t
	claims := jwt.MapClaims{
		"iss": Issuer, "sub": agentID, "aud": Issuer, "exp": t.exp.Unix(), "nbf": s.Clock.Now().Unix(), "jti": id, "scope": scope,
	}
	if s.Dialect == Canonical || s.Dialect == Draft {
		claims["pol_digest"], claims["cnf"] = s.offer.Digest, map[string]string{"jkt": string(key.Thumbprint())}
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(s.key)
	if err != nil {
		return ""
	}
	return text
}

// writePAT writes the response of issue and renew.
func (s *Service) writePAT(w http.ResponseWriter, text string) {
	write(w, http.StatusOK, map[string]any{
		"uim-pat": text, "expires_at": s.Clock.Now().Add(s.TTL).Format(time.RFC3339), "agreement_id": "agreement-1", "scope": scope,
		"scope_omitted": []map[string]string{{"entry": "shop.example:refund:v1:execute", "reason": string(reason.PolicyViolation)}},
	})
}

// authenticate verifies the PAT of a request. It returns an empty reason if the PAT is valid. s.mu must be held.
func (s *Service) authenticate(r *http.Request) (id string, t *token, refused reason.Reason) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", nil, reason.MissingToken
	}
	parsed, err := jwt.Parse(text, func(*jwt.Token) (any, error) { return s.key.Public(), nil },
		jwt.WithValidMethods([]string{keys.EdDSA}), jwt.WithTimeFunc(s.Clock.Now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "", nil, reason.ExpiredToken
	case err != nil:
		return "", nil, reason.InvalidToken
	}
	claims, _ := parsed.Claims.(jwt.MapClaims)
	id, _ = claims["jti"].(string)
	t = s.tokens[id]
	if t == nil || t.revoked {
		return "", nil, reason.RevokedToken
	}
	return id, t, ""
}

func (s *Service) renew(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, t, refused := s.authenticate(r)
	if refused != "" {
		refuse(w, refused)
		return
	}
	if t.digest != s.offer.Digest {
		s.refusePolicy(w, reason.PolicyRequiresAgreement)
		return
	}
	digest, err := pat.RenewDigest(pat.TokenID(id))
	if err != nil || !s.proved(r, t, pat.ProofBinding{Audience: Issuer, TokenID: pat.TokenID(id), Digest: digest}) {
		refuse(w, reason.PolicyRequiresVerification)
		return
	}
	t.revoked = true
	s.writePAT(w, s.newPAT(t.agentID, t.key))
}

// proved verifies the proof of key of a request and uses up its nonce. s.mu must be held.
func (s *Service) proved(r *http.Request, t *token, binding pat.ProofBinding) bool {
	proof, err := pat.VerifyProof(r.Header.Get("UIM-Proof"), t.key, binding, s.Clock.Now())
	if err != nil || s.nonces[proof.Nonce] {
		return false
	}
	s.nonces[proof.Nonce] = true
	return true
}

func (s *Service) revoke(w http.ResponseWriter, r *http.Request) {
	text := r.PostFormValue("token")
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Header.Set("Authorization", "Bearer "+text)
	if _, t, refused := s.authenticate(r); refused == "" {
		t.revoked = true
	}
	write(w, http.StatusOK, map[string]any{})
}
