package verify

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// patIssue makes an agreement through package agent, which signs only a policy that it has read, and sends it only to permitted addresses.
func (v *verification) patIssue(ctx context.Context) finding {
	if !v.options.Agree {
		return skipped("nothing is signed without permission (--allow-agree)")
	}
	if v.service == nil {
		return skipped("agents cannot use this agents.json: %v", v.findErr)
	}
	agreement, err := v.agree(ctx)
	if pending, ok := errors.AsType[*agent.PendingError](err); ok {
		return skipped("%v", pending)
	}
	refusal, refused := errors.AsType[*agent.Error](err)
	switch {
	case refused && refusal.Status >= http.StatusInternalServerError:
		return skipped("the response was %d: see error-failures", refusal.Status)
	case refused && notAdmitted(refusal):
		return skipped("this agent is not admitted: %v", refusal)
	case err != nil:
		return wrong("%v", err)
	}
	return holds("signed as %s", agreement.Form)
}

// notAdmitted reports whether a refusal concerns this agent and not the agreement.
func notAdmitted(e *agent.Error) bool {
	return e.Is(agent.ErrAgentBlocked) || e.Is(agent.ErrKeyTaken) || e.Is(agent.ErrAgentIDTaken) || e.Is(agent.ErrTooManyRequests)
}

// agree gets a PAT and keeps it. It repeats the agreement a few times while the service returns 429 with a short Retry-After.
func (v *verification) agree(ctx context.Context) (agent.Agreement, error) {
	const most = 3
	for n := 0; ; n++ {
		v.recorder.start(maxPAT)
		agreement, err := v.service.Agree(ctx, agent.Acceptance{Digest: v.digest, Issuer: v.options.Issuer})
		kept := v.recorder.stop()
		if err == nil {
			v.takePAT(kept, v.service.Endpoints().Issue)
			return agreement, nil
		}
		refusal, ok := errors.AsType[*agent.Error](err)
		if n == most || !ok || !refusal.Is(agent.ErrTooManyRequests) || refusal.RetryAfter <= 0 || refusal.RetryAfter > maxWait {
			return agreement, err
		}
		if sleepErr := v.Sleep(ctx, refusal.RetryAfter); sleepErr != nil {
			return agreement, err
		}
	}
}

// takePAT keeps the PAT from the last of these exchanges that was a successful POST to one of the addresses. It reports whether it found a
// PAT.
func (v *verification) takePAT(kept []exchange, addresses []string) bool {
	for _, e := range slices.Backward(kept) {
		if e.status/100 != 2 || e.method != http.MethodPost || !slices.Contains(addresses, e.url.String()) {
			continue
		}
		tree, err := strictjson.DecodeObject(e.body())
		if err != nil {
			return false
		}
		for _, name := range []string{"data", "result"} { // as package agent parses it
			if inner, ok := tree[name].(map[string]any); ok && tree["uim-pat"] == nil {
				tree = inner
			}
		}
		for _, name := range []string{"uim-pat", "uim_pat", "pat", "token", "access_token"} {
			if text, ok := tree[name].(string); ok {
				v.issueExchange, v.issueAnswer, v.token, v.Token = e, tree, patText{text: text}, text
				return true
			}
		}
	}
	return false
}

func (v *verification) patFresh(context.Context) finding {
	if form := v.service.Session().Form; form != agent.FormFresh {
		return missing("it accepts only the form %s, which anyone who sees it can replay", form)
	}
	return pass
}

func (v *verification) patAnswer(context.Context) finding {
	text, ok := v.issueAnswer["expires_at"].(string)
	if _, canonical := v.issueAnswer["uim-pat"]; !canonical {
		return wrong("the member with the PAT is not called uim-pat")
	}
	if !ok {
		return missing("expires_at is missing")
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return wrong("expires_at is not a time in the format of RFC 3339")
	}
	if exp, ok := v.token.numericDate("exp"); ok && at.Sub(exp).Abs() > time.Second {
		return wrong("expires_at differs from the PAT's exp")
	}
	return pass
}

func (v *verification) patNoStore(context.Context) finding {
	if !strings.Contains(strings.ToLower(v.issueExchange.header.Get("Cache-Control")), "no-store") {
		return missing("Cache-Control: no-store is missing")
	}
	return pass
}

// refusedAgreement checks the response to an agreement that must be rejected.
func (v *verification) refusedAgreement(ctx context.Context, body []byte) finding {
	a, err := v.ask(ctx, http.MethodPost, v.issueExchange.url.String(), jsonBody, string(body))
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service currently accepts no more agreements")
	case a.Status/100 == 2:
		return wrong("the service accepts the agreement")
	case a.Status/100 != 4:
		return wrong("the response is %d", a.Status)
	}
	return pass
}

func (v *verification) agreementReplayed(ctx context.Context) finding {
	if len(v.issueExchange.sent) == 0 {
		return skipped("the agreement was not recorded")
	}
	return v.refusedAgreement(ctx, v.issueExchange.sent)
}

// agreementForged sends an agreement in the name of this agent that is signed with another key.
func (v *verification) agreementForged(ctx context.Context) finding {
	tree, err := strictjson.DecodeObject(v.issueExchange.sent)
	if err != nil {
		return skipped("the agreement was not recorded")
	}
	stranger, err := agent.NewKey(keys.EdDSA)
	if err != nil {
		return skipped("%v", err)
	}
	s := v.service.Session()
	if s.Form == agent.FormFresh {
		signed, err := pat.SignAgreement(stranger, pat.AgreementClaims{
			AgentID: s.AgentID, Audience: s.Issuer, URL: v.issueExchange.url.String(), IssuedAt: v.Now(),
			PolicyUID: s.PolicyUID, PolicyDigest: s.PolicyDigest,
		})
		if err != nil {
			return skipped("%v", err)
		}
		tree["signed_policy"] = signed
	} else {
		key, err := keys.New(stranger.Public())
		if err != nil {
			return skipped("%v", err)
		}
		tree["agent_public_key"] = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key.SPKI()}))
	}
	body, err := json.Marshal(tree)
	if err != nil {
		return skipped("%v", err)
	}
	return v.refusedAgreement(ctx, body)
}
