package odrl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
)

// subjects are the left operands whose names are no words, or not the words people use. ODRL V 2.2, 3.9.
var subjects = map[string]string{
	"absolutePosition": "position in the asset", "absoluteSize": "size", "absoluteSpatialPosition": "place within the asset",
	"absoluteTemporalPosition": "moment within the asset", "dataRetention": "time for which data are kept", "dataUsage": "use of the data",
	"dateTime": "date and time", "delayPeriod": "time waited before it", "deliveryChannel": "delivery channel", "elapsedTime": "time elapsed",
	"fileFormat": "file format", "intentPrice": "price of the intent", "media": "medium", "meteredTime": "metered time of use",
	"payAmount": "price", "percentage": "part of the asset that is used", "publicKey": "public key", "relativePosition": "position relative to the whole asset",
	"relativeSize": "size relative to the original", "relativeSpatialPosition": "place relative to the whole asset",
	"relativeTemporalPosition": "moment relative to the whole asset", "spatial": "region", "spatialCoordinates": "location",
	"systemDevice": "device", "timeWindow": "time", "unitOfCount": "unit that is counted", "version": "version of the intent", "virtualLocation": "place on the network",
}

// subject words a left operand. One of another vocabulary is named as it is written.
func subject(operand string) string {
	if s, ok := subjects[operand]; ok {
		return s
	}
	if _, known := operands[operand]; known {
		return operand
	}
	return "value of " + quote(operand)
}

// values words the right operands of a constraint, in the order of their texts.
func values(c *constraintNode) []string {
	list := make([]string, 0, len(c.right))
	for _, s := range c.texts() {
		list = append(list, worded(c, s))
	}
	for _, ref := range c.rightRef {
		list = append(list, "the value that stands at "+quote(ref.iri))
	}
	return list
}

func worded(c *constraintNode, s string) string {
	if isPolicyUsage(s) {
		return "the time of use"
	}
	switch c.operand {
	case "version":
		if v, ok := parseVersion(s); ok {
			return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		}
	case "delayPeriod", "elapsedTime", "meteredTime", "timeInterval", "dataRetention":
		if words, ok := spellDuration(s); ok {
			return words
		}
	case "percentage", "relativeSize", "relativePosition", "relativeSpatialPosition", "relativeTemporalPosition":
		if decimalForm.MatchString(s) && c.unit.iri == "" {
			return s + " %"
		}
	}
	if code, ok := currencyCode(c.unit.iri); ok {
		if amount, err := money.New(s, code); err == nil {
			return amount.String()
		}
	}
	switch {
	case isCode(c.operand, s):
		return strings.ToUpper(s)
	case decimalForm.MatchString(s):
		return s + unitWord(c)
	default:
		return quote(s) + unitWord(c)
	}
}

// unitWord is the unit of a value: a currency by its code, any other as it is written.
func unitWord(c *constraintNode) string {
	iri := c.unit.iri
	if iri == "" || c.operand == "count" || c.operand == "rateLimit" { // whose unit is a period
		return ""
	}
	if code, ok := currencyCode(iri); ok {
		return " " + code
	}
	return " (unit " + quote(iri) + ")"
}

// currencyCode is the ISO 4217 code that a unit names: by itself, or at the end of an IRI.
func currencyCode(unit string) (string, bool) {
	name := lastName(unit)
	if code, ok := currencyNames[name]; ok {
		return code, true
	}
	return name, slices.Contains(currencies, name)
}

// spellDuration words a duration such as P1DT12H: 1 day and 12 hours.
func spellDuration(s string) (string, bool) {
	m := durationForm.FindStringSubmatch(s)
	if m == nil || m[1] != "" || strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return "", false
	}
	var parts []string
	for i, unit := range []string{"year", "month", "week", "day", "hour", "minute", "second"} {
		n := strings.TrimLeft(m[i+2], "0")
		if unit == "second" && strings.Trim(m[9], ".0") != "" {
			n = cmp.Or(n, "0") + strings.TrimRight(m[9], "0")
		}
		switch n {
		case "":
		case "1":
			parts = append(parts, "1 "+unit)
		default:
			parts = append(parts, n+" "+unit+"s")
		}
	}
	if parts == nil {
		parts = []string{"no time"}
	}
	return ofActs.listing(parts, "and"), true
}
