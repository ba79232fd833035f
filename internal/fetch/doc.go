// Package fetch fetches documents from servers that are not trusted, without opening a way into the caller's own network. It decides
// which addresses may be dialed, how far a redirect may lead and how much of a response is read. The usual call:
//
//	c := fetch.New(fetch.Options{Timeout: 10 * time.Second})
//	answer, err := c.Get(ctx, "https://example.com/agents.json", fetch.Document{Max: 1 << 20})
//
// Only https is used, except for a loopback address that the caller itself named, and if Options permit it. Every address is checked when
// it is dialed, so that a name cannot resolve to one address when it is checked and to another when it is used. No proxy of the
// environment is used.
package fetch
