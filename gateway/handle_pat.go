package gateway

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/pat"
)

// issue answers POST /api/pat/issue: a signed agreement in, a PAT out. UIM core 4.2.
func (s *Server) issue(c echo.Context) error {
	x := exchangeOf(c)
	if err := s.doors.admitIssue(x.address, s.now()); err != nil {
		return err
	}
	tree, err := readObject(c.Request(), x.service.maxBody)
	if err != nil {
		return err
	}
	m := &members{object: tree}
	r := pat.IssueRequest{AgentID: m.text("agent_id", true), SignedPolicy: m.text("signed_policy", true)}
	r.PublicKey, _ = m.take("agent_public_key")
	if r.PublicKey == nil {
		return m.wrong("agent_public_key", "is missing")
	}
	r.Scope = m.texts("scope")
	if err := m.done(); err != nil {
		return err
	}
	issued, err := x.service.Issuance.Issue(c.Request().Context(), r)
	if err != nil {
		return x.service.refusal(err)
	}
	s.metrics.issued.WithLabelValues("agreement").Inc()
	return s.answerPAT(c, issued)
}

// renew answers POST /api/pat/renew: the PAT as bearer, a proof of key in the header or the body. UIM core 4.4.
func (s *Server) renew(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	if err := s.doors.admitIssue(x.address, s.now()); err != nil {
		return err
	}
	token, err := bearer(r.Header)
	if err != nil {
		return err
	}
	if token == "" {
		return faultFor(pat.ErrMissing)
	}
	proof := r.Header.Get(headerProof)
	if proof == "" && r.ContentLength != 0 && r.Header.Get("Content-Type") != "" {
		tree, err := readObject(r, x.service.maxBody)
		if err != nil {
			return err
		}
		m := &members{object: tree}
		proof = m.text("proof", false)
		if err := m.done(); err != nil {
			return err
		}
	}
	issued, err := x.service.Issuance.Renew(r.Context(), pat.RenewRequest{Token: token, Proof: proof})
	if err != nil {
		return x.service.refusal(err)
	}
	s.metrics.issued.WithLabelValues("renewal").Inc()
	return s.answerPAT(c, issued)
}

// refusal adds to an error of issuance which policy is offered now.
func (s *Service) refusal(err error) *Fault {
	f := faultFor(err)
	switch f.Reason {
	case "POLICY_MISMATCH", "POLICY_REQUIRES_AGREEMENT", "FRESH_AGREEMENT_REQUIRED":
		f.with("policy", s.policyRef()).with("issuer", s.Issuer)
	}
	return f
}

func (s *Server) answerPAT(c echo.Context, issued pat.Issued) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache") // RFC 6749 5.1
	if issued.State == pat.AgreementPending {
		return c.JSON(http.StatusAccepted, map[string]any{"status": "pending", "agreement_id": issued.AgreementID})
	}
	answer := map[string]any{
		"uim-pat": issued.Token, "expires_at": issued.Claims.ExpiresAt.UTC().Format(time.RFC3339), "agreement_id": issued.AgreementID,
		"scope": issued.Claims.Scope,
	}
	if len(issued.Omitted) > 0 {
		answer["scope_omitted"] = issued.Omitted
	}
	return c.JSON(http.StatusOK, answer)
}

// revoke answers POST /api/pat/revoke: whoever has a PAT may end it, and the answer is 200 whatever the
// token was. RFC 7009; UIM core 4.5.
func (s *Server) revoke(c echo.Context) error {
	x := exchangeOf(c)
	token, err := s.presented(c, x.service.maxBody)
	if err != nil {
		return err
	}
	if err := x.service.Issuance.RevokeToken(c.Request().Context(), token); err != nil {
		return faultFor(err)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, map[string]any{})
}

// introspect answers POST /api/pat/introspect, here only for the bearer of the very token; others ask on
// the admin listener. RFC 7662.
func (s *Server) introspect(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	bearing, err := bearer(r.Header)
	if err != nil {
		return err
	}
	if bearing == "" {
		return faultFor(pat.ErrMissing)
	}
	token, err := s.presented(c, x.service.maxBody)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	if token != bearing {
		return newFault("INSUFFICIENT_PERMISSIONS", "A PAT can only be introspected by its own bearer here.")
	}
	said, err := x.service.Verifier.Introspect(r.Context(), token, x.service.policy.Digest, s.now())
	if err != nil {
		return faultFor(err)
	}
	return c.JSON(http.StatusOK, said)
}

// presented reads a token from a form (RFC 7009, 7662) or JSON body; the bearer's own where the body is empty.
func (s *Server) presented(c echo.Context, most int64) (string, error) {
	r := c.Request()
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "application/x-www-form-urlencoded":
		data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
		if err != nil {
			return "", newFault("BODY_TOO_LARGE", "The body is larger than this gateway takes, or did not arrive whole.").because(err)
		}
		form, err := url.ParseQuery(string(data))
		if err != nil || len(form["token"]) != 1 {
			return "", newFault("MALFORMED_REQUEST", "The form must hold one token.")
		}
		return form.Get("token"), nil
	case err != nil && r.Header.Get("Content-Type") == "":
		token, err := bearer(r.Header)
		if err == nil && token == "" {
			err = newFault("MALFORMED_REQUEST", "The member token is missing.")
		}
		return token, err
	}
	tree, err := readObject(r, most)
	if err != nil {
		return "", err
	}
	m := &members{object: tree}
	token := m.text("token", true)
	m.text("token_type_hint", false)
	return token, m.done()
}

// texts takes a member that is a list of strings; left out it is nil.
func (m *members) texts(name string) []string {
	v, ok := m.take(name)
	if !ok || v == nil {
		return nil
	}
	list, isList := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		text, isText := item.(string)
		isList = isList && isText
		out = append(out, text)
	}
	if !isList && m.err == nil {
		m.err = m.wrong(name, "must be a list of strings")
	}
	return out
}

// agreementFault describes the errors of issuance and renewal that carry details of their own.
func agreementFault(err error) *Fault {
	var (
		mismatch *pat.PolicyMismatchError
		taken    *pat.AgentIDTakenError
		scope    *pat.ScopeError
		misfit   *pat.AgreementError
		changed  *pat.PolicyChangedError
	)
	switch {
	case errors.As(err, &changed):
		return newFault("POLICY_REQUIRES_AGREEMENT", "The policy agreed to is no longer the one offered.").with("agreed_digest", changed.Agreed)
	case errors.As(err, &mismatch):
		f := newFault("POLICY_MISMATCH", "The signed policy is not the one offered now.")
		if mismatch.SignedDigest != "" {
			f.with("signed_digest", mismatch.SignedDigest)
		}
		return f
	case errors.As(err, &taken):
		return newFault("AGENT_ID_TAKEN", "The agent_id belongs to another key.").with("suggested_agent_id", taken.Suggestion)
	case errors.As(err, &scope):
		return newFault("INSUFFICIENT_PERMISSIONS", "Nothing that was asked for is permitted to this agent.").with("scope_omitted", scope.Omitted)
	case errors.As(err, &misfit):
		return newFault("INVALID_PARAMETER", "The agreement is not well formed: "+misfit.Error()+".").with("member", misfit.Member)
	}
	return nil
}
