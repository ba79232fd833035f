package verify

import (
	"context"
	"net/http"
	"slices"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

func (v *verification) publicKey(context.Context) finding {
	v.publicKeyText = v.Catalog.PublicKey
	if v.publicKeyText == "" {
		return missing("uim-public-key is missing")
	}
	key, err := keys.Parse(v.publicKeyText)
	if err != nil {
		return wrong("%v", err)
	}
	v.Keys = append(v.Keys, key)
	return holds("%s, thumbprint %s", key.Algorithm(), key.Thumbprint())
}

const maxKeys = 100

func (v *verification) keySet(ctx context.Context) finding {
	a, err := v.get(ctx, v.at("/.well-known/jwks.json"), maxAnswer)
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status != http.StatusOK:
		return missing("it responds with %d", a.Status)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return wrong("%v", err)
	}
	list, ok := tree["keys"].([]any)
	if !ok || len(list) > maxKeys {
		return wrong("it has no list of keys, or more than %d keys", maxKeys)
	}
	usable := 0
	for i, item := range list {
		for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "k"} {
			if m, _ := item.(map[string]any); m[private] != nil {
				return wrong("key %d contains the private member %s", i, private)
			}
		}
		if key, err := keys.ParseValue(item); err == nil {
			v.Keys = append(v.Keys, key)
			usable++
		}
	}
	if usable == 0 {
		return wrong("none of its %d keys can be used", len(list))
	}
	return holds("%d keys", usable)
}

func (v *verification) keySetAgrees(context.Context) finding {
	if v.outcomes["public-key"] != Holds {
		return skipped("agents.json has no valid uim-public-key")
	}
	if !slices.ContainsFunc(v.Keys[1:], func(k keys.Key) bool { return k.Thumbprint() == v.Keys[0].Thumbprint() }) {
		return wrong("uim-public-key is not in the key set")
	}
	return pass
}
