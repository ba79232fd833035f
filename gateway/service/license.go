package service

import (
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// maxLicenseField is the maximum length of the UIM-License header field of results, in bytes.
const maxLicenseField = 512

// licenseField returns a license as the value of a header field: in canonical form if it is a license of the UIM scheme, otherwise
// unchanged. It returns "" if the license is too long or is not printable ASCII (RFC 9110 5.5).
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
