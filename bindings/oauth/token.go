package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// token handles POST /oauth/token. See RFC 6749, sections 4.1.3 and 6; RFC 7523, section 2.1.
func (d *Door) token(q *request) error {
	q.w.Header().Set("Pragma", "no-cache")
	grant, err := q.parameters()
	if err != nil {
		return err
	}
	fetch := d.fetcher(q.Service.Definition)
	var tokens consent.Tokens
	switch grant.Get("grant_type") {
	case codeGrant:
		tokens, err = d.consents.Exchange(q.r.Context(), q.AgreeCall(), consent.CodeRequest{
			Code: grant.Get("code"), RedirectURI: grant.Get("redirect_uri"), ClientID: grant.Get("client_id"),
			Verifier: grant.Get("code_verifier"), Resource: grant.Get("resource"),
		}, fetch)
	case refreshGrant:
		tokens, err = d.consents.Refresh(q.r.Context(), q.AgreeCall(), consent.RefreshRequest{
			Token: grant.Get("refresh_token"), ClientID: grant.Get("client_id"), Scope: grant.Get("scope"), Resource: grant.Get("resource"),
		})
	case jwtGrant:
		tokens.Issuance, err = d.issue(q, grant)
	default:
		err = &consent.Error{
			Code: consent.UnsupportedGrantType, Description: "grant_type must be " + codeGrant + ", " + refreshGrant + " or " + jwtGrant + ".",
		}
	}
	if err != nil {
		return err
	}
	if tokens.Token == "" {
		return &consent.Error{
			Code: "authorization_pending", Description: "The operator must approve the agent first. Send the same request again later.",
		}
	}
	answer := map[string]any{
		"access_token": tokens.Token, "token_type": "Bearer", "scope": strings.Join(tokens.Claims.Scope, " "),
		"expires_in": int64(tokens.Claims.ExpiresAt.Sub(tokens.Claims.IssuedAt).Seconds()),
	}
	if tokens.Refresh != "" {
		answer["refresh_token"] = tokens.Refresh
	}
	q.answer(http.StatusOK, answer)
	return nil
}

// parameters reads the form of a request. It rejects repeated parameters and the Authorization header.
func (q *request) parameters() (url.Values, error) {
	if _, sent := q.r.Header["Authorization"]; sent {
		return nil, &consent.Error{Code: consent.InvalidClient, Description: "All clients are public: omit the Authorization header."}
	}
	return readForm(q)
}

// issue issues a token under the agreement in the parameter assertion, which an agent has signed with its own key.
func (d *Door) issue(q *request, grant url.Values) (pat.Issuance, error) {
	if resource := grant.Get("resource"); resource != "" && resource != consent.Resource(q.Service.Definition) {
		return pat.Issuance{}, &consent.Error{Code: consent.InvalidTarget, Description: "resource must be the MCP endpoint of this service."}
	}
	return q.Issue(q.r.Context(), func() (pat.IssueRequest, error) {
		r, err := pat.IssueRequestOf(grant.Get("assertion"))
		if scope := strings.Fields(grant.Get("scope")); len(scope) > 0 && !slices.Contains(scope, pat.WholeScope(q.Service.Issuer)) {
			r.Scope = scope
		}
		return r, err
	})
}

// register handles POST /oauth/register. See RFC 7591, section 3.
func (d *Door) register(q *request) error {
	tree, err := wire.ReadObject(q.r, min(maxForm, q.Service.MaxBody))
	if err != nil {
		if f, ok := errors.AsType[*reason.Refusal](err); ok && f.Reason == reason.MalformedRequest {
			err = &consent.Error{Code: consent.InvalidClientMetadata, Description: f.Message}
		}
		return err
	}
	client, err := d.consents.Register(q.r.Context(), q.AgreeCall(), tree)
	if err != nil {
		return err
	}
	answer := map[string]any{
		"client_id": client.ID, "client_id_issued_at": client.CreatedAt.Unix(), "redirect_uris": client.Redirects,
		"token_endpoint_auth_method": "none", "grant_types": []string{codeGrant, refreshGrant}, "response_types": []string{"code"},
		"scope": pat.WholeScope(q.Service.Issuer),
	}
	if client.Name != "" {
		answer["client_name"] = client.Name
	}
	q.answer(http.StatusCreated, answer)
	return nil
}

// revoke handles POST /oauth/revoke. Anyone who has a token may revoke it. The response is also 200 if the token is unknown or has ended.
// See RFC 7009, section 2.
func (d *Door) revoke(q *request) error {
	form, err := q.parameters()
	if err == nil && form.Get("token") == "" {
		err = &consent.Error{Code: consent.InvalidRequest, Description: "The parameter token is missing."}
	}
	mine := false
	if err == nil {
		mine, err = d.consents.Revoke(q.r.Context(), q.AgreeCall(), form.Get("token"))
	}
	if err == nil && !mine {
		err = q.Revoke(q.r.Context(), form.Get("token"))
	}
	if err == nil {
		q.w.WriteHeader(http.StatusOK)
	}
	return err
}
