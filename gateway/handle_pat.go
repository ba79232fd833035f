package gateway

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// issue answers POST /api/pat/issue: a signed agreement in, a PAT out. UIM core 4.2.
func (s *Server) issue(c echo.Context) error {
	x := exchangeOf(c)
	if err := s.addresses.admitIssue(x.address, s.now()); err != nil {
		return err
	}
	tree, err := wire.ReadObject(c.Request(), x.service.MaxBody)
	if err != nil {
		return err
	}
	m := wire.NewMembers(tree)
	r := pat.IssueRequest{AgentID: m.Text("agent_id", true), SignedPolicy: m.Text("signed_policy", true)}
	r.PublicKey, _ = m.Take("agent_public_key")
	if r.PublicKey == nil {
		return m.Wrong("agent_public_key", "is missing")
	}
	r.Scope = m.Texts("scope")
	if err := m.Done(); err != nil {
		return err
	}
	issued, err := x.service.Issuance.Issue(c.Request().Context(), r)
	if err != nil {
		return refusalOf(x.service, err)
	}
	s.metrics.Issued("agreement")
	return s.answerPAT(c, issued)
}

// renew answers POST /api/pat/renew: the PAT as bearer, a proof of key in the header or the body. UIM core 4.4.
func (s *Server) renew(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	if err := s.addresses.admitIssue(x.address, s.now()); err != nil {
		return err
	}
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return err
	}
	if token == "" {
		return refusal.For(pat.ErrMissing)
	}
	proof := r.Header.Get(headerProof)
	if proof == "" && r.ContentLength != 0 && r.Header.Get("Content-Type") != "" {
		tree, err := wire.ReadObject(r, x.service.MaxBody)
		if err != nil {
			return err
		}
		m := wire.NewMembers(tree)
		proof = m.Text("proof", false)
		if err := m.Done(); err != nil {
			return err
		}
	}
	issued, err := x.service.Issuance.Renew(r.Context(), pat.RenewRequest{Token: token, Proof: proof})
	if err != nil {
		return refusalOf(x.service, err)
	}
	s.metrics.Issued("renewal")
	return s.answerPAT(c, issued)
}

// refusalOf adds to an error of issuance which policy is offered now.
func refusalOf(s *service.Service, err error) *reason.Refusal {
	f := refusal.For(err)
	switch f.Reason {
	case reason.PolicyMismatch, reason.PolicyRequiresAgreement, reason.FreshAgreementRequired:
		f.With("policy", s.PolicyRef()).With("issuer", s.Issuer)
	default:
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
	token, err := s.presented(c, x.service.MaxBody)
	if err != nil {
		return err
	}
	if err := x.service.Issuance.RevokeToken(c.Request().Context(), token); err != nil {
		return refusal.For(err)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, map[string]any{})
}

// introspect answers POST /api/pat/introspect, here only for the bearer of the very token; others ask on
// the admin listener. RFC 7662.
func (s *Server) introspect(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	bearing, err := wire.Bearer(r.Header)
	if err != nil {
		return err
	}
	if bearing == "" {
		return refusal.For(pat.ErrMissing)
	}
	token, err := s.presented(c, x.service.MaxBody)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	if token != bearing {
		return reason.InsufficientPermissions.Refusal("A PAT can only be introspected by its own bearer here.")
	}
	said, err := x.service.Verifier.Introspect(r.Context(), token, x.service.Offer().Digest, s.now())
	if err != nil {
		return refusal.For(err)
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
			return "", reason.BodyTooLarge.Refusal("The body is larger than this gateway takes, or did not arrive whole.").Because(err)
		}
		form, err := url.ParseQuery(string(data))
		if err != nil || len(form["token"]) != 1 {
			return "", reason.MalformedRequest.Refusal("The form must hold one token.")
		}
		return form.Get("token"), nil
	case err != nil && r.Header.Get("Content-Type") == "":
		token, err := wire.Bearer(r.Header)
		if err == nil && token == "" {
			err = reason.MalformedRequest.Refusal("The member token is missing.")
		}
		return token, err
	}
	tree, err := wire.ReadObject(r, most)
	if err != nil {
		return "", err
	}
	m := wire.NewMembers(tree)
	token := m.Text("token", true)
	m.Text("token_type_hint", false)
	return token, m.Done()
}
