package mrp

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	apiwire "github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// search replies with a page of full intent descriptions. A cursor is valid only for the query that returned it.
func (x *exchange) search(ctx context.Context, r request) answer {
	query := url.Values{"view": {"full"}}
	if err := x.params(ctx, r, "", func(m *apiwire.Members) error {
		if text := m.Text("query", false); text != "" {
			query.Set("query", text)
		}
		if tags := m.Texts("tags"); len(tags) > 0 {
			query.Set("tags", strings.Join(tags, ","))
		}
		if cursor := m.Text("cursor", false); cursor != "" {
			if _, err := strconv.ParseUint(cursor, 10, 32); err != nil {
				return m.Wrong("cursor", "is not a cursor that this service returned")
			}
			query.Set("page", cursor)
		}
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	page, err := x.a.d.Host.Search(ctx, x.origin(), query)
	if err != nil {
		return x.failed(err)
	}
	w := strictjson.NewWriter(nil)
	w.Append("intents", marshaled(page.Intents))
	if page.CurrentPage < page.TotalPages {
		w.Text("cursor", strconv.Itoa(page.CurrentPage+1))
	}
	return result(w)
}

// policy replies with the offered policy, byte for byte.
func (x *exchange) policy(ctx context.Context, r request) answer {
	if err := x.params(ctx, r, "", func(*apiwire.Members) error { return nil }); err != nil {
		return x.refuse(err)
	}
	if err := x.a.d.Host.Policy(ctx, x.origin()); err != nil {
		return x.failed(err)
	}
	offer := x.service.Offer()
	w := strictjson.NewWriter(nil)
	w.Text("uid", offer.UID)
	w.Text("digest", offer.Digest)
	w.Text("issuer", x.service.Issuer)
	w.Text("issue_url", x.service.At("/api/pat/issue")) // an agreement names it as htu
	w.Text("document", string(offer.Bytes))
	return result(w)
}

// agree replies with a PAT for an agreement that is signed with the sender's key. That key is also the agent id of the sender.
func (x *exchange) agree(ctx context.Context, query request) answer {
	r := pat.IssueRequest{AgentID: x.received.Sender.String()}
	if err := x.params(ctx, query, "", func(m *apiwire.Members) error {
		r.SignedPolicy, r.Scope, r.Plan = m.Text("agreement", true), m.Texts("scope"), m.Text("plan", false)
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	jwk, err := strictjson.DecodeObject(x.key.JWK())
	if err != nil {
		return x.refuse(apiwire.Malformed(err))
	}
	r.PublicKey = map[string]any(jwk)
	issued, err := x.a.d.Host.Agree(ctx, x.origin(), r)
	if err != nil {
		return x.failed(err)
	}
	return x.agreed(issued)
}

// renew replies with a PAT that succeeds one of the sender's PATs.
func (x *exchange) renew(ctx context.Context, r request) answer {
	var token, proof string
	if err := x.params(ctx, r, "", func(m *apiwire.Members) error {
		token, proof = m.Text("pat", true), m.Text("proof", false)
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	issued, err := x.a.d.Host.Renew(ctx, x.origin(), pat.RenewRequest{Token: token, Proof: proof})
	if err != nil {
		return x.failed(err)
	}
	return x.agreed(issued)
}

// agreed replies with the issued PAT, or with a refusal if the operator must first approve the agent.
func (x *exchange) agreed(issued pat.Issuance) answer {
	if issued.State == pat.AgreementPending {
		return x.refuse(reason.InsufficientPermissions.Refusal(
			"The agreement is stored, but the operator of the service must approve the agent first.").
			With("status", "pending").With("agreement_id", issued.AgreementID).
			With("suggestion", "Agree again, with a new agreement, once the operator has approved the agent."))
	}
	w := strictjson.NewWriter(nil)
	w.Text("agreement_id", string(issued.AgreementID))
	w.Text("pat", issued.Token)
	w.Text("expires_at", issued.Claims.ExpiresAt.UTC().Format(time.RFC3339))
	w.Texts("scope", issued.Claims.Scope)
	if len(issued.Omitted) > 0 {
		w.Append("scope_omitted", marshaled(issued.Omitted))
	}
	return result(w)
}

// marshaled returns a function for strictjson.Writer.Append that appends v as JSON.
func marshaled(v any) func(out []byte) ([]byte, error) {
	return func(out []byte) ([]byte, error) {
		text, err := json.Marshal(v)
		return append(out, text...), err
	}
}
