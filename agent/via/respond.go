package via

import (
	"net/http"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// The functions in this file serve protocols whose messages carry all members of UIM: they convert the members to responses of the
// UIM endpoints.

// doneBeside returns the response of the execute endpoint with an output, and with the other members of the message as header
// fields.
func doneBeside(a fetch.Answer, output []byte, members strictjson.Object) fetch.Answer {
	out := done(a, output)
	for name, member := range map[string]string{"Uim-Charge": "charge", "Ratelimit": "rate_limit", "Uim-Request-Id": "request_id"} {
		if text := members.Text(member); text != "" {
			beside(out, name, text)
		}
	}
	if members.Flag("replayed") {
		beside(out, "Idempotency-Replayed", "true")
	}
	return out
}

// agreed returns the response of the issue endpoint with a PAT that is valid until the given time.
func agreed(a fetch.Answer, members strictjson.Object, until time.Time) (fetch.Answer, error) {
	return renewalAnswer(a, http.StatusOK, map[string]any{
		"uim-pat": members.Text("pat"), "agreement_id": members.Text("agreement_id"), "scope": members["scope"],
		"expires_at": until.UTC().Format(time.RFC3339),
	})
}

// pending returns the response of the issue endpoint for an agent that the operator must first approve.
func pending(a fetch.Answer, details strictjson.Object) (fetch.Answer, error) {
	return renewalAnswer(a, http.StatusAccepted, map[string]any{"status": "pending", "agreement_id": details.Text("agreement_id")})
}

func renewalAnswer(a fetch.Answer, status int, members map[string]any) (fetch.Answer, error) {
	body, err := strictjson.Append(nil, members)
	if err != nil {
		return fetch.Answer{}, wrong("the members cannot be encoded")
	}
	return answer(a, status, body), nil
}
