package config

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

const masked = "***"

// A Secret is a text that no print, log or dump shows: every way of formatting it gives ***. Only Reveal returns the text. The zero
// Secret is empty.
type Secret struct {
	// text is behind a pointer, so that even a printer that reads fields by reflection shows an address.
	text *string
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text, for the one place that sends or compares it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsEmpty reports whether there is no text.
func (s Secret) IsEmpty() bool { return s.text == nil }

// Equal compares with a text in constant time.
func (s Secret) Equal(text string) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(text)) == 1
}

// String hides the text.
func (Secret) String() string { return masked }

// GoString hides the text from %#v.
func (Secret) GoString() string { return masked }

// Format hides the text from every verb of package fmt.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// MarshalText hides the text, also from encoders of YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// MarshalJSON hides the text, also from zap's reflection.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + masked + `"`), nil }

// LogValue hides the text from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }
