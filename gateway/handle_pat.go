package gateway

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// Limits on request bodies that anyone may send, in bytes. A lower server.max_body takes precedence.
const (
	maxAgreementBody = 64 << 10 // an agreement with its key
	maxTokenBody     = 32 << 10 // a PAT
)

// issue handles POST /api/pat/issue: it exchanges a signed agreement for a PAT. See UIM core, section 4.2.
func (s *Server) issue(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	if err := x.confidential(); err != nil {
		return err
	}
	issued, err := s.Agreements.Issue(r.Context(), x.agreeCall(), func() (pat.IssueRequest, error) {
		tree, err := wire.ReadObject(r, min(maxAgreementBody, x.service.MaxBody))
		if err != nil {
			return pat.IssueRequest{}, err
		}
		return parseIssue(tree)
	})
	if err != nil {
		return err
	}
	return s.answerPAT(c, issued)
}

// confidential refuses a request for a PAT if others can read the response.
func (x *exchange) confidential() error {
	if x.origin != nil && !x.origin.Confidential {
		return reason.InsufficientPermissions.Refusal("PATs are not sent over a connection that others can read.")
	}
	return nil
}

// agreeCall returns the agree.Call of a request.
func (x *exchange) agreeCall() agree.Call {
	return agree.Call{Service: x.service, From: x.address, Observe: func(e *agree.Event) { x.Agreement = e }}
}

// issueMembers are the required members of the body of an issue request, each with an example.
var issueMembers = []struct{ name, example string }{
	{"agent_id", "agent-1"},
	{"agent_public_key", "<PEM, JWK or base64 of the DER>"},
	{"signed_policy", "<the signed agreement, a compact JWS>"},
}

// lacking refuses a body that lacks two or more issueMembers. The refusal lists all missing members and contains an example.
func lacking(tree strictjson.Object) error {
	var missing []string
	example := map[string]string{}
	for _, m := range issueMembers {
		if v := tree[m.name]; v == nil || v == "" {
			missing = append(missing, m.name)
		}
		example[m.name] = m.example
	}
	if len(missing) < 2 { // a single missing member is reported by the code that reads it
		return nil
	}
	f := reason.MalformedRequest.Refusal("The body is missing the members " + strings.Join(missing, ", ") + ".")
	return f.With("missing", missing).With("example", example)
}

func parseIssue(tree strictjson.Object) (pat.IssueRequest, error) {
	if err := lacking(tree); err != nil {
		return pat.IssueRequest{}, err
	}
	m := wire.NewMembers(tree)
	r := pat.IssueRequest{AgentID: m.Text("agent_id", true), SignedPolicy: m.Text("signed_policy", true)}
	r.PublicKey, _ = m.Take("agent_public_key")
	if r.PublicKey == nil {
		return r, m.Wrong("agent_public_key", "is missing")
	}
	r.Scope, r.Plan = m.Texts("scope"), m.Text("plan", false)
	switch m.Text("effective", false) {
	case "", effectiveNow:
	case effectiveOnDate:
		r.OnDate = true
	default:
		return r, m.Wrong("effective", "must be now or on_date")
	}
	return r, m.Done()
}

// The values of the member effective of an issue request: when the PAT for a policy that takes effect later becomes valid.
const (
	effectiveNow    = "now"
	effectiveOnDate = "on_date"
)

// renew handles POST /api/pat/renew. The request has the PAT as its bearer token, and a proof of possession of the key in a header or in
// the body. See UIM core, section 4.4.
func (s *Server) renew(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	if err := x.confidential(); err != nil {
		return err
	}
	most := min(maxAgreementBody, x.service.MaxBody)
	issued, err := s.Agreements.Renew(r.Context(), x.agreeCall(), func() (pat.RenewRequest, error) {
		renewal, err := readRenewal(r, most)
		return x.ofSender(renewal), err
	})
	if err != nil {
		return err
	}
	return s.answerPAT(c, issued)
}

// ofSender restricts a renewal to PATs of the sender, if the request came in a message.
func (x *exchange) ofSender(r pat.RenewRequest) pat.RenewRequest {
	switch o := x.origin; {
	case o == nil:
	case o.SenderKey != "":
		r.SenderKey = o.SenderKey
	default:
		r.Sender = o.Sender
	}
	return r
}

func readRenewal(r *http.Request, maxBody int64) (pat.RenewRequest, error) {
	token, err := wire.Bearer(r.Header)
	renewal := pat.RenewRequest{Token: token, Proof: r.Header.Get(headerProof)}
	if err != nil || token == "" || renewal.Proof != "" || r.ContentLength == 0 || r.Header.Get("Content-Type") == "" {
		return renewal, err
	}
	tree, err := wire.ReadObject(r, maxBody)
	if err != nil {
		return renewal, err
	}
	m := wire.NewMembers(tree)
	renewal.Proof = m.Text("proof", false)
	return renewal, m.Done()
}

func (s *Server) answerPAT(c echo.Context, issued pat.Issuance) error {
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
	if issued.Claims.NotBefore.After(issued.Claims.IssuedAt) {
		answer["not_before"] = issued.Claims.NotBefore.UTC().Format(time.RFC3339)
	}
	if len(issued.Omitted) > 0 {
		answer["scope_omitted"] = issued.Omitted
	}
	return c.JSON(http.StatusOK, answer)
}

// revoke handles POST /api/pat/revoke. Anyone who has a PAT may revoke it, and the response is 200 for any token. See RFC 7009; UIM core,
// section 4.5.
func (s *Server) revoke(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	token, err := presented(r, min(maxTokenBody, x.service.MaxBody))
	if err != nil {
		return err
	}
	if err := s.Agreements.Revoke(r.Context(), x.agreeCall(), token); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, map[string]any{})
}

// introspect handles POST /api/pat/introspect. Clients can introspect only the token that they send as bearer token; the admin listener
// introspects any token. See RFC 7662.
func (s *Server) introspect(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	bearer, err := wire.Bearer(r.Header)
	if err != nil {
		return err
	}
	most := min(maxTokenBody, x.service.MaxBody)
	found, err := s.Agreements.Introspect(r.Context(), x.agreeCall(), bearer, func() (string, error) { return presented(r, most) })
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, found)
}

// presented reads a token from a form (RFC 7009, RFC 7662) or a JSON body of at most maxBytes bytes. If the request has no Content-Type,
// presented returns the bearer token.
func presented(r *http.Request, maxBytes int64) (string, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	empty := r.ContentLength == 0 // clients send a Content-Type even with an empty body
	switch {
	case kind == "application/x-www-form-urlencoded" && !empty:
		data, err := wire.ReadBody(r, maxBytes)
		if err != nil {
			return "", err
		}
		form, err := url.ParseQuery(string(data))
		if err != nil || len(form["token"]) != 1 {
			return "", reason.MalformedRequest.Refusal("The form must contain exactly one field named token.")
		}
		return form.Get("token"), nil
	case empty, err != nil && r.Header.Get("Content-Type") == "":
		token, err := wire.Bearer(r.Header)
		if err == nil && token == "" {
			err = reason.MalformedRequest.Refusal("The member token is missing.")
		}
		return token, err
	}
	tree, err := wire.ReadObject(r, maxBytes)
	if err != nil {
		return "", err
	}
	m := wire.NewMembers(tree)
	token := m.Text("token", true)
	m.Text("token_type_hint", false)
	return token, m.Done()
}
