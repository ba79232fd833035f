// Package protocols contains the pages about protocols that the gateway serves to agents.
package protocols

import _ "embed"

// UIM is the page about the protocol of UIM, in Markdown.
//
//go:embed uim.md
var UIM []byte
