package verify

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

func (v *visit) policyServed(ctx context.Context) finding {
	if v.service == nil {
		return skipped("no agent reads this agents.json: %v", v.findErr)
	}
	last := missing("no policy is named")
	for _, address := range v.service.Endpoints().Policy {
		a, err := v.get(ctx, address, pat.MaxPolicy)
		switch {
		case err != nil:
			last = broken(err)
		case a.Status >= http.StatusInternalServerError:
			last = failed(a)
		case a.Status != http.StatusOK:
			last = missing("%s answers %d", a.URL.Path, a.Status)
		default:
			v.policy = a
			return holds("%s", a.URL)
		}
	}
	return last
}

func (v *visit) policyType(context.Context) finding { return jsonType(v.policy.Header, false) }

func (v *visit) policyJSON(context.Context) finding {
	tree, err := strictjson.DecodeObject(v.policy.Body)
	if err != nil {
		return wrong("%v", err)
	}
	v.policyTree = tree
	return good
}

func (v *visit) policyDigest(context.Context) finding {
	digest, err := pat.PolicyDigest(v.policy.Body)
	if err != nil {
		return wrong("%v", err)
	}
	v.digest = digest
	return holds("%s", digest)
}

func (v *visit) policyStable(ctx context.Context) finding {
	first := v.policy
	again, err := v.get(ctx, first.URL.String(), pat.MaxPolicy)
	if err != nil {
		return broken(err)
	}
	if again.Status >= http.StatusInternalServerError {
		return failed(again)
	}
	digest, err := pat.PolicyDigest(again.Body)
	if again.Status != http.StatusOK || err != nil || digest != v.digest {
		return wrong("asked again it is another one: nobody could sign what is offered")
	}
	v.policy = again
	v.restless = !bytes.Equal(first.Body, again.Body) || first.Header.Get("ETag") != again.Header.Get("ETag")
	return good
}

func (v *visit) policyBytes(context.Context) finding {
	if v.restless {
		return wrong("its bytes or its ETag change")
	}
	return good
}

func (v *visit) policyETag(context.Context) finding { return etag(v.policy.Header) }

func (v *visit) policyConditional(ctx context.Context) finding {
	return v.conditional(ctx, v.policy.URL.String(), v.policy.Header.Get("ETag"))
}

func (v *visit) policyContext(context.Context) finding {
	list := v.policyTree["@context"]
	if list == nil {
		return missing("there is no @context")
	}
	for _, item := range listed(list) {
		if s, ok := item.(string); ok && (strings.HasPrefix(s, "http://www.w3.org/ns/odrl") || strings.HasPrefix(s, "https://www.w3.org/ns/odrl")) {
			return good
		}
	}
	return wrong("http://www.w3.org/ns/odrl.jsonld is not in it")
}

// listed is a value as a list: of itself where it is none, and of nothing where it is not there.
func listed(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// member takes the first of several names a member has in JSON-LD.
func member(m map[string]any, names ...string) any {
	for _, name := range names {
		for _, prefix := range []string{"", "odrl:"} {
			if m[prefix+name] != nil {
				return m[prefix+name]
			}
		}
	}
	return nil
}

// term is the IRI or word a value stands for: itself, or the @id or rdf:value of an object.
func term(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for _, name := range []string{"uid", "@id", "id", "rdf:value", "@value", "odrl:uid"} {
			if v[name] != nil {
				return term(v[name])
			}
		}
	case []any:
		if len(v) == 1 {
			return term(v[0])
		}
	}
	return ""
}

// local is the word at the end of an IRI or a prefixed name.
func local(iri string) string { return iri[strings.LastIndexAny(iri, "/#:")+1:] }

func (v *visit) policyUID(context.Context) finding {
	uid := term(member(v.policyTree, "uid", "@id", "id"))
	if uid == "" {
		return missing("it has no uid")
	}
	if u, err := url.Parse(uid); err != nil || u.Scheme == "" {
		return wrong("its uid is no IRI")
	}
	return holds("%s", uid)
}

func (v *visit) policyKind(context.Context) finding {
	kind := member(v.policyTree, "type", "@type")
	if kind == nil {
		return good // a Set: ODRL IM 2.1.1
	}
	for _, one := range listed(kind) {
		if slices.Contains([]string{"Policy", "Set", "Offer", "Agreement", "Request", "Ticket", "Assertion", "Privacy"}, local(term(one))) {
			return good
		}
	}
	return wrong("%.80q is no type of a policy", term(kind))
}

