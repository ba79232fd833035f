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
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// patIssue agrees through package agent, which signs only what was read and sends it only where it may go.
func (v *visit) patIssue(ctx context.Context) finding {
	if !v.o.Agree {
		return skipped("nothing is signed without leave (--allow-agree)")
	}
	if v.service == nil {
		return skipped("no agent reads this agents.json: %v", v.findErr)
	}
	agreement, err := v.agree(ctx)
	var pending *agent.PendingError
	var refusal *agent.Error
	switch {
	case errors.As(err, &pending):
		return skipped("%v", pending)
	case errors.As(err, &refusal) && refusal.Status >= http.StatusInternalServerError:
		return skipped("the answer was %d: see error-failures", refusal.Status)
	case errors.As(err, &refusal) && (refusal.Is(agent.ErrAgentBlocked) || refusal.Is(agent.ErrKeyTaken) || refusal.Is(agent.ErrAgentIDTaken) || refusal.Is(agent.ErrTooManyRequests)):
		return skipped("this agent is not let in: %v", refusal)
	case err != nil:
		return wrong("%v", err)
	}
	return holds("signed as %s", agreement.Form)
}

// agree gets a PAT and keeps it; where it is asked to wait a little, it does.
func (v *visit) agree(ctx context.Context) (agent.Agreement, error) {
	const most = 3
	for n := 0; ; n++ {
		v.record.keep(maxPAT)
		agreement, err := v.service.Agree(ctx, agent.PolicySeen{Digest: v.digest, Issuer: v.o.Issuer})
		kept := v.record.take()
		if err == nil {
			v.take(kept, v.service.Endpoints().Issue)
			return agreement, nil
		}
		var refusal *agent.Error
		if n == most || !errors.As(err, &refusal) || !refusal.Is(agent.ErrTooManyRequests) || refusal.RetryAfter <= 0 || refusal.RetryAfter > maxWait {
			return agreement, err
		}
		if sleepErr := v.o.Client.Sleep(ctx, refusal.RetryAfter); sleepErr != nil {
			return agreement, err
		}
	}
}

// take keeps the PAT that one of these exchanges gave, if it was one with these addresses.
func (v *visit) take(kept []exchange, addresses []string) bool {
	for _, e := range slices.Backward(kept) {
		if e.status/100 != 2 || e.method != http.MethodPost || !slices.Contains(addresses, e.url.String()) {
			continue
		}
		tree, err := strictjson.DecodeObject(e.body())
		if err != nil {
			return false
		}
		for _, name := range []string{"data", "result"} { // as package agent reads it
			if inner, ok := tree[name].(map[string]any); ok && tree["uim-pat"] == nil {
				tree = inner
			}
		}
		for _, name := range []string{"uim-pat", "uim_pat", "pat", "token", "access_token"} {
			if text, ok := tree[name].(string); ok {
				v.issued, v.answered, v.token = e, tree, jwtText{text: text}
				return true
			}
		}
	}
	return false
}

func (v *visit) patFresh(context.Context) finding {
	if form := v.service.Session().Form; form != agent.FormFresh {
		return missing("it takes only %s, which whoever sees it can replay", form)
	}
	return good
}

func (v *visit) patAnswer(context.Context) finding {
	text, ok := v.answered["expires_at"].(string)
	if _, canonical := v.answered["uim-pat"]; !canonical {
		return wrong("the PAT is not called uim-pat")
	}
	if !ok {
		return missing("there is no expires_at")
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return wrong("expires_at is not RFC 3339")
	}
	if exp, ok := v.token.date("exp"); ok && at.Sub(exp).Abs() > time.Second {
		return wrong("expires_at is not the PAT's exp")
	}
	return good
}

func (v *visit) patNoStore(context.Context) finding {
	if !strings.Contains(strings.ToLower(v.issued.header.Get("Cache-Control")), "no-store") {
		return missing("there is no Cache-Control: no-store")
	}
	return good
}

// refusedAgreement judges the answer to an agreement that must not be taken.
func (v *visit) refusedAgreement(ctx context.Context, body []byte) finding {
	a, err := v.ask(ctx, http.MethodPost, v.issued.url.String(), jsonBody, string(body))
	switch {
	case err != nil:
		return broken(err)
	case a.Status >= http.StatusInternalServerError:
		return failed(a)
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service takes no more agreements now")
	case a.Status/100 == 2:
		return wrong("it is taken")
	case a.Status/100 != 4:
		return wrong("it is answered %d", a.Status)
	}
	return good
}

func (v *visit) agreementReplayed(ctx context.Context) finding {
	if len(v.issued.sent) == 0 {
		return skipped("the agreement could not be read again")
	}
	return v.refusedAgreement(ctx, v.issued.sent)
}

// agreementForged sends an agreement in our name that a stranger signed.
func (v *visit) agreementForged(ctx context.Context) finding {
	tree, err := strictjson.DecodeObject(v.issued.sent)
	if err != nil {
		return skipped("the agreement could not be read again")
	}
	stranger, err := agent.NewKey(pat.EdDSA)
	if err != nil {
		return skipped("%v", err)
	}
	s := v.service.Session()
	if s.Form == agent.FormFresh {
		signed, err := pat.SignAgreement(stranger, pat.AgreementClaims{
			AgentID: s.AgentID, Audience: s.Issuer, IssuedAt: v.o.Client.Now(), PolicyUID: s.PolicyUID, PolicyDigest: s.PolicyDigest,
		})
		if err != nil {
			return skipped("%v", err)
		}
		tree["signed_policy"] = signed
	} else {
		key, err := pat.NewKey(stranger.Public())
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
