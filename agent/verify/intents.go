package verify

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func (v *verification) intentsOffered(context.Context) finding {
	list, _ := v.Named["intents"].([]any)
	if len(list) == 0 {
		return missing("intents is empty")
	}
	return holds("%d", len(list))
}

// eachIntent calls f for each intent in agents.json, with a name for it in findings.
func (v *verification) eachIntent(f func(name string, m map[string]any)) {
	list, _ := v.Named["intents"].([]any)
	for i, item := range list {
		m, _ := item.(map[string]any)
		name := uidOf(m)
		if name == "" {
			name = "/intents/" + strconv.Itoa(i)
		}
		f(printable(name), m)
	}
}

// uidOf returns the uid of an intent in the form of core or in the form of the draft.
func uidOf(m map[string]any) string {
	for _, name := range []string{"intent_uid", "uid"} {
		if s, ok := m[name].(string); ok {
			return s
		}
	}
	return ""
}

// unreadIntents reports whether there are intents that could not be parsed.
func (v *verification) unreadIntents() bool {
	list, _ := v.Named["intents"].([]any)
	return len(v.Catalog.Intents()) < len(list)
}

func (v *verification) intentUID(context.Context) finding {
	var bad []string
	v.eachIntent(func(name string, m map[string]any) {
		uid, err := intents.ParseUID(uidOf(m))
		switch {
		case uidOf(m) == "":
			bad = append(bad, name+" has no intent_uid")
		case err != nil:
			bad = append(bad, err.Error())
		case !uid.Canonical():
			bad = append(bad, name+": intent-name must consist of a-z, 0-9 and hyphens")
		}
	})
	return point.WrongIfAny(bad)
}

func (v *verification) intentUnique(context.Context) finding {
	seen := map[string]bool{}
	var bad []string
	v.eachIntent(func(name string, m map[string]any) {
		uid := uidOf(m)
		if uid != "" && seen[uid] {
			bad = append(bad, name)
		}
		seen[uid] = true
	})
	return point.WrongIfAny(bad)
}

func (v *verification) intentNamespace(context.Context) finding {
	host := v.Agents.Hostname()
	if fetch.LoopbackHost(host) || v.AllowInsecure {
		return skipped("%s does not vouch for any name", host)
	}
	var bad []string
	for _, space := range v.Catalog.Namespaces() {
		if !v.SameSite(space, host) {
			bad = append(bad, fmt.Sprintf("%s does not belong to %s", space, host))
		}
	}
	return point.WrongIfAny(bad)
}

func (v *verification) intentNames(context.Context) finding {
	var bad []string
	v.eachIntent(func(name string, m map[string]any) {
		if isNoText(m["intent_name"]) && isNoText(m["name"]) {
			bad = append(bad, name+" has no intent_name")
		}
		if isNoText(m["description"]) {
			bad = append(bad, name+" has no description")
		}
	})
	return point.WrongIfAny(bad)
}

func (v *verification) intentOutputs(context.Context) finding {
	var none []string
	v.eachIntent(func(name string, m map[string]any) {
		if m["output_parameters"] == nil && m["retired"] != true {
			none = append(none, name)
		}
	})
	if len(none) > 0 {
		return missing("%s", point.Summary(none))
	}
	return pass
}

func (v *verification) intentEndpoint(context.Context) finding {
	bad := v.problemsOf("endpoint")
	for _, in := range v.Catalog.Intents() {
		switch {
		case in.Endpoint == nil && v.Catalog.Execute == "":
			bad = append(bad, in.UID.String()+" has no endpoint, and uim-api-execute is missing")
		case in.Endpoint == nil:
		default:
			if _, ok := v.Address(strings.NewReplacer("{", "", "}", "").Replace(in.Endpoint.URL)); !ok {
				bad = append(bad, in.UID.String()+": the endpoint is not https")
			}
		}
	}
	return point.WrongIfAny(bad)
}

func (v *verification) intentFound(ctx context.Context) finding {
	if v.service == nil {
		return skipped("agents cannot use this agents.json: %v", v.findErr)
	}
	in := v.exampleIntent(func(*intents.Intent) bool { return true })
	if in == nil {
		return skipped("no intent can be requested")
	}
	last := missing("agents.json has no address for requests of intents")
	for _, address := range v.service.Endpoints().Intents {
		a, err := v.get(ctx, address+url.PathEscape(in.UID.String()), maxAnswer)
		switch {
		case err != nil:
			last = point.Failed(err)
		case a.Status >= http.StatusInternalServerError:
			last = point.ServerError(a)
		case a.Status != http.StatusOK:
			last = missing("%s responds with %d", printable(a.URL.Path), a.Status)
		default:
			v.intentURL = address
			m, err := strictjson.DecodeObject(a.Body)
			if err != nil {
				return wrong("%v", err)
			}
			if uidOf(m) != in.UID.String() {
				return wrong("the response is not the intent, or wraps it in another object")
			}
			return pass
		}
	}
	return last
}

func (v *verification) intentMissing(ctx context.Context) finding {
	a, err := v.get(ctx, v.intentURL+url.PathEscape(v.unknownUID()), maxAnswer)
	if err != nil {
		return point.Failed(err)
	}
	return point.Status(a, http.StatusNotFound)
}
