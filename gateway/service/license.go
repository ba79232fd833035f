package service

import (
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// maxLicenseField bounds the UIM-License field of results, in bytes.
const maxLicenseField = 512

// licenseField returns the licence for a header field: canonical if it is one of the UIM scheme, otherwise unchanged if a field can hold
// it (RFC 9110 5.5, ASCII). Otherwise it is empty.
func licenseField(text string) string {
	if l, err := intents.ParseLicense(text); err == nil {
		return l.String()
	}
	text = strings.TrimSpace(text)
	if len(text) > maxLicenseField || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return ""
	}
	return text
}
