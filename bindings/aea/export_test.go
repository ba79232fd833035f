package aea

// Private returns the configured private key, or "" if there is none.
func (s *Settings) Private() string { return s.key.Reveal() }

// OpenConnections returns the configured connections.
func (s *Settings) OpenConnections() []ConnectionName { return s.connections() }

// Relays reports whether the gateway relays messages between agents.
func (s *Settings) Relays() bool { return s.Relay.enabled }
