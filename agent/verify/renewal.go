package verify

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/uimgate/uimgate/agent"
)

func (v *visit) renew(ctx context.Context) finding {
	before, renewAt := v.token, v.service.Endpoints().Renew
	v.record.keep(maxPAT)
	_, err := v.service.Renew(ctx)
	kept := v.record.take()
	if v.take(kept, v.service.Endpoints().Issue) { // package agent agreed anew, for want of a renewal
		if f := v.patJWT(ctx); f.outcome != Holds {
			return f
		}
		return missing("there is no renewal: the policy has to be signed again")
	}
	var refusal *agent.Error
	switch {
	case errors.As(err, &refusal) && refusal.Status >= http.StatusInternalServerError:
		return skipped("the answer was %d: see error-failures", refusal.Status)
	case errors.As(err, &refusal) && refusal.Is(agent.ErrTooManyRequests):
		return skipped("the service renews nothing now: %v", refusal)
	case errors.As(err, &refusal) && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusMethodNotAllowed):
		return missing("%v", err)
	case err != nil:
		return wrong("%v", err)
	case !v.take(kept, renewAt):
		return missing("there is no renewal")
	}
	if f := v.patJWT(ctx); f.outcome != Holds {
		return f
	}
	exp, ok := v.token.date("exp")
	was, _ := before.date("exp")
	switch {
	case !ok || exp.Before(was):
		return wrong("the new PAT does not live as long as the old one")
	case v.token.payload["jti"] == before.payload["jti"]:
		return wrong("the new PAT has the same jti")
	}
	return good
}

func (v *visit) renewedTaken(ctx context.Context) finding {
	if _, f := v.executeAt(ctx); f.outcome != Holds {
		return f
	}
	a, err := v.execute(ctx, v.token.text, call{uid: v.noIntent(), parameters: map[string]any{}})
	switch {
	case err != nil:
		return broken(err)
	case a.Status >= http.StatusInternalServerError && a.Status != http.StatusNotImplemented:
		return failed(a)
	case a.Status == http.StatusUnauthorized:
		return wrong("it is answered 401")
	}
	return good
}

func (v *visit) revoke(ctx context.Context) finding {
	err := v.service.Revoke(ctx)
	var refusal *agent.Error
	switch {
	case err == nil:
		return good
	case errors.As(err, &refusal) && refusal.Status >= http.StatusInternalServerError && refusal.Status != http.StatusNotImplemented:
		return skipped("the answer was %d: see error-failures", refusal.Status)
	case errors.As(err, &refusal) && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, refusal.Status):
		return missing("%v", err)
	}
	return wrong("%v", err)
}

func (v *visit) revokedRefused(ctx context.Context) finding { return v.refusedToken(ctx, v.token.text) }

func (v *visit) revokeUnknown(ctx context.Context) finding {
	form := url.Values{"token": {"uimgate-verify"}, "token_type_hint": {"access_token"}}.Encode()
	for _, address := range v.service.Endpoints().Revoke {
		a, err := v.ask(ctx, http.MethodPost, address, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form)
		switch {
		case err != nil:
			return broken(err)
		case notThere(a):
			continue
		}
		return status(a, http.StatusOK)
	}
	return missing("there is no revocation")
}

// patExpired waits for the end of a PAT, where that is near: no service can be made to issue one that has
// ended.
func (v *visit) patExpired(ctx context.Context) finding {
	const leeway = 30 * time.Second // that services allow for clocks
	if life := v.token.life(); life > maxWait {
		return skipped("a PAT lives for %s here, which is not waited for", life)
	}
	if _, err := v.agree(ctx); err != nil {
		return skipped("%v", err)
	}
	if f := v.patJWT(ctx); f.outcome != Holds || v.token.life() > maxWait {
		return skipped("the next PAT is another kind")
	}
	exp, _ := v.token.date("exp")
	if err := v.o.Client.Sleep(ctx, exp.Sub(v.o.Client.Now())+leeway); err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, v.token.text)
}

// life is how long the PAT is good for.
func (t jwtText) life() time.Duration {
	exp, _ := t.date("exp")
	nbf, _ := t.date("nbf")
	return exp.Sub(nbf)
}
