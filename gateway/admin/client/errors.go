package client

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/internal/reason"
)

// A RefusedError is a refusal by the gateway. Its strings may contain text from agents and other clients.
type RefusedError struct {
	Reason              reason.Reason
	Message, Suggestion string
	Services            []string          // the available services, if the request must name one
	Problems            []reloads.Problem // the problems of a configuration, if that was refused
}

func (e *RefusedError) Error() string {
	if e.Suggestion == "" {
		return e.Message
	}
	return e.Message + "\n" + e.Suggestion
}

// refusal decodes the envelope of a refusal.
func (c *Client) refusal(status string, data []byte) error {
	var envelope struct {
		Error struct {
			Message string `json:"message"`
			Details struct {
				Reason     reason.Reason     `json:"reason"`
				Suggestion string            `json:"suggestion"`
				Services   []string          `json:"services"`
				Problems   []reloads.Problem `json:"problems"`
			} `json:"details"`
		} `json:"error"`
	}
	if c.base.Scheme == "http" && strings.Contains(string(data), "HTTP request to an HTTPS server") { // the text of net/http
		return fmt.Errorf("%w: the admin listener serves https, because server.tls is set: use https://%s", ErrURL, c.base.Host)
	}
	if err := json.Unmarshal(data, &envelope); err != nil || envelope.Error.Message == "" {
		return fmt.Errorf("%s responded with %s, but not in the format of the admin API: check that it is the admin listener", c.base, status)
	}
	d := envelope.Error.Details
	return &RefusedError{
		Reason: d.Reason, Message: envelope.Error.Message, Suggestion: d.Suggestion, Services: d.Services,
		Problems: d.Problems,
	}
}

// An UnansweredError means that no response arrived.
type UnansweredError struct {
	URL     string
	Changed bool // the operation may have been carried out
	err     error
}

func (e *UnansweredError) Error() string {
	if e.Changed {
		return fmt.Sprintf("no answer from the gateway at %s: check whether the operation was carried out before you repeat it: %v", e.URL, e.err)
	}
	text := fmt.Sprintf("no answer from the gateway at %s: %v", e.URL, e.err)
	if rest, ok := strings.CutPrefix(e.URL, "https://"); ok && strings.Contains(text, "server gave HTTP response to HTTPS client") {
		return text + ": the admin listener serves http, because server.tls is not set: use http://" + rest
	}
	return text
}

func (e *UnansweredError) Unwrap() error { return e.err }
