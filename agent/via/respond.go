package via

import (
	"net/http"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// For protocols whose messages carry all members of UIM: their members, as the responses of its endpoints.

// doneBeside makes the response of a call from its output and the members beside it.
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

// agreed is the response of the issue endpoint with a PAT that is valid until the given time.
func agreed(a fetch.Answer, members strictjson.Object, until time.Time) (fetch.Answer, error) {
	return renewalAnswer(a, http.StatusOK, map[string]any{
		"uim-pat": members.Text("pat"), "agreement_id": members.Text("agreement_id"), "scope": members["scope"],
		"expires_at": until.UTC().Format(time.RFC3339),
	})
}

// pending is the response of the issue endpoint if the operator must first approve the agent.
func pending(a fetch.Answer, details strictjson.Object) (fetch.Answer, error) {
	return renewalAnswer(a, http.StatusAccepted, map[string]any{"status": "pending", "agreement_id": details.Text("agreement_id")})
}

func renewalAnswer(a fetch.Answer, status int, members map[string]any) (fetch.Answer, error) {
	body, err := strictjson.Append(nil, members)
	if err != nil {
		return fetch.Answer{}, wrong("it cannot be written again")
	}
	return answer(a, status, body), nil
}
