package delivery

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// Bounds of the endpoints of one agent.
const (
	// MaxEndpoints is the maximum number of endpoints of an agent.
	MaxEndpoints = 10
	// MaxURL is the longest URL, in bytes.
	MaxURL    = 2048
	maxWeight = 1_000_000
)

// An Endpoint is a URL that accepts envelopes for an agent. An endpoint with a higher weight is more likely to be tried first.
type Endpoint struct {
	URL    string `json:"url"`
	Weight int64  `json:"weight"`
}

var errEndpoint = errors.New("want an http or https URL of at most 2048 bytes, without user and fragment")

// Check returns nil if envelopes may be posted to the URL. The IP address is checked when it is dialed.
func (e Endpoint) Check() error {
	u, err := url.Parse(e.URL)
	if err != nil || len(e.URL) > MaxURL || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" ||
		strings.Contains(e.URL, "#") {
		return errEndpoint
	}
	return nil
}

// host returns the host of the endpoint; deliveries are counted by host.
func (e Endpoint) host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// shuffled returns the first MaxEndpoints of the endpoints, in a random order. An endpoint with the weight two is twice as likely to be
// first as an endpoint with the weight one.
func shuffled(endpoints []Endpoint) []Endpoint {
	left := slices.Clone(endpoints[:min(len(endpoints), MaxEndpoints)])
	order := make([]Endpoint, 0, len(left))
	for len(left) > 0 {
		sum := int64(0)
		for _, e := range left {
			sum += e.weight()
		}
		drawn := rand.Int64N(sum) //nolint:gosec // not a secret: it spreads load
		i := 0
		for drawn -= left[0].weight(); drawn >= 0; drawn -= left[i].weight() {
			i++
		}
		order = append(order, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return order
}

// weight returns at least one, so that no endpoint is excluded, and at most maxWeight.
func (e Endpoint) weight() int64 { return min(max(e.Weight, 1), maxWeight) }
