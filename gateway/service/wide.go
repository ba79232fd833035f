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
)

// A placedValue is a value of the configuration with its place in requests.
type placedValue struct {
	path       string // the path of the value in the configuration
	place      config.Place
	value      config.Value
	credential bool // the value authenticates the gateway to the service
}

// A layer is a set of values for one intent (own) or for the whole service. In a list, each layer takes precedence over the layers before
// it.
type layer struct {
	own    bool
	values []placedValue
}

// wideLayers returns the layers of the whole service: the values of upstream.auth, and then the values of fixed.
func wideLayers(c *config.Service) []layer {
	auth := placedValues("upstream.auth.query", c.Upstream.Auth.Query, func(key string) config.Place {
		return config.Place{Kind: config.InQuery, Name: key}
	})
	auth = append(auth, placedValues("upstream.auth.body", c.Upstream.Auth.Body, config.BodyPlace)...)
	for i := range auth {
		auth[i].credential = true
	}
	return []layer{{false, auth}, {false, fixedValues(c.Fixed)}}
}

func fixedValues(values map[string]config.Value) []placedValue {
	placed := placedValues("fixed", values, config.PlaceOf)
	for i := range placed {
		name := placed[i].place.Name
		placed[i].credential = intents.IsCredential(name[strings.LastIndex(name, "/")+1:])
	}
	return placed
}

func placedValues(path string, values map[string]config.Value, placeOf func(string) config.Place) []placedValue {
	placed := make([]placedValue, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		placed = append(placed, placedValue{path: fmt.Sprintf("%s[%q]", path, key), place: placeOf(key), value: values[key]})
	}
	return placed
}

// wideValues returns the configuration paths of all values of the whole service.
func wideValues(c *config.Service) (paths []string) {
	for _, l := range wideLayers(c) {
		for _, v := range l.values {
			paths = append(paths, v.path)
		}
	}
	return paths
}

// fixedOfQuestion returns the fixed values of the request that asks for the outcome of a call. These are headers, query parameters that the
// URL of that request does not already contain, and values for placeholders in that URL.
func fixedOfQuestion(c *config.Service) upstream.FixedValues {
	f := upstream.FixedValues{Parameters: strictjson.Object{}, Header: map[string]string{}, Query: map[string]any{}}
	path, query, _ := strings.Cut(c.Upstream.Reconcile.URL, "?")
	given, _ := url.ParseQuery(query)
	for _, l := range wideLayers(c) {
		for _, v := range l.values {
			switch value := v.value.Tree(); v.place.Kind {
			case config.InHeader:
				f.Header[textproto.CanonicalMIMEHeaderKey(v.place.Name)], _ = strictjson.ScalarText(value)
			case config.InQuery:
				if !given.Has(v.place.Name) {
					f.Query[v.place.Name] = value
				}
			case config.InParameter:
				if strings.Contains(path+"?"+query, "{"+v.place.Name+"}") {
					f.Parameters[v.place.Name] = value
				}
			case config.InBody: // a GET request has no body
			}
		}
	}
	return f
}
