package verify

import (
	"context"
	"net/http"
	"net/url"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func (v *verification) intentFound(ctx context.Context) finding {
	if v.service == nil {
		return skipped("no agent reads this agents.json: %v", v.findErr)
	}
	in := v.exampleIntent(func(*intents.Intent) bool { return true })
	if in == nil {
		return skipped("there is no intent to ask for")
	}
	last := missing("there is nothing to ask")
	for _, address := range v.service.Endpoints().Intents {
		a, err := v.get(ctx, address+url.PathEscape(in.UID.String()), maxAnswer)
		switch {
		case err != nil:
			last = exchangeFailed(err)
		case a.Status >= http.StatusInternalServerError:
			last = serverError(a)
		case a.Status != http.StatusOK:
			last = missing("%s answers %d", printable(a.URL.Path), a.Status)
		default:
			v.intentURL = address
			m, err := strictjson.DecodeObject(a.Body)
			if err != nil {
				return wrong("%v", err)
			}
			if uidOf(m) != in.UID.String() {
				return wrong("it is another intent, or wrapped in something")
			}
			return pass
		}
	}
	return last
}

func (v *verification) intentMissing(ctx context.Context) finding {
	a, err := v.get(ctx, v.intentURL+url.PathEscape(v.unknownUID()), maxAnswer)
	if err != nil {
		return exchangeFailed(err)
	}
	return expectStatus(a, http.StatusNotFound)
}
