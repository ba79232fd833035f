package bridge

import (
	"errors"
	"strconv"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
)

// remember keeps the limit that the service stated in the response to a call.
func (s *service) remember(uid intents.UID, r agent.Result, err error) {
	stated := r.RateLimit
	if refused, ok := errors.AsType[*agent.Error](err); ok {
		stated = refused.RateLimit
	}
	if stated == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limits == nil {
		s.limits = map[intents.UID]agent.RateLimit{}
	}
	s.limits[uid] = *stated
}

// left describes how many calls to an intent were left after the last call. It returns the empty string if there was no such call, or the
// service stated no limit.
func (s *service) left(uid intents.UID) string {
	s.mu.Lock()
	stated, known := s.limits[uid]
	s.mu.Unlock()
	if !known {
		return ""
	}
	text := strconv.FormatInt(stated.Remaining, 10)
	if stated.Limit > 0 {
		text += " of " + strconv.FormatInt(stated.Limit, 10)
	}
	return text + " calls after the last call"
}
