package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// body encodes a call in the service's dialect. See UIM core, section 3.2.
func (v *verification) body(uid string, parameters map[string]any) (string, error) {
	var tree any = map[string]any{"intent_uid": uid, "parameters": parameters}
	if v.Catalog.Dialect == intents.Draft {
		tree = map[string]any{"intent": map[string]any{"uid": uid, "parameters": parameters}, "context": map[string]any{}}
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("encoding the call: %w", err)
	}
	return string(text), nil
}

// execute sends a call to the address to which package agent would send it. It does not follow redirects.
func (v *verification) execute(ctx context.Context, token string, c call) (fetch.Answer, error) {
	body, err := v.body(c.uid, c.parameters)
	if err != nil {
		return fetch.Answer{}, err
	}
	return v.executeBody(ctx, token, body)
}

func (v *verification) executeBody(ctx context.Context, token, body string) (fetch.Answer, error) {
	h := maps.Clone(jsonBody)
	h.Set("Authorization", "Bearer "+token)
	return v.ask(ctx, http.MethodPost, v.executeURL, h, body)
}

func (v *verification) executeAnswers(ctx context.Context) finding {
	if _, f := v.findExecute(ctx); f.Outcome != Holds {
		return f
	}
	v.sampled, v.sampleCall = false, call{} // chosen again, now within the scope of the PAT
	c, ok := v.findSample()
	if !ok {
		return skipped("no intent is safe, free of charge and permitted, with a default, an example or an enum for each required parameter")
	}
	a, err := v.execute(ctx, v.token.text, c)
	if err != nil {
		return point.Failed(err)
	}
	switch {
	case a.Status == http.StatusBadGateway, a.Status == http.StatusServiceUnavailable, a.Status == http.StatusGatewayTimeout:
		return skipped("the backend of the service did not respond to %s (%d)", c.uid, a.Status)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status/100 == 2:
		v.Sample = v.made(c, a)
		return holds("%s", c.uid)
	case a.Status/100 == 3:
		return wrong("%s redirects, but agents follow no redirect with a PAT", c.uid)
	case a.Status == http.StatusUnauthorized:
		return wrong("the PAT is not accepted for %s", c.uid)
	}
	return skipped("%s is refused with %d, perhaps because of the parameters or the policy", c.uid, a.Status)
}

func (v *verification) executeOutput(context.Context) finding {
	if f := jsonType(v.Sample.Answer.Header); f.Outcome != Holds && len(v.Sample.Answer.Body) > 0 {
		return f
	}
	var tree any = map[string]any{}
	if len(v.Sample.Answer.Body) > 0 {
		var err error
		if tree, err = strictjson.Decode(v.Sample.Answer.Body); err != nil {
			return wrong("%v", err)
		}
	}
	if m, ok := tree.(map[string]any); ok && m["status"] == "success" && m["data"] != nil && v.Catalog.Dialect == intents.Draft {
		tree = m["data"]
	}
	fitted, err := v.sampleCall.in.Fit(tree, false)
	switch {
	case err != nil:
		return wrong("%v", err)
	case len(fitted.Dropped) > 0:
		return wrong("%s", fitted.Dropped[0])
	}
	return pass
}

func (v *verification) executeLimits(context.Context) finding {
	for _, name := range []string{"Ratelimit", "Ratelimit-Remaining", "X-Ratelimit-Remaining"} {
		if v.Sample.Answer.Header.Get(name) != "" {
			return pass
		}
	}
	return missing("the RateLimit field is missing")
}

// refusedCall makes a call that must be rejected because of its parameters.
func (v *verification) refusedCall(ctx context.Context, c call) finding {
	a, err := v.execute(ctx, v.token.text, c)
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status/100 == 2:
		return wrong("%s is executed nevertheless", c.uid)
	case a.Status == http.StatusBadRequest, a.Status == http.StatusUnprocessableEntity:
		v.Refused = v.made(c, a)
		return pass
	case a.Status == http.StatusTooManyRequests:
		return skipped("the limit of %s is used up", c.uid)
	}
	return point.Status(a, http.StatusBadRequest)
}

func (v *verification) executeMissing(ctx context.Context) finding {
	if c, ok := v.sampleCall.without(); ok {
		return v.refusedCall(ctx, c)
	}
	for _, in := range v.safeIntents() { // it does not matter which parameters are given, only that one is missing
		c := call{in, in.UID.String(), map[string]any{}}
		if _, violations := in.Validate(nil); len(violations) > 0 {
			return v.refusedCall(ctx, c)
		}
	}
	return skipped("no safe intent requires a parameter")
}

func (v *verification) executeUnknown(ctx context.Context) finding {
	return v.refusedCall(ctx, v.sampleCall.with("uimgate_verify_no_such_parameter", "x"))
}

func (v *verification) executeWrongType(ctx context.Context) finding {
	c, ok := v.sampleCall.mistyped()
	if !ok {
		return skipped("%s has no parameter with a type", v.sampleCall.uid)
	}
	return v.refusedCall(ctx, c)
}

func (v *verification) executeConstraint(ctx context.Context) finding {
	c, ok := v.sampleCall.outOfBounds()
	if !ok {
		return skipped("%s has no parameter with a constraint that can be violated", v.sampleCall.uid)
	}
	return v.refusedCall(ctx, c)
}

func (v *verification) executeNoIntent(ctx context.Context) finding {
	if _, f := v.findExecute(ctx); f.Outcome != Holds {
		return f
	}
	a, err := v.execute(ctx, v.token.text, call{uid: v.unknownUID(), parameters: map[string]any{}})
	if err != nil {
		return point.Failed(err)
	}
	if a.Status == http.StatusNotImplemented { // INTENT_NOT_SUPPORTED
		return pass
	}
	return point.Status(a, http.StatusNotFound, http.StatusForbidden, http.StatusBadRequest)
}

func (v *verification) executeMalformed(ctx context.Context) finding {
	a, err := v.executeBody(ctx, v.token.text, `{"intent_uid":`)
	if err != nil {
		return point.Failed(err)
	}
	return point.Status(a, http.StatusBadRequest, http.StatusUnprocessableEntity)
}

func (v *verification) executeSuggestion(context.Context) finding {
	if v.Refused.Answer.Status == 0 {
		return skipped("no call was refused because of a parameter")
	}
	tree, err := strictjson.DecodeObject(v.Refused.Answer.Body)
	if err != nil {
		return skipped("the refusal cannot be read: see error-envelope")
	}
	inner, _ := tree["error"].(map[string]any)
	details, _ := inner["details"].(map[string]any)
	if isNoText(details["suggestion"]) {
		return missing("details has no suggestion")
	}
	return pass
}
