package verify

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

func (v *verification) policyServed(ctx context.Context) finding {
	if v.service == nil {
		return skipped("agents cannot use this agents.json: %v", v.findErr)
	}
	last := missing("agents.json has no address of a policy")
	for _, address := range v.service.Endpoints().Policy {
		a, err := v.get(ctx, address, pat.MaxPolicy)
		switch {
		case err != nil:
			last = point.Failed(err)
		case a.Status >= http.StatusInternalServerError:
			last = point.ServerError(a)
		case a.Status != http.StatusOK:
			last = missing("%s responds with %d", a.URL.Path, a.Status)
		default:
			v.policy = a
			return holds("%s", a.URL)
		}
	}
	return last
}

func (v *verification) policyType(context.Context) finding { return jsonType(v.policy.Header) }

func (v *verification) policyJSON(context.Context) finding {
	tree, err := strictjson.DecodeObject(v.policy.Body)
	if err != nil {
		return wrong("%v", err)
	}
	v.policyTree = tree
	return pass
}

func (v *verification) policyDigest(context.Context) finding {
	digest, err := pat.PolicyDigest(v.policy.Body)
	if err != nil {
		return wrong("%v", err)
	}
	v.digest = digest
	return holds("%s", digest)
}

func (v *verification) policyStable(ctx context.Context) finding {
	first := v.policy
	again, err := v.get(ctx, first.URL.String(), pat.MaxPolicy)
	if err != nil {
		return point.Failed(err)
	}
	if again.Status >= http.StatusInternalServerError {
		return point.ServerError(again)
	}
	digest, err := pat.PolicyDigest(again.Body)
	if again.Status != http.StatusOK || err != nil || digest != v.digest {
		return wrong("a second request returns a different policy, so no agent could sign it")
	}
	v.policy = again
	v.bytesChange = !bytes.Equal(first.Body, again.Body) || first.Header.Get("ETag") != again.Header.Get("ETag")
	return pass
}

func (v *verification) policyBytes(context.Context) finding {
	if v.bytesChange {
		return wrong("its bytes or its ETag changed")
	}
	return pass
}

func (v *verification) policyETag(context.Context) finding { return etag(v.policy.Header) }

func (v *verification) policyConditional(ctx context.Context) finding {
	return v.conditional(ctx, v.policy.URL.String(), v.policy.Header.Get("ETag"))
}

func (v *verification) policyContext(context.Context) finding {
	list := v.policyTree["@context"]
	if list == nil {
		return missing("@context is missing")
	}
	for _, item := range strictjson.AsList(list) {
		s, _ := item.(string)
		if strings.HasPrefix(s, "http://www.w3.org/ns/odrl") || strings.HasPrefix(s, "https://www.w3.org/ns/odrl") {
			return pass
		}
	}
	return wrong("it does not contain http://www.w3.org/ns/odrl.jsonld")
}

func (v *verification) policyUID(context.Context) finding {
	uid := termOf(memberOf(v.policyTree, "uid", "@id", "id"))
	if uid == "" {
		return missing("it has no uid")
	}
	if u, err := url.Parse(uid); err != nil || u.Scheme == "" {
		return wrong("its uid is not an IRI")
	}
	return holds("%s", uid)
}
