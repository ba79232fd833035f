package mrp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apiwire "github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// search answers with a page of whole intents. A cursor is good for the query that it was told for.
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
				return m.Wrong("cursor", "is none that was told here")
			}
			query.Set("page", cursor)
		}
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	t := x.ask(ctx, asked{method: http.MethodGet, path: "/api/intents/search", query: query.Encode()})
	if !t.ok() || t.long {
		return x.failed(t)
	}
	var page struct {
		Intents    json.RawMessage `json:"intents"`
		Pagination struct {
			Pages   int `json:"total_pages"`
			Current int `json:"current_page"`
		} `json:"pagination"`
	}
	if err := json.Unmarshal(t.body.Bytes(), &page); err != nil {
		return x.refuse(reason.Internal.Refusal("The answer could not be read.").Because(err))
	}
	w := strictjson.NewWriter(nil)
	w.JSON("intents", page.Intents)
	if page.Pagination.Current < page.Pagination.Pages {
		w.Text("cursor", strconv.Itoa(page.Pagination.Current+1))
	}
	return result(w)
}

// policy answers with the policy that is offered, to the byte.
func (x *exchange) policy(ctx context.Context, r request) answer {
	if err := x.params(ctx, r, "", func(*apiwire.Members) error { return nil }); err != nil {
		return x.refuse(err)
	}
	t := x.ask(ctx, asked{method: http.MethodGet, path: "/api/policy"}) // as often as anybody may ask
	if !t.ok() || t.long {
		return x.failed(t)
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

// agree answers with a PAT for an agreement that the sender's key has signed. The sender's id is its key.
func (x *exchange) agree(ctx context.Context, r request) answer {
	var agreement string
	var scope []string
	if err := x.params(ctx, r, "", func(m *apiwire.Members) error {
		agreement, scope = m.Text("agreement", true), m.Texts("scope")
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	w := strictjson.NewWriter(nil)
	w.Text("agent_id", x.came.Sender.String())
	w.JSON("agent_public_key", x.key.JWK())
	w.Text("signed_policy", agreement)
	if scope != nil {
		w.Append("scope", func(out []byte) ([]byte, error) {
			list, err := json.Marshal(scope)
			return append(out, list...), err
		})
	}
	body, err := w.End()
	if err != nil {
		return x.refuse(apiwire.Malformed(err))
	}
	return x.agreed(x.ask(ctx, asked{method: http.MethodPost, path: "/api/pat/issue", body: body}))
}

// renew answers with the successor of a PAT of the sender.
func (x *exchange) renew(ctx context.Context, r request) answer {
	var token, proof string
	if err := x.params(ctx, r, "", func(m *apiwire.Members) error {
		token, proof = m.Text("pat", true), m.Text("proof", false)
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	return x.agreed(x.ask(ctx, asked{
		method: http.MethodPost, path: "/api/pat/renew", header: map[string]string{"Authorization": "Bearer " + token, "Uim-Proof": proof},
	}))
}

// agreed answers with a PAT, as the API tells it.
func (x *exchange) agreed(t *told) answer {
	if t.long || t.status != http.StatusOK && t.status != http.StatusAccepted {
		return x.failed(t)
	}
	var told struct {
		AgreementID string          `json:"agreement_id"`
		PAT         string          `json:"uim-pat"`
		ExpiresAt   string          `json:"expires_at"`
		Scope       json.RawMessage `json:"scope"`
		Omitted     json.RawMessage `json:"scope_omitted"`
	}
	if err := json.Unmarshal(t.body.Bytes(), &told); err != nil {
		return x.refuse(reason.Internal.Refusal("The answer could not be read.").Because(err))
	}
	if told.PAT == "" {
		return x.refuse(reason.InsufficientPermissions.Refusal(
			"The agreement is kept; the operator of the service has to approve the agent first.").
			With("status", "pending").With("agreement_id", told.AgreementID).
			With("suggestion", "Agree again, with a new agreement, once the operator has approved the agent."))
	}
	w := strictjson.NewWriter(nil)
	w.Text("agreement_id", told.AgreementID)
	w.Text("pat", told.PAT)
	w.Text("expires_at", told.ExpiresAt)
	w.JSON("scope", told.Scope)
	w.JSON("scope_omitted", told.Omitted)
	return result(w)
}
