// Package fetch fetches documents from untrusted servers, without giving them access to the caller's own network. It decides which
// addresses may be dialed, which redirects are followed and how much of a response is read. Typical use:
//
//	c := fetch.New(fetch.Options{Timeout: 10 * time.Second})
//	response, err := c.Get(ctx, "https://example.com/agents.json", fetch.Document{Max: 1 << 20})
//
// It requires https, except for a loopback address that the caller named, or if Options permit http. It checks every address immediately
// before it connects to the address, so that a name cannot resolve to one address for the check and to another for the connection. It does
// not use the proxies of the environment.
package fetch