func (v *visit) policyProfile(context.Context) finding {
	profile := member(v.policyTree, "profile")
	if profile == nil {
		return missing("it names none")
	}
	for _, one := range listed(profile) {
		if u, err := url.Parse(term(one)); err != nil || u.Scheme == "" {
			return wrong("a profile is no IRI")
		}
	}
	return good
}

// rules are the rules of one kind: permission, prohibition or obligation.
func (v *visit) rules(kind string) []any { return listed(member(v.policyTree, kind)) }

func (v *visit) policyRules(context.Context) finding {
	n := 0
	var bad []string
	for _, kind := range []string{"permission", "prohibition", "obligation"} {
		for i, item := range v.rules(kind) {
			n++
			rule, ok := item.(map[string]any)
			at := fmt.Sprintf("/%s/%d", kind, i)
			switch {
			case !ok:
				bad = append(bad, at+" is no object")
			case member(rule, "action") == nil && member(v.policyTree, "action") == nil:
				bad = append(bad, at+" has no action")
			case kind == "permission" && len(v.targets(rule)) == 0:
				bad = append(bad, at+" has no target")
			}
		}
	}
	if n == 0 {
		return missing("it has no permission, prohibition or obligation")
	}
	return offenders(bad)
}

// targets are what a rule is about; one without takes the policy's.
func (v *visit) targets(rule map[string]any) []any {
	if t := member(rule, "target"); t != nil {
		return listed(t)
	}
	if t := member(v.policyTree, "target"); t != nil {
		return listed(t)
	}
	return listed(member(v.policyTree, "asset"))
}

// means reports whether a target names an intent: its uid, a URL that ends in its uid or its name, or a
// collection of intents that holds it.
func means(target string, in *intents.Intent) bool {
	if u, err := url.Parse(target); err == nil && strings.Contains(target, "://") {
		path := strings.TrimSuffix(u.Path, "/")
		last := path[strings.LastIndexByte(path, '/')+1:]
		return last == in.UID.String() || last == in.Name || last == in.UID.Name || strings.HasSuffix(path, "/api/intents")
	}
	return target == in.UID.String() || target == in.UID.Namespace+":*" || target == in.UID.Namespace+":*:*" ||
		target == in.UID.Namespace+":"+in.UID.Name || target == in.UID.Namespace+":"+in.UID.Name+":*"
}

func (v *visit) policyTargets(context.Context) finding {
	permissions := v.rules("permission")
	if len(permissions) == 0 {
		return missing("nothing is permitted")
	}
	if v.lost() {
		return skipped("not all intents can be read")
	}
	var bad []string
	for i, item := range permissions {
		rule, _ := item.(map[string]any)
		for _, t := range v.targets(rule) {
			target := term(t)
			if !slices.ContainsFunc(v.catalog.Intents(), func(in *intents.Intent) bool { return means(target, in) }) {
				bad = append(bad, fmt.Sprintf("/permission/%d: %.120q", i, target))
			}
		}
	}
	return offenders(bad)
}

// permitting are the permissions that are about an intent.
func (v *visit) permitting(in *intents.Intent) []map[string]any {
	var out []map[string]any
	for _, item := range v.rules("permission") {
		rule, _ := item.(map[string]any)
		if slices.ContainsFunc(v.targets(rule), func(t any) bool { return means(term(t), in) }) {
			out = append(out, rule)
		}
	}
	return out
}

func (v *visit) policyCovers(context.Context) finding {
	var none []string
	for _, in := range v.catalog.Intents() {
		if !in.Retired && len(v.permitting(in)) == 0 {
			none = append(none, in.UID.String())
		}
	}
	if len(none) > 0 {
		return missing("%s", several(none))
	}
	return good
}

// charges reports whether calling an intent may cost something: it says so itself, or a rule that could
// be about it speaks of paying.
func (v *visit) charges(in *intents.Intent) bool {
	if in.Price != "" {
		return true
	}
	for _, rule := range v.permitting(in) {
		if paying(rule) {
			return true
		}
	}
	return paying(v.policyTree["obligation"]) || paying(v.policyTree["odrl:obligation"]) || paying(v.policyTree["duty"]) || paying(v.policyTree["odrl:duty"])
}

// paying reports whether a value holds, at any depth, an action of paying or an amount.
func paying(v any) bool {
	switch v := v.(type) {
	case string:
		switch local(v) {
		case "pay", "compensate", "payAmount", "paymentAmount", "purchase":
			return true
		}
	case []any:
		return slices.ContainsFunc(v, paying)
	case map[string]any:
		for name, inner := range v {
			if local(name) == "payAmount" || paying(inner) {
				return true
			}
		}
	}
	return false
}
