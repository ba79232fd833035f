package verify

import (
	"context"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

// requestIDSent is the request id that error-404 sends; request-id expects it in the response.
const requestIDSent = "uimgate-verify-1"

func (v *verification) error404(ctx context.Context) finding {
	a, err := v.ask(ctx, http.MethodGet, v.at("/uimgate-verify/no-such-path"), http.Header{"Uim-Request-Id": {requestIDSent}}, "")
	if err != nil {
		return point.Failed(err)
	}
	v.noSuchPath = a
	return point.Status(a, http.StatusNotFound)
}

func (v *verification) requestID(context.Context) finding {
	switch got := v.noSuchPath.Header.Get("Uim-Request-Id"); got {
	case requestIDSent:
		return pass
	case "":
		return missing("UIM-Request-ID is missing")
	default:
		return wrong("the UIM-Request-ID in the response is not the one that was sent")
	}
}

func (v *verification) error405(ctx context.Context) finding {
	address, f := v.findExecute(ctx)
	if f.Outcome != Holds {
		return f
	}
	a, err := v.ask(ctx, http.MethodDelete, address, nil, "")
	if err != nil {
		return point.Failed(err)
	}
	if f := point.Status(a, http.StatusMethodNotAllowed); f.Outcome != Holds {
		return f
	}
	if !strings.Contains(a.Header.Get("Allow"), http.MethodPost) {
		return wrong("the 405 has no Allow field that names POST")
	}
	return pass
}

func (v *verification) error400(ctx context.Context) finding {
	if _, f := v.findIssue(ctx); f.Outcome != Holds {
		return f
	}
	return point.Status(v.malformed, http.StatusBadRequest)
}

func (v *verification) error415(ctx context.Context) finding {
	a, err := v.ask(ctx, http.MethodPost, v.issueURL, http.Header{"Content-Type": {"text/plain"}}, "hello")
	if err != nil {
		return point.Failed(err)
	}
	return point.Status(a, http.StatusUnsupportedMediaType)
}

func (v *verification) error401(ctx context.Context) finding {
	if _, f := v.findExecute(ctx); f.Outcome != Holds {
		return f
	}
	return point.Status(v.withoutPAT, http.StatusUnauthorized)
}

func (v *verification) errorChallenge(context.Context) finding {
	challenge := strings.Join(v.withoutPAT.Header.Values("WWW-Authenticate"), ", ")
	switch {
	case challenge == "":
		return missing("WWW-Authenticate is missing")
	case !strings.Contains(strings.ToLower(challenge), "bearer"):
		return wrong("it requires a scheme other than Bearer")
	}
	return pass
}
