package service

import (
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

// fixedInputs are the fixed values of a configuration that apply to one intent.
type fixedInputs struct {
	values   upstream.FixedValues
	hidden   []string // names of the inputs that have a fixed value
	applied  []string // configuration paths of the service-wide values that have a place in this intent
	problems []fixingProblem
}

// A fixingProblem is an error in a fixed value of the intent or of the whole service.
type fixingProblem struct {
	path    string // configuration path, relative to the intent if own is true, otherwise to the service
	own     bool
	message string
}

// A choice is the value that takes precedence for a place.
type choice struct {
	path       string
	own        bool
	value      any
	credential bool
}

// fix finds the places of the fixed values in the requests of an intent. Each value that is configured for the intent must have a place;
// service-wide values apply only if they have a place. For the same place, the value for the intent takes precedence over the service-wide
// value, and both take precedence over a value of upstream.auth. The inputs of in that have a fixed value may already be hidden.
func fix(in *intents.Intent, c *config.Service) *fixedInputs {
	f := &fixedInputs{}
	at := map[config.Place]choice{}
	for _, l := range append(wideLayers(c), layer{true, fixedValues(c.Intents[in.UID.String()].Fixed)}) {
		for _, v := range l.values {
			place, why := placeIn(in, v.place)
			switch {
			case why == "":
				at[place] = choice{v.path, l.own, v.value.Tree(), v.credential}
				if !l.own {
					f.applied = append(f.applied, v.path)
				}
			case l.own:
				f.problems = append(f.problems, fixingProblem{v.path, true, why})
			}
		}
	}
	f.arrange(in, at)
	return f
}

// arrange sets f.values to the chosen values, and adds a problem for each value that does not fit its place.
func (f *fixedInputs) arrange(in *intents.Intent, at map[config.Place]choice) {
	f.values = upstream.FixedValues{
		Parameters: strictjson.Object{}, Header: map[string]string{}, Query: map[string]any{}, Body: strictjson.Object{},
	}
	places := slices.SortedFunc(maps.Keys(at), func(a, b config.Place) int { return strings.Compare(a.Name, b.Name) })
	for _, place := range places {
		c := at[place]
		if why := f.put(in, place, c.value); why != "" {
			f.problems = append(f.problems, fixingProblem{c.path, c.own, why})
		}
		if c.credential {
			f.values.Credentials = append(f.values.Credentials, c.value)
		}
	}
}

func (f *fixedInputs) put(in *intents.Intent, place config.Place, value any) (why string) {
	switch place.Kind {
	case config.InHeader:
		f.values.Header[place.Name], _ = strictjson.ScalarText(value) // package config has checked the value
	case config.InQuery:
		f.values.Query[place.Name] = value
	case config.InBody:
		if err := upstream.Put(f.values.Body, place.Name, value); err != nil {
			return err.Error()
		}
	case config.InParameter:
		if p, ok := input(in, place.Name); ok {
			fits, err := p.Fit(value)
			if err != nil {
				return "the value " + err.Error()
			}
			value = fits
		}
		f.hidden = append(f.hidden, place.Name)
		f.values.Parameters[place.Name] = value
	}
	return ""
}

// input returns the input of an intent with this name, which may be hidden.
func input(in *intents.Intent, name string) (*intents.Parameter, bool) {
	if p, ok := in.Input(name); ok {
		return p, true
	}
	return in.HiddenInput(name)
}

// placeIn finds a place in the requests of an intent. If the request has a parameter of the intent in this place, found is that parameter,
// so that the request does not contain the value twice. If there is no such place, why states the reason.
func placeIn(in *intents.Intent, place config.Place) (found config.Place, why string) {
	switch place.Kind {
	case config.InHeader:
		return config.Place{Kind: place.Kind, Name: textproto.CanonicalMIMEHeaderKey(place.Name)}, ""
	case config.InQuery:
		return placeInQuery(in, place)
	case config.InBody:
		return placeInBody(in, place)
	default:
		if _, ok := input(in, place.Name); ok {
			return place, ""
		}
		names := make([]string, 0, len(in.Inputs))
		for _, p := range in.Inputs {
			names = append(names, p.Name)
		}
		return place, "is not a parameter of this intent" + didYouMean(suggest.Name(place.Name, names)) +
			"; if the value is not for a parameter, write header:NAME, query:NAME or body:/pointer"
	}
}

func placeInQuery(in *intents.Intent, place config.Place) (found config.Place, why string) {
	if in.Endpoint == nil {
		return place, ""
	}
	_, query, _ := strings.Cut(in.Endpoint.URL, "?")
	for part := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		if name, err := url.QueryUnescape(key); err != nil || name != place.Name {
			continue
		}
		parameter, isOne := strings.CutPrefix(strings.TrimSuffix(value, "}"), "{")
		if _, declared := input(in, parameter); isOne && declared {
			return config.Place{Kind: config.InParameter, Name: parameter}, ""
		}
		return place, "the query of the endpoint already contains it"
	}
	if _, declared := input(in, place.Name); declared && !hasBody(in) && !placed(in, place.Name) {
		return config.Place{Kind: config.InParameter, Name: place.Name}, ""
	}
	return place, ""
}

func placeInBody(in *intents.Intent, place config.Place) (found config.Place, why string) {
	first, rest, deeper := strings.Cut(place.Name[1:], "/")
	switch {
	case !hasBody(in):
		return place, "calls to this intent have no body, because their method is " + in.Endpoint.Method
	case in.Endpoint == nil && first == "intent_uid", in.Endpoint == nil && first == "parameters" && !deeper:
		return place, "the gateway sets this member itself"
	case in.Endpoint == nil && first != "parameters":
		return place, ""
	case in.Endpoint == nil:
		first, _, deeper = strings.Cut(rest, "/")
	}
	name := strictjson.Unescape(first)
	_, declared := input(in, name)
	switch {
	case declared && !placed(in, name) && !deeper, in.Endpoint == nil && !deeper:
		return config.Place{Kind: config.InParameter, Name: name}, ""
	case declared && !placed(in, name):
		return place, fmt.Sprintf("is a part of the parameter %q, which agents send: fix the whole parameter, or remove this member from the parameter", name)
	case in.Endpoint == nil:
		return place, "is a part of a parameter: fix the whole parameter"
	case in.Endpoint.Media() == "application/octet-stream":
		return place, "the body is a single value without members"
	case deeper && isForm(in):
		return place, "a form has no nested members"
	}
	return place, ""
}

func hasBody(in *intents.Intent) bool {
	return in.Endpoint == nil || in.Endpoint.HasBody()
}

func isForm(in *intents.Intent) bool {
	media := in.Endpoint.Media()
	return media == "application/x-www-form-urlencoded" || media == "multipart/form-data"
}

// placed reports whether the URL of the endpoint has a placeholder for a parameter. Requests contain such a parameter only in the URL.
func placed(in *intents.Intent, name string) bool {
	return in.Endpoint != nil && strings.Contains(in.Endpoint.URL, "{"+name+"}")
}
