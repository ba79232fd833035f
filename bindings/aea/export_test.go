package aea

// Private returns the private key that the configuration has; empty: none.
func (s *Settings) Private() string { return s.key.Reveal() }

// Connections returns the connections that are configured.
func (s *Settings) Connections() []ConnectionName { return s.connections() }

// Relays reports whether the gateway hands on messages.
func (s *Settings) Relays() bool { return s.Relay.enabled }
