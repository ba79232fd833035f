package model

import "strings"

// An Operand is a left operand of ODRL V 2.2 (section 3.9) or of the UIM profile, with its properties for the engine. To add a left
// operand, add a row to operands below.
type Operand struct {
	Name    string
	Aliases string // deprecated and UIM spellings, separated by spaces
	Kind    Kind   // how its values are compared
	Words   string // its name in a sentence, after "the"; if empty, Name
	Source  Source // the source of its values when a gateway decides a call

	Unit      Unit   // the unit of its values
	Bounds    Bounds // the bounds of its numbers
	Codes     *codeScheme
	Operators string // the operators that ODRL V 2.2 provides for it, separated by spaces; if empty, all
	Datatype  *datatype
	Temporal  bool // it concerns the time of an action; on a duty, it sets the deadline
	UIM       bool // a term of the UIM profile, which ODRL itself does not have
}

// operands are the left operands of ODRL V 2.2 and of the UIM profile.
var operands = []Operand{
	// Time.
	{Name: "dateTime", Kind: Instant, Words: "date and time", Source: FromClock, Unit: NoUnit, Datatype: &dates, Temporal: true},
	{Name: "timeWindow", Aliases: "timeRange", Kind: Window, Words: "time", Source: FromClock, Temporal: true, UIM: true},
	{Name: "event", Kind: Event, Unit: NoUnit, Operators: "lt eq gt lteq gteq", Temporal: true},
	{
		Name: "delayPeriod", Kind: Duration, Words: "waiting time", Operators: "eq gt gteq",
		Datatype: durationsLike("PT10M"), Temporal: true,
	},
	{
		Name: "elapsedTime", Kind: Duration, Words: "time elapsed", Operators: "eq lt lteq",
		Datatype: durationsLike("P30D"), Temporal: true,
	},
	{Name: "meteredTime", Kind: Duration, Words: "metered time of use", Operators: "eq lt lteq", Datatype: durationsLike("PT1H")},
	{Name: "timeInterval", Kind: Duration, Operators: "eq", Datatype: durationsLike("P7D")},
	{Name: "dataRetention", Kind: Duration, Words: "time for which data are kept", UIM: true},

	// Operands of counts and payments.
	{Name: "count", Kind: Count, Source: FromCounter, Unit: Period, Bounds: NotNegative, Datatype: &counts},
	{Name: "rateLimit", Aliases: "rate", Kind: Count, Source: FromCounter, Unit: Period, Bounds: NotNegative, UIM: true},
	{Name: "unitOfCount", Kind: Text, Words: "unit that is counted"},
	{
		Name: "payAmount", Aliases: "paymentAmount", Kind: Money, Words: "price", Source: FromCharge, Unit: Currency,
		Bounds: NotNegative, Datatype: &numbers,
	},
	{Name: "intentPrice", Kind: Money, Words: "price of the intent", UIM: true},

	// The call, and who makes it.
	{Name: "version", Kind: Version, Words: "version of the intent", Source: FromIntent, Unit: NoUnit},
	{Name: "recipient", Kind: Text, Source: FromAgent, Unit: NoUnit},
	{Name: "publicKey", Kind: Key, Words: "public key", Source: FromProof, UIM: true},
	{Name: "plan", Kind: Text, Words: "plan of the agreement", Source: FromAgreement, Unit: NoUnit, Operators: "eq isAnyOf", UIM: true},

	// Texts and codes.
	{Name: "purpose", Kind: Text, Unit: NoUnit},
	{Name: "industry", Kind: Text, Unit: NoUnit},
	{Name: "product", Kind: Text, Unit: NoUnit},
	{Name: "media", Kind: Text, Words: "medium", Unit: NoUnit},
	{Name: "fileFormat", Kind: Text, Words: "file format", Unit: NoUnit},
	{Name: "deliveryChannel", Kind: Text, Words: "delivery channel", Unit: NoUnit},
	{Name: "systemDevice", Aliases: "device system", Kind: Text, Words: "device", Unit: NoUnit},
	{Name: "spatialCoordinates", Kind: Text, Words: "location"},
	{Name: "dataUsage", Kind: Text, Words: "use of the data", UIM: true},
	{Name: "spatial", Kind: Code, Words: "region", Unit: NoUnit, Codes: &regions},
	{Name: "language", Kind: Code, Unit: NoUnit, Codes: &languages},
	{Name: "virtualLocation", Kind: Code, Words: "place on the network", Unit: NoUnit, Codes: &networks},

	// Quantities.
	{
		Name: "percentage", Kind: Number, Words: "part of the asset that is used", Unit: NoUnit, Bounds: UpToHundred,
		Datatype: &percentages,
	},
	{Name: "resolution", Kind: Number, Bounds: NotNegative, Datatype: &numbers},
	{Name: "absoluteSize", Kind: Number, Words: "size", Bounds: NotNegative, Datatype: &numbers},
	{Name: "absolutePosition", Kind: Number, Words: "position in the asset"},
	{Name: "absoluteSpatialPosition", Kind: Number, Words: "place within the asset"},
	{Name: "absoluteTemporalPosition", Kind: Number, Words: "moment within the asset"},
	{Name: "relativeSize", Kind: Number, Words: "size relative to the original", Unit: Percent, Bounds: NotNegative, Datatype: &numbers},
	{Name: "relativePosition", Kind: Number, Words: "position relative to the whole asset", Unit: Percent},
	{Name: "relativeSpatialPosition", Kind: Number, Words: "place relative to the whole asset", Unit: Percent},
	{Name: "relativeTemporalPosition", Kind: Number, Words: "moment relative to the whole asset", Unit: Percent},
}

