package sqlmail

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

// Fold normalizes a text for comparison.
var Fold = fold

// A RoundRequest is the request of one caller in a round: Admit, Send or both, or Delivered.
type RoundRequest struct {
	Guard     *mail.Guard
	Send      *mail.NewMessage
	Recipient mail.Key
	Delivered []string
}

// An Answer is the result of a RoundRequest.
type Answer struct {
	Agent    mail.Agent
	IsNew    bool
	Taken    mail.Message
	Repeated bool
	Err      error
}

// Round executes the requests of several callers in one transaction.
func Round(ctx context.Context, s *Store, all ...RoundRequest) ([]Answer, error) {
	turns := make([]*turn, len(all))
	for i, a := range all {
		turns[i] = &turn{guard: a.Guard, touch: time.Minute, send: a.Send, recipient: a.Recipient, delivered: a.Delivered}
	}
	err := s.db.Aside(ctx, func(ctx context.Context, x tx) error { return s.round(ctx, x, turns) })
	answers := make([]Answer, len(turns))
	for i, t := range turns {
		answers[i] = Answer{t.agent, t.isNew, t.taken, t.repeated, t.err}
	}
	return answers, err
}
