package service

import (
	"context"

	"github.com/uimgate/uimgate/odrl"
)

// Callable reports whether agents can call an intent: it is offered, and the policy permits it to some agent. If not, why is the reason. If
// the policy names parties, it may permit an intent only to them, so the intent counts as permitted.
func (d *Definition) Callable(ctx context.Context, uid string) (ok bool, why string) {
	in, found := d.intents[uid]
	switch {
	case !found:
		return false, "it is not in agents.json"
	case in.RetiredAt(d.now()):
		return false, "it is retired"
	}
	terms, err := d.Policy.Terms(ctx, odrl.Request{Intent: uid, AgentKey: []byte{0}})
	if err == nil && !terms.Permitted && len(d.rules.Parties) == 0 {
		return false, terms.Detail
	}
	return true, ""
}

// NoneCallable reports whether agents can call none of the intents of the service.
func (d *Definition) NoneCallable(ctx context.Context) bool {
	for _, in := range d.Offered() {
		if ok, _ := d.Callable(ctx, in.ID); ok {
			return false
		}
	}
	return true
}

// EndedAsAnnounced reports whether the intent is retired because its retire_after has passed.
func (d *Definition) EndedAsAnnounced(uid string) bool {
	in, found := d.intents[uid]
	return found && !in.RetireAfter.IsZero() && !d.now().Before(in.RetireAfter)
}