// A Kind determines how the values of a left operand are compared. Package rules defines the operators and the parser of each kind.
type Kind int

// The kinds of operands.
const (
	Other    Kind = iota // a term of another vocabulary
	Text                 // texts, compared only for equality
	Code                 // texts; some are codes, such as US-CA, or networks, which can contain each other
	Number               // decimals, with or without a unit
	Duration             // durations
	Event                // events
	Instant              // points in time, and whole days
	Version              // versions, in their order
	Window               // spans of time in the day or in the calendar, from a start to an end
	Count                // enforced by counting, not by comparing
	Money                // enforced by charging; otherwise compared as amounts of money
	Key                  // the key that signed the call
)

// A Source is the source of the values of a left operand when a gateway decides a call.
type Source int

// The sources of values.
const (
	FromFacts     Source = iota // the operator's configuration; without it, the operand has no value
	FromClock                   // the time of the call
	FromIntent                  // the UID of the intent that is called
	FromAgent                   // the agent that calls, unless configured otherwise
	FromProof                   // the key that signed the call
	FromAgreement               // chosen in the agreement of the agent
	FromCounter                 // counted when a call is admitted; not compared
	FromCharge                  // charged when a call is admitted; not compared
)

// BuiltIn reports whether the source has a value for every call without any configuration.
func (s Source) BuiltIn() bool {
	return s == FromClock || s == FromIntent || s == FromAgent || s == FromAgreement
}

// Fixed reports whether no other source can be configured.
func (s Source) Fixed() bool { return s != FromFacts && s != FromAgent }

// A Unit is the unit of the values of a left operand.
type Unit int

// The units of operands.
const (
	AnyUnit  Unit = iota
	NoUnit        // a unit has no meaning
	Percent       // percent, unless a unit is given
	Currency      // an ISO 4217 code; an amount without one is meaningless
	Period        // an hour, a day or another period in which uses are counted
)

// Bounds are the bounds of the numbers of an operand.
type Bounds int

// The bounds of numbers.
const (
	Unbounded   Bounds = iota
	NotNegative        // from 0
	UpToHundred        // from 0 to 100
)

// A datatype is the type that a left operand requires of its right operand.
type datatype struct {
	what string // for messages
	ok   func(string) bool
}

var (
	dates       = datatype{"a date or dateTime", func(s string) bool { _, ok := ParseInstant(s); return ok }}
	counts      = datatype{"a whole number", func(s string) bool { _, ok := ParseCount(s); return ok }}
	numbers     = datatype{"a number", isNumber}
	percentages = datatype{"a number from 0 to 100", func(s string) bool {
		n, ok := ParseNumber(s)
		return ok && n >= 0 && n <= 100*Scale
	}}
)

func durationsLike(example string) *datatype {
	return &datatype{"a duration such as " + example, isDuration}
}

var operandByName = func() map[string]*Operand {
	m := make(map[string]*Operand, len(operands))
	for i := range operands {
		m[operands[i].Name] = &operands[i]
	}
	return m
}()

// OperandAliases maps deprecated and UIM spellings to the left operands that they mean.
var OperandAliases = func() map[string]string {
	m := map[string]string{}
	for i := range operands {
		for alias := range strings.FieldsSeq(operands[i].Aliases) {
			m[alias] = operands[i].Name
		}
	}
	return m
}()

// uimOperands returns the left operands of the UIM profile.
func uimOperands() []string {
	var list []string
	for i := range operands {
		if operands[i].UIM {
			list = append(list, operands[i].Name)
		}
	}
	return list
}

// unlisted is the row of an operand that no vocabulary defines.
var unlisted = &Operand{}

// LeftOperand returns the row of a built-in left operand by its name. For any other operand, it returns an empty row.
func LeftOperand(name string) *Operand {
	if o, ok := operandByName[name]; ok {
		return o
	}
	return unlisted
}

// Left returns the row of the constraint's left operand.
func (c *Constraint) Left() *Operand {
	if c.row != nil {
		return c.row
	}
	return LeftOperand(c.Operand)
}

// Known reports whether the operand is defined by ODRL, by the UIM profile or by a vocabulary.
func (o *Operand) Known() bool { return o.Kind != Other }

// Percent reports whether the operand's numbers are percentages unless a unit is given.
func (o *Operand) Percent() bool { return o.Unit == Percent || o.Bounds == UpToHundred }
