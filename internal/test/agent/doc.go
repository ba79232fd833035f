// Package agenttest is a small UIM service for tests of agents. It implements the protocol over HTTP, verifies agreements, tokens and
// proofs of key as a real service does, and responds with prepared failures on request. It keeps everything in memory and offers two
// intents: Search is free and safe; Order costs money and requires a proof of key. The usual call:
//
//	service := agenttest.New(t, agenttest.Canonical)
//	service.Script(agenttest.Reply{Status: 503, Header: map[string]string{"Retry-After": "1"}})
package agenttest
