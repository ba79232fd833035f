package verify

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

func (v *verification) renew(ctx context.Context) finding {
	before, renewAt := v.token, v.service.Endpoints().Renew
	v.recorder.start(maxPAT)
	_, err := v.service.Renew(ctx)
	kept := v.recorder.stop()
	if v.takePAT(kept, v.service.Endpoints().Issue) { // package agent agreed again, because the service does not renew
		if f := v.patJWT(ctx); f.Outcome != Holds {
			return f
		}
		return missing("the service does not renew PATs: the policy must be signed again")
	}
	refusal, refused := errors.AsType[*agent.Error](err)
	switch {
	case refused && refusal.Status >= http.StatusInternalServerError:
		return skipped("the response was %d: see error-failures", refusal.Status)
	case refused && refusal.Is(agent.ErrTooManyRequests):
		return skipped("the service currently renews no PAT: %v", refusal)
	case refused && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusMethodNotAllowed):
		return missing("%v", err)
	case err != nil:
		return wrong("%v", err)
	case !v.takePAT(kept, renewAt):
		return missing("the service does not renew PATs")
	}
	if f := v.patJWT(ctx); f.Outcome != Holds {
		return f
	}
	exp, ok := v.token.numericDate("exp")
	was, _ := before.numericDate("exp")
	switch {
	case !ok || exp.Before(was):
		return wrong("the new PAT expires before the old one")
	case v.token.payload["jti"] == before.payload["jti"]:
		return wrong("the new PAT has the same jti")
	}
	return pass
}

func (v *verification) renewedTaken(ctx context.Context) finding {
	if _, f := v.findExecute(ctx); f.Outcome != Holds {
		return f
	}
	a, err := v.execute(ctx, v.token.text, call{uid: v.unknownUID(), parameters: map[string]any{}})
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError && a.Status != http.StatusNotImplemented:
		return point.ServerError(a)
	case a.Status == http.StatusUnauthorized:
		return wrong("the response is 401")
	}
	return pass
}

func (v *verification) revoke(ctx context.Context) finding {
	err := v.service.Revoke(ctx)
	refusal, refused := errors.AsType[*agent.Error](err)
	switch {
	case err == nil:
		return pass
	case refused && pathMissing(refusal.Status):
		return missing("%v", err)
	case refused && refusal.Status >= http.StatusInternalServerError:
		return skipped("the response was %d: see error-failures", refusal.Status)
	}
	return wrong("%v", err)
}

func (v *verification) revokedRefused(ctx context.Context) finding {
	return v.refusedToken(ctx, v.token.text)
}

func (v *verification) revokeUnknown(ctx context.Context) finding {
	form := url.Values{"token": {"uimgate-verify"}, "token_type_hint": {"access_token"}}.Encode()
	for _, address := range v.service.Endpoints().Revoke {
		a, err := v.ask(ctx, http.MethodPost, address, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form)
		switch {
		case err != nil:
			return point.Failed(err)
		case pathMissing(a.Status):
			continue
		}
		return point.Status(a, http.StatusOK)
	}
	return missing("the service does not revoke PATs")
}

// patExpired waits until a PAT expires, if that is soon. It needs a PAT that was valid, because a service does not issue an expired one.
func (v *verification) patExpired(ctx context.Context) finding {
	const leeway = 30 * time.Second // services may tolerate this difference between clocks
	if life := v.token.lifetime(); life > maxWait {
		return skipped("PATs are valid for %s, which is too long to wait", life)
	}
	if _, err := v.agree(ctx); err != nil {
		return skipped("%v", err)
	}
	if f := v.patJWT(ctx); f.Outcome != Holds || v.token.lifetime() > maxWait {
		return skipped("the next PAT is not a JWT, or is valid for too long")
	}
	exp, _ := v.token.numericDate("exp")
	if err := v.Sleep(ctx, exp.Sub(v.Now())+leeway); err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, v.token.text)
}

// lifetime returns how long the PAT is valid.
func (t patText) lifetime() time.Duration {
	exp, _ := t.numericDate("exp")
	nbf, _ := t.numericDate("nbf")
	return exp.Sub(nbf)
}
