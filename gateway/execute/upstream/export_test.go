package upstream

import "net/url"

// URL is the address a Prepared will be sent to.
func (p *Prepared) URL() *url.URL { return p.url }

// Body is the body it will be sent with.
func (p *Prepared) Body() string { return string(p.body) }
