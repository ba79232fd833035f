package config

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

const masked = "***"

// A Secret is a string that is hidden in output, logs and dumps: every way of formatting it yields ***. Only Reveal returns the text. The
// zero Secret is empty.
type Secret struct {
	// text is a pointer, so that even a printer that reads fields by reflection shows only an address.
	text *string
}

// NewSecret returns a Secret with this text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text. Call it only where the text is sent or compared.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsEmpty reports whether there is no text.
func (s Secret) IsEmpty() bool { return s.text == nil }

// Equal reports whether the Secret equals text. The duration of the comparison depends only on their lengths.
func (s Secret) Equal(text string) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(text)) == 1
}

// String hides the text.
func (Secret) String() string { return masked }

// GoString hides the text from %#v.
func (Secret) GoString() string { return masked }

// Format hides the text from every verb of package fmt.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// MarshalText hides the text, for example from YAML encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// MarshalJSON hides the text, for example from zap's reflection.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + masked + `"`), nil }

// LogValue hides the text from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }
