// Package fetch asks strangers' servers for documents without becoming a way into the asker's own
// network. It owns which addresses may be dialled, how far a redirect may lead and how much of an
// answer is read. The usual call:
//
//	c := fetch.New(fetch.Options{Timeout: 10 * time.Second})
//	answer, err := c.Get(ctx, "https://example.com/agents.json", fetch.Document{Max: 1 << 20})
//
// Only https is spoken, except with the loopback address where the caller himself named it. Every
// address is judged when it is dialled, so that a name cannot resolve to one thing when it is checked
// and to another when it is used. No proxy of the environment is used.
package fetch
