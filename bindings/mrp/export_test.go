package mrp

import "context"

// ReadRequest reads the body of a request.
func ReadRequest(body []byte) (action, params, token, proof string, err error) {
	r, err := readRequest(context.Background(), body)
	return r.action, string(r.params), r.token, r.proof, err
}

// Seed returns the configured seed as hexadecimal digits, or "" if there is none.
func (s *Settings) Seed() string { return s.seed.Reveal() }
