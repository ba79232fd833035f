package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
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
	if _, known := model.Operands[operand]; known {
		return operand
	}
	return "value of " + model.Quote(operand)
}

// values words the right operands of a constraint, in the order of their texts.
func values(c *model.Constraint) []string {
	list := make([]string, 0, len(c.Right))
	for _, s := range c.Texts() {
		list = append(list, worded(c, s))
	}
	for _, ref := range c.RightRef {
		list = append(list, "the value that stands at "+model.Quote(ref.IRI))
	}
	return list
}

func worded(c *model.Constraint, s string) string {
	if isPolicyUsage(s) {
		return "the time of use"
	}
	switch c.Operand {
	case "version":
		if v, ok := model.ParseVersion(s); ok {
			return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		}
	case "delayPeriod", "elapsedTime", "meteredTime", "timeInterval", "dataRetention":
		if words, ok := spellDuration(s); ok {
			return words
		}
	case "percentage", "relativeSize", "relativePosition", "relativeSpatialPosition", "relativeTemporalPosition":
		if model.DecimalForm.MatchString(s) && c.Unit.IRI == "" {
			return s + " %"
		}
	}
	if code, ok := currencyCode(c.Unit.IRI); ok {
		if amount, err := money.New(s, code); err == nil {
			return amount.String()
		}
	}
	switch {
	case model.IsCode(c.Operand, s):
		return strings.ToUpper(s)
	case model.DecimalForm.MatchString(s):
		return s + unitWord(c)
	default:
		return model.Quote(s) + unitWord(c)
	}
}

// unitWord is the unit of a value: a currency by its code, any other as it is written.
func unitWord(c *model.Constraint) string {
	iri := c.Unit.IRI
	if iri == "" || c.Operand == "count" || c.Operand == "rateLimit" { // whose unit is a period
		return ""
	}
	if code, ok := currencyCode(iri); ok {
		return " " + code
	}
	return " (unit " + model.Quote(iri) + ")"
}

// currencyCode is the ISO 4217 code that a unit names: by itself, or at the end of an IRI.
func currencyCode(unit string) (string, bool) {
	name := model.LastName(unit)
	if code, ok := model.CurrencyNames[name]; ok {
		return code, true
	}
	return name, slices.Contains(model.Currencies, name)
}

// spellDuration words a duration such as P1DT12H: 1 day and 12 hours.
func spellDuration(s string) (string, bool) {
	m := model.DurationForm.FindStringSubmatch(s)
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
