package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// licenseForm is [Open-][DAMPS-]UIM-<elements>-v<version>.
var licenseForm = regexp.MustCompile(`^(?i)(Open-)?(DAMPS-)?UIM((?:-[A-Za-z]+)+)-v[0-9]+(\.[0-9]+){0,2}$`)

// licenseElements are the elements of UIM licenses.
var licenseElements = []string{"BY", "SA", "NC", "ND", "EAU", "IO", "AIATTR", "NODM", "NOMT", "NOLTS", "BACP", "PD"}

func (v *verification) license(context.Context) finding {
	text := v.catalog.License
	if text == "" {
		return missing("there is no uim-license")
	}
	name := text
	if strings.Contains(text, "://") {
		if _, ok := v.address(text); !ok {
			return wrong("it is no https URL")
		}
		name = strings.TrimSuffix(name, "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	m := licenseForm.FindStringSubmatch(name)
	if m == nil {
		return wrong("%s is not [Open-][DAMPS-]UIM-<elements>-v<version>", fmt.Sprintf("%.80q", name))
	}
	for element := range strings.SplitSeq(strings.TrimPrefix(m[3], "-"), "-") {
		if !slices.Contains(licenseElements, strings.ToUpper(element)) {
			return wrong("%q is no element of a UIM license", element)
		}
	}
	return pass
}
